/*
 * A4, A15, A16, A19, A22: ends that are no plain files on a file system we know. What cannot be given back
 * is not read ahead, and one write stays one write.
 */
#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

static const size_t chunks[] = {7, 512, 1000, 4096, 10240};
enum { CHUNKS = sizeof chunks / sizeof *chunks };

static void prepare(const char *directory, void *unused)
{
    (void)unused;
    make_random(text("%s/in", directory), 31, 150001);
}

static void kind(const char *end, const char *reason)
{
    for (int i = 0; i < CHUNKS; i++) {
        struct run kinds = {.args = ARGS(victim("kinds"), end, text("%zu", chunks[i]))};
        struct outcome outcome = run_both(&kinds, prepare, NULL);
        cr_assert(outcome.status == 0, "%s %zu: %s", end, chunks[i], outcome.err);
        assert_stays_out(outcome, reason);
    }
}

#define KIND(test, end, reason)                                                                              \
    Test(hazard_a, test)                                                                                     \
    {                                                                                                        \
        kind(end, reason);                                                                                   \
    }

KIND(A22_nothing_read_ahead_from_pipe, "from-pipe", "source-kind")
KIND(A22_nothing_read_ahead_from_fifo, "from-fifo", "source-kind")
KIND(A22_nothing_read_ahead_from_stream_socket, "from-stream", "source-kind")
KIND(A22_nothing_read_ahead_from_terminal, "from-terminal", "source-kind")
KIND(A22_message_source_datagram, "from-datagram", "source-kind")
KIND(A22_message_source_seqpacket, "from-seqpacket", "source-kind")
KIND(A22_character_device_source, "from-/dev/zero", "source-kind")
KIND(A16_pipe, "to-pipe", "dest-kind")
KIND(A16_fifo, "to-fifo", "dest-kind")
KIND(A16_stream_socket, "to-stream", "dest-kind")
KIND(A16_terminal, "to-terminal", "dest-kind")
KIND(A16_one_datagram_for_each_write, "to-datagram", "dest-kind")
KIND(A16_one_packet_for_each_write, "to-seqpacket", "dest-kind")
KIND(A16_null_device, "to-/dev/null", "dest-kind")
KIND(A16_full_device, "to-/dev/full", "dest-kind")

Test(hazard_a, A16_eventfd)
{
    struct run kinds = {.args = ARGS(victim("kinds"), "to-eventfd", "8")};
    struct outcome outcome = run_both(&kinds, prepare, NULL);
    cr_assert(outcome.status == 0, "%s", outcome.err);
    cr_assert(outcome.report.sessions == 0);
}

/* -- file systems whose sizes and ends are not what they say -- */

static void from_file(const char *path, const char *reason)
{
    if (access(path, R_OK) != 0)
        cr_skip_test("%s is not here", path);
    for (size_t chunk = 1; chunk < 2000; chunk = chunk * 6 + 1) {
        struct run copy = {.args = ARGS(victim("copy"), text("%zu", chunk), text("from=%s", path))};
        struct outcome outcome = run_both(&copy, NULL, NULL);
        cr_assert(outcome.report.sessions == 0, "%s", outcome.report.raw);
        cr_expect(file_size(shim_path("out")) > 0, "%s: empty", path);
        if (file_size(shim_path("out")) > (int64_t)chunk * 4)
            assert_stays_out(outcome, reason);
    }
}

Test(hazard_a, A4_procfs_source_of_size_zero)
{
    from_file("/proc/filesystems", "source-fs");
}

Test(hazard_a, A4_procfs_source_of_many_pages)
{
    from_file("/proc/self/../1/limits", "source-fs");
    from_file("/proc/crypto", "source-fs");
}

Test(hazard_a, A4_sysfs_source)
{
    from_file("/sys/kernel/notes", "source-fs");
}

Test(hazard_a, A19_unknown_file_system_is_left_alone)
{
    /* ramfs stands for all that nobody has looked at. */
    char *point = mount_fresh("tmpfs", 1 << 20);
    if (mount("ramfs", point, "ramfs", 0, NULL) != 0)
        cr_skip_test("mount ramfs: %s", strerror(errno));
    char *inside = text("%s/file", point);
    make_random(inside, 1, 200000);
    struct run copy = {.args = ARGS(victim("copy"), "512", text("from=%s", inside))};
    struct outcome outcome = run_both(&copy, NULL, NULL);
    assert_stays_out(outcome, "source-fs");
    copy.args = ARGS(victim("copy"), "512", text("to=%s", text("%s/out", point)));
    outcome = run_both(&copy, prepare, NULL);
    assert_stays_out(outcome, "dest-fs");
    umount2(point, MNT_DETACH);
}

