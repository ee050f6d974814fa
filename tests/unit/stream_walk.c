/* A random walk: a program that reads, writes, changes, repeats and forgets at random, through a fused stream
 * that opens and closes at random, beside a plain copy of it on other files. After every call both have told
 * the program the same, and whenever the stream is closed both files and all offsets are the same.
 */
#include "fused.h"

#include <stdio.h>

enum { SIZE = 3000000, STEPS = 20000, KEEP = 262144 };

/* Numerical Recipes' 64-bit linear congruential generator. */
static uint64_t state;

static uint32_t random_below(uint32_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((state >> 33) % n);
}

static size_t random_size(void)
{
    static const size_t usual[] = {1, 2, 100, 511, 512, 1000, 4095, 4096, 4097, 8192, 16384, 65535};
    return random_below(3) ? usual[random_below(12)] : 1 + random_below(9000);
}

struct twin {
    int in, out;
};

/* What the program has read and not yet written, as a program with a buffer of its own holds it. */
struct program {
    unsigned char *held;
    size_t have;
};

static int failing;

/* Now and then an engine takes less, or fails; the plain twin has no such trouble, so the walk goes on with a
 * retry. */
static ssize_t moody_move(const struct xfer_piece *piece, int fd)
{
    const void *bytes = piece->bytes;
    size_t count = piece->count;
    if (failing && random_below(4) == 0)
        return random_below(2) ? -ENOSPC : write(fd, bytes, 1 + random_below((uint32_t)count));
    return write(fd, bytes, count);
}

static const struct xfer_engine moody = {"moody", moody_move};

static void expect_same_state(struct fused *f, struct twin plain, int step)
{
    cr_assert(offset_of(f->in) == offset_of(plain.in), "step %d: source at %ld, plain %ld", step,
              offset_of(f->in), offset_of(plain.in));
    cr_assert(offset_of(f->out) == offset_of(plain.out), "step %d: destination at %ld, plain %ld", step,
              offset_of(f->out), offset_of(plain.out));
    cr_assert(size_of(f->out) == size_of(plain.out), "step %d: size", step);
}

static void close_stream(struct fused *f, struct twin plain, int step)
{
    fused_close(f);
    for (int tries = 0; xfer_stream_owes(&f->stream); tries++) {
        cr_assert(tries < 1000);
        xfer_stream_retry(&f->stream);
    }
    expect_same_state(f, plain, step);
}

static size_t memcmp_at(const unsigned char *a, const unsigned char *b, size_t n)
{
    size_t at = 0;
    while (at < n && a[at] == b[at])
        at++;
    return at;
}

static void step_read(struct fused *f, struct twin plain, struct program *p, size_t count, int step)
{
    static unsigned char expected[65536];
    if (p->have + count > KEEP)
        return;
    size_t place = random_below(4) ? 0 : 65536 * random_below(4);
    unsigned char *buffer = f->buffer + place;
    ssize_t n = fused_read(f, buffer, count), m = read(plain.in, expected, count);
    cr_assert(n == m, "step %d: read of %zu gave %zd, plain %zd", step, count, n, m);
    cr_assert(memcmp(buffer, expected, (size_t)n) == 0,
              "step %d: read of %zu gave other bytes at %zu, source at %ld, plain %ld, open %d, ended %d",
              step, count, memcmp_at(buffer, expected, (size_t)n), offset_of(f->in), offset_of(plain.in),
              xfer_stream_is_open(&f->stream), f->stream.ended);
    memcpy(p->held + p->have, buffer, (size_t)n);
    p->have += (size_t)n;
}

static void step_write(struct fused *f, struct twin plain, struct program *p, size_t count, int step)
{
    if (count > p->have)
        count = p->have;
    if (count == 0)
        return;
    unsigned char *buffer = f->buffer + 65536 * (4 + random_below(4));
    memcpy(buffer, p->held, count);
    if (random_below(40) == 0)
        buffer[random_below((uint32_t)count)] ^= 1 + random_below(255);
    cr_assert(write(plain.out, buffer, count) == (ssize_t)count);
    for (size_t done = 0, tries = 0; done < count; tries++) {
        ssize_t n = fused_write(f, buffer + done, count - done);
        cr_assert(tries < 1000 && n != 0, "step %d", step);
        cr_assert(n > 0 || failing, "step %d: %zd", step, n);
        cr_assert(n <= (ssize_t)(count - done), "step %d: took %zd of %zu", step, n, count - done);
        done += n > 0 ? (size_t)n : 0;
    }
    memmove(p->held, p->held + count, p->have - count);
    p->have -= count;
}

