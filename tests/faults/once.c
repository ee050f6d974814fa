/*
 * A3..A6, B6, B10, B11, C3, C5, F1: system calls of the library that fail, fall short or do nothing, one by
 * one, in a session that writes.
 */
#include "sweep.h"

enum { SIZE = 100000, CHUNK = 4096 };

static char *source;

static void begin(void)
{
    source = scratch_path("source");
    make_random(source, 31, SIZE);
}

static struct faulted copy(const char *fault, const char *word, const char *word2)
{
    return fault_run(fault, ARGS(victim("fault_copy"), source, "out", text("%d", CHUNK), word, word2),
                     scratch());
}

Test(faults_once, B10_C5_each_call_fails_once_odd, .timeout = 300)
{
    begin();
    sweep(&(struct sweep){.word = "handler", .source = source, .out = scratch_path("out"), .chunk = CHUNK}, 0,
          2);
}

Test(faults_once, B10_C5_each_call_fails_once_even, .timeout = 300)
{
    begin();
    sweep(&(struct sweep){.word = "handler", .source = source, .out = scratch_path("out"), .chunk = CHUNK}, 1,
          2);
}

Test(faults_once, B10_C5_each_call_fails_once_with_an_alternate_stack_odd, .timeout = 300)
{
    begin();
    sweep(&(struct sweep){.word = "stack", .source = source, .out = scratch_path("out"), .chunk = CHUNK}, 0,
          2);
}

Test(faults_once, B10_C5_each_call_fails_once_with_an_alternate_stack_even, .timeout = 300)
{
    begin();
    sweep(&(struct sweep){.word = "stack", .source = source, .out = scratch_path("out"), .chunk = CHUNK}, 1,
          2);
}

static const char *const shorts[] = {"1", "7", "4095", "less"};

/* One short count, and every count short from there on. */
static void short_counts(long number)
{
    begin();
    struct faulted base = copy(NULL, "handler", NULL);
    int before, armed;
    fault_count(&base, number, &before, &armed);
    cr_assert(armed > 0, "no such call in a session");
    for (int at = 1; at <= armed; at++)
        for (int s = 0; s < 4; s++)
            for (int every = 0; every < 2; every++) {
                char *fault = text("%d:%d:%s:%ld", before + at, !every, shorts[s], number);
                struct faulted result = copy(fault, "handler", NULL);
                cr_assert(result.outcome.status == 0, "%s: exit %d; %s", fault,
                          exit_code(result.outcome.status), result.outcome.err);
                cr_assert(result.injected_armed > 0, "%s: no fault in a session", fault);
                cr_assert_str_eq(result.outcome.out, base.outcome.out, "%s: %s", fault, result.outcome.out);
                char *difference = file_difference(scratch_path("out"), source);
                cr_assert(!difference, "%s: %s", fault, difference);
                fault_free(&result);
            }
}

Test(faults_once, A3_short_writes, .timeout = 120)
{
    short_counts(SYS_write);
}

Test(faults_once, A3_short_reads_of_the_window, .timeout = 120)
{
    short_counts(SYS_pread64);
}

/* A window that is read as empty is not the end: read itself says where that is. */
Test(faults_once, A4_a_read_of_the_window_gives_nothing, .timeout = 120)
{
    begin();
    struct faulted base = copy(NULL, "handler", NULL);
    int before, armed;
    fault_count(&base, SYS_pread64, &before, &armed);
    cr_assert(armed > 1);
    for (int at = 1; at <= armed; at++)
        for (int every = 0; every < 2; every++) {
            char *fault = text("%d:%d:0:%d", before + at, !every, SYS_pread64);
            struct faulted result = copy(fault, "handler", NULL);
            cr_assert(result.injected_armed > 0, "%s: no fault in a session", fault);
            cr_assert_str_eq(result.outcome.out, base.outcome.out, "%s: %s", fault, result.outcome.out);
            char *difference = file_difference(scratch_path("out"), source);
            cr_assert(!difference, "%s: %s", fault, difference);
        }
}

enum { OLD = 200000, START = 5000 };

static void make_old(void)
{
    make_random(scratch_path("out"), 32, OLD);
}

/* The old content with the source's first `count` bytes behind START. */
static void expect_within_old(size_t count, const char *what)
{
    size_t size;
    char *now = file_read(scratch_path("out"), &size), *old = malloc(OLD), *in = file_read(source, NULL);
    fill_random(old, OLD, 32, 0);
    memcpy(old + START, in, count);
    cr_assert(size == OLD, "%s: %zu bytes", what, size);
    cr_assert(memcmp(now, old, OLD) == 0, "%s: other bytes", what);
    free(now), free(old), free(in);
}

