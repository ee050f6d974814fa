#include "stream.h"

#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "endpoint.h"
#include "lease.h"
#include "sys.h"

/* Fills end on a multiple of this in the source, so that most flushes start and end on page boundaries. */
#define FILL_ALIGNMENT 4096

/* Fewer bytes are as cheaply written as shared: XFS gains from 128 KiB on, btrfs from 16. */
#define SHARED_LEAST ((size_t)16 << 10)

/* Archivers put what they read together to blocks of other sizes; who moves this much at a time writes what
 * it has read. */
#define LAG_LARGEST ((size_t)64 << 10)

/* With this many writes from memory that was not proven, and more than half of all, a stream is of no use:
 * the loop's buffers change too often.
 */
#define UNPROVEN_MANY 16

/* in_kernel when somebody else has moved the source's offset. */
#define SOURCE_IS_THEIRS (-1)

static bool stale(const struct xfer_stream *s)
{
    return xfer_clock_ms() - s->filled_at > XFER_STREAM_OLDEST_MS;
}

/* A promise is flushed by the write after which the next read could not be served from the window: an error
 * then belongs to a write, not to the read that would fill. At the end of the source every write qualifies;
 * elsewhere a small write that leaves more of the same read to be written can wait for the last one.
 */
static bool flush_is_due(const struct xfer_stream *s, size_t read, size_t written, size_t count)
{
    size_t filled = s->window.filled;
    if (filled < read || filled - read < s->read_last)
        return s->at_end || read - written < count;
    return !s->timed && stale(s);
}

bool xfer_stream_serve(struct xfer_stream *s, void *buffer, size_t count)
{
    struct xfer_position from = xfer_window_position(&s->window), to = from;
    if (!from.active || count == 0 || count > s->fill_largest)
        return false;
    if (!xfer_proof_holds(&s->proof, buffer, count, true) || stale(s))
        return false;
    s->read_last = count;
    if (!xfer_window_copy(&s->window, from.read, buffer, count))
        return false;
    to.read += (uint32_t)count;
    if (!xfer_window_commit(&s->window, from, to))
        return false;
    s->timed = true;
    s->stats.reads++;
    return true;
}

bool xfer_stream_accept(struct xfer_stream *s, const void *buffer, size_t count)
{
    struct xfer_position from = xfer_window_position(&s->window), to = from;
    if (!from.active || !from.aligned || count == 0 || count > (size_t)from.read - from.written)
        return false;
    if (flush_is_due(s, from.read, from.written + count, count) ||
        !xfer_proof_holds(&s->proof, buffer, count, false))
        return false;
    if (!xfer_window_equal(&s->window, from.written, buffer, count))
        return false;
    to.written += (uint32_t)count;
    if (!xfer_window_commit(&s->window, from, to))
        return false;
    s->timed = false;
    s->stats.writes++;
    s->stats.bytes += count;
    return true;
}

void xfer_stream_open(struct xfer_stream *s, const struct xfer_stream_setup *setup)
{
    size_t largest = setup->read_last > setup->write_last ? setup->read_last : setup->write_last;
    size_t history = largest < LAG_LARGEST ? 2 * largest : 0;
    s->history = history;
    if ((off_t)history > setup->in_offset)
        history = (size_t)setup->in_offset;

    s->window.bytes = setup->memory;
    s->window.capacity = setup->capacity;
    s->window.filled = 0;
    s->window.flushed = history;
    s->window.base = setup->in_offset - (off_t)history;
    s->engine = setup->engine;
    s->share = setup->share;
    s->unshared_largest = setup->unshared_largest;
    s->in = setup->in;
    s->out = setup->out;
    s->in_kernel = setup->in_offset;
    s->out_limit = setup->out_limit;
    s->out_append = setup->out_append;
    s->fill = setup->fill_first;
    s->fill_largest = setup->fill_largest;
    s->free_least = setup->free_least;
    s->read_last = setup->read_last;
    s->unproven = 0;
    s->started = false;
    s->at_end = false;
    s->filled_at = 0;
    s->ended = XFER_END_NONE;
    s->error = 0;
    s->stats = (struct xfer_stats){0};

    struct xfer_position p = xfer_window_position(&s->window);
    xfer_window_set(&s->window, (struct xfer_position){
                                    .active = true,
                                    .generation = (uint16_t)(p.generation + 1),
                                    .read = (uint32_t)history,
                                    .written = (uint32_t)history,
                                });
}

