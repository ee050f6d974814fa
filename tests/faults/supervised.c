/*
 * A3, A5, B10, B13, C5, F1: the program lives under a filter whose supervisor answers calls in the kernel's
 * place: those of the library alone, or whoever reads and writes the two files. Plain and the library's run
 * are told the same.
 */
#include "faults.h"

enum { SIZE = 100000, CHUNK = 4096, SOURCE_FD = 50, DESTINATION_FD = 51, SKIPPED = 77 };

static char *source;

static void begin(void)
{
    source = scratch_path("source");
    make_random(source, 34, SIZE);
}

struct tally {
    long asked, answered, answered_armed;
};

/* Under one rule or two. Skips the test where there is no such supervision. */
static struct outcome supervised(const char *rule, const char *second, bool shim, struct tally tally[2])
{
    char *path = scratch_path("tally");
    const char *args[16] = {victim("fault_inject"), path, rule}, **end = args + 3;
    if (second)
        *end++ = second;
    const char *program[] = {"--", victim("fault_copy"), source, "out", text("%d", CHUNK), "stack", "high"};
    memcpy(end, program, sizeof program);
    struct run what = {.args = args, .cwd = scratch(), .shim = shim, .timeout = 20};
    struct outcome outcome = run(&what);
    if (exit_code(outcome.status) == SKIPPED)
        cr_skip_test("no supervised filters here");
    cr_assert(!outcome.timed_out, "%s: timed out", rule);
    memset(tally, 0, 2 * sizeof *tally);
    FILE *file = fopen(path, "r");
    cr_assert(file, "%s: no tally; %s", rule, outcome.err);
    for (int i = 0; i < 2; i++)
        if (fscanf(file, "%ld %ld %ld", &tally[i].asked, &tally[i].answered, &tally[i].answered_armed) != 3)
            break;
    fclose(file);
    return outcome;
}

static void expect_copy(const struct outcome *outcome, const char *rule)
{
    cr_assert(outcome->status == 0, "%s: exit %d; %s%s", rule, exit_code(outcome->status), outcome->out,
              outcome->err);
    char *difference = file_difference(scratch_path("out"), source);
    cr_assert(!difference, "%s: %s", rule, difference);
}

/* Each call that the library makes, but for those that carry the bytes. */
static const int calls[] = {
    SYS_close,
    SYS_fstat,
    SYS_lseek,
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_ioctl,
    SYS_pread64,
    SYS_madvise,
    SYS_getpid,
    SYS_fcntl,
    SYS_getppid,
    SYS_sigaltstack,
    SYS_fstatfs,
    SYS_prctl,
    SYS_waitid,
    SYS_openat,
    SYS_readlinkat,
    SYS_unshare,
    SYS_prlimit64,
    SYS_kcmp,
    SYS_gettid,
    SYS_tgkill,
    SYS_newfstatat,
    SYS_clone,
    SYS_clock_gettime,
    SYS_wait4,
    SYS_exit_group,
    SYS_copy_file_range,
    SYS_process_vm_readv,
    451 /* cachestat */,
};
enum { CALLS = sizeof calls / sizeof *calls };

/* A descriptor that could not be closed stays open. A process that cannot exit does not. */
static bool is_refused_for_good(int call)
{
    return call == SYS_close || call == SYS_exit_group;
}

static void refuse_library(bool in_trial)
{
    begin();
    struct tally tally[2];
    struct outcome base = supervised(text("%d:library:1:1:-1", SYS_reboot), NULL, true, tally);
    expect_copy(&base, "no rule");
    assert_sessions(base);
    int made = 0, kept_away = 0;
    for (int c = 0; c < CALLS; c++) {
        long asked = 0;
        for (int e = 0; e < FAULT_ERRORS; e++) {
            if (is_refused_for_good(calls[c]) || (!fault_all() && (c + e) % 3 != 0))
                continue;
            char *rule = text("%d:library:1:0:%d", calls[c], -fault_errors[e]);
            char *trial = text("%d:trial:1:0:%d", calls[c], -fault_errors[e]);
            struct outcome outcome =
                in_trial ? supervised(trial, NULL, true, tally) : supervised(rule, trial, true, tally);
            expect_copy(&outcome, rule);
            cr_assert_str_eq(outcome.out, base.out, "%s: %s", rule, outcome.out);
            cr_assert(tally[0].asked == tally[0].answered, "%s", rule);
            asked += tally[0].asked;
            kept_away += outcome.report.sessions == 0;
        }
        made += asked > 0;
    }
    cr_assert(made >= 15, "only %d of these calls are made", made);
    cr_assert(in_trial || kept_away >= 20, "only %d refusals kept a session away", kept_away);
}

