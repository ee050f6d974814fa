/* xfer_copy between files when its engines fail: whatever they answer, the copy is the plain one. */
#include "transfer_gate.h"

#include <signal.h>
#include <sys/socket.h>

enum { SIZE = 3000001, OLD = 4000000 };

static const struct {
    enum xfer_way way;
    long call;
} ways[] = {
    {XFER_CLONE, SYS_ioctl},
    {XFER_RANGE, SYS_copy_file_range},
    {XFER_SPLICE, SYS_splice},
};
enum { WAY_COUNT = sizeof(ways) / sizeof(*ways) };

struct copy {
    int in, out;
    off_t in_at, out_at;
    struct xfer_result result;
};

/* The destination holds longer old content: A5. */
static struct copy begin(off_t in_at, off_t out_at)
{
    script_reset();
    make_random(scratch_path("in"), 5, SIZE);
    make_random(scratch_path("out"), 6, OLD);
    struct copy c = {
        open(scratch_path("in"), O_RDONLY), open(scratch_path("out"), O_RDWR), in_at, out_at, {0}};
    lseek(c.in, in_at, SEEK_SET);
    lseek(c.out, out_at, SEEK_SET);
    return c;
}

static int copy_by(struct copy *c, enum xfer_way way)
{
    struct xfer_policy policy = {.ways = XFER_WAY(way)};
    return xfer_copy(c->in, NULL, c->out, NULL, XFER_TO_END, &policy, &c->result);
}

/* `count` bytes of the source are in the destination, both offsets behind them, the rest as it was. */
static void expect_moved(struct copy *c, size_t count, const char *what)
{
    size_t size;
    char *copy = file_read(scratch_path("out"), &size), *source = file_read(scratch_path("in"), NULL);
    char *wanted = malloc(OLD);
    fill_random(wanted, OLD, 6, 0);
    memcpy(wanted + c->out_at, source + c->in_at, count);
    cr_assert(size == OLD, "%s: size %zu", what, size);
    cr_assert(memcmp(copy, wanted, OLD) == 0, "%s: bytes differ", what);
    cr_assert(c->result.bytes == count, "%s: %lu bytes told, %zu wanted", what, c->result.bytes, count);
    cr_assert(lseek(c->in, 0, SEEK_CUR) == c->in_at + (off_t)count, "%s: source's offset %ld", what,
              lseek(c->in, 0, SEEK_CUR));
    cr_assert(lseek(c->out, 0, SEEK_CUR) == c->out_at + (off_t)count, "%s: destination's offset", what);
    free(copy);
    free(source);
    free(wanted);
    close(c->in);
    close(c->out);
}

Test(transfer_faults, A3_short_counts_lose_nothing)
{
    static const long counts[] = {1, 7, 4095, SIZE - 1, 36864, 3136, 1, 100000};
    static const struct {
        enum xfer_way way;
        long call, other;
    } short_ways[] = {
        {XFER_RANGE, SYS_copy_file_range, SYS_copy_file_range},
        {XFER_SPLICE, SYS_splice, SYS_splice},
        {XFER_PLAIN, SYS_read, SYS_write},
        {XFER_PLAIN, SYS_write, SYS_write},
    };
    for (int w = 0; w < 4; w++)
        for (int shift = 0; shift < 8; shift++) {
            struct copy c = begin(4096, 8192);
            struct script *s = script_of(short_ways[w].call);
            s->answers = 24;
            for (int i = 0; i < 24; i++)
                s->answer[i] = counts[(i + shift) % 8];
            *script_of(short_ways[w].other) = *s;
            cr_assert(copy_by(&c, short_ways[w].way) == 0);
            cr_assert(c.result.by[short_ways[w].way] > 0);
            expect_moved(&c, SIZE - 4096, text("way %d shift %d", short_ways[w].way, shift));
        }
}

