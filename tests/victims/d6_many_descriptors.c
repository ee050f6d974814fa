/* Raises RLIMIT_NOFILE as far as the machine allows (2^30 where it does), begins anew under it, and copies
 * between the two highest numbers. Memory that grows with the limit shows in the largest resident size of
 * this image.
 *
 * d6_many_descriptors SRC DST
 */
#include <sys/resource.h>

#include "copy.h"

#define SMALL_KIB 8192

static long most_memory_kib(void)
{
    char line[256];
    long kib = -1;
    FILE *status = fopen("/proc/self/status", "r");

    NEED(status);
    while (fgets(line, sizeof line, status))
        if (sscanf(line, "VmHWM: %ld", &kib) == 1)
            break;
    fclose(status);
    return kib;
}

int main(int argc, char **argv)
{
    static char buffer[4096];
    struct rlimit limit;

    NEED(argc == 3 || argc == 4);
    if (argc == 3) {
        for (rlim_t most = 1 << 30; most > 1024; most >>= 1) {
            limit = (struct rlimit){most, most};
            if (setrlimit(RLIMIT_NOFILE, &limit) == 0)
                break;
        }
        execl("/proc/self/exe", argv[0], argv[1], argv[2], "again", (char *)NULL);
        return VICTIM_BROKEN;
    }
    NEED(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    int top = (int)limit.rlim_cur;
    int in = dup2(open_source(argv[1]), top - 1), out = dup2(open_destination(argv[2]), top - 2);
    NEED(in == top - 1 && out == top - 2);
    long total = copy_bytes(in, out, buffer, sizeof buffer, -1);
    printf("%ld bytes from %d to %d, memory %s\n", total, in, out,
           most_memory_kib() < SMALL_KIB ? "small" : "large");
    return 0;
}
