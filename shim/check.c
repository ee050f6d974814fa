#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <valgrind/valgrind.h>

#include "blocks.h"
#include "config.h"
#include "files.h"
#include "maps.h"
#include "payoff.h"
#include "sandbox.h"
#include "sharing.h"
#include "stream.h"
#include "sys.h"

/* Nothing is deferred on a file system with less than this free: quotas and reserves apart, a promise can
 * then be kept. */
#define FREE_LEAST ((uint64_t)64 << 20)

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

uint64_t check_free_least(void)
{
    return larger(FREE_LEAST, XFER_STREAM_MARGIN_WINDOWS * larger(config.buffer_max, config.share_max));
}

static size_t chunk_of(const struct detect *loop)
{
    return larger(loop->read_asked, loop->write_size);
}

enum refusal check_loop(const struct detect *loop)
{
    size_t chunk = chunk_of(loop);
    bool small = chunk < CONFIG_CHUNK_LARGE && chunk <= config.buffer_max;
    bool shareable = blocks_wanted() && chunk <= CONFIG_CHUNK_LARGEST && chunk <= config.share_max;
    if (!small && !shareable)
        return REFUSAL_CHUNK_LARGE;
    return config.engine_write ? REFUSAL_NONE : REFUSAL_ENGINE_OFF;
}

/* Which kind the last destination was: known only after the expensive half, and the same for the files of a
 * tree. */
static struct {
    dev_t device;
    enum payoff_kind kind;
} seen;

/* Before the file system is known: what it was the last time, or the best that it can be. */
static enum payoff_kind likely_kind(const struct xfer_endpoint *end, const struct detect *loop)
{
    if (seen.device == end->device)
        return seen.kind;
    return chunk_of(loop) >= CONFIG_CHUNK_LARGE ? PAYOFF_SHARED_BTRFS : PAYOFF_DISK;
}

static bool worth(const struct check *check, const struct detect *loop)
{
    return config.threshold_given ||
           payoff_worth(check->left, smaller(loop->read_got, loop->write_size), check->kind);
}

static enum refusal look_at_source(struct check *check, const struct detect *loop)
{
    if (xfer_endpoint_look(&check->in, loop->in) < 0)
        return REFUSAL_SOURCE_KIND;
    check->left = check->in.size > check->in.offset ? (uint64_t)(check->in.size - check->in.offset) : 0;
    return REFUSAL_NONE;
}

static enum refusal look_at_destination(struct check *check, const struct detect *loop)
{
    if (xfer_endpoint_look(&check->out, loop->out) < 0 || !S_ISREG(check->out.mode))
        return REFUSAL_DEST_KIND;
    return REFUSAL_NONE;
}

enum refusal check_worth(struct check *check, const struct detect *loop)
{
    enum refusal refused = look_at_source(check, loop);
    check->kind = likely_kind(&check->in, loop); /* most questions are about small files and end here */
    if (refused == REFUSAL_NONE && !worth(check, loop))
        refused = REFUSAL_SMALL_GAIN;
    if (refused == REFUSAL_NONE)
        refused = look_at_destination(check, loop);
    if (refused != REFUSAL_NONE || config.threshold_given)
        return refused;
    if ((uint64_t)smaller((size_t)check->in.offset, (size_t)check->out.offset) < loop->current->run_least)
        return REFUSAL_BACKOFF;
    check->kind = likely_kind(&check->out, loop);
    return worth(check, loop) ? REFUSAL_NONE : REFUSAL_SMALL_GAIN;
}

/* unshare(CLONE_VM) changes nothing and fails with EINVAL exactly when somebody shares our memory or our
 * signal handlers (kernel/fork.c, check_unshare_flags). Where a filter refuses it, at least the threads can
 * be counted: a directory has two links, and one for each of them.
 */
static bool alone(void)
{
    struct stat st;
    int rc = (int)XFER_SYS(SYS_unshare, CLONE_VM);
    if (rc == 0 || rc == -EINVAL)
        return rc == 0;
    return XFER_SYS(SYS_newfstatat, AT_FDCWD, "/proc/self/task", &st, 0) == 0 && st.st_nlink == 3;
}

enum refusal check_process(const struct signals_survey *survey)
{
    if (RUNNING_ON_VALGRIND)
        return REFUSAL_VALGRIND;
    if (!survey->sigsys_default)
        return REFUSAL_SIGSYS_TAKEN;
    if (survey->blocked & SIGNALS_BIT(SIGSYS))
        return REFUSAL_SIGSYS_BLOCKED;
    if (survey->sigsys_masked)
        return REFUSAL_HANDLER_MASK;
    if (!alone())
        return REFUSAL_THREADS;
    return REFUSAL_NONE;
}

static enum refusal check_source(struct xfer_endpoint *in)
{
    if (xfer_endpoint_look_closer(in) < 0)
        return REFUSAL_SOURCE_KIND;
    if ((in->flags & O_ACCMODE) == O_WRONLY || in->flags & (O_DIRECT | O_PATH))
        return REFUSAL_SOURCE_FLAGS;
    if (S_ISREG(in->mode) && !xfer_endpoint_fs_known(in->fs_type))
        return REFUSAL_SOURCE_FS;
    return REFUSAL_NONE;
}

