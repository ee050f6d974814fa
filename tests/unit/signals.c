/* Signal dispositions and masks. */
#include "support.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "signals.h"

static void handler(int number)
{
    (void)number;
}

/* Whatever handlers Criterion and libc's threads have, the two that libc keeps to itself among them: none
 * when a test begins. */
static void begin(void)
{
    struct signals_action standard = {.handler = (uintptr_t)SIG_DFL};
    for (int number = 1; number <= 64; number++)
        signals_action(number, &standard, NULL);
}

static void handle(int number, int flags, int masked)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    sigemptyset(&action.sa_mask);
    if (masked)
        sigaddset(&action.sa_mask, masked);
    cr_assert(sigaction(number, &action, NULL) == 0);
}

static struct signals_survey survey(void)
{
    struct signals_survey found;
    memset(&found, 0xff, sizeof(found));
    signals_survey(&found);
    return found;
}

Test(signals, a_program_without_handlers)
{
    begin();
    signal(SIGPIPE, SIG_IGN);
    struct signals_survey found = survey();
    cr_expect(found.handled == 0 && found.blocked == 0 && found.sigsys_default);
    cr_expect(!found.sigsys_masked && !found.on_stack && !found.unmasked);
}

Test(signals, B2_every_handler_is_seen_from_the_first_to_the_last_real_time_signal)
{
    for (int number = 1; number <= 64; number++) {
        begin();
        if (number == SIGKILL || number == SIGSTOP || number == 32 || number == 33)
            continue;
        handle(number, 0, 0);
        cr_expect(survey().handled == SIGNALS_BIT(number), "signal %d", number);
    }
}

Test(signals, B2_SIGSYS_that_the_program_has_taken)
{
    begin();
    signal(SIGSYS, SIG_IGN);
    cr_expect(!survey().sigsys_default, "ignored is not default");
    handle(SIGSYS, 0, 0);
    cr_expect(!survey().sigsys_default);
    signal(SIGSYS, SIG_DFL);
    cr_expect(survey().sigsys_default);
}

Test(signals, B2_a_handler_that_masks_SIGSYS_asks_for_the_alternate_stack_or_runs_unmasked)
{
    begin();
    handle(SIGUSR1, 0, SIGUSR2);
    cr_expect(!survey().sigsys_masked);
    handle(SIGRTMAX, 0, SIGSYS);
    cr_expect(survey().sigsys_masked && !survey().on_stack && !survey().unmasked);
    begin();
    handle(SIGALRM, SA_ONSTACK, 0);
    cr_expect(survey().on_stack && !survey().sigsys_masked && !survey().unmasked);
    begin();
    handle(SIGALRM, SA_NODEFER, 0);
    cr_expect(survey().unmasked && !survey().on_stack);
}

Test(signals, flags_of_a_signal_without_a_handler_do_not_count)
{
    struct sigaction action = {.sa_handler = SIG_IGN, .sa_flags = SA_ONSTACK | SA_NODEFER};
    begin();
    sigfillset(&action.sa_mask);
    sigaction(SIGALRM, &action, NULL);
    struct signals_survey found = survey();
    cr_expect(!found.on_stack && !found.unmasked && !found.sigsys_masked);
}

Test(signals, blocking_adds_and_setting_replaces_and_both_tell_what_was)
{
    sigset_t now;
    signals_mask before = signals_set(SIGNALS_BIT(SIGUSR1));
    cr_expect(signals_block(SIGNALS_BIT(SIGUSR2)) == SIGNALS_BIT(SIGUSR1));
    pthread_sigmask(SIG_BLOCK, NULL, &now);
    cr_expect(sigismember(&now, SIGUSR1) && sigismember(&now, SIGUSR2) && !sigismember(&now, SIGALRM));
    cr_expect(signals_set(before) == (SIGNALS_BIT(SIGUSR1) | SIGNALS_BIT(SIGUSR2)));
    cr_expect(signals_block(0) == before);
}

Test(signals, all_means_all_that_the_kernel_lets_be_blocked)
{
    signals_mask before = signals_block(SIGNALS_ALL), all = signals_set(before);
    cr_expect(all == (SIGNALS_ALL & ~SIGNALS_BIT(SIGKILL) & ~SIGNALS_BIT(SIGSTOP)));
}

Test(signals, C5_a_survey_changes_nothing)
{
    struct sigaction was, is;
    begin();
    handle(SIGUSR1, SA_RESTART | SA_NODEFER, SIGUSR2);
    sigaction(SIGUSR1, NULL, &was);
    errno = 4711;
    survey();
    cr_expect(errno == 4711);
    sigaction(SIGUSR1, NULL, &is);
    cr_expect(is.sa_handler == was.sa_handler && is.sa_flags == was.sa_flags &&
              sigismember(&is.sa_mask, SIGUSR2));
}

Test(signals, an_action_that_cannot_be_set_says_so)
{
    struct signals_action action = {0};
    cr_expect(signals_action(SIGKILL, &action, NULL) == -EINVAL);
    cr_expect(signals_action(65, NULL, &action) == -EINVAL);
    cr_expect(signals_action(SIGUSR1, NULL, &action) == 0);
}
