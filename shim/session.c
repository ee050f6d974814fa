#include "session.h"

#include <fcntl.h>
#include <sys/prctl.h>

#include "blocks.h"
#include "check.h"
#include "clock.h"
#include "config.h"
#include "guard.h"
#include "owing.h"
#include "payoff.h"
#include "report.h"
#include "sandbox.h"
#include "signals.h"
#include "stream.h"
#include "sys.h"

/* A full window, and what it keeps of the last calls: delivered and unwritten bytes, and twice the largest
 * call for finding a lag. As much as positions in it can say.
 */
#define WINDOW_SIZE (2 * XFER_WINDOW_LARGEST - 4096)
/* The first window of a pair that shares blocks: ranges below 128 KiB are not worth it on XFS. */
#define SHARE_FIRST ((size_t)256 << 10)

static unsigned char window[WINDOW_SIZE] __attribute__((aligned(4096)));
static struct xfer_stream stream;
static struct {
    signals_mask handled;
    signals_mask before;    /* blocked by the program, when the last slow call began */
    size_t chunk;           /* bytes that the loop's calls move at the start */
    enum payoff_kind kind;  /* of the destination */
    struct detect *loop;    /* of the thread that has the session */
    bool never_again;       /* somebody moved our source's offset behind our back */
    dev_t device;           /* of the destination */
    volatile bool wanted;   /* somebody waits for the lease of the source */
    volatile bool changing; /* the stream is in the middle of a slow call */
} session;

volatile bool session_live;

/* Blocks what has a handler; everything else keeps its default action, so that ^C still ends a write that
 * hangs. */
static signals_mask hold_handlers(void)
{
    return session.before = session.handled ? signals_block(session.handled) : 0;
}

static void release_handlers(signals_mask before)
{
    if (session.handled)
        signals_set(before);
}

/* Where blocks could have been shared and none was, less is gained. */
static enum payoff_kind kind_of_gain(void)
{
    return stream.stats.shared ? session.kind : payoff_unshared(session.kind);
}

/* By the calls that were not made: a session whose buffers had to be proven again and again saves little. */
static bool paid(void)
{
    const struct xfer_stats *stats = &stream.stats;
    uint64_t served = stats->reads + stats->writes;
    uint64_t pairs = served > stats->calls ? (served - stats->calls) / 2 : 0;
    return payoff_paid(pairs, session.chunk, kind_of_gain());
}

/* Ends the session. `call` is the system call that did it, or -1. No handler may run. */
static void finish(enum xfer_stream_end why, long call)
{
    if (stream.ended == XFER_END_NONE)
        stream.ended = why;
    xfer_stream_close(&stream);
    if (stream.ended == XFER_END_FOREIGN)
        session.never_again = true;
    blocks_learn(&stream.share, session.device);
    report_end(&stream, session.chunk, kind_of_gain(), call);
    detect_session_over(session.loop, paid());
    if (xfer_stream_owes(&stream)) {
        guard_block_all();
        return;
    }
    guard_disarm(session.before);
    session_live = false;
}

static bool enters_sandbox(const struct guard_trap *trap)
{
    if (trap->number == SYS_prctl)
        return trap->argument[0] == PR_SET_NO_NEW_PRIVS || trap->argument[0] == PR_SET_SECCOMP;
    return trap->number == SYS_seccomp;
}

static enum guard_verdict trapped(const struct guard_trap *trap, long *result)
{
    if (trap->number == GUARD_LEASE) {
        session.wanted = true;
        if (!session.changing && xfer_stream_is_open(&stream))
            finish(XFER_END_LEASE, -1);
        return GUARD_RERUN;
    }
    if (session.changing) /* a SIGSYS that somebody sent, no call: the process dies as if a moment earlier */
        return GUARD_RERUN;
    if (enters_sandbox(trap))
        sandbox_entered();
    if (xfer_stream_is_open(&stream)) {
        finish(trap->number == GUARD_SENT ? XFER_END_SIGNAL : XFER_END_CALL, trap->number);
        if (!session_live)
            return GUARD_RERUN;
    } else if (xfer_stream_retry(&stream) == 0) {
        guard_disarm(session.before);
        session_live = false;
        return GUARD_RERUN;
    }
    enum guard_verdict verdict = owing_decide(&stream, trap, result);
    session_live = xfer_stream_owes(&stream) > 0;
    return verdict;
}

/* A lease that began to be broken in the middle of a slow call. */
static void end_if_wanted(void)
{
    if (!session.wanted || !xfer_stream_is_open(&stream))
        return;
    session.changing = true;
    finish(XFER_END_LEASE, -1);
    session.changing = false;
}

/* The slow half of a call: `fd` decides whether it is one of the session's at all. */
static bool slow(int fd, int own, ssize_t (*call)(void *buffer, size_t count), void *buffer, size_t count,
                 ssize_t *result)
{
    ssize_t n = XFER_STREAM_END;
    signals_mask before = hold_handlers();
    if (xfer_stream_is_open(&stream)) {
        session.changing = true;
        if (fd == own)
            n = call(buffer, count);
        if (n == XFER_STREAM_END || stream.ended != XFER_END_NONE)
            finish(XFER_END_CALL, -1);
        session.changing = false;
        end_if_wanted();
    }
    release_handlers(before);
    *result = n;
    return n != XFER_STREAM_END;
}

static ssize_t slow_read(void *buffer, size_t count)
{
    return xfer_stream_read(&stream, buffer, count);
}