static enum refusal check_destination(struct check *check)
{
    struct xfer_endpoint *out = &check->out;
    struct rlimit limit;
    if (xfer_endpoint_look_closer(out) < 0)
        return REFUSAL_DEST_KIND;
    if ((out->flags & O_ACCMODE) == O_RDONLY ||
        out->flags & (O_DIRECT | O_PATH | O_DSYNC)) /* O_SYNC contains O_DSYNC */
        return REFUSAL_DEST_FLAGS;
    if (!xfer_endpoint_fs_known(out->fs_type))
        return REFUSAL_DEST_FS;
    if (out->fs_free < check_free_least())
        return REFUSAL_DEST_SPACE;
    if (XFER_SYS(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, &limit) < 0)
        return REFUSAL_DEST_LIMIT;
    check->out_limit = -1;
    if (limit.rlim_cur < INT64_MAX) {
        off_t at = out->flags & O_APPEND ? out->size : out->offset;
        check->out_limit = (off_t)limit.rlim_cur;
        if (at > check->out_limit - (off_t)(XFER_STREAM_MARGIN_WINDOWS * config.buffer_max))
            return REFUSAL_DEST_LIMIT;
    }
    return REFUSAL_NONE;
}

static bool holds(const struct xfer_range *memory, const void *buffer, size_t count)
{
    uintptr_t start = (uintptr_t)buffer;
    return start >= memory->start && start < memory->end && count <= memory->end - start;
}

static enum refusal check_memory(struct check *check, const struct detect *loop)
{
    struct maps_query query = {
        .inode = {check->in.inode, check->out.inode},
        .by_path = {check->in.fs_type == OVERLAYFS_SUPER_MAGIC ? check->in.fd : -1,
                    check->out.fs_type == OVERLAYFS_SUPER_MAGIC ? check->out.fd : -1},
        .buffer = {{(uintptr_t)loop->read_buffer, 0},
                   {(uintptr_t)loop->write_buffer, 0},
                   {(uintptr_t)__builtin_frame_address(0), 0}},
    };
    enum refusal refused = maps_examine(&query);
    payoff_mappings(query.count);
    if (refused != REFUSAL_NONE)
        return refused;
    check->buffer[0] = query.buffer[0];
    check->buffer[1] = query.buffer[1];
    check->stack = query.buffer[2];
    if (!holds(&check->buffer[0], loop->read_buffer, loop->read_got) ||
        !holds(&check->buffer[1], loop->write_buffer, loop->write_size))
        return REFUSAL_BUFFER_MEMORY;
    return REFUSAL_NONE;
}

/* Pairs that cannot share are left alone if they are large. */
static enum refusal check_sharing(struct check *check, const struct detect *loop)
{
    seen.device = check->out.device;
    seen.kind = check->kind = blocks_kind(check->out.fs_type);
    blocks_examine(&check->share, &check->in, &check->out);
    if (!check->share.on)
        check->kind = payoff_unshared(check->kind);
    if (chunk_of(loop) < CONFIG_CHUNK_LARGE)
        return REFUSAL_NONE;
    if (!check->share.on)
        return REFUSAL_CHUNK_LARGE;
    if ((size_t)(check->in.offset - check->out.offset) & (check->share.block - 1))
        return REFUSAL_MISALIGNED;
    size_t first = (size_t)(check->left < config.share_max ? check->left : config.share_max);
    return xfer_share_dirty(check->in.fd, check->in.offset, first) ? REFUSAL_SOURCE_DIRTY : REFUSAL_NONE;
}

enum refusal check_ends(struct check *check, const struct detect *loop)
{
    /* Once more: a handler may have reopened or moved one of them before the handlers were blocked. */
    enum refusal refused = look_at_source(check, loop);
    if (refused == REFUSAL_NONE)
        refused = look_at_destination(check, loop);
    if (refused == REFUSAL_NONE)
        refused = check_source(&check->in);
    if (refused == REFUSAL_NONE)
        refused = check_destination(check);
    if (refused == REFUSAL_NONE)
        refused = check_sharing(check, loop);
    if (refused == REFUSAL_NONE && !worth(check, loop))
        refused = REFUSAL_SMALL_GAIN;
    if (refused == REFUSAL_NONE && xfer_endpoint_same_file(&check->in, &check->out))
        refused = REFUSAL_SAME_FILE;
    if (refused == REFUSAL_NONE && sharing_found(loop->in))
        refused = REFUSAL_SHARED_OFFSET;
    if (refused == REFUSAL_NONE)
        refused = check_memory(check, loop);
    if (refused == REFUSAL_NONE && !worth(check, loop)) /* now that the mappings are counted */
        refused = REFUSAL_SMALL_GAIN;
    return refused;
}
