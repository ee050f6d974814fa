/* The helpers that every other test believes. */
#include "support.h"

#include <signal.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <unistd.h>

Test(support, report_adds_processes_and_keeps_loops_apart)
{
    char *path = scratch_path("report.json");
    make_text(path,
              "{\"program\":\"a\",\"pid\":1,\"mode\":\"on\",\"sessions\":2,\"loops\":[{\"in\":\"/x \\\"{]\","
              "\"out\":\"/y\",\"chunk\":512,\"bytes\":9,\"calls_before\":7,\"calls_after\":3,"
              "\"engine\":\"write\",\"sessions\":40,\"ended\":\"syscall:close\"},{\"chunk\":7}],"
              "\"refusals\":[{\"reason\":\"backoff\",\"count\":3}]}\n"
              "{\"sessions\": 1, \"refusals\": [ {\"reason\":\"backoff\",\"count\":1}, "
              "{\"reason\":\"threads\",\"count\":5} ], \"loops\": []}\n");
    struct report report = report_load(path);
    cr_expect(report.processes == 2);
    cr_expect(report.malformed == 0);
    cr_expect(report.sessions == 3);
    cr_expect(report.loop_count == 2);
    cr_expect(report.loops[0].sessions == 40);
    cr_expect(report.loops[0].calls_after == 3);
    cr_expect_str_eq(report.loops[0].ended, "syscall:close");
    cr_expect(report.loops[1].chunk == 7);
    cr_expect(report_reason(&report, "backoff") == 4);
    cr_expect(report_reason(&report, "threads") == 5);
    cr_expect(report_reason(&report, "off") == 0);
}

Test(support, report_sees_torn_lines)
{
    char *path = scratch_path("report.json");
    make_text(path, "{\"sessions\":2,\"loops\":[\n{\"sessions\":2}{\n\"sessions\"\n{\"sessions\":1}\n");
    struct report report = report_load(path);
    cr_expect(report.processes == 4);
    cr_expect(report.malformed == 3);
    cr_expect(report_load(scratch_path("none")).processes == 0);
}

Test(support, differences_are_found_where_they_are)
{
    char *a = scratch_path("a"), *b = scratch_path("b");
    make_random(a, 1, 300000);
    make_random(b, 1, 300000);
    cr_expect(file_difference(a, b) == NULL);
    cr_expect(file_digest(a) == file_digest(b));
    cr_expect(truncate(b, 299999) == 0);
    cr_expect_not_null(file_difference(a, b));
    cr_expect_not_null(file_difference(b, a));
    cr_expect(prefix_difference(b, a) == NULL);
    cr_expect_not_null(prefix_difference(a, b));
    make_random(b, 2, 300000);
    cr_expect_not_null(file_difference(a, b));
    cr_expect(file_digest(a) != file_digest(b));
}

Test(support, holes_equal_zeros_and_islands_do_not)
{
    char *a = scratch_path("a"), *b = scratch_path("b");
    make_sparse(a, 1, 1 << 24, 0, 1);
    make_sparse(b, 1, 1 << 24, 0, 1);
    cr_expect(file_difference(a, b) == NULL);
    make_sparse(b, 1, 1 << 24, 1, 1);
    cr_expect_not_null(file_difference(a, b));
    cr_expect_not_null(file_difference(b, a));
}

Test(support, run_tells_how_a_program_ended)
{
    struct outcome outcome = run(&(struct run){.args = ARGS("sh", "-c", "echo one; echo two >&2; exit 3")});
    cr_expect(exit_code(outcome.status) == 3);
    cr_expect_str_eq(outcome.out, "one\n");
    cr_expect_str_eq(outcome.err, "two\n");
    outcome = run(&(struct run){.args = ARGS("sh", "-c", "kill -SEGV $$")});
    cr_expect(WIFSIGNALED(outcome.status) && WTERMSIG(outcome.status) == SIGSEGV);
    outcome = run(&(struct run){.args = ARGS("sleep", "60"), .timeout = 0.2});
    cr_expect(outcome.timed_out);
    outcome = run(&(struct run){
        .args = ARGS("sh", "-c", "echo $A$B$0; pwd"), .env = ARGS("A=x", "B=y", "PATH"), .cwd = "/"});
    cr_expect_str_eq(outcome.out, "xysh\n/\n");
    /* A zombie's counters are for root's eyes. */
    if (geteuid() == 0)
        cr_expect(outcome.writes > 0 && outcome.reads > 0, "/proc/PID/io of a zombie is not readable here");
}

static void mounted(const char *kind, long magic)
{
    struct statfs status;
    char *point = mount_fresh(kind, strcmp(kind, "tmpfs") == 0 ? 1 << 20 : 0);
    cr_assert(statfs(point, &status) == 0);
    cr_expect(status.f_type == magic, "%s: type %lx", point, (long)status.f_type);
    make_random(text("%s/file", point), 1, 10000);
    cr_expect(file_size(text("%s/file", point)) == 10000);
}

Test(support, mounts_tmpfs)
{
    mounted("tmpfs", 0x01021994);
}

Test(support, mounts_ext4)
{
    mounted("ext4", 0xef53);
}

Test(support, mounts_xfs)
{
    mounted("xfs", 0x58465342);
}

Test(support, mounts_btrfs)
{
    mounted("btrfs", 0x9123683e);
}