/* The offset is somebody else's from now on: it is left where they want it, and nothing more is read ahead.
 */
static void give_up_source(struct xfer_stream *s)
{
    size_t read = xfer_window_position(&s->window).read;
    s->ended = XFER_END_FOREIGN;
    s->in_kernel = SOURCE_IS_THEIRS;
    if (s->window.filled > read)
        s->window.filled = read;
}

/* True if the source's offset is where the stream left it. If not, the description is shared with somebody.
 */
static bool owns_source(struct xfer_stream *s)
{
    if (s->in_kernel == SOURCE_IS_THEIRS)
        return false;
    s->stats.calls++;
    off_t now = sys_lseek(s->in, 0, SEEK_CUR);
    if (now == s->in_kernel || now < 0) /* a call that fails tells nothing of the offset */
        return true;
    give_up_source(s);
    return false;
}

/* Where lseek is refused in the middle of a session, reading moves the offset as well. */
static void read_forward(int in, off_t count)
{
    char bytes[256];
    while (count > 0) {
        ssize_t n = sys_read(in, bytes, count < (off_t)sizeof(bytes) ? (size_t)count : sizeof(bytes));
        if (n <= 0)
            break;
        count -= n;
    }
}

/* Sets the source's offset to the program's position. */
static void place_source(struct xfer_stream *s)
{
    off_t wanted = s->window.base + (off_t)xfer_window_position(&s->window).read;
    if (!owns_source(s) || wanted == s->in_kernel)
        return;
    if (sys_lseek(s->in, wanted, SEEK_SET) < 0)
        read_forward(s->in, wanted - s->in_kernel);
    s->in_kernel = wanted;
    s->stats.calls++;
}

/* Writes the window up to `to`. `flushed` moves with every byte that the kernel takes. */
static int write_promise(struct xfer_stream *s, size_t to)
{
    struct xfer_window *w = &s->window;
    while (w->flushed < to) {
        struct xfer_piece piece = {.bytes = w->bytes + w->flushed, .in = -1, .count = to - w->flushed};
        ssize_t n = s->engine->move(&piece, s->out);
        s->stats.calls++;
        if (n < 0) {
            if (s->ended == XFER_END_NONE)
                s->ended = XFER_END_WRITE_ERROR;
            return s->error = (int)n;
        }
        w->flushed += (size_t)n;
        s->stats.flushes++;
    }
    return 0;
}

static ssize_t end(struct xfer_stream *s, enum xfer_stream_end why)
{
    if (s->ended == XFER_END_NONE)
        s->ended = why;
    return XFER_STREAM_END;
}

static void stop_sharing(struct xfer_stream *s, enum xfer_unshared why)
{
    if (s->share.on)
        s->share.why_not = why;
    s->share.on = false;
    s->fill_largest = s->unshared_largest;
    if (s->fill > s->fill_largest)
        s->fill = s->fill_largest;
    if (s->fill_largest == 0)
        end(s, XFER_END_UNSHARED);
}

/* A lease that is being broken looks like one that is gone: a holder that does not react within
 * /proc/sys/fs/lease-break-time, because it was stopped, say, loses it.
 */
static bool lost_lease(struct xfer_stream *s)
{
    s->stats.calls += s->share.leased;
    return s->share.leased && xfer_lease_is_breaking(s->in);
}

/* Lets the destination share the whole blocks among the bytes up to `to`; those before the first are written.
 * What is left is for write_promise(). Plain's offset is the destination's own, so it is looked at before and
 * after: if somebody else moves it too, then as write(2) would have it (copy_file_range does not take the
 * lock of the offset).
 */
