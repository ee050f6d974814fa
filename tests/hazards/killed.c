/*
 * B1, B12: a copy loop that dies at any instant. What it leaves is what plain could have left a moment
 * earlier.
 */
#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The largest window of a copy: what may be promised and not yet written. And where blocks can be shared. */
enum { PROMISE = 512 << 10, PROMISE_SHARED = 4 << 20 };

static int64_t promise_on(int fd)
{
    struct statfs file_system;
    cr_assert(fstatfs(fd, &file_system) == 0);
    return file_system.f_type == XFS_SUPER_MAGIC || file_system.f_type == BTRFS_SUPER_MAGIC ? PROMISE_SHARED
                                                                                            : PROMISE;
}

struct plan {
    size_t chunk;
    uint64_t size; /* of the source: enough for a loop of some tens of milliseconds under the shim */
    int kills;
    int flags; /* of the destination */
};

/* The two ends of a copy, open file descriptions that both processes hold. */
struct ends {
    int in, out;
};

static void hand_over(void *argument)
{
    struct ends *ends = argument;
    dup2(ends->in, 3);
    dup2(ends->out, 4);
}

static double seconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void pause_for(double duration)
{
    struct timespec time = {(time_t)duration, (long)((duration - (double)(time_t)duration) * 1e9)};
    nanosleep(&time, NULL);
}

/* The copier has them at 3 and 4, we at numbers far from those: a parent that holds the source at the same
 * number may be reading too, which keeps the shim out. */
static int at_a_high_number(const char *path, int flags)
{
    int low = open(path, flags | O_CLOEXEC, 0666);
    int high = fcntl(low, F_DUPFD_CLOEXEC, 300);
    cr_assert(high >= 300, "%s: %s", path, strerror(errno));
    close(low);
    return high;
}

static struct ends open_ends(const struct plan *plan, const char *path, const char *destination)
{
    return (struct ends){at_a_high_number(path, O_RDONLY),
                         at_a_high_number(destination, O_WRONLY | O_CREAT | O_TRUNC | plan->flags)};
}

static void close_ends(const struct ends *ends)
{
    close(ends->in);
    close(ends->out);
}

/* Starts a copy and waits until its loop begins. */
static struct running begin(size_t chunk, struct ends *ends, bool shim)
{
    struct run what = {
        .args = ARGS(victim("b1_copy_to_be_killed"), text("%zu", chunk)),
        .shim = shim,
        .child = hand_over,
        .argument = ends,
    };
    struct running running = run_start(&what);
    char byte;
    cr_assert(read(running.out, &byte, 1) == 1, "the copy did not begin");
    return running;
}

/* How long an undisturbed loop takes, and that it is one that the shim helps. */
static double undisturbed(const struct plan *plan, const char *path, const char *destination, bool shim)
{
    struct ends ends = open_ends(plan, path, destination);
    double start = seconds();
    struct running running = begin(plan->chunk, &ends, shim);
    char byte;
    while (read(running.out, &byte, 1) > 0)
        ;
    double duration = seconds() - start;
    struct outcome outcome = run_finish(&running);
    cr_assert(outcome.status == 0, "%s", outcome.err);
    char *difference = file_difference(destination, path);
    cr_assert(!difference, "%s", difference);
    if (shim)
        assert_sessions(outcome);
    close_ends(&ends);
    return duration;
}

struct toll {
    int in_the_middle; /* died before the end and after the beginning */
    int64_t bytes, writes;
};

