#include "blocks.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>

#include "config.h"
#include "guard.h"
#include "lease.h"

/* Pairs of devices whose answer is remembered; with more, the oldest is asked again. */
#define DEVICES 8

static struct {
    dev_t in, out;
    bool can;
} known[DEVICES];
static unsigned used, next;

bool blocks_wanted(void)
{
    return config.share != CONFIG_SHARE_NEVER && config.engine_range;
}

enum payoff_kind blocks_kind(uint64_t fs_type)
{
    if (fs_type == TMPFS_MAGIC)
        return PAYOFF_MEMORY;
    if (!blocks_wanted() || !xfer_share_fs(fs_type))
        return PAYOFF_DISK;
    return fs_type == BTRFS_SUPER_MAGIC ? PAYOFF_SHARED_BTRFS : PAYOFF_SHARED;
}

static void remember(dev_t in, dev_t out, bool can)
{
    unsigned at = 0;
    while (at < used && (known[at].in != in || known[at].out != out))
        at++;
    if (at == used) {
        at = next;
        next = (next + 1) % DEVICES;
        used += used < DEVICES;
    }
    known[at].in = in;
    known[at].out = out;
    known[at].can = can;
}

static bool can_share(const struct xfer_endpoint *in, const struct xfer_endpoint *out)
{
    for (unsigned i = 0; i < used; i++)
        if (known[i].in == in->device && known[i].out == out->device)
            return known[i].can;
    bool can = xfer_share_probe(in->fd, out->fd) == 0;
    remember(in->device, out->device, can);
    return can;
}

static enum xfer_unshared obstacle(const struct xfer_endpoint *in, const struct xfer_endpoint *out)
{
    if (!blocks_wanted())
        return XFER_UNSHARED_SETTING;
    if (!S_ISREG(in->mode) || in->fs_type != out->fs_type || !xfer_share_fs(out->fs_type) ||
        in->fs_block != out->fs_block || in->fs_block == 0 || in->fs_block & (in->fs_block - 1))
        return XFER_UNSHARED_FILE_SYSTEM;
    if (out->flags & O_APPEND || (in->flags & O_ACCMODE) != O_RDONLY)
        return XFER_UNSHARED_FLAGS;
    return can_share(in, out) ? XFER_SHARED : XFER_UNSHARED_FILE_SYSTEM;
}

void blocks_examine(struct xfer_share *share, const struct xfer_endpoint *in, const struct xfer_endpoint *out)
{
    enum xfer_unshared why_not = obstacle(in, out);
    *share = (struct xfer_share){.on = why_not == XFER_SHARED, .block = in->fs_block, .why_not = why_not};
}

bool blocks_hold(struct xfer_share *share, int in)
{
    if (config.share == CONFIG_SHARE_ALWAYS)
        return true;
    guard_expect_notices(in);
    int rc = xfer_lease_take(in, SIGSYS);
    share->leased = share->on = rc == 0;
    if (rc < 0)
        share->why_not = rc == -EACCES   ? XFER_UNSHARED_NOT_OWNER
                         : rc == -EAGAIN ? XFER_UNSHARED_WRITER
                                         : XFER_UNSHARED_LEASE;
    return rc == 0;
}

void blocks_learn(const struct xfer_share *share, dev_t out)
{
    if (share->why_not == XFER_UNSHARED_REFUSED)
        for (unsigned i = 0; i < used; i++)
            if (known[i].out == out)
                known[i].can = false;
}
