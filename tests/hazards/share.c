/*
 * Blocks shared on XFS and btrfs: the destination holds the program's bytes whatever becomes of the source,
 * and shares its blocks where nothing is in the way.
 */
#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MIB = 1 << 20, SIZE = 64 * MIB, NOBODY = 65534 };
#define ROOM ((uint64_t)1 << 30)

static const char *const kinds[] = {"xfs", "btrfs"};
static const char *const chunks[] = {"512", "4096", "10240", "65536", "1048576"};

static char *in, *out;

/* A source whose blocks are on the disk. */
static void begin(const char *kind, uint64_t size)
{
    char *point = mount_fresh(kind, ROOM);
    in = text("%s/in", point);
    out = text("%s/out", point);
    make_random(in, 21, size);
    sync();
}

static struct outcome copy(const char *chunk, const char *offset, const char *share)
{
    const char *env[] = {share, NULL};
    struct run what = {
        .args = offset ? ARGS(victim("share_copy"), in, out, chunk, offset)
                       : ARGS(victim("share_copy"), in, out, chunk),
        .shim = true,
        .env = share ? env : NULL,
    };
    remove(out);
    return run(&what);
}

/* The sum of a number in the report's loops. */
static int64_t reported(const struct outcome *outcome, const char *name)
{
    char *field = text("\"%s\":", name);
    int64_t sum = 0;
    for (const char *at = outcome->report.raw; (at = strstr(at, field)); at += strlen(field))
        sum += atoll(at + strlen(field));
    return sum;
}

static bool says_unshared(const struct outcome *outcome, const char *why)
{
    return strstr(outcome->report.raw, text("\"not_shared\":\"%s\"", why)) != NULL;
}

/* Bytes of the file in extents that it shares. */
static uint64_t shared_bytes(const char *path)
{
    enum { EXTENTS = 512 };
    size_t size = sizeof(struct fiemap) + EXTENTS * sizeof(struct fiemap_extent);
    struct fiemap *map = calloc(1, size);
    uint64_t shared = 0, at = 0;
    int fd = open(path, O_RDONLY);
    cr_assert(fd >= 0);
    for (bool last = false; !last;) {
        memset(map, 0, size);
        map->fm_start = at;
        map->fm_length = FIEMAP_MAX_OFFSET;
        map->fm_flags = FIEMAP_FLAG_SYNC;
        map->fm_extent_count = EXTENTS;
        cr_assert(ioctl(fd, FS_IOC_FIEMAP, map) == 0, "fiemap: %s", strerror(errno));
        last = map->fm_mapped_extents == 0;
        for (unsigned i = 0; i < map->fm_mapped_extents; i++) {
            struct fiemap_extent *extent = &map->fm_extents[i];
            if (extent->fe_flags & FIEMAP_EXTENT_SHARED)
                shared += extent->fe_length;
            at = extent->fe_logical + extent->fe_length;
            last |= (extent->fe_flags & FIEMAP_EXTENT_LAST) != 0;
        }
    }
    close(fd);
    free(map);
    return shared;
}

/* What the program said it wrote is there, and the source's description is as it was. */
static void expect_exact(const struct outcome *outcome, const char *what)
{
    unsigned long long digest = 0, found = 14695981039346656037u;
    long in_offset, out_offset;
    cr_assert(outcome->status == 0, "%s: exit %d; %s%s", what, exit_code(outcome->status), outcome->out,
              outcome->err);
    cr_assert(sscanf(outcome->out, "digest %llx offsets %ld %ld", &digest, &in_offset, &out_offset) == 3);
    cr_expect(strstr(outcome->out, "lease 2 signal 0 owner 0\n"), "%s: %s", what, outcome->out);
    size_t size;
    char *bytes = file_read(out, &size);
    cr_assert((size_t)out_offset == size, "%s: offset %ld, size %zu", what, out_offset, size);
    for (size_t at = 0; at < size; at += 8) {
        uint64_t word;
        memcpy(&word, bytes + at, 8);
        found = (found ^ word) * 1099511628211u;
    }
    cr_assert(found == digest, "%s: the destination has not the bytes that were written", what);
}

static void expect_copied(const struct outcome *outcome, const char *what)
{
    expect_exact(outcome, what);
    assert_sessions(*outcome);
    char *difference = file_difference(in, out);
    cr_assert(!difference, "%s: %s", what, difference);
}