static void kill_one(const struct plan *plan, const char *path, const char *destination, double when,
                     int signal, int expected_status, struct toll *toll)
{
    struct ends ends = open_ends(plan, path, destination);
    struct running running = begin(plan->chunk, &ends, true);
    pause_for(when);
    kill(running.pid, signal);
    struct outcome outcome = run_finish(&running);
    int64_t size = file_size(destination), offset = lseek(ends.in, 0, SEEK_CUR);
    int64_t written_to = lseek(ends.out, 0, SEEK_CUR), promise = promise_on(ends.out);
    close_ends(&ends);
    if (outcome.status == 0)
        cr_assert(size == (int64_t)plan->size, "it ended well with %ld bytes", (long)size);
    else
        cr_assert(outcome.status == expected_status, "status %#x, not %#x; %s", (unsigned)outcome.status,
                  (unsigned)expected_status, outcome.err);
    char *difference = prefix_difference(destination, path);
    cr_assert(!difference, "chunk %zu, killed after %.6f s: %s", plan->chunk, when, difference);
    cr_assert(written_to == size,
              "chunk %zu, killed after %.6f s: the destination is at %ld and has %ld bytes", plan->chunk,
              when, (long)written_to, (long)size);
    cr_assert(offset >= size,
              "chunk %zu, killed after %.6f s: the source is at %ld, the destination has %ld bytes",
              plan->chunk, when, (long)offset, (long)size);
    cr_assert(offset <= size + promise + (int64_t)plan->chunk,
              "chunk %zu, killed after %.6f s: the source is at %ld, the destination has only %ld bytes",
              plan->chunk, when, (long)offset, (long)size);
    if (outcome.status != 0 && size > 0 && size < (int64_t)plan->size) {
        toll->in_the_middle++;
        toll->bytes += size;
        toll->writes += outcome.writes;
    }
}

static void kill_many(const struct plan *plan, int signal, int expected_status)
{
    const char *path = scratch_path("source"), *destination = scratch_path("destination");
    make_random(path, plan->chunk, plan->size);
    /* The shortest of three: a loop that was disturbed would put most of the kills behind the end of the
     * others. */
    double duration = undisturbed(plan, path, destination, true);
    for (int i = 0; i < 2; i++) {
        double another = undisturbed(plan, path, destination, true);
        duration = another < duration ? another : duration;
    }
    struct toll toll = {0};
    uint64_t random;
    for (int i = 0; i < plan->kills; i++) {
        fill_random(&random, sizeof random, plan->chunk, (uint64_t)i * 8);
        kill_one(plan, path, destination, duration * (double)(random % 10000) / 10000, signal,
                 expected_status, &toll);
    }
    cr_assert(toll.in_the_middle * 5 > plan->kills, "only %d of %d died in the middle", toll.in_the_middle,
              plan->kills);
    /* Plain would have made one write for each chunk. */
    cr_assert(toll.writes < 0 || toll.bytes / (toll.writes + 1) > 2 * (int64_t)plan->chunk,
              "%ld bytes by %ld writes: not helped", (long)toll.bytes, (long)toll.writes);
}

static const struct plan plans[] = {
    {512, 10 << 20, 300, 0},   {1000, 14 << 20, 150, 0},        {4096, 24 << 20, 250, 0},
    {16384, 32 << 20, 200, 0}, {1000, 14 << 20, 100, O_APPEND},
};

static void kill_by_plan(int i)
{
    kill_many(&plans[i], SIGKILL, SIGKILL);
}

Test(hazard_b, B1_sigkill_leaves_a_prefix_512, .timeout = 120)
{
    kill_by_plan(0);
}

Test(hazard_b, B1_sigkill_leaves_a_prefix_1000, .timeout = 120)
{
    kill_by_plan(1);
}

Test(hazard_b, B1_sigkill_leaves_a_prefix_4096, .timeout = 120)
{
    kill_by_plan(2);
}

Test(hazard_b, B1_sigkill_leaves_a_prefix_16384, .timeout = 120)
{
    kill_by_plan(3);
}

Test(hazard_b, B1_sigkill_leaves_a_prefix_behind_what_is_appended, .timeout = 120)
{
    kill_by_plan(4);
}

Test(hazard_b, B12_a_sent_sigsys_always_kills, .timeout = 120)
{
    const struct plan plan = {512, 8 << 20, 100, 0};
    /* Whether a core is dumped is the machine's affair; it must be the same as plain's. */
    const char *path = scratch_path("plain-source"), *destination = scratch_path("plain-destination");
    make_random(path, 1, plan.size);
    struct ends ends = open_ends(&plan, path, destination);
    struct running running = begin(plan.chunk, &ends, false);
    kill(running.pid, SIGSYS);
    struct outcome plain = run_finish(&running);
    close_ends(&ends);
    cr_assert(WIFSIGNALED(plain.status) && WTERMSIG(plain.status) == SIGSYS, "plain ended with %#x",
              (unsigned)plain.status);
    kill_many(&plan, SIGSYS, plain.status);
}
