#include "signals.h"

#include "sys.h"

#define SIGNALS_LAST 64

int signals_action(int number, const struct signals_action *action, struct signals_action *old)
{
    return (int)XFER_SYS(SYS_rt_sigaction, number, action, old, sizeof(signals_mask));
}

static signals_mask change(int how, signals_mask mask)
{
    signals_mask old = 0;
    XFER_SYS(SYS_rt_sigprocmask, how, &mask, &old, sizeof(mask));
    return old;
}

signals_mask signals_block(signals_mask mask)
{
    return change(SIG_BLOCK, mask);
}

signals_mask signals_set(signals_mask mask)
{
    return change(SIG_SETMASK, mask);
}

void signals_survey(struct signals_survey *survey)
{
    *survey = (struct signals_survey){0};
    for (int number = 1; number <= SIGNALS_LAST; number++) {
        struct signals_action action = {0};
        if (number == SIGKILL || number == SIGSTOP || signals_action(number, NULL, &action) < 0)
            continue;
        if (number == SIGSYS)
            survey->sigsys_default = action.handler == (uintptr_t)SIG_DFL;
        if (action.handler == (uintptr_t)SIG_DFL || action.handler == (uintptr_t)SIG_IGN)
            continue;
        survey->handled |= SIGNALS_BIT(number);
        survey->sigsys_masked |= (action.mask & SIGNALS_BIT(SIGSYS)) != 0;
        if (action.flags & SA_ONSTACK)
            survey->on_stack |= SIGNALS_BIT(number);
        survey->unmasked |= (action.flags & SA_NODEFER) != 0;
    }
}

void signals_set_on_stack(signals_mask mask, bool on)
{
    for (int number = 1; number <= SIGNALS_LAST; number++) {
        struct signals_action action;
        if (!(mask & SIGNALS_BIT(number)) || signals_action(number, NULL, &action) < 0)
            continue;
        action.flags = on ? action.flags | SA_ONSTACK : action.flags & ~(unsigned long)SA_ONSTACK;
        signals_action(number, &action, NULL);
    }
}
