/* The guard: every system call of the program raises SIGSYS before it takes effect (Syscall User Dispatch,
 * Linux 5.11).
 *
 * It is armed only while a session is active or a promise is owed. Owner of the SIGSYS disposition, the
 * alternate signal stack and the dispatch setting of the process in that time, and of nothing else.
 */
#ifndef SHIM_GUARD_H
#define SHIM_GUARD_H

#include <stdbool.h>
#include <stdint.h>

#include "proof.h"
#include "refusal.h"
#include "signals.h"

#define GUARD_SENT (-1)    /* no call: a SIGSYS that somebody sent */
#define GUARD_LEASE (-3)   /* no call: somebody wants to write to a file that we have a lease of */
#define GUARD_FOREIGN (-2) /* a call by another convention than the native one (int $0x80) */

struct guard_trap {
    long number; /* of the system call, or one of the above */
    long argument[6];
};

enum guard_verdict {
    GUARD_RERUN,  /* disarmed: the program's call runs as if nothing had happened */
    GUARD_RETURN, /* the call is not made; it returns `result` */
    GUARD_PASS,   /* the call runs, and the guard stays armed */
};

/* What happens to a trapped call. Runs in the handler, with the guard armed and the program's handlers
 * blocked. */
typedef enum guard_verdict guard_decide(const struct guard_trap *trap, long *result);

/* Arms. `survey` holds the program's handlers, `stack` the memory of the stack it runs on. Returns
 * REFUSAL_NONE, or why not, with nothing changed. No handler may run.
 */
enum refusal guard_arm(const struct signals_survey *survey, struct xfer_range stack, guard_decide *decide);

/* SIGSYS with si_code SI_SIGIO and this si_fd is the break of a lease from now on: GUARD_LEASE. Until
 * disarmed. */
void guard_expect_notices(int fd);

/* Disarms and restores, from the handler or from elsewhere; then `mask` is what the program has blocked. No
 * handler may run. */
void guard_disarm(signals_mask mask);

bool guard_is_armed(void);

/* From now on the handler runs with all signals blocked: the program may get new handlers while the guard is
 * armed. */
void guard_block_all(void);

/* Makes the calls that arming and disarming make, without effect. For a throw-away process. */
void guard_try(void);

#endif
