/* A7, A9, A10, A11, A17, A20, A21: the bytes that reach the destination, and where. */
#include "support.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const size_t chunks[] = {1, 7, 512, 1000, 4096, 10240};
enum { CHUNKS = sizeof chunks / sizeof *chunks };

static void prepare(const char *directory, void *chunk)
{
    make_random(text("%s/in", directory), 4, *(size_t *)chunk < 512 ? 60001 : 900001);
}

/* -- A7: what is written is not what was read -- */

static void transforms(const char *how, bool by_sessions)
{
    for (int i = 0; i < CHUNKS; i++) {
        size_t chunk = chunks[i];
        struct run transform = {.args = ARGS(victim("transform"), how, text("%zu", chunk))};
        struct outcome outcome = run_both(&transform, prepare, &chunk);
        cr_assert(outcome.status == 0);
        if (by_sessions)
            assert_sessions(outcome);
    }
}

#define TRANSFORM(test, how, by_sessions)                                                                    \
    Test(hazard_a, A7_##test)                                                                                \
    {                                                                                                        \
        transforms(how, by_sessions);                                                                        \
    }

TRANSFORM(upper_case, "upper", true)
TRANSFORM(every_byte_changed, "invert", true)
TRANSFORM(bytes_swapped, "swap", true)
TRANSFORM(first_byte_of_each_piece, "first-byte", true)
TRANSFORM(last_byte_of_each_piece, "last-byte", true)
TRANSFORM(one_byte_in_a_thousand_pieces, "one-in-a-thousand", true)
TRANSFORM(one_byte_in_ten_pieces, "one-in-ten", true)
/* Pieces of other lengths than were read are no pairs for the detector, or are; the bytes count. */
TRANSFORM(line_ends_made_longer, "line-ends", false)
TRANSFORM(bytes_left_out, "drop", false)
TRANSFORM(written_from_another_buffer, "moved", true)
TRANSFORM(written_one_piece_behind, "one-behind", true)

/* -- A9: one inode at both ends -- */

static void same_file(const char *how)
{
    for (int i = 2; i < CHUNKS; i++) {
        size_t chunk = chunks[i];
        struct run same = {.args = ARGS(victim("same"), how, text("%zu", chunk))};
        struct outcome outcome = run_both(&same, prepare, &chunk);
        cr_assert(outcome.status == 0);
        cr_assert(outcome.report.sessions == 0, "%s %zu: a session ran", how, chunk);
        /* With one description the plain loop itself skips every other piece; whatever the
         * detector makes of that, no reason needs to be given. */
        if (strncmp(how, "one-", 4) != 0)
            assert_stays_out(outcome, "same-file");
    }
}

#define SAME(test, how)                                                                                      \
    Test(hazard_a, A9_##test)                                                                                \
    {                                                                                                        \
        same_file(how);                                                                                      \
    }

SAME(overlapping_ahead, "ahead")
SAME(not_overlapping_ahead, "far-ahead")
SAME(overlapping_behind, "behind")
SAME(onto_itself, "onto")
SAME(by_hard_link, "hard-link")
SAME(by_symbolic_link, "symbolic-link")
SAME(by_one_description, "one-description")
SAME(by_one_descriptor, "one-descriptor")

/* -- the copy itself, from and to odd places -- */

static struct outcome copies(const char *const *args, void (*before)(const char *, void *))
{
    struct run copy = {.args = args};
    struct outcome outcome = run_both(&copy, before, NULL);
    cr_assert(outcome.status == 0, "%s", outcome.err);
    return outcome;
}

static void sized(const char *directory, void *size)
{
    make_random(text("%s/in", directory), 5, *(uint64_t *)size);
}

Test(hazard_a, A17_every_size_around_the_window)
{
    /* The window grows from 16 KiB to 512 KiB; around each of its ends, and of the pieces'. */
    static const uint64_t marks[] = {0, 4096, 16384, 32768, 49152, 65536, 131072, 262144, 524288, 1048576};
    for (size_t mark = 0; mark < sizeof marks / sizeof *marks; mark++)
        for (int near = -1; near <= 1; near++) {
            uint64_t size = marks[mark] + (uint64_t)near;
            if (marks[mark] == 0 && near < 0)
                continue;
            for (int i = 2; i < CHUNKS; i++) {
                struct run copy = {.args = ARGS(victim("copy"), text("%zu", chunks[i]))};
                struct outcome outcome = run_both(&copy, sized, &size);
                cr_assert(strstr(outcome.out, " 0 short reads"), "%s", outcome.out);
                if (size / chunks[i] > 4)
                    assert_sessions(outcome);
            }
        }
}

Test(hazard_a, A17_read_is_full_to_the_end)
{
    uint64_t size = 3000017;
    for (size_t chunk = 500; chunk < 65536; chunk = chunk * 3 / 2 + 1) {
        struct run copy = {.args = ARGS(victim("copy"), text("%zu", chunk))};
        struct outcome outcome = run_both(&copy, sized, &size);
        cr_assert(strstr(outcome.out, " 0 short reads"), "chunk %zu: %s", chunk, outcome.out);
        assert_sessions(outcome);
    }
}

static void longer_destination(const char *directory, void *unused)
{
    (void)unused;
    make_random(text("%s/in", directory), 6, 300001);
    make_random(text("%s/out", directory), 7, 500001);
}

Test(hazard_a, A10_longer_destination_keeps_its_end)
{
    struct outcome outcome = copies(ARGS(victim("copy"), "1000", "keep"), longer_destination);
    assert_sessions(outcome);
    cr_expect(file_size(shim_path("out")) == 500001);
}

Test(hazard_a, A10_written_into_the_middle)
{
    struct outcome outcome = copies(ARGS(victim("copy"), "512", "keep", "seek=12345"), longer_destination);
    assert_sessions(outcome);
    cr_expect(file_size(shim_path("out")) == 500001);
}

Test(hazard_a, A10_from_and_to_odd_offsets_stopping_early)
{
    for (int pairs = 1; pairs < 300; pairs = pairs * 3) {
        struct outcome outcome =
            copies(ARGS(victim("copy"), "700", "keep", "skip=333", "seek=777", text("pairs=%d", pairs)),
                   longer_destination);
        if (pairs > 4)
            assert_sessions(outcome);
    }
}

Test(hazard_a, A10_destination_written_far_behind_its_end)
{
    struct outcome outcome = copies(ARGS(victim("copy"), "4096", "keep", "seek=5000000"), longer_destination);
    assert_sessions(outcome);
}

Test(hazard_a, A10_source_read_from_behind_its_end)
{
    copies(ARGS(victim("copy"), "4096", "skip=5000000"), longer_destination);
}

Test(hazard_a, A10_both_open_for_reading_and_writing)
{
    struct outcome outcome = copies(ARGS(victim("copy"), "512", "both-ways"), longer_destination);
    assert_sessions(outcome);
}

Test(hazard_a, A10_nonblocking_flag_on_regular_files)
{
    copies(ARGS(victim("copy"), "512", "nonblock"), longer_destination);
}

static void page_sized(const char *directory, void *unused)
{
    (void)unused;
    make_random(text("%s/in", directory), 6, 81 * 4096);
}

Test(hazard_a, C3_synchronous_destinations_are_left_alone)
{
    struct outcome outcome = copies(ARGS(victim("copy"), "4096", "sync"), page_sized);
    assert_stays_out(outcome, "dest-flags");
    outcome = copies(ARGS(victim("copy"), "4096", "dsync"), page_sized);
    assert_stays_out(outcome, "dest-flags");
}

Test(hazard_a, C3_direct_ends_are_left_alone)
{
    struct outcome outcome = copies(ARGS(victim("copy"), "4096", "direct-out"), page_sized);
    assert_stays_out(outcome, "dest-flags");
    outcome = copies(ARGS(victim("copy"), "4096", "direct-in"), page_sized);
    assert_stays_out(outcome, "source-flags");
}

/* -- A5: an error in the middle -- */

enum { LIMIT = 9000123 };

static void limit_file_size(void *unused)
{
    (void)unused;
    /* Without the signal's death: then write says EFBIG, after one short count. */
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){LIMIT, LIMIT});
}

