/* errno is 0 when main begins, and no call that succeeds changes it, in a loop of either kind.
 *
 * d1_errno SRC DST
 */
#include "copy.h"

static char buffer[1000];

int main(int argc, char **argv)
{
    int at_main = errno, changed = 0;

    NEED(argc == 3);
    int in = open_source(argv[1]), out = open_destination(argv[2]);
    for (int i = 0;; i++) {
        /* Every 100th turn a third call ends whatever is going on behind the two. */
        if (i % 100 == 99)
            getppid();
        errno = 1000 + i % 100;
        ssize_t got = read(in, buffer, sizeof buffer);
        changed += errno != 1000 + i % 100;
        if (got == 0)
            break;
        errno = 2000 + i % 100;
        NEED(write(out, buffer, (size_t)got) == got);
        changed += errno != 2000 + i % 100;
    }
    errno = 77;
    NEED(close(out) == 0);
    changed += errno != 77;
    printf("errno %d at main, changed %d times\n", at_main, changed);
    return 0;
}
