/* In the middle of a loop all descriptors from 3 up are closed, or the process becomes a daemon; then it
 * goes on with what it opens anew.
 *
 * d7_close_everything SRC DST close_range|unshare|closefrom|loop|daemon
 */
#include <linux/close_range.h>

#include "copy.h"

int main(int argc, char **argv)
{
    static char buffer[1024];

    NEED(argc == 4);
    int in = open_source(argv[1]), out = open_destination(argv[2]);
    long total = copy_bytes(in, out, buffer, sizeof buffer, 1 << 20);

    if (strcmp(argv[3], "daemon") == 0) {
        NEED(daemon(1, 1) == 0);
    } else {
        if (strcmp(argv[3], "close_range") == 0)
            NEED(close_range(3, ~0U, 0) == 0);
        else if (strcmp(argv[3], "unshare") == 0)
            NEED(close_range(3, ~0U, CLOSE_RANGE_UNSHARE) == 0);
        else if (strcmp(argv[3], "closefrom") == 0)
            closefrom(3);
        else
            for (int fd = 3; fd < 20000; fd++)
                close(fd);
        printf("read %zd", read(in, buffer, 1));
        printf(" %s\n", strerror(errno));
        in = open_source(argv[1]);
        out = open(argv[2], O_WRONLY);
        NEED(lseek(in, total, SEEK_SET) == total && lseek(out, 0, SEEK_END) == total);
    }
    total += copy_bytes(in, out, buffer, sizeof buffer, -1);
    printf("%ld bytes, %d, %d\n", total, in, out);
    return 0;
}