static int share_promise(struct xfer_stream *s, size_t to)
{
    struct xfer_window *w = &s->window;
    const size_t within = s->share.block - 1;
    off_t from = w->base + (off_t)w->flushed, at = sys_lseek(s->out, 0, SEEK_CUR);
    size_t head = -(size_t)at & within;
    s->stats.calls++;
    if (at < 0 || ((size_t)(from - at) & within)) {
        stop_sharing(s, XFER_UNSHARED_POSITION);
        return 0;
    }
    if (to - w->flushed < head + SHARED_LEAST)
        return 0;
    size_t whole = (to - w->flushed - head) & ~within;
    s->stats.calls++;
    if (xfer_share_dirty(s->in, from + (off_t)head, whole)) {
        stop_sharing(s, XFER_UNSHARED_DIRTY);
        return 0;
    }
    int rc = write_promise(s, w->flushed + head);
    if (rc < 0)
        return rc;
    if (lost_lease(s)) {
        stop_sharing(s, XFER_UNSHARED_WRITER);
        return 0;
    }
    size_t moved = xfer_share_move(&s->share, s->in, from + (off_t)head, s->out, whole);
    if (moved && lost_lease(s)) { /* what is there now may be the writer's: the window's bytes over it */
        sys_lseek(s->out, at + (off_t)head, SEEK_SET);
        s->stats.calls++;
        stop_sharing(s, XFER_UNSHARED_WRITER);
        return 0;
    }
    w->flushed += moved;
    s->stats.shared += moved;
    s->stats.flushes++;
    s->stats.calls += 2;
    if (!s->share.on)
        stop_sharing(s, s->share.why_not);
    else if (sys_lseek(s->out, 0, SEEK_CUR) != at + (off_t)(head + moved))
        stop_sharing(s, XFER_UNSHARED_POSITION);
    return 0;
}

static int move_promise(struct xfer_stream *s, size_t to)
{
    int rc = s->share.on && s->window.flushed < to ? share_promise(s, to) : 0;
    return rc < 0 ? rc : write_promise(s, to);
}

static int flush(struct xfer_stream *s, size_t to)
{
    place_source(s);
    return move_promise(s, to);
}

/* True when the destination can still take all that a window may promise, with a wide margin. */
static bool has_room(struct xfer_stream *s)
{
    int64_t space = xfer_endpoint_free_space(s->out);
    s->stats.calls++;
    if (space < (int64_t)s->free_least) {
        end(s, XFER_END_SPACE);
        return false;
    }
    if (s->out_limit < 0)
        return true;
    struct xfer_endpoint out;
    int rc = xfer_endpoint_look(&out, s->out);
    s->stats.calls += 2;
    off_t at = s->out_append ? out.size : out.offset;
    if (rc < 0 || at > s->out_limit - (off_t)(XFER_STREAM_MARGIN_WINDOWS * s->fill_largest)) {
        end(s, XFER_END_LIMIT);
        return false;
    }
    return true;
}

/* Reads ahead from the program's position, so that at least `count` bytes can be served. Keeps what has been
 * delivered and not written: it is what the next writes are compared with.
 */