static void shares_all(const char *kind)
{
    begin(kind, SIZE);
    for (int i = 0; i < 5; i++) {
        struct outcome outcome = copy(chunks[i], NULL, NULL);
        char *what = text("%s, chunk %s", kind, chunks[i]);
        expect_copied(&outcome, what);
        uint64_t shared = shared_bytes(out);
        cr_expect(shared >= (uint64_t)SIZE * 95 / 100, "%s: %lu bytes are shared; %s", what, shared,
                  outcome.report.raw);
        cr_expect(reported(&outcome, "shared") >= (int64_t)SIZE * 95 / 100, "%s: %s", what,
                  outcome.report.raw);
    }
}

Test(hazard_share, A10_A11_blocks_of_every_loop_are_shared_xfs)
{
    shares_all("xfs");
}

Test(hazard_share, A10_A11_blocks_of_every_loop_are_shared_btrfs)
{
    shares_all("btrfs");
}

/* Bytes written to the block device under the file so far. */
static uint64_t device_writes(const char *path)
{
    struct stat st;
    unsigned long long field[7] = {0};
    sync();
    cr_assert(stat(path, &st) == 0);
    char *stat_path = text("/sys/dev/block/%u:%u/stat", major(st.st_dev), minor(st.st_dev));
    FILE *file = fopen(stat_path, "r");
    cr_assert(file, "%s", stat_path);
    for (int i = 0; i < 7; i++) /* Documentation/block/stat.rst: the seventh is sectors written */
        cr_assert(fscanf(file, "%llu", &field[i]) == 1);
    fclose(file);
    return field[6] * 512;
}

Test(hazard_share, C7_hardly_anything_is_written_to_the_disk)
{
    begin("xfs", SIZE);
    uint64_t before = device_writes(in);
    struct outcome outcome = copy("512", NULL, "XFERSHIM=off");
    uint64_t plain = device_writes(in) - before;
    expect_exact(&outcome, "plain");
    remove(out);
    before = device_writes(in);
    outcome = copy("512", NULL, NULL);
    uint64_t shim = device_writes(in) - before;
    expect_copied(&outcome, "shim");
    cr_expect(plain >= SIZE && shim <= plain / 20, "%lu bytes, plain %lu", shim, plain);
}

/* ---- what is in the way ------------------------------------------------------------------- */

static void expect_unshared(const struct outcome *outcome, const char *why, const char *what)
{
    expect_copied(outcome, what);
    cr_expect(reported(outcome, "shared") == 0, "%s: %s", what, outcome->report.raw);
    cr_expect(says_unshared(outcome, why), "%s: %s", what, outcome->report.raw);
}

Test(hazard_share, A10_offsets_that_never_lie_alike_within_a_block)
{
    for (int i = 0; i < 2; i++) {
        begin(kinds[i], 8 * MIB);
        struct outcome outcome = copy("512", "512", NULL);
        expect_exact(&outcome, kinds[i]);
        assert_sessions(outcome);
        cr_expect(reported(&outcome, "shared") == 0 && says_unshared(&outcome, "misaligned"), "%s",
                  outcome.report.raw);
        outcome = copy("10240", "3584", NULL);
        expect_exact(&outcome, kinds[i]);
        outcome = copy("65536", "3584", NULL);
        expect_exact(&outcome, kinds[i]);
        assert_stays_out(outcome, "misaligned");
    }
}

Test(hazard_share, A10_a_head_before_the_first_block_is_written)
{
    begin("xfs", 8 * MIB);
    /* 4096 and whole blocks before it: the loop's offsets lie alike. */
    struct outcome outcome = copy("512", "8192", NULL);
    expect_exact(&outcome, "head");
    cr_expect(reported(&outcome, "shared") > 7 * MIB, "%s", outcome.report.raw);
}

/* Not on btrfs, which may begin to write a file back when it is closed. Anybody's sync() cleans the source
 * between the two steps, so that not every turn has to find it dirty. */
