#include "owing.h"

#include <linux/close_range.h>
#include <signal.h>
#include <stdint.h>
#include <sys/uio.h>

#include "endpoint.h"
#include "sandbox.h"
#include "signals.h"
#include "sys.h"

/* Who owes, and to what, when the guard is not armed: after a fork the child has the bytes too, and must not
 * write them; the descriptor may be closed unseen, and its number go to another file.
 */
static struct {
    int owner;
    bool known;
    struct xfer_endpoint out;
} unguarded;

static bool still_owes(int fd)
{
    struct xfer_endpoint now;
    return unguarded.known && xfer_endpoint_look(&now, fd) == 0 &&
           xfer_endpoint_same_file(&now, &unguarded.out) && now.offset == unguarded.out.offset &&
           now.size >= unguarded.out.size;
}

/* True if the signal set at `address` in the program lacks SIGSYS. Read by the kernel: the address may be
 * bad. */
static bool set_is_harmless(long address)
{
    signals_mask set = SIGNALS_ALL;
    struct iovec here = {&set, sizeof(set)}, there = {(void *)address, sizeof(set)};
    long n = XFER_SYS(SYS_process_vm_readv, sys_getpid(), &here, 1, &there, 1, 0);
    return n == sizeof(set) && !(set & SIGNALS_BIT(SIGSYS));
}

/* Calls after which an armed guard could kill: they change handlers, masks or the alternate stack, or make
 * another process or thread; GUARD_FOREIGN cannot be made from the gate.
 */
static bool endangers_guard(const struct guard_trap *trap)
{
    const long *a = trap->argument;
    switch (trap->number) {
    case SYS_rt_sigprocmask:
        return a[1] && a[0] != SIG_UNBLOCK && !set_is_harmless(a[1]);
    case SYS_rt_sigsuspend:
        return !set_is_harmless(a[0]);
    case SYS_ppoll:
        return a[3] && !set_is_harmless(a[3]);
    case SYS_epoll_pwait:
    case SYS_epoll_pwait2:
        return a[4] && !set_is_harmless(a[4]);
    case SYS_pselect6:
        return a[5] != 0;
    case GUARD_FOREIGN:
    case SYS_rt_sigaction: /* asking, too: the session has changed a disposition and the stack */
    case SYS_sigaltstack:
    case SYS_fork:
    case SYS_vfork:
    case SYS_clone:
    case SYS_clone3:
    case SYS_prctl:
    case SYS_seccomp:
    case SYS_unshare:
    case SYS_ptrace:
        return true;
    default:
        return false;
    }
}

/* Calls on the destination that can report that its bytes are not there. */
static bool reports(const struct guard_trap *trap, int out)
{
    switch (trap->number) {
    case SYS_write:
    case SYS_pwrite64:
    case SYS_writev:
    case SYS_pwritev:
    case SYS_pwritev2:
    case SYS_fsync:
    case SYS_fdatasync:
    case SYS_sync_file_range:
    case SYS_lseek:
    case SYS_ftruncate:
    case SYS_fallocate:
    case SYS_sendfile:
        return (int)trap->argument[0] == out;
    case SYS_dup2:
    case SYS_dup3:
        return (int)trap->argument[1] == out && (int)trap->argument[0] != out;
    case SYS_copy_file_range:
    case SYS_splice:
        return (int)trap->argument[2] == out;
    default:
        return false;
    }
}

static bool closes(const struct guard_trap *trap, int out)
{
    const long *argument = trap->argument;
    if (trap->number == SYS_close)
        return (int)argument[0] == out;
    return trap->number == SYS_close_range && (unsigned)argument[0] <= (unsigned)out &&
           (unsigned)out <= (unsigned)argument[1] && !(argument[2] & CLOSE_RANGE_CLOEXEC);
}

enum guard_verdict owing_decide(struct xfer_stream *stream, const struct guard_trap *trap, long *result)
{
    const long *a = trap->argument;
    if (trap->number == GUARD_SENT) {
        if (sys_getpid() == 1) /* the init of a pid namespace does not die of it */
            return GUARD_RERUN;
        xfer_stream_forget(stream);
        guard_disarm(0);
        return GUARD_RERUN;
    }
    if (closes(trap,
               stream->out)) { /* like close(2) after a failed write-back: closed, and the error is told */
        *result = XFER_SYS(trap->number, a[0], a[1], a[2]);
        if (*result >= 0)
            *result = stream->error;
        xfer_stream_forget(stream);
        guard_disarm(0);
        return GUARD_RETURN;
    }
    if (reports(trap, stream->out)) {
        *result = stream->error;
        return GUARD_RETURN;
    }
    if (endangers_guard(trap)) {
        unguarded.owner = sys_getpid();
        unguarded.known = xfer_endpoint_look(&unguarded.out, stream->out) == 0;
        guard_disarm(0);
        return GUARD_RERUN;
    }
    return GUARD_PASS;
}

bool owing_write(struct xfer_stream *stream, int fd, ssize_t *result)
{
    if (guard_is_armed() || sandbox_is_entered() || fd != stream->out)
        return false;
    if (unguarded.owner != sys_getpid()) /* a child of fork with a copy of the bytes, or one in our memory */
        return false;
    if (!still_owes(fd)) {
        xfer_stream_forget(stream);
        return false;
    }
    *result = xfer_stream_retry(stream);
    unguarded.known = xfer_endpoint_look(&unguarded.out, fd) == 0;
    return *result < 0;
}
