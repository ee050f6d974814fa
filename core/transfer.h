/* A transfer: one call of the public library, from its plan to its last byte. */
#ifndef XFER_TRANSFER_H
#define XFER_TRANSFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "xfer.h"

struct xfer_transfer {
    int in, out;
    off_t *in_offset, *out_offset; /* the caller's, or NULL: own offsets */
    bool in_seeks;                 /* what was read and not written can be given back */
    bool out_waits;                /* a write of the destination does not return -EAGAIN */
    uint64_t left;                 /* bytes still to be moved */
    bool ended;                    /* the source is at its end */
    const struct xfer_policy *policy;
    struct xfer_result *result;
};

/* Counts bytes that arrived, moves the caller's offsets and calls the progress function. Returns 0 or
 * -ECANCELED. */
int xfer_transfer_advance(struct xfer_transfer *transfer, enum xfer_way way, size_t bytes);

/* Names the side of an error, which it returns. */
int xfer_transfer_fail(struct xfer_transfer *transfer, enum xfer_side side, long error);

/* Moves up to `most` bytes by read and write through a buffer of `window` bytes, of which `likely` will be
 * needed. Returns 0 or -errno. */
int xfer_transfer_plain(struct xfer_transfer *transfer, uint64_t most, size_t window, uint64_t likely);

/* What ways the kernel refused: ENOSYS is for the process, EXDEV, EOPNOTSUPP and ENOTTY for a pair of
 * devices, and anything else says nothing about the next copy. Any thread. A pair may be forgotten. */
bool xfer_refused(enum xfer_way way, dev_t in, dev_t out);
void xfer_refused_note(enum xfer_way way, dev_t in, dev_t out, long error);

#endif
