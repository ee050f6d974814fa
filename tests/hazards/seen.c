/*
 * E1 to E4: what others see of a copy: marks on the files, events, times, durability.
 */
#include "support.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MIB = 1 << 20 };

static const char *source;

static void old_source(const char *directory, void *unused)
{
    (void)unused;
    char *path = text("%s/in", directory);
    make_random(path, 40, 4 * MIB);
    /* Access later than a day ago and not before the last change: where times are kept at all, a read moves
     * it. */
    struct timespec past[2] = {{1000000000, 0}, {1000000000, 0}};
    cr_assert(utimensat(AT_FDCWD, path, past, 0) == 0, "utimensat");
    /* The victim is nobody by then. */
    cr_assert(chmod(directory, 0777) == 0 && chmod(path, 0644) == 0, "chmod");
}

static struct outcome both(const char *const *args)
{
    struct run what = {.args = args};
    struct outcome outcome = run_both(&what, old_source, NULL);
    cr_assert(outcome.status == 0, "exit %d, %s", exit_code(outcome.status), outcome.err);
    /* Some of the victims are nobody at their end and cannot write a report; plain makes a write for each
     * 1000 bytes. */
    cr_assert(outcome.writes < 4 * MIB / 1000 / 2, "%ld writes: not helped", (long)outcome.writes);
    return outcome;
}

Test(hazard_e, E1_set_user_id_bits_capabilities_and_times)
{
    if (geteuid() != 0)
        cr_skip_test("the bits that a write clears are set by root");
    struct outcome outcome = both(ARGS(victim("e1_marks_on_the_file"), "in", "out"));
    cr_assert(strstr(outcome.out, "mode 755, capability none, mtime moved"), "%s", outcome.out);
    cr_assert(strstr(outcome.out, "mtime moved, atime moved"), "%s", outcome.out);
}

Test(hazard_e, E2_watchers_get_an_event_after_the_last_byte)
{
    struct outcome outcome = both(ARGS(victim("e2_watched"), "in", "out"));
    cr_assert(!strstr(outcome.out, "nothing"), "%s", outcome.out);
}

Test(hazard_e, E3_access_time_as_by_read)
{
    if (geteuid() != 0)
        cr_skip_test("the victim wants to change its user");
    struct outcome outcome = both(ARGS(victim("e1_marks_on_the_file"), "in", "out"));
    cr_assert(strstr(outcome.out, "atime moved"), "%s", outcome.out);
    outcome = both(ARGS(victim("e1_marks_on_the_file"), "in", "out", "noatime"));
    cr_assert(strstr(outcome.out, "atime old"), "%s", outcome.out);
}

struct ends {
    int answers, durable;
};

static void hand_over(void *argument)
{
    struct ends *ends = argument;
    dup2(ends->answers, 3);
    dup2(ends->durable, 4);
}

static void *as_pipe(int low[2])
{
    /* Above the numbers that the victim wants. */
    int ends[2];
    cr_assert(pipe2(ends, O_CLOEXEC) == 0);
    for (int i = 0; i < 2; i++) {
        low[i] = fcntl(ends[i], F_DUPFD_CLOEXEC, 300);
        close(ends[i]);
    }
    return NULL;
}

Test(hazard_e, E4_what_is_said_to_be_durable_is_there)
{
    int answers[2], durable[2];
    as_pipe(answers);
    as_pipe(durable);
    source = scratch_path("source");
    make_random(source, 41, 8 * MIB);
    struct ends ends = {answers[0], durable[1]};
    char *out = scratch_path("out");
    struct run what = {
        .args = ARGS(victim("e4_synced"), source, out), .child = hand_over, .argument = &ends, .shim = true};
    struct running running = run_start(&what);
    close(durable[1]);
    for (int round = 0; round < 4; round++) {
        long said = 0;
        cr_assert(read(durable[0], &said, sizeof said) == sizeof said, "round %d: no message", round);
        cr_assert(file_size(out) == said, "round %d: %ld bytes are said to be durable, %ld are there", round,
                  said, (long)file_size(out));
        char *difference = prefix_difference(out, source);
        cr_assert(!difference, "%s", difference);
        cr_assert(write(answers[1], "", 1) == 1);
    }
    struct outcome outcome = run_finish(&running);
    cr_assert(outcome.status == 0, "exit %d; %s", exit_code(outcome.status), outcome.err);
    assert_sessions(outcome);
    char *difference = file_difference(out, source);
    cr_assert(!difference, "%s", difference);
}
