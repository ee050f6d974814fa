/* A handler that runs with every signal blocked and makes system calls: a trap inside it could not be
 * delivered.
 *
 * b2_full_mask_handler SRC DST LOG before|middle
 */
#include <signal.h>
#include <sys/time.h>

#include "copy.h"

static int log_fd;
static volatile sig_atomic_t ticks;

static void tick(int signal)
{
    int saved = errno;
    (void)signal;
    ticks++;
    NEED(write(log_fd, "tick\n", 5) == 5);
    errno = saved;
}

static void start_ticking(void)
{
    struct sigaction action = {.sa_handler = tick, .sa_flags = SA_RESTART};
    struct itimerval every_ms = {{0, 1000}, {0, 1000}};

    sigfillset(&action.sa_mask);
    NEED(sigaction(SIGALRM, &action, NULL) == 0);
    NEED(setitimer(ITIMER_REAL, &every_ms, NULL) == 0);
}

int main(int argc, char **argv)
{
    char buffer[512];
    struct itimerval none = {0};

    NEED(argc == 5);
    int in = open_source(argv[1]), out = open_destination(argv[2]);
    log_fd = open_destination(argv[3]);

    int in_the_middle = strcmp(argv[4], "middle") == 0;
    long total = 0;
    if (in_the_middle)
        total += copy_bytes(in, out, buffer, sizeof buffer, 8 << 20);
    start_ticking();
    total += copy_bytes(in, out, buffer, sizeof buffer, -1);
    NEED(setitimer(ITIMER_REAL, &none, NULL) == 0);

    off_t logged = lseek(log_fd, 0, SEEK_CUR);
    printf("%ld bytes, %s, log %s\n", total, ticks > 2 ? "ticked" : "no tick",
           logged == 5L * ticks ? "whole" : "torn");
    return 0;
}
