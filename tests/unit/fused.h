/*
 * A program's loop over a fused stream, driven as a session drives it, and the two things that make its tests
 * exact: a clock that stands still unless the test moves it, and a system call gate that counts and can be
 * told to fail. To be included once in a test program; the library's own clock and gate are then not linked.
 */
#ifndef TESTS_UNIT_FUSED_H
#define TESTS_UNIT_FUSED_H

#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "stream.h"
#include "sys.h"

static uint64_t clock_ms = 1000000;

uint64_t xfer_clock_ms(void)
{
    return clock_ms;
}

static long calls_made;

/* The last word on every system call of the library: true, and `*result` set, when it is not to be made. */
static bool (*gate_hook)(long number, const long *argument, long *result);

static long kernel(long number, const long *a)
{
    long result = syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    return result < 0 ? -errno : result;
}

long xfer_gate_call(long number, long a, long b, long c, long d, long e, long f)
{
    long argument[6] = {a, b, c, d, e, f}, result;
    calls_made++;
    return gate_hook && gate_hook(number, argument, &result) ? result : kernel(number, argument);
}

/* ---- the session ---------------------------------------------------------------------------- */

enum { FILL_FIRST = 16384, FILL_LARGEST = 262144, CHUNK_MOST = 65536 };

struct fused {
    struct xfer_stream stream;
    unsigned char *memory;
    unsigned char *buffer; /* the program's: anonymous memory of BUFFER_SIZE bytes, all of it may be proven */
    int in, out;
    long passed; /* calls that the stream left to the kernel */
};

enum { BUFFER_SIZE = 1 << 20 };

static void *anonymous(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert(memory != MAP_FAILED);
    return memory;
}

static inline struct fused *fused_new(int in, int out)
{
    struct fused *f = calloc(1, sizeof(*f));
    f->in = in;
    f->out = out;
    f->buffer = anonymous(BUFFER_SIZE);
    return f;
}

static inline void fused_free(struct fused *f)
{
    munmap(f->buffer, BUFFER_SIZE);
    free(f->memory);
    free(f);
}

/* What a setup says unless a test says otherwise. */
static inline struct xfer_stream_setup fused_setup(const struct fused *f, size_t read_last, size_t write_last)
{
    return (struct xfer_stream_setup){
        .in = f->in,
        .out = f->out,
        .in_offset = lseek(f->in, 0, SEEK_CUR),
        .out_limit = -1,
        .fill_first = FILL_FIRST,
        .fill_largest = FILL_LARGEST,
        .read_last = read_last,
        .write_last = write_last,
        .engine = &xfer_engine_write,
    };
}

/* Opens with a window of exactly the capacity that is documented as enough, so that a byte too far is a
 * fault. */
static inline void fused_open_with(struct fused *f, struct xfer_stream_setup setup)
{
    size_t largest = setup.read_last > setup.write_last ? setup.read_last : setup.write_last;
    if (!setup.memory) {
        if (!setup.capacity)
            setup.capacity = setup.fill_largest + 4 * largest;
        free(f->memory);
        setup.memory = f->memory = malloc(setup.capacity);
    }
    xfer_proof_clear(&f->stream.proof);
    xfer_proof_allow(&f->stream.proof, (uintptr_t)f->buffer, (uintptr_t)f->buffer + BUFFER_SIZE);
    xfer_stream_open(&f->stream, &setup);
}

static inline void fused_open(struct fused *f, size_t read_last, size_t write_last)
{
    fused_open_with(f, fused_setup(f, read_last, write_last));
}

static inline void fused_close_when_ended(struct fused *f)
{
    if (f->stream.ended != XFER_END_NONE)
        xfer_stream_close(&f->stream);
}

static inline ssize_t fused_read(struct fused *f, void *buffer, size_t count)
{
    struct xfer_stream *s = &f->stream;
    if (xfer_stream_serve(s, buffer, count))
        return (ssize_t)count;
    if (xfer_stream_is_open(s)) {
        ssize_t n = xfer_stream_read(s, buffer, count);
        fused_close_when_ended(f);
        if (n != XFER_STREAM_END)
            return n;
    }
    f->passed++;
    ssize_t n = read(f->in, buffer, count);
    return n < 0 ? -errno : n;
}

static inline ssize_t fused_write(struct fused *f, const void *buffer, size_t count)
{
    struct xfer_stream *s = &f->stream;
    if (xfer_stream_accept(s, buffer, count))
        return (ssize_t)count;
    if (xfer_stream_is_open(s)) {
        ssize_t n = xfer_stream_write(s, buffer, count);
        fused_close_when_ended(f);
        if (n != XFER_STREAM_END)
            return n;
    }
    if (xfer_stream_owes(s)) {
        int rc = xfer_stream_retry(s);
        if (rc < 0)
            return rc;
    }
    f->passed++;
    ssize_t n = write(f->out, buffer, count);
    return n < 0 ? -errno : n;
}

static inline int fused_close(struct fused *f)
{
    return xfer_stream_is_open(&f->stream) ? xfer_stream_close(&f->stream) : 0;
}

/* ---- files ---------------------------------------------------------------------------------- */

static inline int open_source(uint64_t seed, uint64_t size)
{
    char *path = scratch_path("in");
    make_random(path, seed, size);
    int fd = open(path, O_RDWR);
    cr_assert(fd >= 0);
    return fd;
}

static inline int open_destination(void)
{
    int fd = open(scratch_path("out"), O_RDWR | O_CREAT | O_TRUNC, 0644);
    cr_assert(fd >= 0);
    return fd;
}

static inline off_t offset_of(int fd)
{
    return lseek(fd, 0, SEEK_CUR);
}

static inline off_t size_of(int fd)
{
    struct stat st;
    cr_assert(fstat(fd, &st) == 0);
    return st.st_size;
}

#endif
