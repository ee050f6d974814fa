#include "engine.h"

#include <errno.h>

#include "sys.h"

/* A write of nothing for a count above 0 says neither how far it got nor why: POSIX leaves it to the device.
 * It must not become an endless loop, so it counts as an I/O error.
 */
static ssize_t move(int fd, const void *bytes, size_t count)
{
    ssize_t n = sys_write(fd, bytes, count);
    return n == 0 && count > 0 ? -EIO : n;
}

const struct xfer_engine xfer_engine_write = {"write", move};
