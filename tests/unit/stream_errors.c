/* The fused stream when the destination fails or takes less: every answer an engine can give. */
#include "fused.h"

#include <stdio.h>

/* Answers for the calls of an engine: a count is what the kernel takes at most, a negative one is -errno.
 * Behind the last one, everything is taken.
 */
static struct {
    const long *answer;
    int answers, calls;
} script;

static ssize_t scripted_move(const struct xfer_piece *piece, int fd)
{
    const void *bytes = piece->bytes;
    size_t count = piece->count;
    long answer = script.calls < script.answers ? script.answer[script.calls] : (long)count;
    script.calls++;
    if (answer < 0)
        return answer;
    return write(fd, bytes, (size_t)answer < count ? (size_t)answer : count);
}

static const struct xfer_engine scripted = {"scripted", scripted_move};

#define SCRIPT(...)                                                                                          \
    do {                                                                                                     \
        static const long answers_[] = {__VA_ARGS__};                                                        \
        script.answer = answers_;                                                                            \
        script.answers = sizeof(answers_) / sizeof(*answers_);                                               \
        script.calls = 0;                                                                                    \
    } while (0)

enum { SIZE = 400000, OLD = 600000 };

/* The destination holds longer old content, and writing starts in its middle: A5. */
enum { START = 12345 };

static struct fused *begin(size_t chunk)
{
    int in = open_source(5, SIZE);
    make_random(scratch_path("out"), 6, OLD);
    int out = open(scratch_path("out"), O_RDWR);
    lseek(out, START, SEEK_SET);
    struct fused *f = fused_new(in, out);
    struct xfer_stream_setup setup = fused_setup(f, chunk, chunk);
    setup.engine = &scripted;
    fused_open_with(f, setup);
    return f;
}

/* The destination is its old content with the source's first `count` bytes at START. */
static void expect_destination(size_t count, const char *what)
{
    size_t size, source_size;
    char *copy = file_read(scratch_path("out"), &size), *source = file_read(scratch_path("in"), &source_size);
    char *old = malloc(OLD);
    fill_random(old, OLD, 6, 0);
    memcpy(old + START, source, count);
    cr_assert(size == OLD, "%s: size %zu", what, size);
    size_t at = 0;
    while (at < OLD && copy[at] == old[at])
        at++;
    cr_expect(at == OLD, "%s: differs at %zu, %zu bytes are expected from %d", what, at, count, START);
    free(copy);
    free(source);
    free(old);
}

static void finish(struct fused *f)
{
    close(f->in);
    close(f->out);
    fused_free(f);
}

/* write(2) in full, as every program does it. Returns 0 or -errno; `*done` counts. */
static int write_all(struct fused *f, const unsigned char *buffer, size_t count, size_t *done)
{
    while (count > 0) {
        ssize_t n = fused_write(f, buffer, count);
        if (n < 0)
            return (int)n;
        cr_assert(n > 0 && n <= (ssize_t)count);
        *done += (size_t)n;
        buffer += n;
        count -= (size_t)n;
    }
    return 0;
}

/* Copies to the end of the source or to the first error, which it returns. */
static int copy(struct fused *f, size_t chunk, size_t *done)
{
    *done = 0;
    for (;;) {
        ssize_t n = fused_read(f, f->buffer, chunk);
        cr_assert(n >= 0);
        if (n == 0)
            return 0;
        int rc = write_all(f, f->buffer, (size_t)n, done);
        if (rc < 0)
            return rc;
    }
}

Test(stream_errors, A3_partial_counts_never_lose_or_double_a_byte)
{
    size_t chunks[] = {512, 4096, 5000, 32768};
    for (int c = 0; c < 4; c++) {
        long less = (long)chunks[c] - 1;
        long all[] = {1, 7, 4095, less, 1, 1, 1, 4096, 36864, 3136, 7, less, 2, 3, 5, 4095, 100000, 1};
        for (int shift = 0; shift < 18; shift++) {
            long rotated[18];
            for (int i = 0; i < 18; i++)
                rotated[i] = all[(i + shift) % 18];
            script.answer = rotated;
            script.answers = 18;
            script.calls = 0;
            struct fused *f = begin(chunks[c]);
            size_t done;
            cr_assert(copy(f, chunks[c], &done) == 0);
            cr_expect(done == SIZE);
            cr_expect(fused_close(f) == 0);
            cr_expect(script.calls >= 18);
            expect_destination(SIZE, text("chunk %zu shift %d", chunks[c], shift));
            cr_expect(offset_of(f->in) == SIZE && offset_of(f->out) == START + SIZE);
            finish(f);
        }
    }
}

