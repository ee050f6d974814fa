/*
 * B2: signal handlers, masks and alternate stacks of the program beside the guard, which lives by a signal of
 * its own.
 */
#include "support.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MIB = 1 << 20 };

static const char *source;

static void source_of(uint64_t size)
{
    source = scratch_path("source");
    make_random(source, 2, size);
}

static void link_source(const char *directory, void *unused)
{
    (void)unused;
    cr_assert(symlink(source, text("%s/in", directory)) == 0, "symlink");
}

static struct outcome both(const char *const *args)
{
    struct run what = {.args = args};
    struct outcome outcome = run_both(&what, link_source, NULL);
    cr_assert(outcome.status == 0, "exit %d, %s", exit_code(outcome.status), outcome.err);
    return outcome;
}

static void whole(const struct outcome *outcome, const char *destination)
{
    char *difference = file_difference(scratch_path("shim/%s", destination), source);
    cr_assert(!difference, "%s", difference);
    cr_assert(!strstr(outcome->out, "no tick"), "the timer did not run: %s", outcome->out);
}

Test(hazard_b, B2_handler_with_full_mask_from_the_start)
{
    source_of(32 * MIB);
    struct run what = {.args = ARGS(victim("b2_full_mask_handler"), "in", "out", "/dev/null", "before")};
    struct outcome outcome = run_both(&what, link_source, NULL);
    whole(&outcome, "out");
    assert_stays_out(outcome, "handler-mask");
}

Test(hazard_b, B2_handler_with_full_mask_writes_its_log)
{
    source_of(32 * MIB);
    for (int i = 0; i < 2; i++) {
        struct run what = {
            .args = ARGS(victim("b2_full_mask_handler"), source, "out", "log", i ? "middle" : "before"),
            .cwd = scratch_dir("shim"),
            .shim = true,
        };
        struct outcome outcome = run(&what);
        cr_assert(outcome.status == 0, "exit %d, %s", exit_code(outcome.status), outcome.err);
        cr_assert_str_eq(outcome.out, text("%d bytes, ticked, log whole\n", 32 * MIB));
        whole(&outcome, "out");
        cr_assert(report_reason(&outcome.report, "handler-mask") > 0, "%s", outcome.report.raw);
        if (i)
            assert_sessions(outcome);
    }
}

Test(hazard_b, B2_sigsys_blocked)
{
    source_of(4 * MIB);
    struct outcome outcome = both(ARGS(victim("b2_sigsys_blocked"), "in", "out", "before"));
    whole(&outcome, "out");
    assert_stays_out(outcome, "sigsys-blocked");
    outcome = both(ARGS(victim("b2_sigsys_blocked"), "in", "out", "middle"));
    whole(&outcome, "out");
    assert_sessions(outcome);
    cr_assert(report_reason(&outcome.report, "sigsys-blocked") > 0, "%s", outcome.report.raw);
}

Test(hazard_b, B2_own_sigsys_handler)
{
    source_of(5 * MIB);
    static const char *const modes[] = {"before", "middle", "ignore"};
    for (int i = 0; i < 3; i++) {
        struct outcome outcome = both(ARGS(victim("b2_sigsys_own_handler"), "in", "out", modes[i]));
        whole(&outcome, "out");
        cr_assert(strstr(outcome.out, i == 2 ? "caught 0, kept" : "caught 8, kept"), "%s", outcome.out);
        cr_assert(report_reason(&outcome.report, "sigsys-taken") > 0, "%s", outcome.report.raw);
        if (i)
            assert_sessions(outcome);
    }
}

Test(hazard_b, B2_small_alternate_stack)
{
    source_of(32 * MIB);
    struct outcome outcome = both(ARGS(victim("b2_alternate_stack"), "in", "out", "small", "handler"));
    whole(&outcome, "out");
    cr_assert(strstr(outcome.out, "overflow 0"), "%s", outcome.out);
    assert_stays_out(outcome, "alt-stack");
    /* Nobody uses it, so that a larger one may stand in its place for the time of a session. */
    outcome = both(ARGS(victim("b2_alternate_stack"), "in", "out", "small", "none"));
    whole(&outcome, "out");
    assert_sessions(outcome);
}

Test(hazard_b, B2_large_alternate_stack)
{
    source_of(32 * MIB);
    struct outcome outcome = both(ARGS(victim("b2_alternate_stack"), "in", "out", "large", "handler"));
    whole(&outcome, "out");
    assert_sessions(outcome);
    outcome = both(ARGS(victim("b2_alternate_stack"), "in", "out", "large", "none"));
    whole(&outcome, "out");
    assert_sessions(outcome);
}

Test(hazard_b, B2_alternate_stack_that_has_become_the_buffer)
{
    source_of(4 * MIB);
    struct outcome outcome = both(ARGS(victim("b2_alternate_stack"), "in", "out", "large", "reused"));
    whole(&outcome, "out");
    assert_sessions(outcome);
}

