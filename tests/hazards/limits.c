/*
 * B4, F1: RLIMIT_FSIZE, a file system that fills up, a device that is always full.
 */
#include "support.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MIB = 1 << 20 };

static const char *source;

static void link_source(const char *directory, void *unused)
{
    (void)unused;
    cr_assert(symlink(source, text("%s/in", directory)) == 0, "symlink");
}

static void source_of(uint64_t size)
{
    source = scratch_path("source");
    make_random(source, 4, size);
}

Test(hazard_b, B4_file_size_limit)
{
    static const char *const chunks[] = {"512", "1000", "4096", "65536"};
    static const char *const limits[] = {"1048576", "2000001", "300000"};
    static const char *const whens[] = {"before", "middle"}, *const hows[] = {"handle", "ignore", "default"};
    source_of(8 * MIB);
    for (int i = 0; i < 4 * 3 * 2 * 3; i++) {
        const char *limit = limits[i / 4 % 3];
        struct run what = {.args = ARGS(victim("b4_file_size_limit"), "in", "out", chunks[i % 4], limit,
                                        whens[i / 12 % 2], hows[i / 24])};
        struct outcome outcome = run_both(&what, link_source, NULL);
        cr_assert(exit_code(outcome.status) == (i / 24 == 2 ? 128 + SIGXFSZ : 0), "exit %d, %s",
                  exit_code(outcome.status), outcome.err);
        cr_assert(file_size(scratch_path("shim/out")) == strtol(limit, NULL, 10), "%s: not at the limit",
                  limit);
        char *difference = prefix_difference(scratch_path("shim/out"), source);
        cr_assert(!difference, "%s", difference);
        if (i / 24 == 0) {
            /* One for each write that fails; the last write of the loop itself does where the chunk divides
             * the limit. */
            cr_assert(strstr(outcome.out, strstr(outcome.out, "last write -1")
                                              ? "again: -1 File too large, signals 2\n"
                                              : "again: -1 File too large, signals 1\n"),
                      "%s", outcome.out);
        }
    }
}

/* The limit is far off, so that a session runs, and is met all the same. */
Test(hazard_b, B4_file_size_limit_far_off)
{
    source_of(48 * MIB);
    struct run what = {
        .args = ARGS(victim("b4_file_size_limit"), "in", "out", "512", "33554500", "before", "handle")};
    struct outcome outcome = run_both(&what, link_source, NULL);
    assert_sessions(outcome);
    cr_assert(file_size(scratch_path("shim/out")) == 33554500, "not at the limit");
    what.args = ARGS(victim("b4_file_size_limit"), "in", "out", "4096", "33554500", "middle", "handle");
    outcome = run_both(&what, link_source, NULL);
    assert_sessions(outcome);
}

/* The same output in both runs, the destination on a small file system of its own in each. */
static struct outcome fill_up(const char *kind, uint64_t size, const char *chunk, bool exact)
{
    struct outcome outcomes[2];
    char *copies[2];
    for (int i = 0; i < 2; i++) {
        char *point = mount_fresh(kind, size);
        copies[i] = text("%s/out", point);
        struct run what = {.args = ARGS(victim("f1_device_full"), source, copies[i], chunk), .shim = i};
        outcomes[i] = run(&what);
        char *difference = prefix_difference(copies[i], source);
        cr_assert(!difference, "%s", difference);
        cr_assert(strstr(outcomes[i].out, "No space left on device"), "%s: never full: %s", chunk,
                  outcomes[i].out);
        cr_assert(strstr(outcomes[i].out, "write after") || strstr(outcomes[i].out, "read: "),
                  "%s: the error came from close alone: %s", chunk, outcomes[i].out);
    }
    if (exact) {
        cr_assert_str_eq(outcomes[1].out, outcomes[0].out);
        char *difference = file_difference(copies[0], copies[1]);
        cr_assert(!difference, "%s", difference);
    }
    return outcomes[1];
}

Test(hazard_f, F1_small_tmpfs_fills_up)
{
    static const char *const chunks[] = {"512", "1000", "4096", "5000", "65536", "300000"};
    source_of(4 * MIB);
    for (int i = 0; i < 6; i++) {
        struct outcome outcome = fill_up("tmpfs", MIB, chunks[i], true);
        cr_assert(outcome.report.sessions == 0, "%s", outcome.report.raw);
        if (i < 5)
            cr_assert(report_reason(&outcome.report, "dest-space") > 0 || i == 4, "%s", outcome.report.raw);
    }
}

/* Enough room for a session to start, too little for the whole. */
Test(hazard_f, F1_large_tmpfs_fills_up)
{
    static const char *const chunks[] = {"512", "1000", "4096"};
    source_of(112 * MIB);
    for (int i = 0; i < 3; i++) {
        struct outcome outcome = fill_up("tmpfs", 96 * MIB, chunks[i], true);
        assert_sessions(outcome);
    }
}

Test(hazard_f, F1_ext4_fills_up)
{
    source_of(200 * MIB);
    struct outcome outcome = fill_up("ext4", 160 * MIB, "4096", false);
    assert_sessions(outcome);
}

Test(hazard_f, F1_full_device)
{
    source_of(MIB);
    struct run what = {.args = ARGS(victim("f1_device_full"), "in", "/dev/full", "512", "keep")};
    struct outcome outcome = run_both(&what, link_source, NULL);
    cr_assert(strstr(outcome.out, "write after 0: No space left on device"), "%s", outcome.out);
}
