#include "engine.h"

#include <stdint.h>

#include "sys.h"

/* FUSE cut counts to 32 bits, as glibc did with results up to 2.42; and the call must end some time. */
#define COUNT_LARGEST ((size_t)1 << 30)

/* The destination's offset is the kernel's own unless another is given: after a kill it stands behind the
 * bytes that have arrived. */
static ssize_t move(const struct xfer_piece *piece, int out)
{
    int64_t in_offset = piece->in_offset;
    int64_t out_offset = piece->out_offset ? *piece->out_offset : -1;
    size_t count = piece->count < COUNT_LARGEST ? piece->count : COUNT_LARGEST;
    return XFER_SYS(SYS_copy_file_range, piece->in, piece->in_offset < 0 ? NULL : &in_offset, out,
                    piece->out_offset ? &out_offset : NULL, count, 0);
}

const struct xfer_engine xfer_engine_range = {"range", move};
