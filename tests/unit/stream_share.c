/* The fused stream where blocks are shared: whatever copy_file_range answers, the destination is the plain
 * loop's. */
#include "fused.h"

#include <linux/fs.h>

enum { BLOCK = 4096, SIZE = 3000000, OLD = 4000000 };

/* The answers of copy_file_range: a count is what it takes at most, a negative one is -errno. Behind the last
 * one, everything is taken. */
static struct {
    long answer[8];
    int answers, calls;
    size_t shared;
    bool aligned; /* every range so far began and ended at a block, but where a short count came before */
    bool dirty;
    int moved_by_others; /* the destination's offset, after so many calls */
} kernel_has;

static bool answer(long number, const long *argument, long *result)
{
    if (number == 451 /* cachestat */) {
        uint64_t *stat = (uint64_t *)argument[2];
        memset(stat, 0, 5 * sizeof(*stat));
        stat[1] = kernel_has.dirty;
        *result = 0;
        return true;
    }
    if (number != SYS_copy_file_range)
        return false;
    int at = kernel_has.calls++;
    off_t from = *(const off_t *)argument[1], to = lseek((int)argument[2], 0, SEEK_CUR);
    size_t count = (size_t)argument[4];
    kernel_has.aligned &= from % BLOCK == 0 && to % BLOCK == 0 && count % BLOCK == 0;
    if (at < kernel_has.answers && kernel_has.answer[at] <= 0) {
        *result = kernel_has.answer[at];
        return true;
    }
    if (at < kernel_has.answers && (size_t)kernel_has.answer[at] < count)
        count = (size_t)kernel_has.answer[at];
    char *bytes = malloc(count);
    cr_assert(pread((int)argument[0], bytes, count, from) == (ssize_t)count);
    cr_assert(write((int)argument[2], bytes, count) == (ssize_t)count);
    free(bytes);
    kernel_has.shared += count;
    *result = (long)count;
    return true;
}

static struct fused *begin(size_t chunk, off_t in_at, off_t out_at, size_t unshared_largest)
{
    int in = open_source(5, SIZE);
    make_random(scratch_path("out"), 6, OLD);
    int out = open(scratch_path("out"), O_RDWR);
    lseek(in, in_at, SEEK_SET);
    lseek(out, out_at, SEEK_SET);
    gate_hook = answer;
    kernel_has.aligned = true;
    kernel_has.calls = 0;
    kernel_has.shared = 0;
    struct fused *f = fused_new(in, out);
    struct xfer_stream_setup setup = fused_setup(f, chunk, chunk);
    setup.share = (struct xfer_share){.on = true, .block = BLOCK};
    setup.unshared_largest = unshared_largest;
    fused_open_with(f, setup);
    return f;
}

static void copy_all(struct fused *f, size_t chunk)
{
    ssize_t n;
    while ((n = fused_read(f, f->buffer, chunk)) > 0)
        cr_assert(fused_write(f, f->buffer, (size_t)n) == n);
    cr_assert(n == 0, "read: %zd", n);
    cr_assert(fused_close(f) == 0);
}

static void expect_plain(const struct fused *f, off_t in_at, off_t out_at, const char *what)
{
    size_t size;
    char *copy = file_read(scratch_path("out"), &size), *source = file_read(scratch_path("in"), NULL);
    char *expected = malloc(OLD);
    fill_random(expected, OLD, 6, 0);
    memcpy(expected + out_at, source + in_at, (size_t)(SIZE - in_at));
    cr_assert(size == OLD, "%s: size %zu", what, size);
    for (size_t at = 0; at < OLD; at++)
        cr_assert(copy[at] == expected[at], "%s: byte %zu", what, at);
    cr_assert(offset_of(f->in) == SIZE && offset_of(f->out) == out_at + SIZE - in_at, "%s: offsets", what);
    free(expected);
}

