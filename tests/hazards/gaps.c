/*
 * B8, D4, E5: how much a call of ours moves at once, that none waits for another thread, and what others are
 * told.
 */
#include "support.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MIB = 1 << 20 };

/* -- E5: what is told behind the last write is told behind the bytes -- */

enum { BLOCK = 64 * 512, BLOCKS = 300, CHUNK = 512 };

static struct running start_telling(const char *out, const char *how)
{
    const char *source = scratch_path("source");
    make_random(source, 61, (uint64_t)BLOCKS * BLOCK);
    make_file(out, "", 0);
    struct run tells = {
        .args = ARGS(victim("e5_tells"), source, out, text("%d", BLOCK), text("%d", CHUNK), how),
        .shim = true,
    };
    return run_start(&tells);
}

static void ended_well(struct running *running, const char *out)
{
    struct outcome outcome = run_finish(running);
    cr_assert(outcome.status == 0, "exit %d; %s", exit_code(outcome.status), outcome.err);
    assert_sessions(outcome);
    char *difference = file_difference(scratch_path("source"), out);
    cr_assert(!difference, "%s", difference);
}

Test(hazard_e, E5_a_message_comes_behind_the_bytes)
{
    const char *out = scratch_path("out");
    struct running running = start_telling(out, "message");
    long told;
    int messages = 0;
    while (read(running.out, &told, sizeof told) == sizeof told) {
        cr_assert(file_size(out) >= told, "%ld bytes told, %ld there", told, (long)file_size(out));
        messages++;
    }
    cr_assert(messages >= BLOCKS, "%d messages", messages);
    ended_well(&running, out);
}

static bool lock(int fd, const char *how, short type)
{
    struct flock whole = {.l_type = type, .l_whence = SEEK_SET};
    if (strcmp(how, "flock") == 0)
        return flock(fd, type == F_UNLCK ? LOCK_UN : LOCK_SH) == 0;
    return fcntl(fd, strcmp(how, "ofd") == 0 ? F_OFD_SETLKW : F_SETLKW, &whole) == 0;
}