static ssize_t fill(struct xfer_stream *s, size_t count)
{
    struct xfer_window *w = &s->window;
    struct xfer_position p = xfer_window_position(w);

    if (w->flushed < p.written && flush(s, p.written) < 0)
        return XFER_STREAM_END;
    if (s->ended != XFER_END_NONE || (s->filled_at == 0 && !owns_source(s)) || !has_room(s))
        return XFER_STREAM_END;

    size_t size = count > s->fill ? count : s->fill;
    size_t from = p.aligned ? p.written : p.read > s->history ? p.read - s->history : 0;
    size_t kept = 0;
    if (w->filled >= p.read) {
        xfer_window_compact(w, from, p.read);
        kept = p.read - from;
    } else { /* the first one: what has been delivered so far is not there */
        w->base += (off_t)from;
    }
    p.read -= (uint32_t)from;
    p.written = p.aligned ? 0 : p.read;
    w->flushed = p.written;
    p.generation++;
    xfer_window_set(w, p);
    if (p.read + size > w->capacity)
        return end(s, XFER_END_SIZE);

    size_t over = (size_t)(w->base + (off_t)(p.read + size)) % FILL_ALIGNMENT;
    if (size - count >= over)
        size -= over;
    ssize_t got = sys_pread(s->in, w->bytes + kept, p.read - kept + size, w->base + (off_t)kept);
    s->stats.calls++;
    s->stats.fills++;
    w->filled = kept + (got > 0 ? (size_t)got : 0);
    if (got < 0)
        return end(s, XFER_END_READ_ERROR);
    s->at_end = w->filled < p.read + size;
    s->filled_at = xfer_clock_ms();
    if (s->fill < s->fill_largest)
        s->fill =
            XFER_STREAM_GROWTH * s->fill < s->fill_largest ? XFER_STREAM_GROWTH * s->fill : s->fill_largest;
    return 0;
}

/* The first read is a real one, at the source's own offset: if somebody else reads the same description, and
 * this loop makes another system call in every turn, then each block goes to one of them, as without the
 * stream. It is the proof of the buffer as well.
 */
static ssize_t read_through(struct xfer_stream *s, void *buffer, size_t count)
{
    struct xfer_position p = xfer_window_position(&s->window);
    ssize_t n = sys_read(s->in, buffer, count);
    s->stats.calls++;
    s->started = true;
    if (n > 0) {
        s->in_kernel += n;
        p.read += (uint32_t)n;
        p.written = p.read;
        s->window.flushed = p.written;
        xfer_window_set(&s->window, p);
        s->stats.reads++;
        xfer_proof_add(&s->proof, buffer, (size_t)n, true);
        owns_source(s);
    }
    if (n < 0)
        end(s, XFER_END_READ_ERROR);
    else if (n < (ssize_t)count)
        end(s, XFER_END_OF_FILE);
    return n;
}

ssize_t xfer_stream_read(struct xfer_stream *s, void *buffer, size_t count)
{
    struct xfer_window *w = &s->window;
    struct xfer_position p = xfer_window_position(w);
    if (!p.active || count == 0)
        return end(s, XFER_END_CALL);
    if (count > s->fill_largest)
        return end(s, XFER_END_SIZE);
    if (!xfer_proof_possible(&s->proof, buffer, count))
        return end(s, XFER_END_MEMORY);

    s->read_last = count;
    if (!s->started)
        return read_through(s, buffer, count);
    if (s->at_end && w->filled < p.read + count &&
        !stale(s)) /* the real call sees whether the source has grown */
        return end(s, XFER_END_OF_FILE);
    if (w->filled < p.read + count || stale(s)) {
        if (fill(s, count) < 0)
            return XFER_STREAM_END;
        p = xfer_window_position(w);
    }
    if (w->filled < p.read + count)
        return end(s, XFER_END_OF_FILE);

    if (xfer_proof_holds(&s->proof, buffer, count, true)) {
        memcpy(buffer, w->bytes + p.read, count);
    } else {
        ssize_t got = sys_pread(s->in, buffer, count, w->base + (off_t)p.read);
        s->stats.calls++;
        if (got != (ssize_t)count)
            return end(s, XFER_END_MEMORY);
        xfer_proof_add(&s->proof, buffer, count, true);
    }
    p.read += (uint32_t)count;
    xfer_window_set(w, p);
    s->stats.reads++;
    return (ssize_t)count;
}

/* A write from memory that no call has proven yet: the real call is the proof. Also the first write of all,
 * when there is no window to compare it with.
 */