Test(stream_share, A10_whole_blocks_are_shared_head_and_tail_written)
{
    static const struct {
        size_t chunk;
        off_t in, out;
    } loops[] = {{512, 0, 0},      {4096, 0, 8192},   {10240, 0, 0},       {1000, 0, 0},
                 {4096, 100, 100}, {512, 4000, 8096}, {65536, 12288, 4096}};
    for (int i = 0; i < 7; i++) {
        struct fused *f = begin(loops[i].chunk, loops[i].in, loops[i].out, FILL_LARGEST);
        copy_all(f, loops[i].chunk);
        char *what = text("chunk %zu from %ld to %ld", loops[i].chunk, (long)loops[i].in, (long)loops[i].out);
        expect_plain(f, loops[i].in, loops[i].out, what);
        cr_expect(kernel_has.aligned, "%s: a range that is not of whole blocks", what);
        cr_expect(kernel_has.shared > SIZE * 9 / 10, "%s: %zu bytes shared", what, kernel_has.shared);
        cr_expect(f->stream.stats.shared == kernel_has.shared, "%s", what);
    }
}

Test(stream_share, A3_short_counts_are_not_the_end)
{
    static const long counts[] = {1, 7, 511, 4095, 4096, 36864, 40000};
    for (int i = 0; i < 7; i++)
        for (int nth = 0; nth < 3; nth++) {
            kernel_has.answers = nth + 1;
            for (int j = 0; j <= nth; j++)
                kernel_has.answer[j] = j == nth ? counts[i] : 1 << 30;
            struct fused *f = begin(4096, 0, 4096, FILL_LARGEST);
            copy_all(f, 4096);
            expect_plain(f, 0, 4096, text("%ld at call %d", counts[i], nth));
        }
}

Test(stream_share, A5_F5_F6_no_errno_of_the_engine_reaches_the_program)
{
    static const int errors[] = {EXDEV,  EOPNOTSUPP, ENOTTY, ETXTBSY, EOVERFLOW, EPERM, EIO,    ENOSPC,
                                 EDQUOT, EINVAL,     EBADF,  ENOSYS,  EINTR,     EFBIG, EAGAIN, 0};
    for (int i = 0; i < 16; i++)
        for (int nth = 0; nth < 3; nth++) {
            kernel_has.answers = nth + 1;
            for (int j = 0; j <= nth; j++)
                kernel_has.answer[j] = j == nth ? -errors[i] : j == 0 ? 5000 : 1 << 30;
            struct fused *f = begin(512, 0, 512 * 8, FILL_LARGEST);
            copy_all(f, 512);
            char *what = text("errno %d at call %d", errors[i], nth);
            expect_plain(f, 0, 512 * 8, what);
            cr_expect(kernel_has.calls == nth + 1, "%s: asked %d times", what, kernel_has.calls);
            cr_expect(f->stream.share.why_not == XFER_UNSHARED_REFUSED, "%s", what);
        }
}

Test(stream_share, A10_offsets_that_never_meet_are_noticed_at_once)
{
    struct fused *f = begin(512, 0, 512, FILL_LARGEST);
    copy_all(f, 512);
    expect_plain(f, 0, 512, "misaligned");
    cr_expect(kernel_has.calls == 0 && f->stream.share.why_not == XFER_UNSHARED_POSITION);
}

Test(stream_share, A20_a_dirty_source_is_written)
{
    kernel_has.dirty = true;
    struct fused *f = begin(512, 0, 0, FILL_LARGEST);
    copy_all(f, 512);
    expect_plain(f, 0, 0, "dirty");
    cr_expect(kernel_has.calls == 0 && f->stream.share.why_not == XFER_UNSHARED_DIRTY);
}

Test(stream_share, C7_large_pieces_end_the_stream_when_nothing_is_shared)
{
    kernel_has.answers = 1;
    kernel_has.answer[0] = -EXDEV;
    struct fused *f = begin(65536, 0, 0, 0);
    copy_all(f, 65536);
    expect_plain(f, 0, 0, "large");
    cr_expect(f->stream.ended == XFER_END_UNSHARED, "%d", f->stream.ended);
    cr_expect(f->passed > 20, "%ld calls were left to the kernel", f->passed);
}