Test(hazard_share, A20_a_source_that_is_not_on_the_disk_yet_is_written)
{
    int written = 0, refused = 0;
    begin("xfs", 8 * MIB);
    char *bytes = file_read(in, NULL);
    for (int turn = 0; turn < 20; turn++) {
        int fd = open(in, O_WRONLY);
        cr_assert(pwrite(fd, bytes, 8 * MIB, 0) == 8 * MIB); /* the same bytes, dirty again */
        close(fd);
        struct outcome outcome = copy(turn % 2 ? "131072" : "4096", NULL, NULL);
        expect_exact(&outcome, "dirty source");
        written += turn % 2 == 0 && reported(&outcome, "shared") == 0 && says_unshared(&outcome, "dirty");
        refused += turn % 2 == 1 && report_reason(&outcome.report, "source-dirty") > 0;
    }
    cr_expect(written > 3 && refused > 3, "%d of 10 written, %d of 10 left alone", written, refused);
}

Test(hazard_share, A8_a_source_that_is_open_for_writing_is_written)
{
    begin("xfs", 8 * MIB);
    int fd = open(in, O_WRONLY);
    struct outcome outcome = copy("4096", NULL, NULL);
    expect_unshared(&outcome, "open-to-write", "writer");
    outcome = copy("131072", NULL, NULL);
    expect_exact(&outcome, "writer");
    assert_stays_out(outcome, "no-lease");
    close(fd);
    outcome = copy("131072", NULL, NULL);
    expect_copied(&outcome, "no writer any more");
    cr_expect(reported(&outcome, "shared") > 7 * MIB);
}

