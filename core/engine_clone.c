#include "engine.h"

#include <errno.h>
#include <linux/fs.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "sys.h"

/* Locks of both files are held for the whole call. */
#define COUNT_LARGEST ((off_t)1 << 30)

/* The largest range that can be cloned at these places, or -errno. A length that is no multiple of the block
 * size is allowed only where it ends at the source's end and at or behind the destination's.
 */
static off_t clonable(const struct xfer_piece *piece, off_t from, int out, off_t to)
{
    struct stat source, destination;
    struct statfs fs;
    long rc = XFER_SYS(SYS_fstat, piece->in, &source);
    if (rc < 0 || (rc = XFER_SYS(SYS_fstat, out, &destination)) < 0 ||
        (rc = XFER_SYS(SYS_fstatfs, piece->in, &fs)) < 0)
        return rc;
    off_t block = fs.f_bsize;
    if (block <= 0 || from % block != 0 || to % block != 0)
        return -EINVAL;
    if (from >= source.st_size)
        return 0;
    off_t count = source.st_size - from;
    if ((uint64_t)count > piece->count)
        count = (off_t)piece->count;
    if (count > COUNT_LARGEST)
        count = COUNT_LARGEST;
    if (from + count < source.st_size || to + count < destination.st_size)
        count -= count % block;
    /* 0 would mean up to the source's end. */
    return count > 0 ? count : -EINVAL;
}

/* The call moves no offset. */
static ssize_t move(const struct xfer_piece *piece, int out)
{
    off_t from = piece->in_offset < 0 ? sys_lseek(piece->in, 0, SEEK_CUR) : piece->in_offset;
    off_t to = piece->out_offset ? *piece->out_offset : sys_lseek(out, 0, SEEK_CUR);
    if (from < 0 || to < 0)
        return from < 0 ? from : to;
    off_t count = clonable(piece, from, out, to);
    if (count <= 0)
        return count;
    struct file_clone_range range = {.src_fd = piece->in,
                                     .src_offset = (uint64_t)from,
                                     .src_length = (uint64_t)count,
                                     .dest_offset = (uint64_t)to};
    long rc = XFER_SYS(SYS_ioctl, out, FICLONERANGE, &range);
    if (rc < 0)
        return rc;
    if (!piece->out_offset)
        sys_lseek(out, to + count, SEEK_SET);
    if (piece->in_offset < 0)
        sys_lseek(piece->in, from + count, SEEK_SET);
    return count;
}

const struct xfer_engine xfer_engine_clone = {"clone", move};