Test(transfer_faults, A4_a_first_zero_is_not_the_end)
{
    for (int w = 0; w < WAY_COUNT; w++)
        for (int at = 1; at <= 3; at++) {
            struct copy c = begin(0, 4096);
            script_fail(ways[w].call, at, ZERO, FULL);
            if (ways[w].way == XFER_CLONE)
                continue; /* has no count to return */
            cr_assert(copy_by(&c, ways[w].way) == 0);
            expect_moved(&c, SIZE, text("way %d call %d", ways[w].way, at));
        }
}

Test(transfer_faults, A5_F5_any_error_goes_on_from_the_exact_byte)
{
    static const int errors[] = {EXDEV,  EOPNOTSUPP, ENOTTY, ETXTBSY, EOVERFLOW, EINVAL, EPERM,
                                 EACCES, EIO,        ENOSPC, EBADF,   EAGAIN,    EINTR,  ENOMEM};
    /* Refusals are remembered for a pair of devices, so each copy is on one of its own. */
    for (int e = 0; e < 14; e++)
        for (int w = 0; w < WAY_COUNT; w++)
            for (int at = 1; at <= 3; at++) {
                struct copy c = begin(12288, 4096);
                device++;
                script_fail(ways[w].call, at, -errors[e], FULL);
                int rc = copy_by(&c, ways[w].way);
                const char *what = text("way %d errno %d call %d", ways[w].way, errors[e], at);
                cr_assert(rc == 0, "%s: %d", what, rc);
                cr_assert(script_of(ways[w].call)->calls > 0, "%s: not called", what);
                expect_moved(&c, SIZE - 12288, what);
            }
}

Test(transfer_faults, A5_misaligned_and_alignable_places)
{
    static const off_t places[][2] = {{0, 1}, {1, 1}, {4095, 4095}, {100, 4196}, {512, 1024}, {SIZE, 0}};
    for (int p = 0; p < 6; p++) {
        struct copy c = begin(places[p][0], places[p][1]);
        cr_assert(xfer_copy(c.in, NULL, c.out, NULL, XFER_TO_END, NULL, &c.result) == 0);
        bool alike = places[p][0] % 4096 == places[p][1] % 4096 && places[p][0] < SIZE;
        cr_assert((c.result.by[XFER_CLONE] > 0) == alike, "place %d", p);
        expect_moved(&c, SIZE - (size_t)places[p][0], text("place %d", p));
        cr_assert(block_broken == 0);
    }
}

Test(transfer_faults, A6_what_a_full_destination_did_not_take_is_given_back)
{
    /* Every second splice goes to the destination; what write says is the last word. */
    for (int at = 2; at <= 6; at += 2) {
        struct copy c = begin(0, 0);
        script_fail(SYS_splice, at, -ENOSPC, -ENOSPC);
        script_fail(SYS_write, 1, -ENOSPC, -ENOSPC);
        cr_assert(copy_by(&c, XFER_SPLICE) == -ENOSPC);
        cr_assert(c.result.side == XFER_SIDE_DESTINATION && c.result.lost == 0);
        expect_moved(&c, (size_t)(at / 2 - 1) * 524288, text("call %d", at));
    }
    /* The destination takes a part of what is in the pipe. */
    struct copy c = begin(0, 0);
    struct script *s = script_of(SYS_splice);
    s->answer[0] = FULL;
    s->answer[1] = 1000;
    s->answers = 2;
    s->after = -EFBIG;
    cr_assert(copy_by(&c, XFER_SPLICE) == -EFBIG, "a signal was raised: not asked again");
    expect_moved(&c, 1000, "part");
}

Test(transfer_faults, A6_no_bytes_of_a_failed_copy_appear_in_the_next)
{
    struct copy c = begin(0, 0);
    script_fail(SYS_splice, 4, -EIO, FULL);
    cr_assert(copy_by(&c, XFER_SPLICE) == 0);
    expect_moved(&c, SIZE, "first");
    c = begin(8192, 0);
    cr_assert(copy_by(&c, XFER_SPLICE) == 0 && c.result.by[XFER_SPLICE] == SIZE - 8192);
    expect_moved(&c, SIZE - 8192, "second");
}

