/* A 1 kHz timer through the whole loop. What the handler does and how it is installed varies; afterwards
 * dispositions, mask and alternate stack must be what the program made them.
 *
 * b2_timer_handlers SRC DST OTHER nothing|write|read|copy|context|probe restart|nodefer|resethand|plain
 */
#include <signal.h>
#include <sys/time.h>

#include "copy.h"

static int other;
static volatile sig_atomic_t ticks, wrong;
static const char *deed;
static struct sigaction action;
static const char *copy_from;

static void tick(int signal, siginfo_t *info, void *context)
{
    int saved = errno;
    char small[100];

    (void)signal, (void)info;
    ticks++;
    if (action.sa_flags & (int)SA_RESETHAND) {
        /* One tick at a time: the kernel resets the handler before it blocks the signal, and a tick between
         * kills. */
        struct itimerval in_a_ms = {{0, 0}, {0, 1000}};
        NEED(sigaction(SIGALRM, &action, NULL) == 0);
        NEED(setitimer(ITIMER_REAL, &in_a_ms, NULL) == 0);
    }
    if (strcmp(deed, "write") == 0)
        wrong += write(other, "0123456789", 10) != 10;
    if (strcmp(deed, "context") == 0) {
        sigset_t *later = &((ucontext_t *)context)->uc_sigmask;
        if (ticks % 2)
            sigaddset(later, SIGSYS);
        else
            sigdelset(later, SIGSYS);
    }
    if (strcmp(deed, "read") == 0)
        wrong += read(other, small, sizeof small) < 0;
    if (strcmp(deed, "copy") == 0) {
        int from = open_source(copy_from);
        wrong += copy_bytes(from, other, small, sizeof small, 2000) != 2000;
        wrong += close(from) != 0;
    }
    if (strcmp(deed, "probe") == 0) {
        sigset_t mask;
        stack_t stack;
        struct sigaction sigsys;
        int found = 0;
        found |= sigprocmask(SIG_SETMASK, NULL, &mask) != 0;
        found |= (sigismember(&mask, SIGALRM) != !(action.sa_flags & SA_NODEFER)) << 1;
        for (int i = 1; i < 32; i++)
            found |= (i != SIGALRM && sigismember(&mask, i)) << 2;
        found |= (sigaltstack(NULL, &stack) != 0 || stack.ss_flags != SS_DISABLE) << 3;
        found |= (sigaction(SIGSYS, NULL, &sigsys) != 0 || sigsys.sa_handler != SIG_DFL) << 4;
        wrong |= found;
    }
    errno = saved;
}

static void remember(struct sigaction *all, sigset_t *mask, stack_t *stack)
{
    for (int i = 1; i < 65; i++)
        if (sigaction(i, NULL, &all[i]) != 0)
            all[i] = (struct sigaction){0};
    NEED(sigprocmask(SIG_SETMASK, NULL, mask) == 0);
    NEED(sigaltstack(NULL, stack) == 0);
}

int main(int argc, char **argv)
{
    static char buffer[512];
    static struct sigaction before[65], after[65];
    sigset_t mask_before = {0}, mask_after = {0};
    stack_t stack_before, stack_after;
    struct itimerval every_ms = {{0, 1000}, {0, 1000}}, none = {0};

    NEED(argc == 6);
    int in = open_source(argv[1]), out = open_destination(argv[2]);
    copy_from = argv[1];
    deed = argv[4];
    other = strcmp(deed, "read") == 0 ? open_source(argv[1]) : open_destination(argv[3]);
    action.sa_sigaction = tick;
    action.sa_flags = strcmp(argv[5], "restart") == 0     ? SA_RESTART
                      : strcmp(argv[5], "nodefer") == 0   ? SA_NODEFER
                      : strcmp(argv[5], "resethand") == 0 ? (int)SA_RESETHAND
                                                          : 0;
    action.sa_flags |= SA_SIGINFO;
    NEED(sigaction(SIGALRM, &action, NULL) == 0);
    remember(before, &mask_before, &stack_before);
    if (action.sa_flags & (int)SA_RESETHAND)
        every_ms.it_interval.tv_usec = 0;
    NEED(setitimer(ITIMER_REAL, &every_ms, NULL) == 0);
    long total = copy_bytes(in, out, buffer, sizeof buffer, -1);
    NEED(setitimer(ITIMER_REAL, &none, NULL) == 0);
    if (strcmp(deed, "context") == 0)
        NEED(sigprocmask(SIG_SETMASK, &mask_before, NULL) == 0);
    remember(after, &mask_after, &stack_after);

    off_t made = lseek(other, 0, SEEK_CUR);
    long expected = strcmp(deed, "write") == 0 ? 10L * ticks : strcmp(deed, "copy") == 0 ? 2000L * ticks : 0;
    int changed = 0;
    for (int i = 1; i < 65; i++)
        changed += before[i].sa_handler != after[i].sa_handler || before[i].sa_flags != after[i].sa_flags;
    printf("%ld bytes, %s, wrong %d, other file %s\n", total, ticks > 2 ? "ticked" : "no tick", (int)wrong,
           strcmp(deed, "read") == 0 || made == expected ? "whole" : "torn");
    printf("dispositions changed %d, mask %s, alternate stack %s\n", changed,
           memcmp(&mask_before, &mask_after, sizeof mask_before) ? "changed" : "same",
           stack_before.ss_sp == stack_after.ss_sp && stack_before.ss_size == stack_after.ss_size &&
                   stack_before.ss_flags == stack_after.ss_flags
               ? "same"
               : "changed");
    return 0;
}