static void old_and_longer(const char *directory, void *unused)
{
    (void)unused;
    make_random(text("%s/in", directory), 10, 12000000);
    make_random(text("%s/out", directory), 11, 13000000);
}

Test(hazard_a, A5_limit_reached_in_a_longer_destination)
{
    for (int i = 2; i < CHUNKS; i++) {
        struct run copy = {.args = ARGS(victim("copy"), text("%zu", chunks[i]), "keep", "seek=777"),
                           .child = limit_file_size};
        struct outcome outcome = run_both(&copy, old_and_longer, NULL);
        cr_assert(outcome.status == 0, "%s", outcome.err);
        assert_sessions(outcome);
        /* One short count or one error, at the exact byte; behind it the old bytes. */
        cr_expect_not_null(strstr(outcome.out, "write: "), "%s", outcome.out);
    }
}

/* -- sparse and large files -- */

static void islands(const char *directory, void *unused)
{
    (void)unused;
    make_sparse(text("%s/in", directory), 8, 20 << 20, 30, 5000);
}

Test(hazard_a, A20_holes_read_as_zeros)
{
    for (int i = 2; i < CHUNKS; i++) {
        struct outcome outcome = copies(ARGS(victim("copy"), text("%zu", chunks[i])), islands);
        assert_sessions(outcome);
        char *difference = file_difference(shim_path("in"), shim_path("out"));
        cr_expect(!difference, "%s", difference);
    }
}