static void reopen(struct fused *f, struct twin plain, size_t read_size, size_t write_size, int step)
{
    close_stream(f, plain, step);
    struct xfer_stream_setup setup = fused_setup(f, read_size, write_size);
    setup.engine = &moody;
    setup.fill_first = 4096 << random_below(4);
    setup.fill_largest = 65536 << random_below(3);
    fused_open_with(f, setup);
}

static void walk(uint64_t seed)
{
    struct program p = {.held = malloc(KEEP)};
    char *plain_in = scratch_path("plain-in"), *plain_out = scratch_path("plain-out");
    state = seed;
    failing = seed % 3 == 2;
    make_random(plain_in, 7, SIZE);
    struct twin plain = {open(plain_in, O_RDWR), open(plain_out, O_RDWR | O_CREAT | O_TRUNC, 0644)};
    struct fused *f = fused_new(open_source(7, SIZE), open_destination());
    size_t read_size = 4096, write_size = 4096;
    long served = 0;
    for (int step = 0; step < STEPS; step++) {
        unsigned what = random_below(1000);
        if (what < 8) {
            read_size = random_size();
            write_size = random_below(2) ? read_size : random_size();
        } else if (what < 20) {
            reopen(f, plain, read_size, write_size, step);
        } else if (what < 24) {
            close_stream(f, plain, step);
        } else if (what < 28) { /* the program begins anew somewhere */
            close_stream(f, plain, step);
            off_t to = random_below(SIZE);
            lseek(f->in, to, SEEK_SET);
            lseek(plain.in, to, SEEK_SET);
            p.have = random_below(2) ? p.have : 0;
        } else if (what < 31) { /* or what it reads has been changed meanwhile */
            close_stream(f, plain, step);
            char bytes[10000];
            off_t at = offset_of(f->in) + random_below(20000) - 5000;
            fill_random(bytes, sizeof(bytes), state, 0);
            if (at >= 0 && at + (off_t)sizeof(bytes) < SIZE) {
                cr_assert(pwrite(f->in, bytes, sizeof(bytes), at) > 0);
                cr_assert(pwrite(plain.in, bytes, sizeof(bytes), at) > 0);
            }
        } else if (what < 40) {
            clock_ms += random_below(250);
        } else if (what < 44) { /* forgets what it has read */
            p.have = 0;
        } else if (what < 520 || p.have == 0) {
            step_read(f, plain, &p, what % 50 ? read_size : random_size(), step);
        } else {
            step_write(f, plain, &p, what % 50 ? write_size : random_size(), step);
        }
        served += xfer_stream_is_open(&f->stream);
        if (offset_of(plain.in) >= SIZE && random_below(20) == 0) {
            close_stream(f, plain, step);
            lseek(f->in, 0, SEEK_SET);
            lseek(plain.in, 0, SEEK_SET);
        }
    }
    close_stream(f, plain, STEPS);
    char *difference = file_difference(scratch_path("out"), plain_out);
    cr_expect(difference == NULL, "seed %lu: %s", seed, difference);
    cr_expect(served > STEPS / 20, "seed %lu: the stream was open for %ld steps only", seed, served);
    close(f->in);
    close(f->out);
    close(plain.in);
    close(plain.out);
    fused_free(f);
    free(p.held);
}

Test(stream_walk, C1_C2_program_and_files_see_what_plain_shows)
{
    for (uint64_t seed = 0; seed < 12; seed += 3) {
        walk(seed);
        walk(seed + 1);
    }
}

Test(stream_walk, A3_C3_the_same_with_a_destination_that_fails_and_takes_less)
{
    for (uint64_t seed = 2; seed < 14; seed += 3)
        walk(seed);
}
