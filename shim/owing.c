#include "owing.h"

#include <linux/close_range.h>
#include <stdint.h>

#include "sandbox.h"
#include "sys.h"

/* The process that owes, when the guard is not armed: after a fork the child has the bytes too, and must not write them. */
static int unguarded_owner;

/* Calls after which an armed guard could kill: they change handlers, masks or the alternate stack, or make another process or
 * thread; GUARD_FOREIGN cannot be made from the gate.
 */
static bool endangers_guard(long number)
{
    switch (number) {
    case GUARD_FOREIGN:
    case SYS_fork:
    case SYS_vfork:
    case SYS_clone:
    case SYS_clone3:
    case SYS_rt_sigaction:
    case SYS_rt_sigprocmask:
    case SYS_rt_sigsuspend:
    case SYS_ppoll:
    case SYS_pselect6:
    case SYS_epoll_pwait:
    case SYS_epoll_pwait2:
    case SYS_sigaltstack:
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
        xfer_stream_forget(stream);
        guard_disarm();
        return GUARD_RERUN;
    }
    if (closes(trap, stream->out)) { /* like close(2) after a failed write-back: closed, and the error is told */
        *result = XFER_SYS(trap->number, a[0], a[1], a[2]);
        if (*result >= 0)
            *result = stream->error;
        xfer_stream_forget(stream);
        guard_disarm();
        return GUARD_RETURN;
    }
    if (reports(trap, stream->out)) {
        *result = stream->error;
        return GUARD_RETURN;
    }
    if (endangers_guard(trap->number)) {
        unguarded_owner = sys_getpid();
        guard_disarm();
        return GUARD_RERUN;
    }
    return GUARD_PASS;
}

bool owing_write(struct xfer_stream *stream, int fd, ssize_t *result)
{
    if (guard_is_armed() || sandbox_is_entered() || fd != stream->out)
        return false;
    if (unguarded_owner != sys_getpid()) {
        xfer_stream_forget(stream);
        return false;
    }
    *result = xfer_stream_retry(stream);
    return *result < 0;
}