Test(stream_errors, A3_every_flush_takes_one_byte_at_a_time_for_a_while)
{
    long *ones = malloc(70000 * sizeof(*ones));
    for (int i = 0; i < 70000; i++)
        ones[i] = 1;
    script.answer = ones;
    script.answers = 70000;
    struct fused *f = begin(4096);
    size_t done;
    cr_assert(copy(f, 4096, &done) == 0);
    cr_expect(fused_close(f) == 0);
    expect_destination(SIZE, "one byte at a time");
}

/* Each errno on the 1st, 2nd, 3rd and 6th call of the engine, alone and behind a partial count. What the
 * program was told is written is in the file, or owed; after a retry everything is there, at the exact byte.
 */
static void expect_error(int error, int position, long partial, size_t chunk)
{
    char *what =
        text("%s on call %d behind %ld, chunk %zu", strerrorname_np(error), position, partial, chunk);
    long answers[16];
    int n = 0;
    while (n < position)
        answers[n++] = chunk > 1000 ? 100000 : 3000;
    if (partial)
        answers[n++] = partial;
    answers[n++] = -error;
    answers[n++] = -error;
    script.answer = answers;
    script.answers = n;
    script.calls = 0;
    struct fused *f = begin(chunk);
    size_t done;
    int rc = copy(f, chunk, &done);
    cr_assert(rc == -error, "%s: the loop saw %d", what, rc);
    fused_close(f);
    size_t owed = xfer_stream_owes(&f->stream);
    cr_expect(owed <= done);
    expect_destination(done - owed, what);
    script.answers = 0; /* there is space again */
    cr_expect(xfer_stream_retry(&f->stream) == 0);
    cr_expect(xfer_stream_owes(&f->stream) == 0);
    expect_destination(done, what);
    cr_expect(offset_of(f->out) == (off_t)(START + done), "%s", what);
    finish(f);
}

Test(stream_errors, A5_C3_each_error_on_the_first_second_and_later_calls)
{
    int errors[] = {ENOSPC, EDQUOT, EIO, EFBIG, EINTR, EAGAIN, EPERM, EBADF, ENOMEM, ESTALE};
    for (unsigned e = 0; e < sizeof(errors) / sizeof(*errors); e++) {
        int positions[] = {0, 1, 2, 5};
        for (int p = 0; p < 4; p++) {
            expect_error(errors[e], positions[p], 0, 4096);
            expect_error(errors[e], positions[p], 1, 4096);
            expect_error(errors[e], positions[p], 4095, 512);
        }
    }
}

Test(stream_errors, C3_a_failed_flush_is_reported_by_a_write_and_owed)
{
    SCRIPT(100000, -ENOSPC);
    struct fused *f = begin(512);
    size_t done;
    cr_expect(copy(f, 512, &done) == -ENOSPC);
    size_t owed = xfer_stream_owes(&f->stream);
    cr_expect(owed > 0 && owed < 65536, "%zu owed", owed);
    cr_expect(!xfer_stream_is_open(&f->stream));
    cr_expect(f->stream.error == -ENOSPC && f->stream.ended == XFER_END_WRITE_ERROR);
    expect_destination(done - owed, "failed flush");
}

Test(stream_errors, C3_every_retry_that_fails_reports_anew_and_one_that_is_partial_goes_on_from_there)
{
    SCRIPT(100000, -ENOSPC, -EDQUOT, 10, -EIO, 7);
    struct fused *f = begin(512);
    size_t done;
    cr_assert(copy(f, 512, &done) == -ENOSPC);
    size_t owed = xfer_stream_owes(&f->stream);
    cr_expect(xfer_stream_retry(&f->stream) == -EDQUOT);
    cr_expect(xfer_stream_owes(&f->stream) == owed);
    cr_expect(xfer_stream_retry(&f->stream) == -EIO);
    cr_expect(xfer_stream_owes(&f->stream) == owed - 10);
    expect_destination(done - owed + 10, "after the second retry");
    cr_expect(xfer_stream_retry(&f->stream) == 0);
    expect_destination(done, "after the third retry");
    cr_expect(xfer_stream_retry(&f->stream) == 0);
    cr_expect(script.calls == 7, "%d calls of the engine", script.calls);
}

Test(stream_errors, C3_a_promise_that_was_given_up_is_not_written_any_more)
{
    SCRIPT(100000, -ENOSPC);
    struct fused *f = begin(512);
    size_t done;
    cr_assert(copy(f, 512, &done) == -ENOSPC);
    size_t owed = xfer_stream_owes(&f->stream);
    xfer_stream_forget(&f->stream);
    cr_expect(xfer_stream_owes(&f->stream) == 0 && xfer_stream_retry(&f->stream) == 0);
    expect_destination(done - owed, "given up");
}

