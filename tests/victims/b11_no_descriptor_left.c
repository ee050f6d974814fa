/* Copies with no descriptor to be had, or with 0, 1 and 2 closed, so that the two ends get those numbers;
 * afterwards exactly the descriptors of before are open and the next one gets the lowest free number.
 *
 * b11_no_descriptor_left SRC DST full|low|both
 */
#include <sys/resource.h>

#include "copy.h"

static void list_open(char *open_numbers, int count)
{
    for (int fd = 0; fd < count; fd++)
        open_numbers[fd] = fcntl(fd, F_GETFD) >= 0;
}

int main(int argc, char **argv)
{
    static char buffer[4096], before[1024], after[1024];

    NEED(argc == 4);
    int full = strcmp(argv[3], "low") != 0, low = strcmp(argv[3], "full") != 0;
    int result = fcntl(1, F_DUPFD, 100);
    NEED(result >= 100);
    if (low) {
        close(0);
        close(1);
        close(2);
    }
    int in = open(argv[1], O_RDONLY), out = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC, 0644);
    int lowest = out + 1;
    if (full) {
        /* Everything below the limit is taken or above it; 100 stays usable although it is above. */
        struct rlimit limit = {(rlim_t)lowest, 1024};
        if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
            return VICTIM_BROKEN;
    }
    list_open(before, 1024);
    long total = copy_bytes(in, out, buffer, sizeof buffer, -1);
    list_open(after, 1024);
    int next = dup(in);
    dprintf(result, "%d to %d, %ld bytes, descriptors %s, next %d %s\n", in, out, total,
            memcmp(before, after, sizeof before) ? "changed" : "same", next, next < 0 ? strerror(errno) : "");
    return 0;
}
