/* The window: a piece of the source held in memory, and the one word that says how far the program is in it.
 *
 *     0        flushed      written       read          filled      capacity
 *     |--gone--|--promised--|--delivered--|--read ahead--|--empty----|
 *
 * Positions are bytes from the start of the window; byte 0 is the source's byte `base`. The program was told
 * that all before `written` is written, and was given all before `read`. These two stand in one 64-bit word,
 * changed by compare-and-swap as the last step of serving a call, because a signal handler may run between
 * any two instructions and move or end everything. The other fields change only while no handler can run.
 */
#ifndef XFER_WINDOW_H
#define XFER_WINDOW_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include "arch/x86_64/exchange.h"

/* The positions have 23 bits each, which limits a window to 8 MiB - 1; 4 MiB is the largest that any engine
 * gains from. */
#define XFER_WINDOW_LARGEST ((size_t)4 << 20)

struct xfer_position {
    bool active;  /* a session is running */
    bool aligned; /* `written` is known: the last write was found in the window */
    uint16_t generation;
    uint32_t read, written;
};

struct xfer_window {
    _Atomic uint64_t word;
    unsigned char *bytes;
    size_t capacity, filled, flushed;
    off_t base; /* bytes from the start of the source */
};

static inline uint64_t xfer_position_pack(struct xfer_position p)
{
    return (uint64_t)p.active << 63 | (uint64_t)p.aligned << 62 | (uint64_t)p.generation << 46 |
           (uint64_t)p.read << 23 | p.written;
}

static inline struct xfer_position xfer_position_unpack(uint64_t word)
{
    return (struct xfer_position){
        .active = word >> 63,
        .aligned = word >> 62 & 1,
        .generation = (uint16_t)(word >> 46),
        .read = word >> 23 & 0x7fffff,
        .written = word & 0x7fffff,
    };
}

static inline struct xfer_position xfer_window_position(const struct xfer_window *w)
{
    return xfer_position_unpack(atomic_load_explicit(&w->word, memory_order_acquire));
}

/* Sets the word whatever it was; only while no handler can run. */
static inline void xfer_window_set(struct xfer_window *w, struct xfer_position p)
{
    atomic_store_explicit(&w->word, xfer_position_pack(p), memory_order_release);
}

/* Moves the word from `from` to `to`; false, and nothing done, when it is no longer `from`. Against handlers
 * of this very thread only: nobody else shares the memory.
 */
static inline bool xfer_window_commit(struct xfer_window *w, struct xfer_position from,
                                      struct xfer_position to)
{
    return arch_exchange_if(&w->word, xfer_position_pack(from), xfer_position_pack(to));
}

/* Copies `count` bytes from `position` to the program's memory, if that many are there. The fields may belong
 * to a newer window than the caller's positions when a handler came between; the bounds are right all the
 * same, and the caller's commit will fail.
 */
static inline bool xfer_window_copy(const struct xfer_window *w, size_t position, void *to, size_t count)
{
    size_t filled = w->filled;
    if (position > filled || count > filled - position)
        return false;
    memcpy(to, w->bytes + position, count);
    return true;
}

/* True if the `count` bytes at `position` are the same as those at `with`. Bounds as above. */
static inline bool xfer_window_equal(const struct xfer_window *w, size_t position, const void *with,
                                     size_t count)
{
    size_t filled = w->filled;
    if (position > filled || count > filled - position)
        return false;
    return memcmp(w->bytes + position, with, count) == 0;
}

/* Forgets all before `keep`, so that it becomes byte 0, and all from `end` on. Positions of the word are the
 * caller's to move. Only while no handler can run.
 */
void xfer_window_compact(struct xfer_window *w, size_t keep, size_t end);

/* Where the `count` bytes at `with` stand in [from, to), or SIZE_MAX. The place that ends at `to` is tried
 * first: a loop without lag writes what it has just read.
 */
size_t xfer_window_find(const struct xfer_window *w, size_t from, size_t to, const void *with, size_t count);

#endif
