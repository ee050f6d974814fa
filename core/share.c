#include "share.h"

#include <errno.h>
#include <linux/fs.h>
#include <sys/stat.h>
#include <time.h>

#include "engine.h"
#include "fs_magic.h"
#include "sys.h"

/* Linux 6.5, include/uapi/linux/mman.h; not in the headers of Debian 12. */
#ifndef SYS_cachestat
#define SYS_cachestat 451
#endif
struct cachestat_range {
    uint64_t off, len;
};
struct cachestat {
    uint64_t nr_cache, nr_dirty, nr_writeback, nr_evicted, nr_recently_evicted;
};

#define BEYOND_ANY_FILE ((uint64_t)1 << 60)
#define ANY_BLOCK 65536 /* a multiple of every block size */

/* vm.dirty_expire_centisecs and vm.dirty_writeback_centisecs are 30 s and 5 s by default. */
#define WRITTEN_BACK_AFTER 40

bool xfer_share_fs(uint64_t fs_type)
{
    return fs_type == XFS_SUPER_MAGIC || fs_type == BTRFS_SUPER_MAGIC || fs_type == BCACHEFS_MAGIC;
}

/* A range behind the end of any file is refused with EINVAL, after all that is of interest here
 * (vfs_clone_file_range() and, for instance, xfs_file_remap_range()). */
int xfer_share_probe(int in, int out)
{
    struct file_clone_range range = {.src_fd = in, .src_offset = BEYOND_ANY_FILE, .src_length = ANY_BLOCK};
    int rc = (int)XFER_SYS(SYS_ioctl, out, FICLONERANGE, &range);
    return rc == -EINVAL ? 0 : rc;
}

static bool changed_lately(int in)
{
    struct stat st;
    struct timespec now;
    if (XFER_SYS(SYS_fstat, in, &st) < 0 || XFER_SYS(SYS_clock_gettime, CLOCK_REALTIME, &now) < 0)
        return true;
    return now.tv_sec - st.st_mtim.tv_sec < WRITTEN_BACK_AFTER;
}

bool xfer_share_dirty(int in, off_t offset, size_t count)
{
    struct cachestat_range range = {.off = (uint64_t)offset, .len = count};
    struct cachestat stat = {0};
    long rc = XFER_SYS(SYS_cachestat, in, &range, &stat, 0);
    return rc < 0 ? changed_lately(in) : stat.nr_dirty + stat.nr_writeback > 0;
}

size_t xfer_share_move(struct xfer_share *share, int in, off_t in_offset, int out, size_t count)
{
    struct xfer_piece piece = {.in = in};
    size_t moved = 0;
    while (moved < count) {
        piece.in_offset = in_offset + (off_t)moved;
        piece.count = count - moved;
        ssize_t n = xfer_engine_range.move(&piece, out);
        if (n <= 0) {
            share->on = false;
            share->why_not = XFER_UNSHARED_REFUSED;
            break;
        }
        moved += (size_t)n;
    }
    return moved;
}
