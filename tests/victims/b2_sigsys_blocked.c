/* The program blocks SIGSYS, before the loop or in the middle of it: a trap that is blocked kills.
 *
 * b2_sigsys_blocked SRC DST before|middle
 */
#include <signal.h>

#include "copy.h"

int main(int argc, char **argv)
{
    char buffer[4096];
    sigset_t set, now;

    NEED(argc == 4);
    int in = open_source(argv[1]), out = open_destination(argv[2]);
    long total = 0;
    if (strcmp(argv[3], "middle") == 0)
        total += copy_bytes(in, out, buffer, sizeof buffer, 2 << 20);
    sigemptyset(&set);
    sigaddset(&set, SIGSYS);
    NEED(sigprocmask(SIG_BLOCK, &set, NULL) == 0);
    total += copy_bytes(in, out, buffer, sizeof buffer, -1);

    NEED(sigprocmask(SIG_SETMASK, NULL, &now) == 0);
    printf("%ld bytes, SIGSYS %s\n", total, sigismember(&now, SIGSYS) ? "blocked" : "open");

    /* What was sent while it was blocked must still be there. */
    NEED(raise(SIGSYS) == 0);
    NEED(sigpending(&now) == 0);
    printf("SIGSYS %s\n", sigismember(&now, SIGSYS) ? "pending" : "lost");
    return 0;
}
