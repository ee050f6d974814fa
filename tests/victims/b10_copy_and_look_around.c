/* Copies, counts SIGCHLD and SIGSYS, and says what children and descriptors it finds afterwards: a trial
 * child of somebody else's must not show.
 *
 * b10_copy_and_look_around SRC DST CHUNK
 */
#include <signal.h>
#include <sys/wait.h>

#include "copy.h"

static volatile sig_atomic_t child_signals;

static void count(int signal)
{
    (void)signal;
    child_signals++;
}

int main(int argc, char **argv)
{
    NEED(argc == 4);
    size_t chunk = strtoul(argv[3], NULL, 10);
    char *buffer = malloc(chunk);

    /* Unchecked: a filter may forbid it. */
    signal(SIGCHLD, count);
    int in = open_source(argv[1]), out = open_destination(argv[2]);
    long total = copy_bytes(in, out, buffer, chunk, -1);
    int end = (int)read(in, buffer, 1);
    int closed = close(out) | close(in);
    int child = waitpid(-1, NULL, WNOHANG | __WALL);
    printf("%ld bytes, at end %d, close %d, child %d %s, SIGCHLD %d\n", total, end, closed, child,
           child < 0 && errno == ECHILD ? "none" : "?", (int)child_signals);
    return 0;
}
