#include "engine.h"

#include <errno.h>

#include "sys.h"

/* Its own pipe holds what the destination did not take; the kernel forgets that and sets the source's offset
 * to what has arrived.
 */
static ssize_t move(const struct xfer_piece *piece, int out)
{
    int64_t from = piece->in_offset;
    if (piece->out_offset)
        return -EINVAL;
    return XFER_SYS(SYS_sendfile, out, piece->in, from < 0 ? NULL : &from, piece->count);
}

const struct xfer_engine xfer_engine_sendfile = {"sendfile", move};
