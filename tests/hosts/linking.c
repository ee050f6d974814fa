/*
 * D2: programs that are linked, bound and extended in unusual ways. The session is the process's, whatever
 * reaches it; what goes past the library meets the guard.
 */
#include "support.h"

#include <string.h>

enum { SIZE = 1500001 };

static void prepare(const char *directory, void *unused)
{
    (void)unused;
    make_random(text("%s/in", directory), 60, SIZE);
}

static struct outcome copies(const char *const *args, const char *setting)
{
    struct run what = {.args = args, .env = setting ? ARGS(setting) : NULL};
    struct outcome outcome = run_both(&what, prepare, NULL);
    cr_assert(outcome.status == 0, "exit %d, %s", exit_code(outcome.status), outcome.err);
    char *difference = file_difference(shim_path("in"), shim_path("out"));
    cr_assert(!difference, "%s", difference);
    return outcome;
}

static void with_plugin(const char *mode)
{
    struct outcome outcome =
        copies(ARGS(victim("host_loop"), "in", "out", victim("host_plugin"), mode), NULL);
    assert_sessions(outcome);
    cr_assert(outcome.writes < plain_outcome()->writes, "%ld writes, plain %ld", (long)outcome.writes,
              (long)plain_outcome()->writes);
}

Test(hazard_d, D2_plugin_takes_turns)
{
    with_plugin("next");
}

Test(hazard_d, D2_plugin_bound_deeply_goes_past_us)
{
    with_plugin("deep");
}

Test(hazard_d, D2_plugin_in_a_namespace_of_its_own_goes_past_us)
{
    with_plugin("namespace");
}

Test(hazard_d, D2_libraries_come_and_go_in_the_loop)
{
    with_plugin("reload");
}

Test(hazard_d, D2_program_with_its_own_read_and_write)
{
    struct outcome outcome = copies(ARGS(victim("host_own_calls"), "in", "out", "next"), NULL);
    assert_sessions(outcome);
    /* Nothing of this loop reaches us: there is nothing to start and nothing to refuse. */
    outcome = copies(ARGS(victim("host_own_calls"), "in", "out", "kernel"), NULL);
    cr_assert(outcome.report.processes == 1 && outcome.report.sessions == 0, "%s", outcome.report.raw);
    cr_assert(outcome.report.loop_count == 0 && outcome.report.reason_count == 0, "%s", outcome.report.raw);
}

Test(hazard_d, D2_under_an_auditor)
{
    struct outcome outcome = copies(ARGS(victim("copy"), "512"), text("LD_AUDIT=%s", victim("host_auditor")));
    assert_sessions(outcome);
}

Test(hazard_d, D2_bound_at_once)
{
    struct outcome outcome = copies(ARGS(victim("copy"), "512"), "LD_BIND_NOW=1");
    assert_sessions(outcome);
}
