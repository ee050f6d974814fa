/* The fused stream: one source and one destination whose read and write calls are served from a window.
 *
 * The fast calls, xfer_stream_serve() and xfer_stream_accept(), make no system call and may be interrupted
 * and re-entered by signal handlers at any instruction. All others are the slow calls: while one runs, no
 * signal handler of the program may run (block them), and nobody but the stream may use the source's offset.
 *
 * Everything returned is 0, a count of bytes, one of the negative XFER_STREAM_ verdicts, or -errno.
 */
#ifndef XFER_STREAM_H
#define XFER_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "engine.h"
#include "proof.h"
#include "share.h"
#include "stats.h"
#include "window.h"

/* A read-ahead byte or a promise is not older than this when it is used; what the design allows an observer
 * to see. */
#define XFER_STREAM_OLDEST_MS 100

/* Each fill is this many times the one before, up to the largest. */
#define XFER_STREAM_GROWTH 4

/* Nothing is deferred unless the destination can take this many of the largest windows: then an error that
 * only a late flush would meet (no space, file size limit) is met by a real write.
 */
#define XFER_STREAM_MARGIN_WINDOWS 16

/* The stream cannot serve this call (below the range of -errno): end it, then make the real call. */
#define XFER_STREAM_END (-5000)

enum xfer_stream_end {
    XFER_END_NONE,
    XFER_END_OF_FILE,     /* the source has no full read left */
    XFER_END_CHANGED,     /* the program wrote other bytes than it read */
    XFER_END_MEMORY,      /* a buffer in memory that cannot be proven */
    XFER_END_SIZE,        /* a read larger than the window */
    XFER_END_READ_ERROR,  /* the source failed */
    XFER_END_WRITE_ERROR, /* the destination failed */
    XFER_END_SPACE,       /* the destination's file system is nearly full */
    XFER_END_LIMIT,       /* the file size limit is near */
    XFER_END_UNSHARED,    /* blocks cannot be shared after all, and nothing else is gained at this size */
    XFER_END_LEASE,       /* somebody wants to write to the source */
    XFER_END_FOREIGN,     /* somebody else moved the source's offset */
    XFER_END_CALL,        /* another system call of the program */
    XFER_END_SIGNAL,      /* a SIGSYS that somebody sent */
    XFER_END_EXIT,        /* the program exits */
};

struct xfer_stream {
    struct xfer_window window;
    struct xfer_proof proof;
    const struct xfer_engine *engine;
    struct xfer_share share;
    size_t unshared_largest; /* fill_largest when nothing is shared (any more), bytes; 0: end then */
    int in, out;
    off_t in_kernel;     /* where the kernel's offset of the source was left, bytes */
    off_t out_limit;     /* bytes: the destination may grow to here, or -1 for no limit */
    bool out_append;     /* its offset is its size at each write */
    size_t fill;         /* next fill, bytes */
    size_t fill_largest; /* bytes */
    size_t free_least;   /* bytes that must stay free on the destination's file system */
    size_t read_last;    /* size of the last read, bytes */
    size_t history;      /* bytes before `read` in which a write with a lag may begin */
    bool started;        /* the first read has been made */
    bool at_end;         /* the last fill met the end of the source */
    uint64_t filled_at;  /* ms */
    bool timed;          /* the clock has been looked at since the last write: the next need not */
    uint64_t unproven;   /* writes that were made to prove their memory */
    enum xfer_stream_end ended;
    int error; /* -errno of a failed flush */
    struct xfer_stats stats;
};

struct xfer_stream_setup {
    int in, out;
    off_t in_offset; /* bytes: where the program is in the source */
    off_t out_limit; /* bytes, -1: none */
    bool out_append;
    size_t fill_first, fill_largest;  /* bytes */
    size_t free_least;                /* bytes */
    size_t read_last, write_last;     /* sizes of the loop's last calls, bytes */
    void *memory;                     /* the window's memory ... */
    size_t capacity;                  /* ... and its size: fill_largest and two reads, at least */
    const struct xfer_engine *engine; /* for bytes in memory */
    struct xfer_share share;          /* for blocks, if `on` */
    size_t unshared_largest; /* largest fill when sharing has come to its end, bytes; 0: the stream ends */
};

/* Begins: everything written is in the kernel, the program's offset is the kernel's. The proof is to be
 * filled in by the caller beforehand. A slow call. Makes no system call.
 */
void xfer_stream_open(struct xfer_stream *s, const struct xfer_stream_setup *setup);

/* True while the stream is open. Any context. */
static inline bool xfer_stream_is_open(const struct xfer_stream *s)
{
    return atomic_load_explicit(&s->window.word, memory_order_acquire) >> 63;
}

/* Fast: gives `count` bytes to the program. False when the slow call is needed. */
bool xfer_stream_serve(struct xfer_stream *s, void *buffer, size_t count);

/* Fast: takes a write of `count` bytes as a promise. False when the slow call is needed. */
bool xfer_stream_accept(struct xfer_stream *s, const void *buffer, size_t count);

/* Slow read: fills the window, proves the buffer. Returns what read(2) would, bytes or -errno, or
 * XFER_STREAM_END: make the real call. When `ended` is set afterwards, the stream is to be closed.
 */
ssize_t xfer_stream_read(struct xfer_stream *s, void *buffer, size_t count);

/* Slow write: searches a lag, proves the buffer, flushes. Returns bytes taken or -errno as write(2) would, or
 * XFER_STREAM_END. When `ended` is set afterwards, the stream is to be closed; what it then owes is still
 * promised.
 */
ssize_t xfer_stream_write(struct xfer_stream *s, const void *buffer, size_t count);

/* Gives back: sets the source's offset to the program's position, flushes (unless a flush has just failed),
 * forgets what was read ahead. Returns 0, or -errno when a promise could not be kept; it is then still owed
 * and xfer_stream_retry() tries again. The stream is closed in both cases. A slow call.
 */
int xfer_stream_close(struct xfer_stream *s);

/* Bytes that the program was told are written and that are not. Any context. */
size_t xfer_stream_owes(const struct xfer_stream *s);

/* Tries to write what a closed stream owes. Returns 0 when nothing is owed any more, or -errno. A slow call.
 */
int xfer_stream_retry(struct xfer_stream *s);

/* Gives up what a closed stream owes. */
void xfer_stream_forget(struct xfer_stream *s);

#endif
