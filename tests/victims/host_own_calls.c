/* A program with functions of its own that are called read and write, as some emulators and test tools have:
 * they come before every preloaded library's. "next" hands the call on to the next such function, "kernel"
 * makes it itself.
 *
 * host_own_calls SRC DST next|kernel
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <sys/syscall.h>

#include "copy.h"

static bool to_kernel;
static long reads, writes;

ssize_t read(int fd, void *room, size_t count)
{
    static ssize_t (*next)(int, void *, size_t);
    reads++;
    if (to_kernel)
        return syscall(SYS_read, fd, room, count);
    if (!next)
        next = (ssize_t(*)(int, void *, size_t))dlsym(RTLD_NEXT, "read");
    return next(fd, room, count);
}

ssize_t write(int fd, const void *bytes, size_t count)
{
    static ssize_t (*next)(int, const void *, size_t);
    writes++;
    if (to_kernel)
        return syscall(SYS_write, fd, bytes, count);
    if (!next)
        next = (ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
    return next(fd, bytes, count);
}

int main(int argc, char **argv)
{
    static char buffer[700];
    NEED(argc == 4);
    to_kernel = strcmp(argv[3], "kernel") == 0;
    int in = open_source(argv[1]), out = open_destination(argv[2]);
    long total = copy_bytes(in, out, buffer, sizeof buffer, -1);
    printf("%ld bytes, %ld reads, %ld writes\n", total, reads, writes);
    return 0;
}
