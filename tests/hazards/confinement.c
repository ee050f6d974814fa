/*
 * B10, B13: seccomp. A filter that was inherited refuses or kills for calls that the program itself never
 * makes; a program locks itself up in the middle of its work.
 */
#include "support.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SYS_cachestat
#define SYS_cachestat 451
#endif

enum { SKIPPED = 77, SIZE = 300000 };

struct call {
    const char *name;
    int number;
    int least;   /* of the third argument; 0: any */
    bool unused; /* the victim and its loader do not make it: it may kill */
};

/* Everything that something between the program and the kernel might want to ask or do. */
static const struct call calls[] = {
    {"prctl", SYS_prctl, 0, true},
    {"kcmp", SYS_kcmp, 0, true},
    {"unshare", SYS_unshare, 0, true},
    {"cachestat", SYS_cachestat, 0, true},
    {"copy_file_range", SYS_copy_file_range, 0, true},
    {"sendfile", SYS_sendfile, 0, true},
    {"splice", SYS_splice, 0, true},
    {"sigaltstack", SYS_sigaltstack, 0, true},
    {"fstatfs", SYS_fstatfs, 0, true},
    {"statfs", SYS_statfs, 0, true},
    {"lseek", SYS_lseek, 0, true},
    /* The loader makes small ones. */
    {"pread64", SYS_pread64, 4096, true},
    {"waitid", SYS_waitid, 0, true},
    {"clone", SYS_clone, 0, true},
    {"clone3", SYS_clone3, 0, true},
    {"vfork", SYS_vfork, 0, true},
    {"fork", SYS_fork, 0, true},
    {"clock_gettime", SYS_clock_gettime, 0, true},
    {"getrlimit", SYS_getrlimit, 0, true},
    {"getppid", SYS_getppid, 0, true},
    {"getpid", SYS_getpid, 0, true},
    {"gettid", SYS_gettid, 0, true},
    {"tgkill", SYS_tgkill, 0, true},
    {"kill", SYS_kill, 0, true},
    {"readlink", SYS_readlink, 0, true},
    {"readlinkat", SYS_readlinkat, 0, true},
    {"getdents64", SYS_getdents64, 0, true},
    {"memfd_create", SYS_memfd_create, 0, true},
    {"madvise", SYS_madvise, 0, true},
    {"mremap", SYS_mremap, 0, true},
    {"mincore", SYS_mincore, 0, true},
    {"dup", SYS_dup, 0, true},
    {"dup3", SYS_dup3, 0, true},
    {"pipe2", SYS_pipe2, 0, true},
    {"ppoll", SYS_ppoll, 0, true},
    {"poll", SYS_poll, 0, true},
    {"pidfd_open", SYS_pidfd_open, 0, true},
    {"process_vm_readv", SYS_process_vm_readv, 0, true},
    {"sched_yield", SYS_sched_yield, 0, true},
    {"nanosleep", SYS_clock_nanosleep, 0, true},
    {"arch_prctl", SYS_arch_prctl, 0, false},
    {"rt_sigaction", SYS_rt_sigaction, 0, false},
    /* Not killed for: a filter is looked for with the signals blocked (see sandbox_check). */
    {"rt_sigprocmask", SYS_rt_sigprocmask, 0, false},
    {"prlimit64", SYS_prlimit64, 0, false},
    {"ioctl", SYS_ioctl, 0, true},
    {"fcntl", SYS_fcntl, 0, true},
    {"wait4", SYS_wait4, 0, false},
    {"fstat", SYS_fstat, 0, true},
    {"newfstatat", SYS_newfstatat, 0, false},
    {"statx", SYS_statx, 0, true},
    {"getrandom", SYS_getrandom, 0, false},
    {"access", SYS_access, 0, false},
};
enum { CALLS = sizeof calls / sizeof *calls };

static const char *source;

static void make_source(void)
{
    source = scratch_path("source");
    make_random(source, 10, SIZE);
}

static struct outcome filtered(const char *how, const char *action, const char *which, bool shim)
{
    struct run what = {
        .args = ARGS(victim("b10_filter"), action, which, how, victim("b10_copy_and_look_around"), source,
                     "out", "512"),
        .cwd = scratch_dir(shim ? "shim" : "plain"),
        .shim = shim,
    };
    return run(&what);
}

static bool fine(const struct outcome *outcome)
{
    return outcome->status == 0 && strstr(outcome->out, text("%d bytes, at end 0, close 0", SIZE));
}

/* False where the program itself cannot live under the filter. HOW: see the victim. */
static bool copies_as(const char *how, const char *action, const char *which, const char *name,
                      struct outcome *result)
{
    struct outcome plain = filtered(how, action, which, false);
    if (WIFEXITED(plain.status) && WEXITSTATUS(plain.status) == SKIPPED)
        cr_skip_test("no seccomp filters here");
    if (!fine(&plain))
        return false;
    *result = filtered(how, action, which, true);
    cr_assert(result->status == plain.status, "%s, %s, %s: exit %d; %s%s", name, action, how,
              exit_code(result->status), result->err, result->out);
    cr_assert_str_eq(result->out, plain.out, "%s, %s, %s: plain says %s, the shim %s", name, action, how,
                     plain.out, result->out);
    cr_assert_str_eq(result->err, plain.err);
    char *difference = file_difference(scratch_path("shim/out"), source);
    cr_assert(!difference, "%s, %s, %s: %s", name, action, how, difference);
    return true;
}