Test(hazard_b, B2_handler_that_switches_coroutines)
{
    static const char *const modes[] = {"plain", "asking"};
    source_of(16 * MIB);
    for (int i = 0; i < 2; i++) {
        struct outcome outcome = both(ARGS(victim("b2_preempted"), "in", "out", "out2", modes[i]));
        whole(&outcome, "out");
        whole(&outcome, "out2");
        assert_sessions(outcome);
        cr_assert_str_eq(outcome.out, text("switched, torn 0, alternate stack none, handler %s\n", modes[i]));
    }
}

static const char *const chunks[] = {"512", "4096", "1000"};

Test(hazard_b, B2_jump_out_of_the_loop_and_resume)
{
    source_of(64 * MIB);
    for (int i = 0; i < 8; i++) {
        struct outcome outcome =
            both(ARGS(victim("b2_jump_out"), "in", "out", "resume", i % 2 ? "savemask" : "nomask",
                      chunks[i / 2 % 2], i / 4 ? "alternate" : "ordinary"));
        whole(&outcome, "out");
        assert_sessions(outcome);
        cr_assert(strstr(outcome.out, "jumped, torn 0") && strstr(outcome.out, "complete"), "%s",
                  outcome.out);
    }
}

/* Every piece of A is a piece of the source, further on than the one before. Returns how many are missing. */
static long pieces_missing(const char *path, size_t chunk)
{
    size_t size, whole_size;
    char *have = file_read(path, &size), *all = file_read(source, &whole_size);
    long missing = 0;
    size_t at = 0;
    for (size_t i = 0; i < size; i += chunk, at += chunk) {
        size_t length = size - i < chunk ? size - i : chunk;
        while (at + length <= whole_size && memcmp(have + i, all + at, length) != 0) {
            at += chunk;
            missing++;
        }
        cr_assert(at + length <= whole_size, "the piece at %zu is torn, doubled or out of order", i);
    }
    return missing;
}

/* How many pieces a jump loses depends on the moment; so the two runs are not compared with each other. */
Test(hazard_b, B2_jump_out_of_the_loop_and_go_on_without_a_call)
{
    source_of(64 * MIB);
    for (int i = 0; i < 12; i++) {
        const char *directory = scratch_dir("shim");
        struct run what = {
            .args = ARGS(victim("b2_jump_out"), source, "out", "forward", i % 2 ? "savemask" : "nomask",
                         chunks[i / 2 % 3], i / 6 ? "alternate" : "ordinary"),
            .cwd = directory,
            .shim = true,
        };
        struct outcome outcome = run(&what);
        cr_assert(outcome.status == 0, "exit %d, %s", exit_code(outcome.status), outcome.err);
        cr_assert_str_eq(outcome.out, text("jumped, torn 0, source at %d, complete\n", 64 * MIB));
        assert_sessions(outcome);
        pieces_missing(text("%s/out", directory), strtoul(chunks[i / 2 % 3], NULL, 10));
    }
}

static void timer(const char *deed)
{
    static const char *const flags[] = {"restart", "nodefer", "resethand", "plain"};
    source_of(64 * MIB);
    for (int i = 0; i < 4; i++) {
        const char *directory = scratch_dir("shim");
        struct run what = {
            .args = ARGS(victim("b2_timer_handlers"), source, "out", "other", deed, flags[i]),
            .cwd = directory,
            .shim = true,
        };
        /* The handler's own file grows with the number of ticks, which differs; the victim itself compares.
         */
        struct outcome outcome = run(&what);
        cr_assert(outcome.status == 0, "%s %s: exit %d, %s", deed, flags[i], exit_code(outcome.status),
                  outcome.err);
        cr_assert_str_eq(outcome.out, text("%d bytes, ticked, wrong 0, other file whole\n"
                                           "dispositions changed 0, mask same, alternate stack same\n",
                                           64 * MIB));
        assert_sessions(outcome);
        whole(&outcome, "out");
    }
}

Test(hazard_b, B2_timer_whose_handler_does_nothing)
{
    timer("nothing");
}

Test(hazard_b, B2_timer_whose_handler_writes)
{
    timer("write");
}

Test(hazard_b, B2_timer_whose_handler_reads)
{
    timer("read");
}

Test(hazard_b, B2_timer_whose_handler_copies)
{
    timer("copy");
}

/* SIGSYS is then blocked or open from one instruction to the next, without a call that says so. */
Test(hazard_b, B2_timer_whose_handler_changes_the_mask_that_it_returns_to)
{
    timer("context");
}

Test(hazard_b, B2_timer_whose_handler_looks_at_the_signal_state)
{
    timer("probe");
}
