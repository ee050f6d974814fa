/*
 * B11, B14, B15, D12: descriptors, stacks and memory that the program shares out in unusual ways.
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
    make_random(source, 15, size);
}

static void link_source(const char *directory, void *unused)
{
    (void)unused;
    cr_assert(symlink(source, text("%s/in", directory)) == 0, "symlink");
}

static struct outcome both(const char *const *args, const char *const *environment)
{
    struct run what = {.args = args, .env = environment};
    struct outcome outcome = run_both(&what, link_source, NULL);
    cr_assert(outcome.status == 0, "exit %d, %s", exit_code(outcome.status), outcome.err);
    return outcome;
}

static void whole(const char *name)
{
    char *difference = file_difference(scratch_path("shim/%s", name), source);
    cr_assert(!difference, "%s", difference);
}

Test(hazard_b, B11_no_descriptor_to_be_had)
{
    static const char *const modes[] = {"full", "low", "both"};
    source_of(3 * MIB);
    for (int i = 0; i < 3; i++) {
        struct outcome outcome = both(ARGS(victim("b11_no_descriptor_left"), "in", "out", modes[i]), NULL);
        whole("out");
        cr_assert(strstr(outcome.out, text("%d bytes, descriptors same", 3 * MIB)), "%s", outcome.out);
        if (strcmp(modes[i], "low") == 0)
            assert_sessions(outcome);
    }
}

Test(hazard_b, B14_first_call_traps_on_a_small_stack)
{
    source_of(4 * MIB);
    struct outcome outcome = both(ARGS(victim("b14_small_stacks"), "in", "out", "loop"), NULL);
    whole("out");
    assert_sessions(outcome);
    cr_assert(strstr(outcome.out, "stack 0 fits"), "%s", outcome.out);
}

Test(hazard_b, B14_handlers_that_ask_for_a_stack_that_is_not_there)
{
    static const char *const modes[] = {"loop", "inside", "swap"};
    source_of(4 * MIB);
    for (int i = 0; i < 3; i++) {
        struct outcome outcome =
            both(ARGS(victim("b14_small_stacks"), "in", "out", modes[i], "asking"), NULL);
        whole("out");
        assert_sessions(outcome);
        cr_assert(strstr(outcome.out, "stack 0 fits"), "%s: %s", modes[i], outcome.out);
    }
}

Test(hazard_b, B14_whole_loop_on_a_small_stack)
{
    source_of(4 * MIB);
    struct outcome outcome = both(ARGS(victim("b14_small_stacks"), "in", "out", "inside"), NULL);
    whole("out");
    assert_sessions(outcome);
    cr_assert(strstr(outcome.out, "stack 0 fits"), "%s", outcome.out);
}

Test(hazard_b, B14_reader_and_writer_on_small_stacks)
{
    source_of(4 * MIB);
    struct outcome outcome = both(ARGS(victim("b14_small_stacks"), "in", "out", "swap"), NULL);
    whole("out");
    assert_sessions(outcome);
    cr_assert(strstr(outcome.out, "stack 0 fits") && strstr(outcome.out, "stack 1 fits"), "%s", outcome.out);
}

Test(hazard_b, B15_child_in_the_same_memory_copies_too)
{
    static const char *const modes[] = {"vfork", "vfork-exec", "clone"};
    source_of(8 * MIB);
    for (int i = 0; i < 3; i++)
        for (int repeat = 0; repeat < 5; repeat++) {
            struct outcome outcome =
                both(ARGS(victim("b15_shared_memory_child"), "in", "out", "second", modes[i]), NULL);
            whole("out");
            whole("second");
            assert_sessions(outcome);
        }
}

Test(hazard_b, B15_no_session_beside_a_process_in_the_same_memory)
{
    source_of(8 * MIB);
    struct outcome outcome =
        both(ARGS(victim("b15_shared_memory_child"), "in", "out", "second", "clone-stays"), NULL);
    whole("out");
    cr_assert(report_reason(&outcome.report, "threads") > 0, "%s", outcome.report.raw);
}

Test(hazard_b, B15_no_session_beside_a_process_with_the_same_descriptors)
{
    source_of(8 * MIB);
    struct outcome outcome =
        both(ARGS(victim("b15_shared_descriptors"), "in", "out", "second", "idle"), NULL);
    whole("out");
    assert_stays_out(outcome, "shared-offset");
    outcome = both(ARGS(victim("b15_shared_descriptors"), "in", "out", "second", "moves"), NULL);
    cr_assert(strstr(outcome.out, "child 3"), "%s", outcome.out);
    cr_assert(file_size(scratch_path("shim/second")) > 0, "the child put nothing in the destination's place");
}

Test(hazard_d, D12_child_in_the_middle_sees_and_moves_everything)
{
    static const char *const modes[] = {"vfork", "clone-vfork", "clone", "fork"};
    source_of(3 * MIB);
    for (int i = 0; i < 4; i++) {
        struct outcome outcome = both(ARGS(victim("d12_child_looks"), "in", "out", modes[i]), NULL);
        cr_assert(strstr(outcome.out, "bad 0\n"), "%s: %s", modes[i], outcome.out);
        assert_sessions(outcome);
    }
}
