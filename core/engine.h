/* Engines: ways to move bytes to a destination. Each has its own file. */
#ifndef XFER_ENGINE_H
#define XFER_ENGINE_H

#include <stddef.h>
#include <sys/types.h>

/* What is to be moved: bytes in memory, a range of a descriptor, or both, which are then the same bytes. */
struct xfer_piece {
    const void *bytes; /* or NULL: only in the source */
    int in;            /* -1: only in memory */
    off_t in_offset;   /* bytes from the source's start, or -1: its own offset, which moves on */
    size_t count;      /* bytes, above 0 */
    /* Bytes from the destination's start, whose own offset then stays; NULL: its own offset, which moves on.
     * Not for all engines. */
    const off_t *out_offset;
};

struct xfer_engine {
    const char *name;
    /* Moves the beginning of the piece, or all of it, to the descriptor `out` at its own offset, which moves
     * on. Returns what the kernel took (at least 1), 0 at the end of a source, or -errno with nothing moved.
     * Takes no more than it says: a source's own offset stands behind the bytes that have arrived. Any
     * context.
     */
    ssize_t (*move)(const struct xfer_piece *piece, int out);
};

/* One write(2) of the bytes in memory: right for every destination. Needs `bytes`. */
extern const struct xfer_engine xfer_engine_write;

/* copy_file_range(2): shares blocks where the file system can, copies in the kernel elsewhere. Needs `in`. */
extern const struct xfer_engine xfer_engine_range;

/* The rest is in libxfer.a only. All need `in`, which has an offset. */

/* FICLONERANGE: whole blocks, and the source's end. Anything else is -EINVAL. Takes out_offset. */
extern const struct xfer_engine xfer_engine_clone;

/* splice(2) through a private pipe, which is kept for the next move. Takes out_offset. */
extern const struct xfer_engine xfer_engine_splice;

/* sendfile(2). */
extern const struct xfer_engine xfer_engine_sendfile;

/* One write(2) from a mapping of the source. Takes out_offset. */
extern const struct xfer_engine xfer_engine_mapped;

#endif