Test(faults_supervised, B10_C5_each_call_of_the_library_is_refused, .timeout = 300)
{
    refuse_library(false);
}

/* The process in which the library tries its calls first. */
Test(faults_supervised, B13_C5_each_call_of_the_trial_is_refused, .timeout = 300)
{
    refuse_library(true);
}

/* The two runs under the same rule, and what the program was told in both. */
static void both_told(const char *rule, bool exact, int *in_session)
{
    struct tally tally[2];
    struct outcome outcomes[2];
    for (int shim = 0; shim < 2; shim++) {
        outcomes[shim] = supervised(rule, NULL, shim, tally);
        expect_copy(&outcomes[shim], rule);
        cr_assert(tally[0].answered > 0, "%s: no fault", rule);
    }
    assert_sessions(outcomes[1]);
    *in_session += tally[0].answered_armed > 0;
    if (exact)
        cr_assert_str_eq(outcomes[1].out, outcomes[0].out, "%s: plain says %s, the shim %s", rule,
                         outcomes[0].out, outcomes[1].out);
}

Test(faults_supervised, A5_F1_an_error_of_a_write_is_told_as_plain_tells_it, .timeout = 120)
{
    begin();
    int in_session = 0, tried = 0;
    for (int at = 2; at <= 5; at++)
        for (int e = 0; e < FAULT_ERRORS; e++)
            for (int times = 1; times <= 2; times++, tried++)
                both_told(text("%d:%d:%d:%d:%d", SYS_write, DESTINATION_FD, at, times, -fault_errors[e]),
                          true, &in_session);
    cr_assert(in_session == tried, "%d of %d in a session", in_session, tried);
}

Test(faults_supervised, A5_an_error_of_a_read_is_told_as_plain_tells_it, .timeout = 120)
{
    begin();
    int in_session = 0;
    for (int e = 0; e < FAULT_ERRORS; e++)
        both_told(text("%d:%d:2:1:%d", SYS_read, SOURCE_FD, -fault_errors[e]), true, &in_session);
    cr_assert(in_session == FAULT_ERRORS, "%d in a session", in_session);
}

Test(faults_supervised, A3_a_destination_that_takes_less, .timeout = 120)
{
    static const char *const answers[] = {"1", "7", "4095", "less"};
    begin();
    int in_session = 0, tried = 0;
    for (int at = 2; at <= 6; at++)
        for (int a = 0; a < 4; a++)
            for (int times = 0; times <= 3; times++, tried++)
                /* Byte by byte only for a while. */
                both_told(text("%d:%d:%d:%d:%s", SYS_write, DESTINATION_FD, at,
                               times
                                   ?: a < 2 ? 100
                                            : 0,
                               answers[a]),
                          true, &in_session);
    /* A session's few writes may be over before the fifth or sixth. */
    cr_assert(in_session * 10 >= tried * 8, "%d of %d in a session", in_session, tried);
}

Test(faults_supervised, A3_A4_a_source_that_gives_less, .timeout = 120)
{
    static const char *const answers[] = {"1", "7", "4095", "less", "0"};
    begin();
    struct tally tally[2];
    int in_session = 0;
    for (int at = 1; at <= 3; at++)
        for (int a = 0; a < 5; a++)
            for (int times = 0; times <= 1; times++) {
                char *rule = text("%d:%d:%d:%d:%s", SYS_pread64, SOURCE_FD, at, times, answers[a]);
                struct outcome outcome = supervised(rule, NULL, true, tally);
                expect_copy(&outcome, rule);
                in_session += tally[0].answered_armed > 0;
            }
    cr_assert(in_session >= 20, "%d in a session", in_session);
    /* The reads that the program sees. */
    for (int a = 0; a < 4; a++)
        both_told(text("%d:%d:2:1:%s", SYS_read, SOURCE_FD, answers[a]), true, &in_session);
}