static void on_file_system(const char *kind)
{
    /* Well above the free space below which nothing is deferred. */
    char *point = mount_fresh(kind, 512u << 20);
    make_random(text("%s/in", point), 32, 3000001);
    for (int i = 1; i < CHUNKS; i++) {
        struct run copy = {.args = ARGS(victim("copy"), text("%zu", chunks[i])), .cwd = point, .shim = true};
        struct outcome outcome = run(&copy);
        cr_assert(outcome.status == 0, "%s", outcome.err);
        cr_assert(strstr(outcome.out, " 0 short reads"), "%s", outcome.out);
        assert_sessions(outcome);
        char *difference = file_difference(text("%s/in", point), text("%s/out", point));
        cr_assert(!difference, "%s", difference);
    }
}

Test(hazard_a, A19_copies_on_ext4)
{
    on_file_system("ext4");
}

Test(hazard_a, A19_copies_on_xfs)
{
    on_file_system("xfs");
}

Test(hazard_a, A19_copies_on_btrfs)
{
    on_file_system("btrfs");
}

Test(hazard_a, A19_copies_on_tmpfs)
{
    on_file_system("tmpfs");
}

Test(hazard_a, A19_copies_on_overlay)
{
    on_file_system("overlay");
}

/* A block device has no size by fstat and can be read ahead; it goes when its last descriptor is closed. */
static char *loop_device(const char *image)
{
    int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
    if (control < 0)
        cr_skip_test("/dev/loop-control: %s", strerror(errno));
    char *device = text("/dev/loop%d", ioctl(control, LOOP_CTL_GET_FREE));
    struct loop_config config = {.fd = (uint32_t)open(image, O_RDONLY | O_CLOEXEC),
                                 .info.lo_flags = LO_FLAGS_READ_ONLY | LO_FLAGS_AUTOCLEAR};
    int fd = open(device, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || ioctl(fd, LOOP_CONFIGURE, &config) != 0)
        cr_skip_test("%s: %s", device, strerror(errno));
    return device;
}

Test(hazard_a, A19_block_device_source)
{
    char *image = scratch_path("image");
    make_random(image, 34, 3000 * 512);
    char *device = loop_device(image);
    for (int i = 0; i < CHUNKS; i++) {
        struct run copy = {.args = ARGS(victim("copy"), text("%zu", chunks[i]), text("from=%s", device))};
        struct outcome outcome = run_both(&copy, NULL, NULL);
        cr_assert(strstr(outcome.out, " 0 short reads"), "%s", outcome.out);
        assert_sessions(outcome);
        char *difference = file_difference(image, shim_path("out"));
        cr_assert(!difference, "%s", difference);
    }
}

/* -- A15: two who append to one file -- */

enum { RECORD = 512, RECORDS = 4000 };

static void records(const char *path, uint32_t writer)
{
    static uint32_t words[RECORDS][RECORD / 4];
    for (uint32_t i = 0; i < RECORDS; i++)
        for (uint32_t word = 0; word < RECORD / 4; word++)
            words[i][word] = writer << 16 | i;
    make_file(path, words, sizeof words);
}

Test(hazard_a, A15_two_append_and_nothing_is_lost_or_torn)
{
    for (int round = 0; round < 10; round++) {
        struct run shell = {
            .args = ARGS("sh", "-c",
                         "\"$0\" 512 append from=one to=out & \"$0\" 512 append from=two to=out & wait",
                         victim("copy")),
            .shim = true,
            .cwd = scratch_dir("append")};
        records(text("%s/one", shell.cwd), 1);
        records(text("%s/two", shell.cwd), 2);
        struct outcome outcome = run(&shell);
        cr_assert(outcome.status == 0 && !outcome.timed_out);
        assert_sessions(outcome);
        size_t size;
        const uint32_t(*words)[RECORD / 4] = (void *)file_read(text("%s/out", shell.cwd), &size);
        cr_assert(size == 2 * RECORDS * RECORD, "%zu bytes", size);
        uint32_t next[3] = {0};
        for (size_t i = 0; i < size / RECORD; i++) {
            uint32_t writer = words[i][0] >> 16, number = words[i][0] & 0xffff;
            for (int word = 1; word < RECORD / 4; word++)
                cr_assert(words[i][word] == words[i][0], "record %zu is torn", i);
            cr_assert((writer == 1 || writer == 2) && number == next[writer]++,
                      "record %zu: number %u of writer %u", i, number, writer);
        }
    }
}

static void append_to(const char *directory, void *unused)
{
    prepare(directory, unused);
    make_random(text("%s/out", directory), 33, 12345);
}

Test(hazard_a, A15_append_behind_old_bytes)
{
    for (int i = 0; i < CHUNKS; i++) {
        struct run copy = {.args = ARGS(victim("copy"), text("%zu", chunks[i]), "append")};
        struct outcome outcome = run_both(&copy, append_to, NULL);
        assert_sessions(outcome);
        cr_expect(file_size(shim_path("out")) == 12345 + 150001);
    }
}
