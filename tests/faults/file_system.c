/*
 * A3..A5, A19, F1: a file system in user space whose calls fail, fall short or do nothing. It is not on the
 * list of those that are trusted, so that nothing is read ahead or deferred: plain and the library's run are
 * the same.
 */
#include "faults.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>

enum { SIZE = 60000, CHUNK = 4096, FUSE = 0x65735546, BUSY = 8192 };

static char *below, *point, *control;
static struct running server;

/* Another folder of the same files, to look at them past the file system. */
static void begin(void)
{
    const char *program = build_path("tests/faults/faultfs");
    if (access(program, X_OK) != 0)
        cr_skip_test("built without libfuse3");
    if (access("/dev/fuse", R_OK | W_OK) != 0)
        cr_skip_test("no /dev/fuse");
    char *base = mount_fresh("tmpfs", 0); /* in a mount namespace that ends with the test */
    below = text("%s/below", base);
    point = text("%s/point", base);
    control = text("%s/.fault", point);
    cr_assert(mkdir(below, 0777) == 0 && mkdir(point, 0777) == 0);
    make_random(text("%s/in", below), 35, SIZE);
    make_random(text("%s/in", base), 35, SIZE);
    struct run what = {.args = ARGS(program, below, point, "-f", "-s")};
    server = run_start(&what);
    struct statfs status = {0};
    for (int tries = 0; tries < 500 && status.f_type != FUSE; tries++) {
        usleep(10000);
        cr_assert(statfs(point, &status) == 0, "statfs: %s", strerror(errno));
    }
    cr_assert(status.f_type == FUSE, "not mounted");
}

static void end(void)
{
    cr_assert(umount2(point, MNT_DETACH) == 0, "umount: %s", strerror(errno));
    struct outcome outcome = run_finish(&server);
    cr_assert(outcome.status == 0, "the file system: exit %d; %s", exit_code(outcome.status), outcome.err);
}

static void tell(const char *what)
{
    int fd = open(control, O_WRONLY | O_CLOEXEC);
    cr_assert(fd >= 0 && write(fd, what, strlen(what)) == (ssize_t)strlen(what), "%s: %s", what,
              strerror(errno));
    close(fd);
}

static long hits(void)
{
    char bytes[32] = "";
    int fd = open(control, O_RDONLY | O_CLOEXEC);
    cr_assert(fd >= 0 && read(fd, bytes, sizeof bytes - 1) > 0, "%s: %s", control, strerror(errno));
    close(fd);
    return atol(bytes);
}

enum place { SOURCE_THERE = 1, DESTINATION_THERE = 2, BOTH_THERE = 3 };

/* Both runs, with the same faults: what the program is told, how it ends and what is in the file. */
static struct outcome same(enum place place, const char *faults)
{
    struct outcome outcomes[2];
    char *folder = place & DESTINATION_THERE ? point : text("%s", scratch());
    char *seen[2];
    size_t size[2];
    long met[2];
    for (int shim = 0; shim < 2; shim++) {
        remove(text("%s/out", folder));
        char *in = place & SOURCE_THERE ? text("%s/in", point) : text("%s/../in", below);
        struct run what = {.args = ARGS(victim("fault_copy"), in, text("%s/out", folder), text("%d", CHUNK),
                                        "stack", "sync"),
                           .shim = shim,
                           .timeout = 20};
        tell(faults);
        outcomes[shim] = run(&what);
        met[shim] = hits();
        tell("none 1 1 0");
        cr_assert(!outcomes[shim].timed_out, "%s: timed out", faults);
        bool there = file_exists(text("%s/out", folder));
        seen[shim] = there ? file_read(text("%s/out", folder), &size[shim]) : text("none");
        if (!there)
            size[shim] = 4;
    }
    cr_assert(outcomes[0].status == outcomes[1].status, "%s: exit %d plain, %d", faults,
              exit_code(outcomes[0].status), exit_code(outcomes[1].status));
    cr_assert_str_eq(outcomes[1].out, outcomes[0].out, "%s: plain says %s, the shim %s", faults,
                     outcomes[0].out, outcomes[1].out);
    cr_assert_str_eq(outcomes[1].err, outcomes[0].err);
    cr_assert(met[0] == met[1] && met[0] > 0, "%s: met %ld times plain, %ld", faults, met[0], met[1]);
    cr_assert(size[0] == size[1] && memcmp(seen[0], seen[1], size[0]) == 0, "%s: other bytes", faults);
    cr_assert(outcomes[1].report.sessions == 0, "%s", outcomes[1].report.raw);
    return outcomes[1];
}

Test(faults_file_system, A19_no_session_on_a_file_system_that_is_not_known, .timeout = 60)
{
    begin();
    struct outcome outcome = same(SOURCE_THERE, "read 1 1 4096");
    assert_stays_out(outcome, "source-fs");
    outcome = same(BOTH_THERE, "read 1 1 4096");
    assert_stays_out(outcome, "source-fs");
    outcome = same(DESTINATION_THERE, "write 1 1 4096");
    assert_stays_out(outcome, "dest-fs");
    end();
}

static const char *const answers[] = {"1", "7", "4095", "less", "0"};

static void short_counts(enum place place, const char *operation)
{
    begin();
    for (int at = 1; at <= 7; at += 3)
        for (int a = 0; a < 5; a++)
            for (int every = 0; every < (a == 0 ? 1 : 2); every++)
                same(place, text("%s %d %d %s", operation, at, !every, answers[a]));
    end();
}

Test(faults_file_system, A3_A4_short_reads, .timeout = 120)
{
    short_counts(SOURCE_THERE, "read");
}

Test(faults_file_system, A3_short_writes, .timeout = 120)
{
    short_counts(DESTINATION_THERE, "write");
}

/* ENOSYS tells the kernel's side that there is no such operation, and it does not ask again. */
static bool is_for_ever(const char *operation, int error)
{
    return error == ENOSYS && strcmp(operation, "read") != 0 && strcmp(operation, "write") != 0;
}

static void errors(enum place place, const char *operation, int last, int step)
{
    begin();
    for (int at = 1; at <= last; at += step)
        for (int e = 0; e < FAULT_ERRORS; e++)
            if (!is_for_ever(operation, fault_errors[e]))
                same(place, text("%s %d %d %d", operation, at, 1 + e % 2, -fault_errors[e]));
    end();
}

Test(faults_file_system, A5_errors_of_reads, .timeout = 120)
{
    errors(BOTH_THERE, "read", 5, 2);
}

Test(faults_file_system, A5_F1_errors_of_writes, .timeout = 120)
{
    errors(BOTH_THERE, "write", 5, 2);
}

Test(faults_file_system, F1_errors_of_open, .timeout = 120)
{
    errors(BOTH_THERE, "open", 2, 1);
}

Test(faults_file_system, F1_errors_of_fsync, .timeout = 120)
{
    errors(DESTINATION_THERE, "fsync", 1, 1);
}

/* What close(2) says, and what nobody hears. */
Test(faults_file_system, F1_errors_of_flush_and_release, .timeout = 120)
{
    errors(DESTINATION_THERE, "flush", 1, 1);
    begin();
    for (int e = 0; e < FAULT_ERRORS; e++)
        same(DESTINATION_THERE, text("release 1 1 %d", -fault_errors[e]));
    end();
}
