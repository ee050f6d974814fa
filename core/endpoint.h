/* An endpoint: what the kernel says about one open descriptor. */
#ifndef XFER_ENDPOINT_H
#define XFER_ENDPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct xfer_endpoint {
    int fd;
    mode_t mode;      /* st_mode */
    dev_t device;     /* of the file system (st_dev) */
    ino_t inode;      /* st_ino */
    dev_t special;    /* of the device itself (st_rdev) */
    off_t size;       /* bytes; of a block device, its capacity */
    off_t offset;     /* bytes from the start */
    int flags;        /* F_GETFL, valid after xfer_endpoint_look_closer() */
    uint64_t fs_type; /* f_type, valid after xfer_endpoint_look_closer() */
    size_t fs_block;  /* bytes of a block, valid after xfer_endpoint_look_closer() */
    uint64_t fs_free; /* bytes free to everybody, valid after xfer_endpoint_look_closer() */
};

/* The cheap half: fstat, lseek and, for a block device, its size; under 1 us. Returns 0, or -errno (-ESPIPE
 * for what has no offset).
 */
int xfer_endpoint_look(struct xfer_endpoint *end, int fd);

/* The rest: flags and file system. Returns 0 or -errno. */
int xfer_endpoint_look_closer(struct xfer_endpoint *end);

/* Bytes free for everybody on the file system of `fd`, or -errno. */
int64_t xfer_endpoint_free_space(int fd);

/* True if a regular file of this file system type (statfs f_type) can be read ahead and written late: its
 * page cache is the only truth about its contents, its writes report a lack of space at once, its largest
 * file is out of reach.
 */
bool xfer_endpoint_fs_known(uint64_t fs_type);

/* True if both name the same file. */
bool xfer_endpoint_same_file(const struct xfer_endpoint *a, const struct xfer_endpoint *b);

#endif
