/*
 * F8: a quota, which statvfs does not show. Whatever ends the loop, the error is seen, and after making room
 * nothing that was told to be written is missing.
 */
#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/btrfs.h>
#include <linux/quota.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MIB = 1 << 20, ROOM = 12 * MIB, BALLAST = 3 * MIB, NOBODY = 65534 };

static const char *source;

/* Each must be its own file system's quota, and each is asked of it by its own call; no quota tools needed.
 */
static char *btrfs_with_quota(void)
{
    /* Enough that the shim does not take it for a nearly full one. */
    char *point = mount_fresh("btrfs", 768u * MIB);
    int fd = open(point, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct btrfs_ioctl_quota_ctl_args on = {.cmd = BTRFS_QUOTA_CTL_ENABLE};
    if (ioctl(fd, BTRFS_IOC_QUOTA_CTL, &on) != 0)
        cr_skip_test("btrfs quota: %s", strerror(errno));
    /* Group 0 is that of the subvolume that the descriptor is in. */
    struct btrfs_ioctl_qgroup_limit_args limit = {
        .qgroupid = 0,
        .lim = {.flags = BTRFS_QGROUP_LIMIT_MAX_RFER, .max_rfer = ROOM},
    };
    syncfs(fd);
    cr_assert(ioctl(fd, BTRFS_IOC_QGROUP_LIMIT, &limit) == 0, "btrfs qgroup limit: %s", strerror(errno));
    close(fd);
    return point;
}

static char *ext4_with_quota(void)
{
    char *point = mount_fresh("ext4", 256u * MIB), *image = scratch_path("image-1");
    if (!find_program("tune2fs"))
        cr_skip_test("tune2fs is not installed");
    cr_assert(umount(point) == 0, "umount: %s", strerror(errno));
    struct run tune = {.args = ARGS("tune2fs", "-O", "quota", "-Q", "usrquota", image)};
    if (run(&tune).status != 0)
        cr_skip_test("tune2fs knows no quota");
    struct run again = {.args = ARGS("mount", "-o", "loop", "-t", "ext4", image, point)};
    if (run(&again).status != 0)
        cr_skip_test("the kernel has no ext4 quota");
    struct if_dqblk limit = {.dqb_bhardlimit = ROOM / 1024, .dqb_valid = QIF_BLIMITS};
    int fd = open(point, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    long rc = syscall(SYS_quotactl_fd, fd, QCMD(Q_SETQUOTA, USRQUOTA), NOBODY, &limit);
    close(fd);
    if (rc != 0)
        cr_skip_test("quotactl: %s", strerror(errno));
    cr_assert(chown(point, NOBODY, NOBODY) == 0);
    return point;
}

/* Root's writes are not limited. */
static void become_nobody(void *unused)
{
    (void)unused;
    if (setgid(NOBODY) != 0 || setuid(NOBODY) != 0)
        _exit(126);
}

struct result {
    long told, size;
    bool seen, by_ending;
    struct outcome outcome;
};

static struct result stop_at(const char *point, const char *chunk, long bytes, const char *ending, bool shim,
                             bool as_nobody)
{
    char *ballast = text("%s/ballast", point), *out = text("%s/out", point);
    /* Nobody may not look into the scratch directory: the source is open to all only on the file system
     * itself. */
    remove(out);
    make_random(ballast, 9, BALLAST);
    if (as_nobody)
        cr_assert(chown(ballast, NOBODY, NOBODY) == 0);
    sync();
    struct run what = {
        .args = ARGS(victim("f8_quota"), source, out, ballast, chunk, text("%ld", bytes), ending),
        .shim = shim,
        .child = as_nobody ? become_nobody : NULL,
    };
    struct result result = {.outcome = run(&what)};
    struct outcome *outcome = &result.outcome;
    cr_assert(outcome->status == 0, "%s %s: exit %d; %s", ending, chunk, exit_code(outcome->status),
              outcome->err);
    cr_assert(sscanf(outcome->err, "%ld %ld", &result.told, &result.size) == 2, "%s", outcome->err);
    result.seen = strstr(outcome->out, "Disk quota exceeded") != NULL;
    result.by_ending =
        result.seen && !strstr(outcome->out, "seen write") && !strstr(outcome->out, "seen read");
    cr_assert(!strstr(outcome->out, "missing"), "%s, chunk %s, stop at %ld: told %ld, has %ld; %s", ending,
              chunk, bytes, result.told, result.size, outcome->out);
    cr_assert(result.seen || !strstr(outcome->out, "seen"), "another error: %s", outcome->out);
    /* One byte beyond the source's bytes is the "write" ending's own. */
    if (strcmp(ending, "write") == 0 && result.size > 0 && result.size == result.told)
        cr_assert(truncate(out, result.size - 1) == 0);
    char *difference = prefix_difference(out, source);
    cr_assert(!difference, "%s, chunk %s, stop at %ld: %s", ending, chunk, bytes, difference);
    return result;
}

static const char *const endings[] = {"close",     "lseek", "fsync", "fdatasync",
                                      "ftruncate", "dup2",  "write", "retry"};
enum { ENDINGS = sizeof endings / sizeof *endings };

static void under_quota(const char *point, bool as_nobody)
{
    /* Where plain meets the quota: from a little before to far behind it. */
    struct result plain = stop_at(point, "4096", 1L << 40, "close", false, as_nobody);
    cr_assert(plain.seen && !plain.by_ending, "plain did not meet the quota: %s", plain.outcome.out);
    static const long beyond[] = {-(100 << 10), 20 << 10, 100 << 10, 240 << 10, 400 << 10};
    static const char *const chunks[] = {"4096", "1000"};
    int seen = 0, sessions = 0;
    for (int i = 0; i < ENDINGS; i++)
        for (int j = 0; j < 5; j++) {
            struct result shim =
                stop_at(point, chunks[j % 2], plain.told + beyond[j], endings[i], true, as_nobody);
            seen += shim.seen;
            sessions += shim.outcome.report.sessions > 0;
            /* Where quotas are counted to the block, what was written beyond is seen as an error. */
            if (as_nobody && beyond[j] > 0)
                cr_assert(shim.seen, "%s: nothing was seen of the quota", endings[i]);
            if (as_nobody && beyond[j] < 0)
                cr_assert(!shim.seen, "%s: an error before the quota: %s", endings[i], shim.outcome.out);
        }
    cr_assert(seen > 2 * ENDINGS, "only %d runs met the quota", seen);
    cr_assert(sessions == 5 * ENDINGS, "only %d runs had a session", sessions);
}

Test(hazard_f, F8_btrfs_quota, .timeout = 120)
{
    source = scratch_path("source");
    make_random(source, 8, 2 * ROOM);
    under_quota(btrfs_with_quota(), false);
}

Test(hazard_f, F8_ext4_user_quota, .timeout = 120)
{
    char *point = ext4_with_quota();
    source = text("%s/source", point);
    make_random(source, 8, 2 * ROOM);
    under_quota(point, true);
}
