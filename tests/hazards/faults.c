/*
 * F2, F3, F7: bad pointers, odd counts, wrong descriptors, memory that goes away: the answers of plain, no
 * signal.
 */
#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MIB = 1 << 20, SKIPPED = 77 };

static const char *source;

static void link_source(const char *directory, void *unused)
{
    (void)unused;
    cr_assert(symlink(source, text("%s/in", directory)) == 0, "symlink");
    cr_assert(mkdir(text("%s/directory", directory), 0777) == 0, "mkdir");
}

static void source_of(uint64_t size)
{
    source = scratch_path("source");
    make_random(source, 20, size);
}

static struct outcome both(const char *const *args)
{
    struct run what = {.args = args};
    struct outcome outcome = run_both(&what, link_source, NULL);
    cr_assert(outcome.status == 0, "exit %d, %s", exit_code(outcome.status), outcome.err);
    return outcome;
}

static const char *const chunks[] = {"512", "4096", "1000", "16"};

Test(hazard_f, F2_bad_pointers_in_a_session)
{
    source_of(4 * MIB);
    for (int i = 0; i < 4; i++) {
        struct outcome outcome = both(ARGS(victim("f2_bad_pointers"), "in", "out", chunks[i]));
        assert_sessions(outcome);
        cr_assert(strstr(outcome.out, "read to NULL: -1 Bad address"), "%s", outcome.out);
    }
}

Test(hazard_f, F2_bad_pointers_outside_of_a_session)
{
    source_of(4 * MIB);
    for (int i = 0; i < 4; i++)
        both(ARGS(victim("f2_bad_pointers"), "in", "out", chunks[i], "outside"));
}

Test(hazard_f, F3_odd_counts_and_wrong_descriptors)
{
    source_of(4 * MIB);
    struct outcome outcome = both(ARGS(victim("f3_odd_calls"), "in", "out", "directory"));
    assert_sessions(outcome);
    cr_assert(strstr(outcome.out, "Bad file descriptor") && strstr(outcome.out, "Is a directory") &&
                  strstr(outcome.out, "Illegal seek"),
              "%s", outcome.out);
}

/* Cut at another moment each time; a moment after the end proves nothing and is not counted. */
static int truncate_meanwhile(const char *mode, int round, bool shim)
{
    const char *directory = scratch_dir(shim ? "shim" : "plain");
    char *mapped = text("%s/mapped", directory), *out = text("%s/out", directory);
    make_random(mapped, 20, MIB);
    struct run what = {.args = ARGS(victim("f7_mapping_truncated"), source, out, mapped, mode), .shim = shim};
    struct running running = run_start(&what);
    char ready[6];
    cr_assert(read(running.out, ready, sizeof ready) == sizeof ready, "it did not begin");
    usleep((useconds_t)(1000 + 700 * round));
    cr_assert(truncate(mapped, 0) == 0, "truncate");
    struct outcome outcome = run_finish(&running);
    cr_assert(outcome.status == 0, "%s, round %d: exit %d; %s", mode, round, exit_code(outcome.status),
              outcome.err);
    cr_assert(strstr(outcome.out, "exact\n"), "%s, round %d: %s", mode, round, outcome.out);
    char *difference = prefix_difference(out, source);
    cr_assert(!difference, "%s", difference);
    return strstr(outcome.out, "EFAULT") != NULL;
}

/* The bytes of the mapped file come again and again in the source, so that writing from either is the same.
 */
static void source_of_repeats(int times)
{
    source = scratch_path("source");
    char *bytes = malloc(MIB);
    fill_random(bytes, MIB, 20, 0);
    FILE *file = fopen(source, "w");
    for (int i = 0; i < times; i++)
        cr_assert(fwrite(bytes, MIB, 1, file) == 1);
    cr_assert(fclose(file) == 0);
    free(bytes);
}

static void truncations(const char *mode)
{
    int hits = 0;
    source_of_repeats(48);
    cr_assert(truncate_meanwhile(mode, 1, false), "plain is not cut in the middle");
    for (int round = 0; round < 30; round++)
        hits += truncate_meanwhile(mode, round, true);
    cr_assert(hits > 10, "only %d of 30 were cut in the middle", hits);
}

Test(hazard_f, F7_read_into_a_mapping_that_is_truncated)
{
    truncations("read");
}

Test(hazard_f, F7_write_from_a_mapping_that_is_truncated)
{
    truncations("write");
}

Test(hazard_f, F7_protection_key_revoked)
{
    source_of(4 * MIB);
    struct run what = {.args = ARGS(victim("f7_protection_keys"), source, scratch_path("out"))};
    if (WEXITSTATUS(run(&what).status) == SKIPPED)
        cr_skip_test("the CPU or the kernel has no protection keys");
    struct outcome outcome = both(ARGS(victim("f7_protection_keys"), "in", "out"));
    assert_sessions(outcome);
    cr_assert(strstr(outcome.out, "read without access: -1 Bad address"), "%s", outcome.out);
}