Test(transfer_faults, A10_a_clone_moves_offsets_and_leaves_the_rest)
{
    struct copy c = begin(8192, 4096);
    cr_assert(copy_by(&c, XFER_CLONE) == 0);
    /* The destination is longer: only whole blocks may be cloned. */
    cr_assert(c.result.by[XFER_CLONE] == (SIZE - 8192) / 4096 * 4096);
    cr_assert(block_broken == 0);
    expect_moved(&c, SIZE - 8192, "longer");

    /* It ends before the source does: the source's unaligned end is cloned too. */
    c = begin(0, 0);
    cr_assert(ftruncate(c.out, 8192) == 0);
    cr_assert(copy_by(&c, XFER_CLONE) == 0);
    cr_assert(c.result.by[XFER_CLONE] == SIZE && block_broken == 0);
    cr_assert(file_difference(scratch_path("in"), scratch_path("out")) == NULL);
    cr_assert(lseek(c.in, 0, SEEK_CUR) == SIZE && lseek(c.out, 0, SEEK_CUR) == SIZE);

    /* A range that ends in the middle of a block. */
    c = begin(0, 0);
    struct xfer_policy policy = {.ways = XFER_WAY(XFER_CLONE)};
    cr_assert(xfer_copy(c.in, NULL, c.out, NULL, 1000001, &policy, &c.result) == 0);
    cr_assert(c.result.by[XFER_CLONE] == 1000001 / 4096 * 4096 && block_broken == 0);
    expect_moved(&c, 1000001, "range");
}

Test(transfer_faults, A11_B8_one_call_is_not_asked_for_more_than_it_can_tell)
{
    const off_t size = ((off_t)5 << 30) + 123;
    script_reset();
    make_text(scratch_path("out"), "");
    int in = open(scratch_path("in"), O_RDWR | O_CREAT, 0600), out = open(scratch_path("out"), O_RDWR);
    cr_assert(ftruncate(in, size) == 0);
    /* Nobody is asked to move 5 GiB: the engine fails, and so does read. */
    script_fail(SYS_ioctl, 1, -EIO, FULL);
    script_fail(SYS_copy_file_range, 1, -EIO, FULL);
    script_fail(SYS_splice, 1, -EIO, FULL);
    script_fail(SYS_read, 1, -EIO, FULL);
    struct xfer_result result;
    cr_assert(xfer_copy(in, NULL, out, NULL, XFER_TO_END, NULL, &result) == -EIO);
    cr_assert(result.side == XFER_SIDE_SOURCE && result.bytes == 0);
    cr_expect(script_of(SYS_ioctl)->largest == 1 << 30, "%zu", script_of(SYS_ioctl)->largest);
    cr_expect(script_of(SYS_copy_file_range)->largest == 64 << 20);
    cr_expect(script_of(SYS_splice)->largest <= 512 << 10);
}

Test(transfer_faults, A11_counts_above_32_bits_are_exact)
{
    const off_t at = ((off_t)5 << 30) + 4096, size = at + 300001;
    script_reset();
    int in = open(scratch_path("in"), O_RDWR | O_CREAT, 0600);
    int out = open(scratch_path("out"), O_RDWR | O_CREAT, 0600);
    char *bytes = malloc(300001), *copy = malloc(300001);
    fill_random(bytes, 300001, 3, 0);
    cr_assert(pwrite(in, bytes, 300001, at) == 300001);
    for (int w = 0; w < 4; w++) {
        off_t from = at, to = at;
        struct xfer_policy policy = {.ways = w < 3 ? XFER_WAY(ways[w].way) : XFER_WAY(XFER_PLAIN)};
        cr_assert(ftruncate(out, 0) == 0);
        cr_assert(xfer_copy(in, &from, out, &to, XFER_TO_END, &policy, NULL) == 0);
        cr_assert(from == size && to == size && lseek(in, 0, SEEK_CUR) == 0 && lseek(out, 0, SEEK_CUR) == 0);
        cr_assert(pread(out, copy, 300001, at) == 300001 && memcmp(bytes, copy, 300001) == 0);
    }
}

