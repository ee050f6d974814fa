/* A8, A18, A24, A25: the source, or a mapping of either end, changes while the loop runs. */
#include "support.h"

#include <string.h>

static const size_t chunks[] = {7, 512, 1000, 4096, 10240};
enum { CHUNKS = sizeof chunks / sizeof *chunks };

static void prepare(const char *directory, void *chunk)
{
    uint64_t size = *(size_t *)chunk < 512 ? 60001 : 700001;
    make_random(text("%s/in", directory), 11, size);
    make_random(text("%s/other-in", directory), 12, size);
}

/* -- A8: by another process, which the program then hears of -- */

static void asked_for(const char *how)
{
    for (int i = 0; i < CHUNKS; i++) {
        size_t chunk = chunks[i];
        struct run asks = {.args = ARGS(victim("asks"), how, text("%zu", chunk))};
        struct outcome outcome = run_both(&asks, prepare, &chunk);
        cr_assert(outcome.status == 0, "%s", outcome.err);
        assert_sessions(outcome);
    }
}

#define ASKED(test, how)                                                                                     \
    Test(hazard_a, test)                                                                                     \
    {                                                                                                        \
        asked_for(how);                                                                                      \
    }

ASKED(A8_other_process_writes_ahead, "pwrite")
ASKED(A8_other_process_stores_ahead_through_mapping, "store")
ASKED(A8_other_process_truncates_and_refills, "refill")
ASKED(A18_other_process_cuts_the_end, "shrink")
ASKED(A18_other_process_cuts_below_the_offset, "shrink-behind")
ASKED(A18_other_process_appends, "grow")
ASKED(A18_other_process_appends_when_the_end_is_reached, "grow-at-end")

/* -- A18, A25: by another process, at any moment -- */

static void moves(const char *how, const struct outcome **plain, struct outcome *shim, size_t chunk)
{
    struct run moving = {.args = ARGS(victim("moving"), how, text("%zu", chunk))};
    static struct outcome outcomes[2];
    for (int i = 0; i < 2; i++) {
        moving.shim = i;
        moving.cwd = scratch_dir(i ? "shim" : "plain");
        make_random(text("%s/in", moving.cwd), 13, 3000001);
        make_random(text("%s/before", moving.cwd), 13, 3000001);
        outcomes[i] = run(&moving);
        cr_assert(outcomes[i].status == 0 && !outcomes[i].timed_out, "%s %s", how, outcomes[i].err);
        cr_assert_str_eq(outcomes[i].out, "offsets right, bytes right\n", "%s %zu %s: %s", how, chunk,
                         i ? "shim" : "plain", outcomes[i].out);
    }
    *plain = &outcomes[0];
    *shim = outcomes[1];
    assert_sessions(*shim);
}

static void moves_all(const char *how)
{
    for (int i = 1; i < CHUNKS; i++) {
        const struct outcome *plain;
        struct outcome shim;
        moves(how, &plain, &shim, chunks[i]);
        char *difference = NULL;
        if (strcmp(how, "grow") == 0)
            difference = prefix_difference(shim_path("out"), shim_path("in"));
        if (strcmp(how, "shrink") == 0)
            difference = prefix_difference(shim_path("out"), shim_path("before"));
        cr_assert(!difference, "%s %zu: %s", how, chunks[i], difference);
    }
}

Test(hazard_a, A18_source_grows_meanwhile)
{
    moves_all("grow");
}

Test(hazard_a, A18_source_shrinks_meanwhile)
{
    moves_all("shrink");
}

Test(hazard_a, A25_source_stored_to_meanwhile)
{
    moves_all("store");
}

Test(hazard_a, A25_source_written_meanwhile)
{
    moves_all("overwrite");
}

/* -- A24: mapped ends -- */

static void mapped_on(const char *base, const char *what, bool stays_out)
{
    for (int i = 0; i < CHUNKS; i++) {
        size_t chunk = chunks[i];
        struct run maps = {.args = ARGS(victim("mapped"), what, text("%zu", chunk)), .base = base};
        struct outcome outcome = run_both(&maps, prepare, &chunk);
        cr_assert(outcome.status == 0, "%s", outcome.err);
        if (!stays_out)
            assert_sessions(outcome);
        else if (strstr(what, "shared-writable"))
            /* Any writable shared mapping is a reason of its own, whatever is in it. */
            cr_assert(outcome.report.sessions == 0 && report_reason(&outcome.report, "shared-mapping") +
                                                              report_reason(&outcome.report, "mapped-end") >
                                                          0,
                      "%s: %s", what, outcome.report.raw);
        else
            assert_stays_out(outcome, "mapped-end");
    }
}

static void mapped(const char *what, bool stays_out)
{
    mapped_on(NULL, what, stays_out);
}

#define MAPPED(test, what, stays_out)                                                                        \
    Test(hazard_a, A24_##test)                                                                               \
    {                                                                                                        \
        mapped(what, stays_out);                                                                             \
    }

MAPPED(source_mapped_shared_read_only, "in-shared", true)
MAPPED(source_mapped_private_read_only, "in-private", true)
MAPPED(source_mapped_shared_writable, "in-shared-writable", true)
MAPPED(source_mapped_private_writable, "in-private-writable", true)
MAPPED(source_mapped_by_closed_descriptor, "in-shared-closed", true)
MAPPED(destination_mapped_shared_read_only, "out-shared", true)
MAPPED(destination_mapped_private_read_only, "out-private", true)
MAPPED(destination_mapped_shared_writable, "out-shared-writable", true)
MAPPED(destination_mapped_by_closed_descriptor, "out-private-closed", true)
MAPPED(shared_memory, "memory-shared-writable", true)
MAPPED(other_file_mapped_shared_writable, "other-shared-writable", true)
MAPPED(other_file_mapped_read_only_is_no_reason, "other-shared", false)
MAPPED(private_memory_is_no_reason, "memory-private-writable", false)

/* What the list of mappings says of a file is not what fstat says on every file system. */
static void mapped_on_file_system(const char *kind)
{
    char *point = mount_fresh(kind, 512u << 20);
    static const char *const all[] = {"in-shared",   "in-private",         "in-shared-closed",   "out-shared",
                                      "out-private", "out-private-closed", "out-shared-writable"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        mapped_on(point, all[i], true);
    mapped_on(point, "memory-private-writable", false);
}

Test(hazard_a, A24_mapped_ends_on_ext4)
{
    mapped_on_file_system("ext4");
}

Test(hazard_a, A24_mapped_ends_on_xfs)
{
    mapped_on_file_system("xfs");
}

Test(hazard_a, A24_mapped_ends_on_btrfs)
{
    mapped_on_file_system("btrfs");
}

Test(hazard_a, A24_mapped_ends_on_tmpfs)
{
    mapped_on_file_system("tmpfs");
}

Test(hazard_a, A24_mapped_ends_on_overlay)
{
    mapped_on_file_system("overlay");
}