static ssize_t slow_write(void *buffer, size_t count)
{
    return xfer_stream_write(&stream, buffer, count);
}

bool session_read(int fd, void *buffer, size_t count, ssize_t *result)
{
    *result = (ssize_t)count;
    if (fd == stream.in && xfer_stream_serve(&stream, buffer, count))
        return true;
    return slow(fd, stream.in, slow_read, buffer, count, result);
}

bool session_write(int fd, const void *buffer, size_t count, ssize_t *result)
{
    *result = (ssize_t)count;
    if (fd == stream.out && xfer_stream_accept(&stream, buffer, count))
        return true;
    if (!xfer_stream_is_open(&stream)) {
        bool failed = owing_write(&stream, fd, result);
        session_live = guard_is_armed() || xfer_stream_owes(&stream) > 0;
        return failed;
    }
    return slow(fd, stream.out, slow_write, (void *)buffer, count, result);
}

static void open_stream(const struct check *check, const struct detect *loop)
{
    bool shares = check->share.on, large = session.chunk >= CONFIG_CHUNK_LARGE;
    struct xfer_stream_setup setup = {
        .in = loop->in,
        .out = loop->out,
        .in_offset = check->in.offset,
        .out_limit = check->out_limit,
        .out_append = check->out.flags & O_APPEND,
        .fill_first = shares && config.buffer < SHARE_FIRST ? SHARE_FIRST : config.buffer,
        .fill_largest = shares ? config.share_max : config.buffer_max,
        .unshared_largest = large ? 0 : config.buffer_max,
        .share = check->share,
        .free_least = check_free_least(),
        .read_last = loop->read_asked,
        .write_last = loop->write_size,
        .memory = window,
        .capacity = sizeof(window),
        .engine = &xfer_engine_write,
    };
    xfer_proof_clear(&stream.proof);
    for (int i = 0; i < 2; i++)
        xfer_proof_allow(&stream.proof, check->buffer[i].start, check->buffer[i].end);
    xfer_stream_open(&stream, &setup);
}

/* All that comes after the cheap checks, with the signals blocked that have handlers. */
static enum refusal start(struct check *check, struct detect *loop, const struct signals_survey *survey)
{
    enum refusal refused = check_process(survey);
    if (refused == REFUSAL_NONE)
        refused = check_ends(check, loop);
    if (refused != REFUSAL_NONE)
        return refused;
    if (config.mode == CONFIG_OBSERVE) {
        report_would_start(loop->in, loop->out, loop->write_size);
        return REFUSAL_NONE;
    }
    report_start(loop->in, loop->out, loop->write_size);
    refused = guard_arm(survey, check->stack, trapped);
    if (refused != REFUSAL_NONE)
        return refused;
    session.chunk = loop->read_got < loop->write_size ? loop->read_got : loop->write_size;
    session.before = survey->blocked;
    session.wanted = false;
    session.changing = true;
    if (check->share.on && !blocks_hold(&check->share, loop->in) && session.chunk >= CONFIG_CHUNK_LARGE) {
        guard_disarm(session.before);
        session.changing = false;
        return REFUSAL_NO_LEASE;
    }
    session.handled = survey->handled;
    session.device = check->out.device;
    session.kind = check->kind;
    session.loop = loop;
    xfer_clock_ms(); /* if the vDSO has to ask the kernel, the guard sees it now, while SIGSYS is not blocked
                      */
    open_stream(check, loop);
    session_live = true;
    session.changing = false;
    end_if_wanted();
    return REFUSAL_NONE;
}

static enum refusal try_start(struct check *check, struct detect *loop)
{
    struct signals_survey survey;
    enum refusal refused = REFUSAL_NONE;
    signals_mask before = signals_block(SIGNALS_ALL);
    if (!session_live) { /* a handler that came before the block may have started one */
        signals_survey(&survey);
        survey.blocked = before;
        signals_set(before | survey.handled);
        refused = start(check, loop, &survey);
    }
    signals_set(before);
    return refused;
}

static void note_refusal(struct detect *loop, enum refusal refused, uint64_t left)
{
    report_refusal(refused);
    if (refused == REFUSAL_SMALL_GAIN)
        detect_too_small(loop, left);
    else if (refused == REFUSAL_BACKOFF)
        detect_not_yet(loop);
    else
        detect_refused(loop, config.threshold_given);
}

void session_end(void)
{
    signals_mask before = hold_handlers();
    if (xfer_stream_is_open(&stream)) {
        session.changing = true;
        finish(XFER_END_EXIT, -1);
        session.changing = false;
    }
    release_handlers(before);
}

void session_consider(struct detect *loop)
{
    struct check check;
    enum refusal refused = check_loop(loop);
    check.left = 0;
    if (session_live)
        return;
    if (sandbox_is_entered())
        refused = REFUSAL_SANDBOXED;
    else if (session.never_again)
        refused = REFUSAL_SHARED_OFFSET;
    if (refused == REFUSAL_NONE)
        refused = sandbox_check();
    if (refused == REFUSAL_NONE)
        refused = check_worth(&check, loop);
    if (refused == REFUSAL_NONE)
        refused = try_start(&check, loop);
    if (refused != REFUSAL_NONE)
        note_refusal(loop, refused, check.left);
    else if (config.mode == CONFIG_OBSERVE)
        detect_too_small(loop, check.left);
}