Test(stream_errors, C3_error_at_the_close_is_told_and_owed)
{
    SCRIPT(100000, -EDQUOT);
    struct fused *f = begin(512);
    for (int i = 0; i < 10; i++) {
        cr_assert(fused_read(f, f->buffer, 512) == 512);
        cr_assert(fused_write(f, f->buffer, 512) == 512);
    }
    cr_expect(fused_close(f) == -EDQUOT);
    cr_expect(xfer_stream_owes(&f->stream) == 9 * 512);
    cr_expect(offset_of(f->in) == 5120);
    expect_destination(512, "before the retry");
    cr_expect(xfer_stream_retry(&f->stream) == 0);
    expect_destination(5120, "after the retry");
}

/* A flush that fails inside a write after some of that write's bytes is a partial count; when the program
 * then gets the rest written, the old error is over, and what is promised after it is flushed at the end like
 * any other.
 */
Test(stream_errors, F8_C3_an_error_that_has_passed_does_not_hold_up_later_promises)
{
    SCRIPT(100000, 1000, -ENOSPC);
    struct fused *f = begin(4096);
    cr_assert(fused_read(f, f->buffer, 4096) == 4096);
    cr_assert(fused_write(f, f->buffer, 4096) == 4096); /* proves the buffer */
    cr_assert(fused_read(f, f->buffer, 4096) == 4096);
    clock_ms += XFER_STREAM_OLDEST_MS + 1; /* so that the flush comes in the middle of the window */
    ssize_t n = fused_write(f, f->buffer, 4096);
    cr_assert(n == 1000, "%zd", n);
    clock_ms -= XFER_STREAM_OLDEST_MS + 1;
    cr_assert(fused_write(f, f->buffer + 1000, 3096) == 3096);
    cr_expect(fused_close(f) == 0, "the error of an earlier write came back");
    cr_expect(xfer_stream_owes(&f->stream) == 0, "%zu bytes were not even tried",
              xfer_stream_owes(&f->stream));
    expect_destination(8192, "after the error was over");
}

Test(stream_errors, B6_the_write_engine_turns_zero_progress_into_an_error)
{
    int pair[2];
    cr_assert(pipe(pair) == 0);
    cr_expect(xfer_engine_write.move(&(struct xfer_piece){.bytes = "abc", .in = -1, .count = 3}, pair[1]) ==
              3);
    cr_expect(xfer_engine_write.move(&(struct xfer_piece){.bytes = "abc", .in = -1, .count = 0}, pair[1]) ==
              0);
    close(pair[1]);
    cr_expect(xfer_engine_write.move(&(struct xfer_piece){.bytes = "abc", .in = -1, .count = 3}, pair[1]) ==
              -EBADF);
}

static bool write_nothing(long number, const long *argument, long *result)
{
    (void)argument;
    *result = 0;
    return number == SYS_write;
}

Test(stream_errors, B6_a_destination_that_takes_nothing_is_no_endless_loop)
{
    gate_hook = write_nothing;
    struct xfer_piece piece = {.bytes = "abc", .in = -1, .count = 3};
    cr_expect(xfer_engine_write.move(&piece, 1) == -EIO);
    struct fused *f = fused_new(open_source(5, SIZE), open_destination());
    fused_open(f, 4096, 4096);
    cr_assert(fused_read(f, f->buffer, 4096) == 4096);
    cr_expect(fused_write(f, f->buffer, 4096) == -EIO);
    cr_expect(!xfer_stream_is_open(&f->stream));
    cr_expect(size_of(f->out) == 0);
    cr_expect(offset_of(f->in) == 4096);
}

Test(stream_errors, C3_error_of_a_write_through_takes_nothing)
{
    SCRIPT(-ENOSPC);
    struct fused *f = begin(4096);
    cr_assert(fused_read(f, f->buffer, 4096) == 4096);
    cr_expect(fused_write(f, f->buffer, 4096) == -ENOSPC);
    cr_expect(xfer_stream_owes(&f->stream) == 0);
    cr_expect(offset_of(f->out) == START);
    expect_destination(0, "first write");
}

Test(stream_errors, F1_dev_full_tells_the_first_write)
{
    struct fused *f = fused_new(open_source(5, SIZE), open("/dev/full", O_WRONLY));
    fused_open(f, 4096, 4096);
    cr_assert(fused_read(f, f->buffer, 4096) == 4096);
    cr_expect(fused_write(f, f->buffer, 4096) == -ENOSPC);
}