Test(hazard_share, A25_a_source_that_is_mapped_for_writing_is_written)
{
    begin("xfs", 8 * MIB);
    int fd = open(in, O_RDWR);
    char *map = mmap(NULL, 8 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    cr_assert(map != MAP_FAILED);
    close(fd);
    pid_t pid = fork();
    if (pid == 0)
        for (uint64_t i = 0;; i += 4099)
            map[i % (8 * MIB)]++;
    for (int i = 0; i < 5; i++) {
        struct outcome outcome = copy(chunks[i], NULL, NULL);
        expect_exact(&outcome, chunks[i]);
        cr_expect(reported(&outcome, "shared") == 0, "%s", outcome.report.raw);
    }
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void without_leases(void *unused)
{
    (void)unused;
    if (prctl(PR_CAPBSET_DROP, CAP_LEASE) != 0)
        _exit(126);
}

Test(hazard_share, A19_another_users_file_is_written)
{
    begin("xfs", 8 * MIB);
    cr_assert(chown(in, NOBODY, NOBODY) == 0);
    struct run what = {
        .args = ARGS(victim("share_copy"), in, out, "4096"), .shim = true, .child = without_leases};
    struct outcome outcome = run(&what);
    expect_unshared(&outcome, "not-owner", "nobody");
}

/* Somebody who has asked to be told of this description is not disturbed. */
Test(hazard_share, C5_a_lease_a_signal_and_an_owner_of_the_program_stay_as_they_are)
{
    static const char *const own[][2] = {
        {"lease", "lease 0 signal 0 owner 1\n"},
        {"signal", "lease 2 signal 10 owner 0\n"},
        {"owner", "lease 2 signal 0 owner 1\n"},
    };
    begin("xfs", 8 * MIB);
    for (int i = 0; i < 3; i++) {
        struct run what = {.args = ARGS(victim("share_copy"), in, out, "4096", "0", own[i][0]), .shim = true};
        struct outcome outcome = run(&what);
        cr_assert(outcome.status == 0, "%s", outcome.err);
        cr_expect(strstr(outcome.out, own[i][1]), "%s: %s", own[i][0], outcome.out);
        cr_expect(says_unshared(&outcome, "no-lease"), "%s: %s", own[i][0], outcome.report.raw);
        cr_assert(!file_difference(in, out), "%s", own[i][0]);
        assert_sessions(outcome);
    }
}

Test(hazard_share, settings_never_and_always_and_engines)
{
    begin("btrfs", 8 * MIB);
    struct outcome outcome = copy("4096", NULL, "XFERSHIM_SHARE=never");
    expect_unshared(&outcome, "setting", "never");
    outcome = copy("4096", NULL, "XFERSHIM_ENGINES=write");
    expect_unshared(&outcome, "setting", "engines");
    outcome = copy("131072", NULL, "XFERSHIM_SHARE=never");
    assert_stays_out(outcome, "chunk-large");
    int fd = open(in, O_WRONLY);
    outcome = copy("4096", NULL, "XFERSHIM_SHARE=always");
    expect_copied(&outcome, "always");
    cr_expect(reported(&outcome, "shared") > 7 * MIB, "%s", outcome.report.raw);
    close(fd);
}

/* ---- places ------------------------------------------------------------------------------- */

Test(hazard_share, A19_overlayfs_and_pairs_of_file_systems_are_written)
{
    begin("xfs", 8 * MIB);
    char *other = mount_fresh("tmpfs", 0), *xfs_out = out;
    out = text("%s/out", other);
    struct outcome outcome = copy("512", NULL, NULL);
    expect_copied(&outcome, "xfs to tmpfs");
    cr_expect(reported(&outcome, "shared") == 0);
    other = mount_fresh("xfs", ROOM);
    out = text("%s/out", other);
    outcome = copy("512", NULL, NULL);
    expect_copied(&outcome, "one XFS to another");
    cr_expect(reported(&outcome, "shared") == 0);
    out = xfs_out;
}

Test(hazard_share, F5_bind_mounts_of_one_file_system)
{
    begin("xfs", 8 * MIB);
    char *bound = scratch_dir("bound"), *point = text("%s", in);
    point[strlen(point) - strlen("/in")] = '\0';
    cr_assert(mount(point, bound, NULL, MS_BIND, NULL) == 0);
    out = text("%s/out", bound);
    struct outcome outcome = copy("4096", NULL, NULL);
    expect_copied(&outcome, "bind mount");
}

Test(hazard_share, F4_a_destination_made_immutable_after_open_takes_what_plain_takes)
{
    begin("xfs", 8 * MIB);
    /* The flag is set by another process in the middle of the loop. */
    struct run what = {.args = ARGS(victim("share_copy"), in, out, "512"), .shim = true};
    for (int turn = 0; turn < 20; turn++) {
        struct running running = run_start(&what);
        int fd = -1, flags = FS_IMMUTABLE_FL;
        while (fd < 0)
            fd = open(out, O_RDONLY);
        struct timespec wait = {.tv_nsec = 500000 * turn};
        nanosleep(&wait, NULL);
        bool set = ioctl(fd, FS_IOC_SETFLAGS, &flags) == 0;
        struct outcome outcome = run_finish(&running);
        flags = 0;
        ioctl(fd, FS_IOC_SETFLAGS, &flags);
        close(fd);
        cr_assert(set, "immutable: %s", strerror(errno));
        expect_copied(&outcome, "immutable");
        remove(out);
    }
}

/* ---- the source changes while it is copied -------------------------------------------------- */

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* At another moment of each run, another process opens the source and changes it. */
static void rewritten(const char *kind, bool truncated)
{
    enum { TURNS = 60 };
    double waits[TURNS];
    int broken = 0, sessions = 0;
    begin(kind, 32 * MIB);
    char *zeros = calloc(1, MIB);
    for (int turn = 0; turn < TURNS; turn++) {
        make_random(in, (uint64_t)turn, 32 * MIB);
        sync();
        remove(out);
        struct run what = {.args = ARGS(victim("share_copy"), in, out, chunks[turn % 5]), .shim = true};
        struct running running = run_start(&what);
        struct timespec wait = {.tv_nsec = 1000000 + 700000 * (turn / 5)};
        while (!file_exists(out))
            ;
        nanosleep(&wait, NULL);
        double start = now();
        int fd = open(in, truncated ? O_WRONLY | O_TRUNC : O_WRONLY);
        waits[turn] = now() - start;
        cr_assert(fd >= 0);
        for (int i = 0; !truncated && i < 32; i++)
            cr_assert(pwrite(fd, zeros, MIB, (off_t)i * MIB) == MIB);
        close(fd);
        struct outcome outcome = run_finish(&running);
        expect_exact(&outcome, text("%s, chunk %s, turn %d", kind, chunks[turn % 5], turn));
        broken += strstr(outcome.report.raw, "lease-broken") != NULL;
        sessions += outcome.report.sessions > 0;
    }
    free(zeros);
    qsort(waits, TURNS, sizeof(*waits), by_size);
    cr_expect(broken >= 5, "the lease was broken in %d runs of %d, %d with sessions", broken, TURNS,
              sessions);
    cr_expect(waits[TURNS / 2] < 0.010, "a writer waits %.1f ms", waits[TURNS / 2] * 1e3);
    cr_expect(waits[TURNS - 1] < 1, "a writer waited %.1f ms", waits[TURNS - 1] * 1e3);
}

Test(hazard_share, A8_A18_source_rewritten_at_any_moment_xfs)
{
    rewritten("xfs", false);
}

Test(hazard_share, A8_A18_source_rewritten_at_any_moment_btrfs)
{
    rewritten("btrfs", false);
}

Test(hazard_share, A18_source_truncated_at_any_moment)
{
    rewritten("xfs", true);
}

/* A stopped copier cannot give up its lease: after lease-break-time the kernel takes it away, and the writer
 * goes on. */
Test(hazard_share, A25_a_copier_that_is_stopped_for_longer_than_a_lease_lasts, .timeout = 120)
{
    static const char setting[] = "/proc/sys/fs/lease-break-time";
    char *before = file_read(setting, NULL);
    int broken = 0;
    begin("xfs", 32 * MIB);
    char *zeros = calloc(1, MIB);
    for (int turn = 0; turn < 12; turn++) {
        make_random(in, (uint64_t)turn, 32 * MIB);
        sync();
        remove(out);
        make_text(setting, "1\n");
        struct run what = {.args = ARGS(victim("share_copy"), in, out, chunks[turn % 2]), .shim = true};
        struct running running = run_start(&what);
        struct timespec wait = {.tv_nsec = 500000 + 800000 * turn};
        while (!file_exists(out))
            ;
        nanosleep(&wait, NULL);
        kill(running.pid, SIGSTOP);
        int fd = open(in, O_WRONLY);
        cr_assert(fd >= 0);
        for (int i = 0; i < 32; i++)
            cr_assert(pwrite(fd, zeros, MIB, (off_t)i * MIB) == MIB);
        fsync(fd); /* not dirty any more */
        close(fd);
        kill(running.pid, SIGCONT);
        struct outcome outcome = run_finish(&running);
        make_text(setting, before);
        expect_exact(&outcome, text("turn %d", turn));
        broken += outcome.report.sessions >= 2; /* the one that lost it, and those that came later */
    }
    free(zeros);
    cr_expect(broken >= 3, "the lease was broken in %d runs", broken);
}

Test(hazard_share, B12_sigsys_that_somebody_sends_still_kills)
{
    begin("xfs", 64 * MIB);
    int killed = 0;
    for (int turn = 0; turn < 40; turn++) {
        struct run what = {.args = ARGS(victim("share_copy"), in, out, "512"), .shim = true};
        remove(out);
        struct running running = run_start(&what);
        struct timespec wait = {.tv_nsec = 500000 * turn};
        while (!file_exists(out))
            ;
        nanosleep(&wait, NULL);
        kill(running.pid, SIGSYS);
        struct outcome outcome = run_finish(&running);
        if (WIFSIGNALED(outcome.status)) {
            killed++;
            cr_assert(WTERMSIG(outcome.status) == SIGSYS);
        } else {
            cr_assert(outcome.status == 0);
        }
        char *difference = prefix_difference(out, in);
        cr_assert(!difference, "%s", difference);
    }
    cr_expect(killed >= 20, "%d killed", killed);
}

/* ---- no room --------------------------------------------------------------------------------- */

Test(hazard_share, F1_a_full_file_system_gives_the_programs_error_and_a_prefix)
{
    for (int i = 0; i < 2; i++) {
        char *point = mount_fresh(kinds[i], (uint64_t)400 * MIB);
        in = text("%s/in", point);
        out = text("%s/out", point);
        make_random(in, 3, 100 * MIB);
        sync();
        for (int file = 0;; file++) { /* shared copies take hardly any room: fill it by other files */
            char *ballast = text("%s/ballast-%d", point, file);
            int fd = open(ballast, O_WRONLY | O_CREAT, 0666);
            char *bytes = calloc(1, MIB);
            fill_random(bytes, MIB, (uint64_t)file, 0);
            ssize_t n = write(fd, bytes, MIB);
            bool full = n < MIB || fsync(fd) < 0;
            free(bytes);
            close(fd);
            if (full)
                break;
        }
        for (int j = 0; j < 5; j++) {
            struct outcome outcome = copy(chunks[j], NULL, NULL);
            char *difference = prefix_difference(out, in);
            cr_assert(!difference, "%s, chunk %s: %s", kinds[i], chunks[j], difference);
            cr_expect(exit_code(outcome.status) == 0 || strstr(outcome.out, "No space left"), "%s: %s",
                      kinds[i], outcome.out);
            remove(out);
        }
    }
}