static ssize_t write_through(struct xfer_stream *s, const void *buffer, size_t count)
{
    struct xfer_window *w = &s->window;
    struct xfer_position p = xfer_window_position(w);
    int rc = flush(s, p.written);
    if (rc < 0)
        return rc;
    struct xfer_piece piece = {.bytes = buffer, .in = -1, .count = count};
    ssize_t n = s->engine->move(&piece, s->out);
    s->stats.calls++;
    if (n < 0) {
        s->ended = XFER_END_WRITE_ERROR;
        return n;
    }
    xfer_proof_add(&s->proof, buffer, (size_t)n, false);
    if (n == (ssize_t)count && p.aligned && count <= (size_t)p.read - p.written &&
        xfer_window_equal(w, p.written, buffer, count)) {
        p.written += (uint32_t)count;
    } else {
        p.aligned = false;
        p.written = p.read;
    }
    w->flushed = p.written;
    xfer_window_set(w, p);
    s->stats.writes++;
    s->stats.bytes += (size_t)n;
    s->unproven += w->filled >= p.read; /* not for want of a window */
    if (s->unproven >= UNPROVEN_MANY && 2 * s->unproven > s->stats.writes)
        end(s, XFER_END_MEMORY);
    return n;
}

/* The bytes are not the next ones: the loop writes with a lag that is not known yet, or it has changed them.
 */
static ssize_t align(struct xfer_stream *s, const void *buffer, size_t count)
{
    struct xfer_window *w = &s->window;
    struct xfer_position p = xfer_window_position(w);
    int rc = w->flushed < p.written ? flush(s, p.written) : 0;
    if (rc < 0)
        return rc;
    size_t span = s->history > count ? s->history : count;
    size_t from = p.read > span ? p.read - span : 0;
    size_t at = xfer_window_find(w, from, p.read, buffer, count);
    if (at == SIZE_MAX)
        return end(s, XFER_END_CHANGED);
    p.aligned = true;
    p.written = (uint32_t)at;
    w->flushed = at;
    xfer_window_set(w, p);
    return 0;
}

ssize_t xfer_stream_write(struct xfer_stream *s, const void *buffer, size_t count)
{
    struct xfer_window *w = &s->window;
    struct xfer_position p = xfer_window_position(w);
    if (!p.active || count == 0 || count > s->fill_largest)
        return end(s, count > s->fill_largest ? XFER_END_SIZE : XFER_END_CALL);
    if (!xfer_proof_possible(&s->proof, buffer, count))
        return end(s, XFER_END_MEMORY);
    if (w->filled < p.read || !xfer_proof_holds(&s->proof, buffer, count, false))
        return write_through(s, buffer, count);

    if (!p.aligned || count > (size_t)p.read - p.written || !xfer_window_equal(w, p.written, buffer, count)) {
        ssize_t rc = align(s, buffer, count);
        if (rc < 0)
            return rc;
        p = xfer_window_position(w);
    }

    size_t to = p.written + count;
    int rc = flush_is_due(s, p.read, to, count) ? flush(s, to) : 0;
    size_t taken = count;
    if (rc < 0) {
        if (w->flushed <= p.written)
            return rc;
        taken = w->flushed - p.written;
        s->error = 0; /* not told yet: the program's next write meets it again */
    }
    p.written += (uint32_t)taken;
    xfer_window_set(w, p);
    s->stats.writes++;
    s->stats.bytes += taken;
    return (ssize_t)taken;
}

int xfer_stream_close(struct xfer_stream *s)
{
    struct xfer_position p = xfer_window_position(&s->window);
    place_source(s);
    int rc = s->error ? s->error : move_promise(s, p.written);
    if (s->share.leased)
        xfer_lease_drop(s->in);
    s->share.on = s->share.leased = false;
    p.active = false;
    p.aligned = false;
    p.generation++;
    xfer_window_set(&s->window, p);
    return xfer_stream_owes(s) ? rc : 0;
}

size_t xfer_stream_owes(const struct xfer_stream *s)
{
    return xfer_window_position(&s->window).written - s->window.flushed;
}

int xfer_stream_retry(struct xfer_stream *s)
{
    return move_promise(s, xfer_window_position(&s->window).written);
}

void xfer_stream_forget(struct xfer_stream *s)
{
    s->window.flushed = xfer_window_position(&s->window).written;
}
