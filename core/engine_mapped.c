#include "engine.h"

#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>
#include <sys/stat.h>

#include "sys.h"

#define PAGE 4096

/* The mapping is read by the kernel only: where the file was truncated meanwhile, write says EFAULT, and
 * nobody gets SIGBUS.
 */
static ssize_t move(const struct xfer_piece *piece, int out)
{
    struct stat st;
    off_t from = piece->in_offset < 0 ? sys_lseek(piece->in, 0, SEEK_CUR) : piece->in_offset;
    long rc = from < 0 ? from : XFER_SYS(SYS_fstat, piece->in, &st);
    if (rc < 0)
        return rc;
    if (from >= st.st_size)
        return 0;
    size_t count = piece->count, skip = (size_t)from % PAGE;
    if ((uint64_t)(st.st_size - from) < count)
        count = (size_t)(st.st_size - from);
    long at = XFER_SYS(SYS_mmap, NULL, skip + count, PROT_READ, MAP_SHARED, piece->in, from - (off_t)skip);
    if (at < 0 && at > -PAGE) /* user addresses are positive */
        return at;
    const char *bytes = (const char *)((uintptr_t)at + skip);
    ssize_t n = piece->out_offset ? XFER_SYS(SYS_pwrite64, out, bytes, count, *piece->out_offset)
                                  : sys_write(out, bytes, count);
    XFER_SYS(SYS_munmap, at, skip + count);
    if (n > 0 && piece->in_offset < 0)
        sys_lseek(piece->in, from + n, SEEK_SET);
    return n == 0 ? -EIO : n;
}

const struct xfer_engine xfer_engine_mapped = {"mapped", move};
