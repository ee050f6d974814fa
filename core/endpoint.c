#include "endpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "fs_magic.h"
#include "sys.h"

int xfer_endpoint_look(struct xfer_endpoint *end, int fd)
{
    struct stat st;
    int rc = (int)XFER_SYS(SYS_fstat, fd, &st);
    if (rc < 0)
        return rc;
    *end = (struct xfer_endpoint){
        .fd = fd,
        .mode = st.st_mode,
        .device = st.st_dev,
        .inode = st.st_ino,
        .special = st.st_rdev,
        .size = st.st_size,
    };
    if (!S_ISREG(st.st_mode) && !S_ISBLK(st.st_mode))
        return -ESPIPE;
    if (S_ISBLK(st.st_mode)) {
        uint64_t bytes = 0;
        rc = (int)XFER_SYS(SYS_ioctl, fd, BLKGETSIZE64, &bytes);
        if (rc < 0)
            return rc;
        end->size = (off_t)bytes;
    }
    end->offset = sys_lseek(fd, 0, SEEK_CUR);
    return end->offset < 0 ? (int)end->offset : 0;
}

static int64_t available(const struct statfs *fs)
{
    uint64_t blocks = fs->f_bavail < fs->f_bfree ? fs->f_bavail : fs->f_bfree;
    uint64_t size = (uint64_t)(fs->f_frsize ? fs->f_frsize : fs->f_bsize);
    if (size && blocks > INT64_MAX / size)
        return INT64_MAX;
    return (int64_t)(blocks * size);
}

int xfer_endpoint_look_closer(struct xfer_endpoint *end)
{
    struct statfs fs;
    end->flags = (int)XFER_SYS(SYS_fcntl, end->fd, F_GETFL);
    if (end->flags < 0)
        return end->flags;
    int rc = (int)XFER_SYS(SYS_fstatfs, end->fd, &fs);
    if (rc < 0)
        return rc;
    end->fs_type = (uint32_t)fs.f_type;
    end->fs_block = (size_t)fs.f_bsize;
    end->fs_free = (uint64_t)available(&fs);
    return 0;
}

int64_t xfer_endpoint_free_space(int fd)
{
    struct statfs fs;
    int rc = (int)XFER_SYS(SYS_fstatfs, fd, &fs);
    return rc < 0 ? rc : available(&fs);
}

bool xfer_endpoint_fs_known(uint64_t fs_type)
{
    switch (fs_type) {
    case EXT4_SUPER_MAGIC: /* ext2 and ext3 too */
    case XFS_SUPER_MAGIC:
    case BTRFS_SUPER_MAGIC:
    case TMPFS_MAGIC:
    case OVERLAYFS_SUPER_MAGIC:
    case F2FS_SUPER_MAGIC:
    case BCACHEFS_MAGIC:
        return true;
    default:
        return false;
    }
}

bool xfer_endpoint_same_file(const struct xfer_endpoint *a, const struct xfer_endpoint *b)
{
    if (S_ISBLK(a->mode) && S_ISBLK(b->mode))
        return a->special == b->special;
    return a->device == b->device && a->inode == b->inode;
}
