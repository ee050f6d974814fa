/*
 * F1, F8, C3: file systems that fill up, by the program's own bytes or all at once by somebody else's. The
 * error is seen; after making room nothing is missing that was told to be written.
 */
#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define MIB ((uint64_t)1 << 20)

/* A session begins where 64 MiB are free. */
enum { ROOM = 72, BALLAST = 24, SOURCE = 84 };

static char *source, *point, *ballast, *out;

static uint64_t free_bytes(void)
{
    struct statvfs status;
    cr_assert(statvfs(point, &status) == 0);
    return status.f_bavail * status.f_frsize;
}

/* Takes this much of the file system. */
static bool occupy(const char *path, uint64_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    int rc = posix_fallocate(fd, 0, (off_t)size);
    close(fd);
    return rc == 0;
}

static void begin(const char *kind, uint64_t size, uint64_t source_size)
{
    source = text("%s/source", mount_fresh("tmpfs", 0));
    make_random(source, 36, source_size);
    point = mount_fresh(kind, size);
    ballast = text("%s/ballast", point);
    out = text("%s/out", point);
}

struct result {
    long told, size;
    bool seen;
    struct outcome outcome;
};

/* f8_quota's words about a run that has ended. */
static struct result judge(const struct outcome *outcome, const char *ending)
{
    struct result result = {.outcome = *outcome};
    cr_assert(outcome->status == 0, "%s: exit %d; %s", ending, exit_code(outcome->status), outcome->err);
    cr_assert(sscanf(outcome->err, "%ld %ld", &result.told, &result.size) == 2, "%s", outcome->err);
    result.seen = strstr(outcome->out, "No space left on device") != NULL;
    cr_assert(result.seen || !strstr(outcome->out, "seen"), "%s: another error: %s", ending, outcome->out);
    cr_assert(!strstr(outcome->out, "missing"), "%s: told %ld, has %ld; %s", ending, result.told, result.size,
              outcome->out);
    char *difference = prefix_difference(out, source);
    cr_assert(!difference, "%s: %s", ending, difference);
    return result;
}

static struct run copier(const char *chunk, const char *ending, bool shim)
{
    static const char *args[8];
    const char *const now[8] = {victim("f8_quota"), source, out, ballast, chunk, "1000000000000", ending};
    memcpy(args, now, sizeof args);
    return (struct run){.args = args, .shim = shim};
}

static const char *const endings[] = {"retry", "close", "fsync", "lseek", "ftruncate", "dup2", "fdatasync"};

enum { ENDINGS = sizeof endings / sizeof *endings };

/* The program's own bytes fill it. */
static void fills_up(const char *kind, uint64_t size, int how_many)
{
    static const char *const chunks[] = {"4096", "1000", "16384"};
    begin(kind, size, SOURCE * MIB);
    for (int e = 0; e < how_many; e++)
        for (int shim = e == 0 ? 0 : 1; shim < 2; shim++) {
            remove(out);
            remove(ballast);
            remove(text("%s/rest", point));
            sync();
            cr_assert(occupy(ballast, BALLAST * MIB), "no ballast");
            /* XFS frees what was removed a little later. */
            for (int tries = 0; tries < 200 && free_bytes() < (ROOM + 1) * MIB; tries++)
                usleep(10000);
            cr_assert(free_bytes() > ROOM * MIB, "%lu bytes free", (unsigned long)free_bytes());
            cr_assert(occupy(text("%s/rest", point), free_bytes() - ROOM * MIB), "no rest");
            struct run what = copier(chunks[e % 3], endings[e], shim);
            struct outcome outcome = run(&what);
            struct result result = judge(&outcome, endings[e]);
            cr_assert(result.seen, "%s: never full; told %ld of %ld", endings[e], result.told, result.size);
            cr_assert(strstr(outcome.out, "seen write"), "%s: %s", endings[e], outcome.out);
            if (strcmp(endings[e], "retry") == 0)
                cr_assert(result.size == (long)(SOURCE * MIB), "%ld bytes", result.size);
            if (shim)
                assert_sessions(outcome);
        }
}

Test(faults_space, F1_F8_tmpfs_fills_up, .timeout = 60)
{
    fills_up("tmpfs", 128 * MIB, ENDINGS);
}

Test(faults_space, F1_F8_ext4_fills_up, .timeout = 60)
{
    fills_up("ext4", 192 * MIB, 3);
}

Test(faults_space, F1_F8_xfs_fills_up, .timeout = 60)
{
    fills_up("xfs", 320 * MIB, 2);
}

/* The file system becomes as small as what is in it. */
static void shrink(void)
{
    struct statvfs status;
    for (int tries = 0; tries < 100; tries++) {
        cr_assert(statvfs(point, &status) == 0);
        uint64_t used = (status.f_blocks - status.f_bfree) * status.f_frsize;
        if (mount(NULL, point, NULL, MS_REMOUNT, text("size=%lu", (unsigned long)used)) == 0)
            return;
    }
    cr_assert(false, "remount: %s", strerror(errno));
}

static void grow(void)
{
    cr_assert(mount(NULL, point, NULL, MS_REMOUNT, "size=160m") == 0, "remount: %s", strerror(errno));
}

/* Somebody else takes all that is left, at once, while bytes are deferred; room comes back a little later. */
static void full_at_once(const char *word, int rounds)
{
    enum { FIRST_US = 30000, STEP_US = 11000, FULL_US = 130000 /* longer than anything is deferred */ };
    int met = 0, owed = 0;
    begin("tmpfs", 160 * MIB, MIB);
    struct run copy = {.args = ARGS(victim("fault_copy"), source, out, "4096", "slow", word), .shim = true};
    struct outcome undisturbed = run(&copy);
    for (int round = 0; round < rounds; round++) {
        grow();
        remove(out);
        struct running running = run_start(&copy);
        usleep((useconds_t)(FIRST_US + STEP_US * round));
        shrink();
        usleep(FULL_US);
        grow();
        struct outcome outcome = run_finish(&running);
        assert_sessions(outcome);
        cr_assert(outcome.status == 0, "exit %d; %s%s", exit_code(outcome.status), outcome.out, outcome.err);
        const char *line = strstr(outcome.out, "told ");
        long told, size = file_size(out);
        cr_assert(line && sscanf(line, "told %ld", &told) == 1, "%s", outcome.out);
        bool seen = strstr(outcome.out, "write: ENOSPC") != NULL;
        bool lost_and_told = size < told && strstr(outcome.out, "close: ENOSPC");
        cr_assert(size == told || lost_and_told, "round %d: told %ld, has %ld; %s", round, told, size,
                  outcome.out);
        cr_assert(seen || size == (long)MIB, "round %d: nothing was told; %ld bytes", round, size);
        char *difference = prefix_difference(out, source);
        cr_assert(!difference, "round %d: %s", round, difference);
        met += seen;
        /* It ended by the error: for good, or another one had to begin. */
        owed += seen && (strstr(outcome.report.raw, "\"ended\":\"write-error\"") ||
                         outcome.report.sessions > undisturbed.report.sessions);
    }
    cr_assert(met > rounds / 2, "only %d of %d met the end of the room", met, rounds);
    cr_assert(owed > rounds / 3, "only %d of %d in a session", owed, rounds);
}

Test(faults_space, F1_F8_C3_full_at_once_and_tried_again, .timeout = 60)
{
    full_at_once("patient", 8);
}

Test(faults_space, F1_F8_C3_full_at_once_and_given_up, .timeout = 60)
{
    full_at_once("stop", 8);
}
