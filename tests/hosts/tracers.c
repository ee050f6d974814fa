/*
 * D13: somebody looks at the process by ptrace, from its start or from the middle of a loop. The guard's
 * signals pass through the tracer, and a stop may come between any two instructions.
 */
#include "support.h"

#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SIZE = 3000001 };

static struct running started;

static void loop_started(void)
{
    make_random(scratch_path("in"), 61, SIZE);
    struct run what = {
        .args = ARGS(victim("host_loop"), "in", "out", "-", "until"), .cwd = scratch(), .shim = true};
    started = run_start(&what);
    for (int i = 0; i < 1000 && (!file_exists(scratch_path("out")) || !file_size(scratch_path("out"))); i++)
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
}

static void loop_ends_well(void)
{
    make_text(scratch_path("stop"), "");
    struct outcome outcome = run_finish(&started);
    cr_assert(!outcome.timed_out && outcome.status == 0, "exit %d, %s", exit_code(outcome.status),
              outcome.err);
    cr_assert_str_eq(outcome.out, text("%d bytes, at %d and %d\n", SIZE, SIZE, SIZE));
    char *difference = file_difference(scratch_path("in"), scratch_path("out"));
    cr_assert(!difference, "%s", difference);
    assert_sessions(outcome);
}

Test(hazard_d, D13_strace_attached_in_the_middle)
{
    if (!find_program("strace"))
        cr_skip_test("strace is not installed");
    loop_started();
    for (int i = 0; i < 3; i++) {
        struct run what = {.args = ARGS("timeout", "-s", "INT", "0.3", "strace", "-f", "-o", "trace", "-p",
                                        text("%d", started.pid)),
                           .cwd = scratch()};
        struct outcome outcome = run(&what);
        cr_assert(file_exists(scratch_path("trace")), "%s", outcome.err);
        cr_assert(strstr(file_read(scratch_path("trace"), NULL), "SIGSYS"), "no session was seen by strace");
    }
    loop_ends_well();
}

Test(hazard_d, D13_gdb_attached_in_the_middle)
{
    if (!find_program("gdb"))
        cr_skip_test("gdb is not installed");
    loop_started();
    struct run what = {.args = ARGS("gdb", "-nx", "-q", "-batch", "-ex", "handle SIGSYS nostop noprint pass",
                                    "-ex", "break write", "-ex", "continue", "-ex", "continue 50", "-ex",
                                    "finish", "-ex", "info signals SIGSYS", "-ex", "delete", "-ex", "detach",
                                    "-p", text("%d", started.pid)),
                       .cwd = scratch(),
                       .timeout = 60};
    struct outcome outcome = run(&what);
    cr_assert(strstr(outcome.out, "Value returned is $1 ="), "%s %s", outcome.out, outcome.err);
    loop_ends_well();
}

/* Stopped and looked at instruction by instruction in the middle of a served call. */
Test(hazard_d, D13_gdb_steps_through_a_served_call)
{
    if (!find_program("gdb"))
        cr_skip_test("gdb is not installed");
    loop_started();
    struct run what = {.args = ARGS("gdb", "-nx", "-q", "-batch", "-ex", "handle SIGSYS nostop noprint pass",
                                    "-ex", "break read", "-ex", "continue", "-ex", "stepi 200", "-ex", "bt 3",
                                    "-ex", "delete", "-ex", "detach", "-p", text("%d", started.pid)),
                       .cwd = scratch(),
                       .timeout = 60};
    struct outcome outcome = run(&what);
    cr_assert(strstr(outcome.out, "#0"), "%s %s", outcome.out, outcome.err);
    loop_ends_well();
}

Test(hazard_d, D13_ltrace_attached_in_the_middle)
{
    struct outcome outcome;
    if (!find_program("ltrace"))
        cr_skip_test("ltrace is not installed");
    loop_started();
    struct run what = {
        .args = ARGS("timeout", "-s", "INT", "0.5", "ltrace", "-o", "trace", "-p", text("%d", started.pid)),
        .cwd = scratch(),
        .timeout = 30};
    outcome = run(&what);
    cr_assert(file_exists(scratch_path("trace")) && file_size(scratch_path("trace")) > 0, "%s", outcome.err);
    loop_ends_well();
}

Test(hazard_d, D13_stopped_and_continued)
{
    loop_started();
    for (int i = 0; i < 200; i++) {
        kill(started.pid, SIGSTOP);
        nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
        kill(started.pid, SIGCONT);
        nanosleep(&(struct timespec){.tv_nsec = 1000000 + i * 7919}, NULL);
    }
    loop_ends_well();
}