/* Whoever holds the lock sees whole blocks. */
static void unlocks_behind_the_bytes(const char *how)
{
    const char *out = scratch_path("out");
    struct running running = start_telling(out, how);
    int fd = open(out, O_RDONLY), looks = 0;
    off_t last = 0;
    while (waitid(P_PID, (id_t)running.pid, &(siginfo_t){0}, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           last < (off_t)BLOCKS * BLOCK) {
        struct stat status;
        cr_assert(lock(fd, how, F_RDLCK) && fstat(fd, &status) == 0);
        cr_assert(lock(fd, how, F_UNLCK));
        cr_assert(status.st_size % BLOCK == 0, "%ld bytes behind the lock, no whole blocks",
                  (long)status.st_size);
        looks += status.st_size != last;
        last = status.st_size;
    }
    close(fd);
    ended_well(&running, out);
    cr_assert(looks > 2, "seen at %d moments only", looks);
}

Test(hazard_e, E5_an_unlock_of_fcntl_comes_behind_the_bytes)
{
    unlocks_behind_the_bytes("posix");
}

Test(hazard_e, E5_an_unlock_of_an_open_file_description_comes_behind_the_bytes)
{
    unlocks_behind_the_bytes("ofd");
}

Test(hazard_e, E5_an_unlock_of_flock_comes_behind_the_bytes)
{
    unlocks_behind_the_bytes("flock");
}

/* -- B8, D4: the calls of a copy -- */

/* Calls up to their open parenthesis. */
static bool is_call(const char *line, const char *const *calls)
{
    for (; *calls; calls++)
        if (strncmp(line, *calls, strlen(*calls)) == 0 && line[strlen(*calls)] == '(')
            return true;
    return false;
}

/* Bytes moved by the largest copying call; none of the calls waits for a thread or makes one. */
static long largest_call(const char *directory, size_t chunk)
{
    static const char *const moving[] = {"write", "pwrite64", "copy_file_range", "pread64",
                                         "read",  "sendfile", "splice",          NULL};
    static const char *const threads[] = {"futex", "clone", "clone3", "fork", "vfork", "futex_wait", NULL};
    if (!find_program("strace"))
        cr_skip_test("strace is not installed");
    const char *source = text("%s/source", directory), *out = text("%s/out", directory);
    const char *trace = scratch_path("trace"), *report = scratch_path("report.json");
    make_random(source, 62, 64 * MIB);
    sync();
    struct run traced = {.args = ARGS("strace", "-f", "-qq", "-o", trace, "-E",
                                      text("LD_PRELOAD=%s", shim_library()), "-E", "XFERSHIM_THRESHOLD=1",
                                      "-E", text("XFERSHIM_REPORT=%s", report), victim("copy"),
                                      text("%zu", chunk), text("from=%s", source), text("to=%s", out))};
    struct outcome outcome = run(&traced);
    if (strstr(outcome.err, "ptrace"))
        cr_skip_test("no tracing here: %s", outcome.err);
    cr_assert(outcome.status == 0, "exit %d; %s", exit_code(outcome.status), outcome.err);
    cr_assert(report_load(report).sessions > 0, "no session ran");
    char *difference = file_difference(source, out);
    cr_assert(!difference, "%s", difference);
    long largest = 0;
    bool loaded = false;
    char *all = file_read(trace, NULL);
    for (char *line; (line = strsep(&all, "\n"));) {
        line += strspn(line, "0123456789 ");
        const char *result = strrchr(line, '=');
        if (strstr(line, "\"source\"") || strstr(line, source))
            loaded = strncmp(line, "execve", 6) != 0;
        if (!loaded || !result)
            continue;
        cr_assert(!is_call(line, threads), "%s", line);
        long moved = is_call(line, moving) ? strtol(result + 1, NULL, 10) : 0;
        largest = moved > largest ? moved : largest;
    }
    cr_assert(largest > (long)chunk, "no call moved more than the program's own: %ld", largest);
    return largest;
}

Test(hazard_b, B8_D4_a_writing_call_moves_16_MiB_at_most_and_none_waits_for_a_thread)
{
    long largest = largest_call(scratch(), 4096);
    cr_assert(largest <= 16 * MIB, "%ld bytes", largest);
}

static void sharing_call(const char *kind)
{
    long largest = largest_call(mount_fresh(kind, (uint64_t)512 * MIB), 16384);
    cr_assert(largest <= 1024 * MIB, "%ld bytes", largest);
}

Test(hazard_b, B8_D4_a_sharing_call_moves_1_GiB_at_most_xfs)
{
    sharing_call("xfs");
}

Test(hazard_b, B8_D4_a_sharing_call_moves_1_GiB_at_most_btrfs)
{
    sharing_call("btrfs");
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static int by_value(const void *a, const void *b)
{
    double difference = *(const double *)a - *(const double *)b;
    return (difference > 0) - (difference < 0);
}

/* ^C in the middle: most of the times, because the machine may have something else to do. */
Test(hazard_b, B8_an_interrupt_acts_within_200_ms)
{
    enum { TIMES = 15 };
    double took[TIMES];
    int interrupted = 0;
    make_sparse(scratch_path("source"), 63, (uint64_t)2048 * MIB, 20, MIB);
    for (int i = 0; i < TIMES; i++) {
        struct run copy = {
            .args = ARGS(victim("copy"), "4096", text("from=%s", scratch_path("source")), "to=out"),
            .shim = true,
            .cwd = scratch_dir("copy")};
        struct running running = run_start(&copy);
        usleep(20000 + 15000 * (useconds_t)i);
        double start = now();
        kill(running.pid, SIGINT);
        waitid(P_PID, (id_t)running.pid, &(siginfo_t){0}, WEXITED | WNOWAIT);
        took[i] = now() - start;
        struct outcome outcome = run_finish(&running);
        interrupted += WIFSIGNALED(outcome.status) && WTERMSIG(outcome.status) == SIGINT;
    }
    qsort(took, TIMES, sizeof *took, by_value);
    cr_assert(interrupted > TIMES / 2, "%d of %d were interrupted", interrupted, TIMES);
    cr_assert(took[TIMES * 2 / 3] < 0.2, "%.3f s", took[TIMES * 2 / 3]);
}
