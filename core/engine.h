/* Engines: ways to move promised bytes to a destination. Each has its own file. */
#ifndef XFER_ENGINE_H
#define XFER_ENGINE_H

#include <stddef.h>
#include <sys/types.h>

struct xfer_engine {
    const char *name;
    /* Moves up to `count` bytes at `bytes` to the descriptor's own offset. Returns what the kernel took (at
     * least 1), or -errno with nothing moved; never 0 for a count above 0.
     */
    ssize_t (*move)(int fd, const void *bytes, size_t count);
};

/* One write(2) of the program's own bytes: right for every destination. */
extern const struct xfer_engine xfer_engine_write;

#endif
