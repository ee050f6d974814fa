#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sys.h"
#include "transfer.h"

/* Enough for what is not worth a mapping, and little enough for a thread's stack. */
#define SMALL 16384
#define PAGE 4096

struct buffer {
    unsigned char *bytes;
    size_t size;
};

/* Stays small where there is no memory. */
static void buffer_enlarge(struct buffer *buffer, size_t size)
{
    long at = XFER_SYS(SYS_mmap, NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at < 0 && at > -PAGE)
        return;
    buffer->bytes = (unsigned char *)at;
    buffer->size = size;
}

/* Waits not at all, or until the destination takes something or fails. */
static bool writable(int out, bool wait)
{
    struct pollfd fd = {.fd = out, .events = POLLOUT};
    struct timespec none = {0};
    return XFER_SYS(SYS_ppoll, &fd, 1, wait ? NULL : &none, NULL, 0) != 0;
}

static ssize_t get(struct xfer_transfer *t, void *bytes, size_t count)
{
    return t->in_offset ? sys_pread(t->in, bytes, count, *t->in_offset) : sys_read(t->in, bytes, count);
}

static ssize_t put(struct xfer_transfer *t, const unsigned char *bytes, size_t count, size_t done)
{
    ssize_t n = t->out_offset
                    ? XFER_SYS(SYS_pwrite64, t->out, bytes + done, count - done, *t->out_offset + (off_t)done)
                    : sys_write(t->out, bytes + done, count - done);
    return n == 0 ? -EIO : n;
}

/* Bytes of a source without an offset are brought out before an interruption is told. Returns 0 or -errno;
 * `*done` counts. */
static long put_all(struct xfer_transfer *t, const unsigned char *bytes, size_t count, size_t *done)
{
    long interrupted = 0;
    while (*done < count) {
        ssize_t n = put(t, bytes, count, *done);
        if (n > 0) {
            *done += (size_t)n;
            continue;
        }
        if (t->in_seeks || (n != -EINTR && n != -EAGAIN))
            return n;
        if (n == -EINTR)
            interrupted = n;
        else
            writable(t->out, true);
    }
    return interrupted;
}

static void give_back(struct xfer_transfer *t, size_t count)
{
    if (!t->in_seeks)
        t->result->lost += count;
    else if (!t->in_offset)
        sys_lseek(t->in, -(off_t)count, SEEK_CUR);
}

static int step(struct xfer_transfer *t, struct buffer *buffer, uint64_t most, size_t *moved)
{
    size_t want = most < buffer->size ? (size_t)most : buffer->size, done = 0;
    if (!t->in_seeks && !t->out_waits) {
        if (!writable(t->out, false))
            return xfer_transfer_fail(t, XFER_SIDE_DESTINATION, -EAGAIN);
        if (want > PIPE_BUF)
            want = PIPE_BUF;
    }
    ssize_t n = get(t, buffer->bytes, want);
    t->ended = n == 0;
    if (n <= 0)
        return n < 0 ? xfer_transfer_fail(t, XFER_SIDE_SOURCE, n) : 0;
    long rc = put_all(t, buffer->bytes, (size_t)n, &done);
    if (done < (size_t)n)
        give_back(t, (size_t)n - done);
    *moved = done;
    int stop = done > 0 ? xfer_transfer_advance(t, XFER_PLAIN, done) : 0;
    return rc < 0 ? xfer_transfer_fail(t, XFER_SIDE_DESTINATION, rc) : stop;
}

int xfer_transfer_plain(struct xfer_transfer *t, uint64_t most, size_t window, uint64_t likely)
{
    _Alignas(PAGE) unsigned char small[SMALL];
    struct buffer buffer = {small, window < SMALL ? window : SMALL};
    int rc = 0;
    if (most > t->left)
        most = t->left;
    while (rc == 0 && most > 0 && !t->ended) {
        size_t moved = 0;
        if (buffer.bytes == small && window > SMALL && likely > SMALL)
            buffer_enlarge(&buffer, window);
        rc = step(t, &buffer, most, &moved);
        most -= moved;
        /* The source has more than it seemed to have. */
        likely = moved == buffer.size ? most : 0;
    }
    if (buffer.bytes != small)
        XFER_SYS(SYS_munmap, buffer.bytes, buffer.size);
    return rc;
}
