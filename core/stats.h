/* What a stream did, in numbers. */
#ifndef XFER_STATS_H
#define XFER_STATS_H

#include <stdint.h>

struct xfer_stats {
    uint64_t reads, writes;  /* calls of the program that were served */
    uint64_t bytes;          /* written by those writes */
    uint64_t calls;          /* system calls made instead */
    uint64_t fills, flushes; /* of which these moved bytes */
    uint64_t shared;         /* bytes that were not written: the destination shares the source's blocks */
};

/* Adds `from` to `to`. */
void xfer_stats_add(struct xfer_stats *to, const struct xfer_stats *from);

#endif