/* Goes on at the exact byte: in the middle of longer old content, after any error on any write. */
Test(faults_once, A5_F1_each_error_on_each_write_in_longer_old_content, .timeout = 120)
{
    begin();
    make_old();
    struct faulted base = copy(NULL, "keep", NULL);
    int before, armed;
    fault_count(&base, SYS_write, &before, &armed);
    cr_assert(armed > 2);
    expect_within_old(SIZE, "no fault");
    for (int at = 1; at <= armed; at++)
        for (int e = 0; e < FAULT_ERRORS; e++)
            for (int times = 1; times <= 3; times += 2) {
                if (!fault_all() && (at + e + times / 2) % 2)
                    continue;
                int error = fault_errors[e];
                char *what = text("%s on write %d, %d times", strerrorname_np(error), at, times);
                make_old();
                struct faulted result =
                    copy(text("%d:%d:%d:%d", before + at, times, -error, SYS_write), "keep", NULL);
                cr_assert(result.injected_armed > 0, "%s: no fault in a session", what);
                expect_within_old(SIZE, what);
                const char *out = result.outcome.out;
                int seen = fault_lines(out, text("write: %s", strerrorname_np(error)));
                cr_assert(seen > 0 && fault_lines(out, "write: ") == seen, "%s: %s", what, out);
                cr_assert(strstr(out, text("told %d, source at %d\n", SIZE, SIZE)), "%s: %s", what, out);
                fault_free(&result);
            }
}

/* The program gives up at the first error. The destination is a prefix, nobody is behind or ahead of what the
 * program was told, and what is missing for good was told.
 */
Test(faults_once, A6_F1_C3_a_loop_that_stops_at_an_error, .timeout = 120)
{
    begin();
    struct faulted base = copy(NULL, "stop", NULL);
    int before, armed;
    fault_count(&base, SYS_write, &before, &armed);
    for (int at = 1; at <= armed; at++)
        for (int e = 0; e < FAULT_ERRORS; e++)
            for (int ever = 0; ever < 2; ever++) {
                int error = fault_errors[e];
                const char *name = strerrorname_np(error);
                char *what = text("%s on write %d, %s", name, at, ever ? "for ever" : "once");
                struct faulted result =
                    copy(text("%d:%d:%d:%d", before + at, !ever, -error, SYS_write), "stop", NULL);
                const char *out = result.outcome.out, *line = strstr(out, "told ");
                long told, in_at, size = file_size(scratch_path("out"));
                cr_assert(line && sscanf(line, "told %ld, source at %ld", &told, &in_at) == 2, "%s", out);
                cr_assert(result.injected_armed > 0, "%s: no fault in a session", what);
                cr_assert(fault_lines(out, text("write: %s", name)) == 1, "%s: %s", what, out);
                cr_assert(in_at == told + CHUNK || in_at == SIZE, "%s: %s", what, out);
                bool all = size == told;
                cr_assert(all || (ever && size < told && fault_lines(out, text("close: %s", name)) == 1),
                          "%s: %ld in the file; %s", what, size, out);
                char *difference = prefix_difference(scratch_path("out"), source);
                cr_assert(!difference, "%s: %s", what, difference);
                fault_free(&result);
            }
}

/* A destination that takes nothing, says "again" for ever, or is interrupted for ever. */
Test(faults_once, B6_no_progress_costs_no_time, .timeout = 120)
{
    begin();
    struct faulted base = copy(NULL, "handler", NULL);
    int before, armed;
    fault_count(&base, SYS_write, &before, &armed);
    static const int answers[] = {0, -EAGAIN, -EINTR};
    for (int at = 1; at <= armed; at++)
        for (int i = 0; i < 3; i++) {
            char *fault = text("%d:0:%d:%d", before + at, answers[i], SYS_write);
            struct faulted result = copy(fault, "handler", NULL);
            double cpu =
                (double)result.outcome.usage.ru_utime.tv_sec + (double)result.outcome.usage.ru_stime.tv_sec +
                (double)(result.outcome.usage.ru_utime.tv_usec + result.outcome.usage.ru_stime.tv_usec) / 1e6;
            cr_assert(result.injected_armed > 0, "%s: no fault in a session", fault);
            cr_assert(result.injected < 100 && cpu < 1, "%s: %d calls, %.2f s", fault, result.injected, cpu);
            char *difference = prefix_difference(scratch_path("out"), source);
            cr_assert(!difference, "%s: %s", fault, difference);
            fault_free(&result);
        }
}

/* Descriptors run out for the library alone, at its first use of one or later: plain, and the reason is told.
 */
Test(faults_once, B11_no_descriptor_for_the_library, .timeout = 120)
{
    begin();
    static const int errors[] = {EMFILE, ENFILE, ENOMEM};
    int reasons = 0;
    for (int from = 1; from <= 4; from++)
        for (int i = 0; i < 6; i++) {
            /* For ever means that no report can be written. */
            char *fault = text("%d:%d:%d:%d", from, i / 3, -errors[i % 3], SYS_openat);
            struct faulted result = copy(fault, "handler", NULL);
            cr_assert(result.outcome.status == 0 && result.injected > 0, "%s: %s", fault, result.outcome.err);
            cr_assert(fault_lines(result.outcome.out, "descriptor") == 0, "%s: %s", fault,
                      result.outcome.out);
            char *difference = file_difference(scratch_path("out"), source);
            cr_assert(!difference, "%s: %s", fault, difference);
            reasons += report_reason(&result.outcome.report, "no-descriptor") > 0;
            fault_free(&result);
        }
    cr_assert(reasons >= 4, "the reason was told %d times", reasons);
}
