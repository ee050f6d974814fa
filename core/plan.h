/* The plan: by which ways, and in which order, bytes are to be moved between two ends. A pure function. */
#ifndef XFER_PLAN_H
#define XFER_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "endpoint.h"
#include "xfer.h"

struct xfer_rung {
    enum xfer_way way;
    size_t window; /* bytes of one step, at most */
};

struct xfer_plan {
    struct xfer_rung rung[XFER_WAYS];
    int rungs;    /* at least 1; the last is XFER_PLAIN */
    size_t head;  /* bytes to be moved by read and write first: the rest begins at a block on both sides */
    size_t align; /* bytes: what the address of plain's buffer and its size are multiples of */
};

/* What is wanted of the two ends. */
struct xfer_wish {
    uint64_t count;    /* bytes, or XFER_TO_END */
    bool out_explicit; /* not at the destination's own offset */
    unsigned ways;     /* allowed */
    unsigned flags;    /* XFER_BY_REFERENCE, XFER_ANY_FILE_SYSTEM */
    size_t window;     /* of plain, or 0 */
};

/* The ends' `offset` is where the copy begins on each side, negative where there is none. Any context. */
struct xfer_plan xfer_plan_make(const struct xfer_endpoint *in, const struct xfer_endpoint *out,
                                const struct xfer_wish *wish);

/* Bytes that the source seems to have from its offset on, at most wish->count; XFER_TO_END when it does not
 * say. */
uint64_t xfer_plan_amount(const struct xfer_endpoint *in, const struct xfer_wish *wish);

#endif