Test(transfer_faults, B6_no_engine_is_asked_for_ever)
{
    static const long answers[] = {0, -EAGAIN, -EINTR};
    for (int a = 0; a < 3; a++)
        for (int w = 1; w < WAY_COUNT; w++) {
            struct copy c = begin(0, 0);
            script_fail(ways[w].call, 1, answers[a], answers[a]);
            cr_assert(copy_by(&c, ways[w].way) == 0);
            cr_assert(script_of(ways[w].call)->calls == 1);
            expect_moved(&c, SIZE, "refused");
        }
    struct copy c = begin(0, 0);
    script_fail(SYS_write, 1, ZERO, ZERO);
    cr_assert(copy_by(&c, XFER_PLAIN) == -EIO);
    expect_moved(&c, 0, "write of nothing");
}

static int calls_of_another(long number, enum xfer_way way)
{
    struct copy c = begin(0, 0);
    cr_assert(copy_by(&c, way) == 0);
    int calls = script_of(number)->calls;
    expect_moved(&c, SIZE, "again");
    return calls;
}

Test(transfer_faults, F6_a_call_that_is_missing_is_not_made_again)
{
    for (int w = 0; w < WAY_COUNT; w++) {
        struct copy c = begin(0, 0);
        script_fail(ways[w].call, 1, -ENOSYS, FULL);
        cr_assert(copy_by(&c, ways[w].way) == 0);
        expect_moved(&c, SIZE, "refused");
        cr_assert(calls_of_another(ways[w].call, ways[w].way) == 0);
    }
}

Test(transfer_faults, F6_a_refusal_is_for_the_pair)
{
    bool xfer_refused(enum xfer_way way, dev_t in, dev_t out);
    for (int w = 0; w < WAY_COUNT; w++) {
        struct copy c = begin(0, 0);
        script_fail(ways[w].call, 1, -EOPNOTSUPP, FULL);
        cr_assert(copy_by(&c, ways[w].way) == 0);
        expect_moved(&c, SIZE, "refused");
        cr_assert(calls_of_another(ways[w].call, ways[w].way) == 0);
        cr_assert(xfer_refused(ways[w].way, device, device));
        cr_assert(!xfer_refused(ways[w].way, device, device + 1));
    }
}

Test(transfer_faults, F6_a_full_disk_is_not_remembered)
{
    for (int w = 0; w < WAY_COUNT; w++) {
        struct copy c = begin(0, 0);
        script_fail(ways[w].call, 1, -ENOSPC, FULL);
        cr_assert(copy_by(&c, ways[w].way) == 0);
        expect_moved(&c, SIZE, "refused");
        cr_assert(calls_of_another(ways[w].call, ways[w].way) > 0);
    }
}

Test(transfer_faults, F4_what_write_says_is_reported)
{
    for (int w = 0; w < WAY_COUNT; w++) {
        struct copy c = begin(0, 0);
        script_fail(ways[w].call, 1, -EPERM, -EPERM);
        script_fail(SYS_write, 2, -EDQUOT, -EDQUOT);
        cr_assert(copy_by(&c, ways[w].way) == -EDQUOT && c.result.side == XFER_SIDE_DESTINATION);
        expect_moved(&c, 262144, "prefix");
    }
}

Test(transfer_faults, B4_a_broken_pipe_raises_one_signal)
{
    int end[2];
    script_reset();
    make_random(scratch_path("in"), 5, SIZE);
    int in = open(scratch_path("in"), O_RDONLY);
    cr_assert(socketpair(AF_UNIX, SOCK_STREAM, 0, end) == 0);
    close(end[0]);
    sigset_t set, pending;
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    sigprocmask(SIG_BLOCK, &set, NULL);
    struct xfer_policy policy = {.flags = XFER_BY_REFERENCE};
    struct xfer_result result;
    cr_assert(xfer_copy(in, NULL, end[1], NULL, XFER_TO_END, &policy, &result) == -EPIPE);
    cr_assert(result.side == XFER_SIDE_DESTINATION && lseek(in, 0, SEEK_CUR) == 0);
    cr_assert(script_of(SYS_sendfile)->calls == 1 && script_of(SYS_write)->calls == 0);
    cr_assert(sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE));
}
