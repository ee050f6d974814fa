/*
 * A3..A5, F5, F6: an XFS whose copy_file_range, lease or questions about shared blocks fail, fall short or do
 * nothing. The program never hears of it.
 */
#include "sweep.h"

enum { MIB = 1 << 20, SIZE = 3 * MIB + 1234, CHUNK = 65536 };

static char *source, *out;

/* A source whose blocks are on the disk. */
static void begin(void)
{
    char *point = mount_fresh("xfs", (uint64_t)1 << 30);
    source = text("%s/in", point);
    out = text("%s/out", point);
    make_random(source, 33, SIZE);
    sync();
}

static struct faulted copy(const char *fault, const char *word)
{
    return fault_run(fault, ARGS(victim("fault_copy"), source, out, text("%d", CHUNK), word), scratch());
}

Test(faults_sharing, B10_C5_each_call_fails_once, .timeout = 300)
{
    begin();
    sweep(&(struct sweep){.word = "handler", .source = source, .out = out, .chunk = CHUNK}, 0, 1);
}

static void expect_copy(const struct faulted *result, const struct faulted *base, const char *fault)
{
    cr_assert(result->outcome.status == 0, "%s: exit %d; %s", fault, exit_code(result->outcome.status),
              result->outcome.err);
    cr_assert(result->injected_armed > 0, "%s: no fault in a session", fault);
    cr_assert_str_eq(result->outcome.out, base->outcome.out, "%s: %s", fault, result->outcome.out);
    char *difference = file_difference(out, source);
    cr_assert(!difference, "%s: %s", fault, difference);
}

static int shares(const struct faulted *base)
{
    int before, armed;
    fault_count(base, SYS_copy_file_range, &before, &armed);
    cr_assert(before == 0 && armed > 1, "%d ranges in a session, %d before", armed, before);
    return armed;
}

Test(faults_sharing, A3_A4_short_counts_and_nothing, .timeout = 120)
{
    static const char *const answers[] = {"1", "7", "4095", "4096", "36864", "less", "0"};
    begin();
    struct faulted base = copy(NULL, "handler");
    int count = shares(&base);
    for (int at = 1; at <= count; at++)
        for (int a = 0; a < 7; a++)
            /* A byte at a time would be millions of calls. */
            for (int every = 0; every < (a < 3 ? 1 : 2); every++) {
                char *fault = text("%d:%d:%s:%d", at, !every, answers[a], SYS_copy_file_range);
                struct faulted result = copy(fault, "handler");
                expect_copy(&result, &base, fault);
                fault_free(&result);
            }
}

Test(faults_sharing, A5_F5_no_errno_of_an_engine_is_told, .timeout = 120)
{
    static const int errors[] = {EXDEV,  EOPNOTSUPP, ENOTTY, ETXTBSY, EOVERFLOW, ENOSYS,
                                 EINVAL, EPERM,      EACCES, EBADF,   EIO,       ENOSPC,
                                 EDQUOT, EFBIG,      EINTR,  EAGAIN,  ENOMEM,    EISDIR};
    begin();
    struct faulted base = copy(NULL, "handler");
    int count = shares(&base);
    for (int at = 1; at <= count; at++)
        for (unsigned e = 0; e < sizeof errors / sizeof *errors; e++) {
            char *fault = text("%d:%d:%d:%d", at, e % 2, -errors[e], SYS_copy_file_range);
            struct faulted result = copy(fault, "handler");
            expect_copy(&result, &base, fault);
            fault_free(&result);
        }
}

/* Calls of this number in the run. */
static int calls(const struct faulted *result, long number, long second)
{
    int count = 0;
    for (int i = 0; i < result->calls; i++)
        count += result->call[i].number == number && (second == 0 || result->call[i].second == second);
    return count;
}

Test(faults_sharing, F6_a_refusal_is_remembered_for_the_pair, .timeout = 60)
{
    begin();
    struct faulted base = copy(NULL, "twice");
    cr_assert(calls(&base, SYS_copy_file_range, 0) > 2, "nothing was shared");
    static const int errors[] = {ENOSYS, EOPNOTSUPP, EXDEV, EINVAL, EPERM};
    for (int e = 0; e < 5; e++) {
        struct faulted result = copy(text("1:0:%d:%d", -errors[e], SYS_copy_file_range), "twice");
        cr_assert_str_eq(result.outcome.out, base.outcome.out, "%s", result.outcome.out);
        cr_assert(calls(&result, SYS_copy_file_range, 0) == 1, "%s: asked %d times",
                  strerrorname_np(errors[e]), calls(&result, SYS_copy_file_range, 0));
        char *difference = file_difference(text("%s2", out), source);
        cr_assert(!difference, "%s", difference);
        fault_free(&result);
    }
}

/* FICLONERANGE, with a range that is none, tells whether a pair of file systems can share at all. */
Test(faults_sharing, F6_the_question_is_asked_once, .timeout = 60)
{
    enum { CLONE_RANGE = 0x4020940d };
    begin();
    struct faulted base = copy(NULL, "twice");
    cr_assert(calls(&base, SYS_ioctl, CLONE_RANGE) == 1, "asked %d times",
              calls(&base, SYS_ioctl, CLONE_RANGE));
    int at = 0;
    while (base.call[at].number != SYS_ioctl || base.call[at].second != CLONE_RANGE)
        at++;
    static const int errors[] = {ENOSYS, EOPNOTSUPP, EXDEV, ENOTTY, EPERM};
    for (int e = 0; e < 5; e++) {
        struct faulted result = copy(text("%d:1:%d", at + 1, -errors[e]), "twice");
        cr_assert_str_eq(result.outcome.out, base.outcome.out, "%s", result.outcome.out);
        cr_assert(calls(&result, SYS_ioctl, CLONE_RANGE) == 1 && calls(&result, SYS_copy_file_range, 0) == 0,
                  "%s: asked %d times, %d ranges", strerrorname_np(errors[e]),
                  calls(&result, SYS_ioctl, CLONE_RANGE), calls(&result, SYS_copy_file_range, 0));
        fault_free(&result);
    }
}
