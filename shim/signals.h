/* Signal dispositions and masks, asked and set through the gate. */
#ifndef SHIM_SIGNALS_H
#define SHIM_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* The kernel's view: one bit for each signal, bit 0 is signal 1. */
typedef uint64_t signals_mask;

#define SIGNALS_ALL (~(signals_mask)0)
#define SIGNALS_BIT(number) ((signals_mask)1 << ((number)-1))

/* The kernel's struct sigaction. */
struct signals_action {
    uintptr_t handler;
    unsigned long flags;
    uintptr_t restorer;
    signals_mask mask;
};

struct signals_survey {
    signals_mask handled;  /* signals with a handler */
    signals_mask on_stack; /* of these, the ones whose handlers ask for the alternate stack */
    signals_mask blocked;  /* by the program, to be filled in by the caller */
    bool sigsys_default;
    bool sigsys_masked; /* by some handler's mask */
    bool unmasked;      /* some handler runs with its own signal unblocked (SA_NODEFER) */
};

/* Looks at all dispositions (62 calls, about 4 us). Any context; handlers should be blocked, or they may
 * change what is being looked at.
 */
void signals_survey(struct signals_survey *survey);

/* Adds `mask` to the blocked signals, or sets them. Returns those that were blocked before. Any context. */
signals_mask signals_block(signals_mask mask);
signals_mask signals_set(signals_mask mask);

/* Sets or clears SA_ONSTACK for each signal of `mask`, and changes nothing else of its disposition. No
 * handler of these may run.
 */
void signals_set_on_stack(signals_mask mask, bool on);

/* Returns 0 or -errno. Any context. */
int signals_action(int number, const struct signals_action *action, struct signals_action *old);

#endif
