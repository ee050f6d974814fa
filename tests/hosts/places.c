/*
 * D10: processes in places where little of the machine is to be seen: another root, other namespaces, the
 * first process of one, no standard descriptors.
 */
#include "support.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SIZE = 1500001, NOT_HERE = 77 };

static void prepare(const char *directory, void *unused)
{
    (void)unused;
    make_random(text("%s/in", directory), 62, SIZE);
}

static struct outcome copies(struct run what)
{
    struct outcome outcome = run_both(&what, prepare, NULL);
    if (exit_code(outcome.status) == NOT_HERE)
        cr_skip_test("not permitted here");
    cr_assert(outcome.status == 0, "exit %d, %s", exit_code(outcome.status), outcome.err);
    char *difference = file_difference(shim_path("in"), shim_path("out"));
    cr_assert(!difference, "%s", difference);
    return outcome;
}

/* The pieces of /lib that a program of the build needs. */
static void make_root(const char *root)
{
    static const char *const folders[] = {"lib", "lib64", "lib/x86_64-linux-gnu"};
    static const char *const files[] = {"/lib64/ld-linux-x86-64.so.2", "/lib/x86_64-linux-gnu/libc.so.6"};
    size_t size;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        mkdir(text("%s/%s", root, folders[i]), 0755);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        if (!file_exists(files[i]))
            cr_skip_test("%s is not here", files[i]);
        char *bytes = file_read(files[i], &size);
        make_file(text("%s%s", root, files[i]), bytes, size);
        chmod(text("%s%s", root, files[i]), 0755);
    }
    char *bytes = file_read(victim("copy"), &size);
    make_file(text("%s/copy", root), bytes, size);
    chmod(text("%s/copy", root), 0755);
    bytes = file_read(shim_library(), &size);
    make_file(text("%s/shim.so", root), bytes, size);
    make_random(text("%s/in", root), 62, SIZE);
}

static void enter_root(void *root)
{
    char *environment[] = {"LD_PRELOAD=/shim.so", "XFERSHIM_THRESHOLD=1", "XFERSHIM_REPORT=/report.json",
                           NULL};
    if (chroot(root) == 0 && chdir("/") == 0)
        execve("/copy", (char *[]){"copy", "512", NULL}, environment);
    _exit(NOT_HERE);
}

Test(hazard_d, D10_other_root_with_nothing_in_it)
{
    if (geteuid() != 0)
        cr_skip_test("another root needs privileges");
    char *root = scratch_dir("root");
    make_root(root);
    struct run what = {.args = ARGS(victim("copy"), "512"), .child = enter_root, .argument = root};
    struct outcome outcome = run(&what);
    if (exit_code(outcome.status) == NOT_HERE)
        cr_skip_test("not permitted here");
    cr_assert(outcome.status == 0 && !*outcome.err, "exit %d, %s", exit_code(outcome.status), outcome.err);
    char *difference = file_difference(text("%s/in", root), text("%s/out", root));
    cr_assert(!difference, "%s", difference);
    outcome.report = report_load(text("%s/report.json", root));
    /* Nothing of the process can be seen without /proc: it is not helped, and the reason is told. */
    cr_assert(outcome.report.processes == 1, "no report");
    cr_assert(outcome.report.sessions > 0 || outcome.report.reason_count > 0, "%s", outcome.report.raw);
}

static void in_namespaces(const char *flags)
{
    if (!find_program("unshare"))
        cr_skip_test("unshare is not installed");
    struct run possible = {.args = ARGS("unshare", flags, "true")};
    if (run(&possible).status != 0)
        cr_skip_test("unshare %s is not permitted here", flags);
    struct outcome outcome = copies((struct run){.args = ARGS("unshare", flags, victim("copy"), "512")});
    assert_sessions(outcome);
}

Test(hazard_d, D10_namespaces_of_mounts_network_names_and_ipc)
{
    in_namespaces("-mnui");
}

Test(hazard_d, D10_namespace_of_users)
{
    in_namespaces("-Ur");
}

Test(hazard_d, D10_first_process_of_a_namespace)
{
    in_namespaces("-fp");
}

Test(hazard_d, D10_first_process_of_all_namespaces)
{
    in_namespaces("-Urfpmnui");
}

/* Numbers of the outside in /proc: the process is 1 and sees somebody else's /proc/1. */
Test(hazard_d, D10_first_process_with_the_outer_proc_does_not_mix_up_numbers)
{
    in_namespaces("-fpm");
}

static void close_some(void *which)
{
    for (const char *digit = which; *digit; digit++)
        close(*digit - '0');
}

Test(hazard_b, B11_standard_descriptors_closed_in_every_mixture)
{
    static const char *const mixtures[] = {"0", "2", "02"};
    for (size_t i = 0; i < sizeof mixtures / sizeof *mixtures; i++) {
        struct outcome outcome = copies((struct run){
            .args = ARGS(victim("copy"), "512"), .child = close_some, .argument = (void *)mixtures[i]});
        assert_sessions(outcome);
    }
}
