/* The program has its own SIGSYS handler: it must be called for each SIGSYS that is sent, and for no other
 * reason.
 *
 * b2_sigsys_own_handler SRC DST before|middle|ignore
 */
#include <signal.h>

#include "copy.h"

static volatile sig_atomic_t caught;

static void catch (int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)context;
    /* raise() is tgkill: SI_TKILL. Anything else is a trap that leaked out. */
    caught += info->si_code == SI_TKILL ? 1 : 1000;
}

int main(int argc, char **argv)
{
    char buffer[4096];
    struct sigaction action = {.sa_sigaction = catch, .sa_flags = SA_SIGINFO}, before, after;
    long total = 0;

    NEED(argc == 4);
    int in = open_source(argv[1]), out = open_destination(argv[2]);
    if (strcmp(argv[3], "ignore") == 0)
        action = (struct sigaction){.sa_handler = SIG_IGN};
    if (strcmp(argv[3], "before") != 0)
        total += copy_bytes(in, out, buffer, sizeof buffer, 2 << 20);
    NEED(sigaction(SIGSYS, &action, &before) == 0);
    printf("was %s\n", before.sa_handler == SIG_DFL && before.sa_flags == 0 ? "default" : "something else");
    for (int i = 0; i < 8; i++) {
        total += copy_bytes(in, out, buffer, sizeof buffer, 256 << 10);
        NEED(raise(SIGSYS) == 0);
    }
    NEED(sigaction(SIGSYS, NULL, &after) == 0);
    printf("caught %d, %s\n", (int)caught, after.sa_sigaction == action.sa_sigaction ? "kept" : "replaced");

    /* Given back: from here on the loop may be helped again, and SIGSYS has its default. */
    NEED(sigaction(SIGSYS, &before, NULL) == 0);
    total += copy_bytes(in, out, buffer, sizeof buffer, -1);
    NEED(sigaction(SIGSYS, NULL, &after) == 0);
    printf("%ld bytes, %s\n", total, after.sa_handler == SIG_DFL ? "default" : "changed");
    return 0;
}