Test(hazard_a, A21_holes_of_a_tmpfs_source_stay_holes)
{
    struct stat before, after;
    char *point = mount_fresh("tmpfs", 0);
    char *source = text("%s/in", point);
    make_sparse(source, 8, 20 << 20, 30, 5000);
    cr_assert(stat(source, &before) == 0);
    struct run copy = {.args = ARGS(victim("copy"), "4096", text("from=%s", source)),
                       .cwd = scratch_dir("sparse"),
                       .shim = true};
    struct outcome outcome = run(&copy);
    cr_assert(outcome.status == 0, "%s", outcome.err);
    assert_sessions(outcome);
    cr_assert(stat(source, &after) == 0);
    cr_expect(before.st_blocks == after.st_blocks, "%ld blocks became %ld", (long)before.st_blocks,
              (long)after.st_blocks);
    char *difference = file_difference(source, text("%s/out", copy.cwd));
    cr_expect(!difference, "%s", difference);
}

/* Both sides of 2 GiB and of 4 GiB, where 32-bit counts and offsets go wrong. */
static void giant(const char *directory, void *unused)
{
    (void)unused;
    char *path = text("%s/in", directory);
    make_sparse(path, 9, 5ull << 30, 1000, 50000);
}

Test(hazard_a, A11_offsets_around_2_and_4_gib)
{
    static const char *const starts[] = {"2130706432", "4278190080"};
    for (int i = 0; i < 2; i++) {
        struct outcome outcome = copies(ARGS(victim("copy"), "4096", text("skip=%s", starts[i]),
                                             text("seek=%s", starts[i]), "pairs=10000"),
                                        giant);
        assert_sessions(outcome);
    }
}

static int64_t available_memory(void)
{
    char *found = strstr(file_read("/proc/meminfo", NULL), "MemAvailable:");
    return found ? strtoll(found + strlen("MemAvailable:"), NULL, 10) << 10 : 0;
}

Test(hazard_a, A11_five_gib_sparse_file_with_islands, .timeout = 300)
{
    /* The copy has no holes: in memory, because few disks take 5 GiB in a test's time. */
    if (available_memory() < 8ll << 30)
        cr_skip_test("less than 8 GiB of memory available");
    char *destination = text("%s/out", mount_fresh("tmpfs", 6ull << 30));
    struct run copy = {.args = ARGS(victim("copy"), "16384", text("to=%s", destination)),
                       .cwd = scratch_dir("giant"),
                       .shim = true,
                       .timeout = 280};
    giant(copy.cwd, NULL);
    struct outcome outcome = run(&copy);
    cr_assert(outcome.status == 0 && !outcome.timed_out, "%s", outcome.err);
    assert_sessions(outcome);
    char *difference = file_difference(text("%s/in", copy.cwd), destination);
    cr_assert(!difference, "%s", difference);
}
