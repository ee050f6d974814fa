#include "plan.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>

#include "share.h"

#define KIB ((size_t)1024)
#define MIB (1024 * KIB)

/* Where read and write stop being as fast as anything (measured on Linux 6.18). */
#define PLAIN_BELOW (32 * KIB)
/* Two more calls for a step, and a pipe to be made at first: not for less than this. A guess, not a
 * measurement. */
#define SPLICE_FROM (128 * KIB)
/* An ioctl and a transaction of the file system against 128 KiB and 16 KiB copied. */
#define CLONE_FROM (128 * KIB)
#define CLONE_FROM_BTRFS (16 * KIB)

/* A copying call ends in 200 ms at 300 MB/s, a cloning one moves no bytes; counts above INT_MAX were cut. */
#define COPY_LARGEST (64 * MIB)
#define CLONE_LARGEST (1024 * MIB)
#define SPLICE_LARGEST (512 * KIB)
#define SEND_LARGEST MIB
#define MAPPED_LARGEST (8 * MIB)
#define PLAIN_WINDOW (256 * KIB)

/* Of O_DIRECT: the largest logical block that disks have. */
#define DIRECT_ALIGN (4 * KIB)

enum kind { REGULAR = 1, BLOCK = 2, PIPE = 4, SOCKET = 8, OTHER = 16 };

static enum kind kind_of(const struct xfer_endpoint *end)
{
    switch (end->mode & S_IFMT) {
    case S_IFREG:
        return REGULAR;
    case S_IFBLK:
        return BLOCK;
    case S_IFIFO:
        return PIPE;
    case S_IFSOCK:
        return SOCKET;
    default:
        return OTHER;
    }
}

/* What has to be true of a pair of ends. */
enum {
    KNOWN = 1,        /* file systems of the allow-list, where they are files */
    SHARES = 2,       /* one file system that shares blocks */
    CONGRUENT = 4,    /* the offsets lie alike within a block */
    ONE_DEVICE = 8,   /* one file system */
    OUT_OWN = 16,     /* at the destination's own offset */
    BY_REFERENCE = 32 /* the receiver may see later changes */
};

/* In the order in which they are tried. */
static const struct {
    enum xfer_way way;
    unsigned in, out; /* kinds */
    unsigned needs;
    size_t from; /* bytes */
    size_t window;
} ladder[] = {
    {XFER_CLONE, REGULAR, REGULAR, SHARES | CONGRUENT, CLONE_FROM, CLONE_LARGEST},
    {XFER_MAPPED, REGULAR, REGULAR | PIPE | SOCKET, KNOWN, 1, MAPPED_LARGEST},
    {XFER_SENDFILE, REGULAR, PIPE | SOCKET, KNOWN | OUT_OWN | BY_REFERENCE, PLAIN_BELOW, SEND_LARGEST},
    {XFER_SPLICE, REGULAR, REGULAR, KNOWN, SPLICE_FROM, SPLICE_LARGEST},
    {XFER_RANGE, REGULAR, REGULAR, KNOWN | ONE_DEVICE | OUT_OWN, SPLICE_FROM, COPY_LARGEST},
};

/* Overlay passes a clone on to what lies below, where there is one. Subvolumes of btrfs have device numbers
 * of their own, so one type is enough there; the kernel tells when it is not.
 */
static bool shares(const struct xfer_endpoint *in, const struct xfer_endpoint *out, bool any)
{
    if (in->fs_type != out->fs_type)
        return false;
    if (in->fs_type == BTRFS_SUPER_MAGIC)
        return true;
    return in->device == out->device &&
           (any || xfer_share_fs(in->fs_type) || in->fs_type == OVERLAYFS_SUPER_MAGIC);
}

static bool congruent(const struct xfer_endpoint *in, const struct xfer_endpoint *out)
{
    return in->fs_block > 0 && in->offset >= 0 && out->offset >= 0 &&
           in->offset % (off_t)in->fs_block == out->offset % (off_t)in->fs_block;
}

static unsigned has(const struct xfer_endpoint *in, const struct xfer_endpoint *out,
                    const struct xfer_wish *wish)
{
    bool any = wish->flags & XFER_ANY_FILE_SYSTEM, out_file = kind_of(out) == REGULAR;
    unsigned is = 0;
    if (any || (xfer_endpoint_fs_known(in->fs_type) && (!out_file || xfer_endpoint_fs_known(out->fs_type))))
        is |= KNOWN;
    if (shares(in, out, any))
        is |= SHARES;
    if (congruent(in, out))
        is |= CONGRUENT;
    if (in->device == out->device)
        is |= ONE_DEVICE;
    if (!wish->out_explicit)
        is |= OUT_OWN;
    if (wish->flags & XFER_BY_REFERENCE)
        is |= BY_REFERENCE;
    return is;
}

/* O_APPEND is EBADF or EINVAL for the special ways; O_SYNC makes those that copy sync every 64 KiB; within
 * one file they do not look for overlaps.
 */
static bool plain_only(const struct xfer_endpoint *in, const struct xfer_endpoint *out)
{
    return (out->flags & (O_APPEND | O_SYNC | O_DSYNC | O_DIRECT)) || (in->flags & O_DIRECT) ||
           xfer_endpoint_same_file(in, out);
}

static size_t clone_from(const struct xfer_endpoint *in)
{
    return in->fs_type == BTRFS_SUPER_MAGIC ? CLONE_FROM_BTRFS : CLONE_FROM;
}

uint64_t xfer_plan_amount(const struct xfer_endpoint *in, const struct xfer_wish *wish)
{
    if (kind_of(in) != REGULAR || in->offset < 0)
        return wish->count;
    uint64_t rest = in->offset < in->size ? (uint64_t)(in->size - in->offset) : 0;
    return rest < wish->count ? rest : wish->count;
}

struct xfer_plan xfer_plan_make(const struct xfer_endpoint *in, const struct xfer_endpoint *out,
                                const struct xfer_wish *wish)
{
    struct xfer_plan plan = {.align = 1};
    uint64_t amount = xfer_plan_amount(in, wish);
    unsigned is = has(in, out, wish);

    for (size_t i = 0; i < sizeof(ladder) / sizeof(*ladder) && !plain_only(in, out); i++) {
        enum xfer_way way = ladder[i].way;
        size_t from = way == XFER_CLONE ? clone_from(in) : ladder[i].from;
        if (!(wish->ways & XFER_WAY(way)) || !(ladder[i].in & kind_of(in)) ||
            !(ladder[i].out & kind_of(out)) || (ladder[i].needs & ~is) || amount < from)
            continue;
        plan.rung[plan.rungs++] = (struct xfer_rung){way, ladder[i].window};
        if (way == XFER_CLONE)
            plan.head = (in->fs_block - (size_t)in->offset % in->fs_block) % in->fs_block;
    }
    if ((in->flags | out->flags) & O_DIRECT)
        plan.align = DIRECT_ALIGN;
    size_t window = wish->window ? wish->window : PLAIN_WINDOW;
    if (window > COPY_LARGEST)
        window = COPY_LARGEST;
    window = (window + plan.align - 1) / plan.align * plan.align;
    plan.rung[plan.rungs++] = (struct xfer_rung){XFER_PLAIN, window};
    return plan;
}