static bool fails_to_write(long number, const long *argument, long *result)
{
    if (number == SYS_write) {
        *result = -ENOSPC;
        return true;
    }
    return answer(number, argument, result);
}

Test(stream_share, C3_a_head_that_cannot_be_written_is_the_loops_error)
{
    struct fused *f = begin(512, 512, 512, FILL_LARGEST);
    for (int i = 0; i < 3; i++) {
        cr_assert(fused_read(f, f->buffer, 512) == 512);
        cr_assert(fused_write(f, f->buffer, 512) == 512);
    }
    gate_hook = fails_to_write;
    ssize_t n = 512;
    int turns = 0;
    for (; n == 512 && turns < 5000; turns++) {
        cr_assert(fused_read(f, f->buffer, 512) == 512);
        n = fused_write(f, f->buffer, 512);
    }
    cr_expect(n == -ENOSPC, "%zd after %d turns", n, turns);
    gate_hook = answer;
    cr_expect(xfer_stream_retry(&f->stream) == 0);
    cr_expect(xfer_stream_owes(&f->stream) == 0);
}

static int lease_asked, lease_lost_at;

/* The lease is gone from a certain question about it on; the writer has been there by then. */
static bool loses_the_lease(long number, const long *argument, long *result)
{
    if (number == SYS_fcntl && argument[1] == F_GETLEASE) {
        *result = lease_asked++ >= lease_lost_at ? F_UNLCK : F_RDLCK;
        return true;
    }
    if (number == SYS_fcntl && argument[1] == F_SETLEASE) {
        *result = 0;
        return true;
    }
    bool mine = answer(number, argument, result);
    if (number == SYS_copy_file_range && *result > 0 && lease_asked >= lease_lost_at) {
        char *other = calloc(1, (size_t)*result);
        off_t at = lseek((int)argument[2], 0, SEEK_CUR) - *result;
        cr_assert(pwrite((int)argument[2], other, (size_t)*result, at) == *result);
        free(other);
    }
    return mine;
}

Test(stream_share, A25_a_range_that_was_shared_while_the_lease_was_lost_is_written_over)
{
    for (lease_lost_at = 0; lease_lost_at < 8; lease_lost_at++) {
        struct fused *f = begin(512, 512, 512, FILL_LARGEST);
        lease_asked = 0;
        gate_hook = loses_the_lease;
        f->stream.share.leased = true;
        copy_all(f, 512);
        expect_plain(f, 512, 512, text("lost at question %d", lease_lost_at));
        cr_expect(f->stream.share.why_not == XFER_UNSHARED_WRITER);
        cr_expect(f->stream.stats.shared < (uint64_t)SIZE);
    }
}

static long leases;

static bool watches_leases(long number, const long *argument, long *result)
{
    if (number == SYS_fcntl && argument[1] == F_SETLEASE) {
        leases += argument[2] == F_UNLCK ? -1 : 1;
        *result = 0;
        return true;
    }
    if (number == SYS_fcntl && argument[1] == F_GETLEASE) {
        *result = F_RDLCK;
        return true;
    }
    return answer(number, argument, result);
}

Test(stream_share, C5_the_lease_is_dropped_with_the_stream_and_after_the_flush)
{
    struct fused *f = begin(512, 0, 0, FILL_LARGEST);
    gate_hook = watches_leases;
    leases = 1;
    f->stream.share.leased = true;
    for (int i = 0; i < 100; i++) {
        cr_assert(fused_read(f, f->buffer, 512) == 512);
        cr_assert(fused_write(f, f->buffer, 512) == 512);
    }
    cr_expect(leases == 1);
    cr_assert(fused_close(f) == 0);
    cr_expect(leases == 0 && !f->stream.share.leased && !f->stream.share.on);
    cr_expect(kernel_has.shared > 0);
}
