#include "engine.h"

#include <errno.h>

#include "sys.h"

/* A write of nothing for a count above 0 says neither how far it got nor why: POSIX leaves it to the device.
 * It must not become an endless loop, so it counts as an I/O error.
 */
static ssize_t move(const struct xfer_piece *piece, int out)
{
    ssize_t n = sys_write(out, piece->bytes, piece->count);
    return n == 0 && piece->count > 0 ? -EIO : n;
}

const struct xfer_engine xfer_engine_write = {"write", move};
