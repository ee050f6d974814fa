/* Sharing: what a stream needs to hand ranges of its source to copy_file_range instead of bytes to write, so
 * that the file system lets the destination share the source's blocks.
 *
 * The range is of the moment of the call, the promise of the moment of the fill: between them the source must
 * not change. A read lease that is held over both sees to that (lease.h).
 */
#ifndef XFER_SHARE_H
#define XFER_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Why a stream does not share, or no longer. */
enum xfer_unshared {
    XFER_SHARED,
    XFER_UNSHARED_FILE_SYSTEM, /* not both ends on one file system that can */
    XFER_UNSHARED_SETTING,     /* not wanted */
    XFER_UNSHARED_FLAGS,       /* the source is open for writing too, or the destination for appending */
    XFER_UNSHARED_NOT_OWNER,   /* no lease: somebody else's file */
    XFER_UNSHARED_WRITER,      /* no lease: open for writing somewhere */
    XFER_UNSHARED_LEASE,       /* no lease for another reason */
    XFER_UNSHARED_DIRTY,       /* the source is not on the disk yet: it would be written out first */
    XFER_UNSHARED_POSITION,    /* the offsets do not lie alike within a block */
    XFER_UNSHARED_REFUSED,     /* copy_file_range failed */
};

struct xfer_share {
    bool on;
    bool leased;  /* the source is held by a lease of ours, which the stream's end drops */
    size_t block; /* bytes: of the file system, a power of two */
    enum xfer_unshared why_not;
};

/* True if file systems of this type (statfs f_type) share blocks exactly, and nothing but this kernel changes
 * them. */
bool xfer_share_fs(uint64_t fs_type);

/* Whether the file system of these two can share blocks between them: 0, -EXDEV, -EOPNOTSUPP or another
 * -errno. Changes nothing. */
int xfer_share_probe(int in, int out);

/* Whether the `count` bytes of the source at `offset` are dirty or being written back. Without cachestat(2)
 * (Linux 6.5, owner only): whether the file was changed within the time that the kernel takes to write back.
 */
bool xfer_share_dirty(int in, off_t offset, size_t count);

/* Lets blocks be shared for the bytes of [in_offset, in_offset + count) that make up whole blocks on both
 * sides, which the caller has made begin at one. Returns the bytes moved, at most `count`; fewer when the
 * rest is to be written: `share` then says why. The destination's own offset moves on.
 */
size_t xfer_share_move(struct xfer_share *share, int in, off_t in_offset, int out, size_t count);

#endif