/* Once with a parent outside of the filter, once with one inside. RESULT is that of the second. */
static bool copies_under(const char *action, const char *which, const char *name, struct outcome *result)
{
    bool alone = copies_as("become", action, which, name, result);
    return copies_as("child", action, which, name, result) || alone;
}

static char *call_of(const struct call *call)
{
    return call->least ? text("%d:%d", call->number, call->least) : text("%d", call->number);
}

static void each_call(const char *action, bool killing)
{
    int tried = 0, lived = 0;
    for (int i = 0; i < CALLS; i++) {
        struct outcome outcome;
        if (killing && !calls[i].unused)
            continue;
        tried++;
        lived += copies_under(action, call_of(&calls[i]), calls[i].name, &outcome);
    }
    cr_assert(lived * 10 >= tried * 8, "plain itself lived under only %d of %d filters", lived, tried);
}

Test(hazard_b, B10_without_a_filter_in_the_way_a_session_runs)
{
    make_source();
    struct outcome outcome;
    cr_assert(copies_as("child", "1", text("%d", SYS_reboot), "reboot", &outcome));
    assert_sessions(outcome);
}

Test(hazard_b, B10_calls_refused_with_EPERM)
{
    make_source();
    each_call(text("%d", EPERM), false);
}

Test(hazard_b, B10_calls_refused_with_ENOSYS)
{
    make_source();
    each_call(text("%d", ENOSYS), false);
}

Test(hazard_b, B10_calls_refused_with_EACCES)
{
    make_source();
    each_call(text("%d", EACCES), false);
}

/* An emulator in a filter's clothes: the call "works" and does nothing. */
Test(hazard_b, B10_guard_pretended)
{
    make_source();
    struct outcome outcome;
    cr_assert(copies_under("0", text("%d", SYS_prctl), "prctl", &outcome));
}

Test(hazard_b, B10_everything_refused_at_once)
{
    make_source();
    static const int errors[] = {EPERM, ENOSYS, EACCES};
    char *all = text("%s", "");
    for (int i = 0; i < CALLS; i++)
        if (calls[i].unused)
            all = text("%s%s%s", all, *all ? "," : "", call_of(&calls[i]));
    for (int i = 0; i < 3; i++) {
        struct outcome outcome;
        cr_assert(copies_as("become", text("%d", errors[i]), all, "all", &outcome),
                  "plain does not live with this");
        cr_assert(outcome.report.sessions == 0, "%s", outcome.report.raw);
    }
}

Test(hazard_b, B13_inherited_filter_kills_the_process, .timeout = 60)
{
    make_source();
    each_call("kill", true);
}

Test(hazard_b, B13_inherited_filter_kills_the_thread, .timeout = 60)
{
    make_source();
    each_call("thread", true);
}

Test(hazard_b, B13_inherited_filter_traps, .timeout = 60)
{
    make_source();
    each_call("trap", true);
}

/* A program that locks itself up: what it does afterwards is killed but for read, write and the end. */
static struct outcome locked_up(const char *how, const char *before)
{
    struct outcome outcomes[2];
    for (int i = 0; i < 2; i++) {
        struct run what = {
            .args = ARGS(victim("b10_sandbox_itself"), source, "out", how, before),
            .cwd = scratch_dir(i ? "shim" : "plain"),
            .shim = i,
        };
        outcomes[i] = run(&what);
        cr_assert(outcomes[i].status == 0, "%s after %s, %s: exit %d; %s", how, before, i ? "shim" : "plain",
                  exit_code(outcomes[i].status), outcomes[i].err);
        char *difference = file_difference(scratch_path(i ? "shim/out" : "plain/out"), source);
        cr_assert(!difference, "%s", difference);
    }
    cr_assert_str_eq(outcomes[1].out, outcomes[0].out);
    cr_assert_str_eq(outcomes[1].err, "");
    /* It was helped until then, and left alone from then on. */
    if (strcmp(before, "0") != 0 && outcomes[0].writes >= 0)
        cr_assert(outcomes[1].writes < outcomes[0].writes, "%ld writes, plain %ld", (long)outcomes[1].writes,
                  (long)outcomes[0].writes);
    return outcomes[1];
}

Test(hazard_b, B10_program_sandboxes_itself_before_its_loop)
{
    source = scratch_path("source");
    make_random(source, 11, 4 << 20);
    static const char *const hows[] = {"filter", "seccomp", "strict"};
    for (int i = 0; i < 3; i++)
        locked_up(hows[i], "0");
}

Test(hazard_b, B10_program_sandboxes_itself_in_its_loop)
{
    source = scratch_path("source");
    make_random(source, 11, 4 << 20);
    static const char *const hows[] = {"filter", "seccomp", "strict"}, *const befores[] = {"4096", "8192",
                                                                                           "12288",
                                                                                           "1048576"};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 4; j++) {
            struct run what = {.args =
                                   ARGS(victim("b10_sandbox_itself"), source, "out", hows[i], befores[j])};
            if (j == 3)
                locked_up(hows[i], befores[j]);
            else
                run_both(&what, NULL, NULL);
        }
}

/* No function sees this one; but a session is active, so that its guard does. */
Test(hazard_b, B10_program_sandboxes_itself_by_a_raw_call_in_its_loop)
{
    if (geteuid() != 0)
        cr_skip_test("without PR_SET_NO_NEW_PRIVS root alone may");
    source = scratch_path("source");
    make_random(source, 11, 4 << 20);
    locked_up("raw", "1048576");
}
