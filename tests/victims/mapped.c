/* mapped WHAT CHUNK: the loop while an end, or something else, is mapped; it looks there in every turn. */
#include "victim.h"

#include <sys/mman.h>

static char buffer[1 << 16];

int main(int count, char **arguments)
{
    if (count != 3)
        return 99;
    const char *what = arguments[1];
    size_t chunk = size_argument(arguments[2]);
    struct stat status;
    int in = (int)must(open("in", O_RDWR), "in");
    int out = (int)must(open("out", O_RDWR | O_CREAT | O_TRUNC, 0666), "out");
    must(fstat(in, &status), "fstat");
    long size = status.st_size;
    must(ftruncate(out, size), "ftruncate");
    bool writable = strstr(what, "writable"), private = strstr(what, "private");
    bool source = strncmp(what, "in", 2) == 0, destination = strncmp(what, "out", 3) == 0;
    int fd = source                           ? in
             : destination                    ? out
             : strncmp(what, "other", 5) == 0 ? (int)must(open("other-in", O_RDWR), "other-in")
                                              : -1;
    int flags = (private ? MAP_PRIVATE : MAP_SHARED) | (fd < 0 ? MAP_ANONYMOUS : 0);
    unsigned char *map = mmap(NULL, (size_t)size, PROT_READ | (writable ? PROT_WRITE : 0), flags, fd, 0);
    must(-(map == MAP_FAILED), "mmap");
    if (fd >= 0 && !source && !destination)
        close(fd);
    if (strstr(what, "closed")) {
        /* The mapping outlives the descriptor it was made from. */
        close(fd);
        fd = (int)must(open(source ? "in" : "out", O_RDWR), "open");
    }
    uint32_t looks = 0;
    long at = 0;
    for (ssize_t n; (n = read(in, buffer, chunk)) > 0;) {
        must(write(out, buffer, (size_t)n), "write");
        if (source || destination)
            looks = looks * 31 + sum(map + at, (size_t)n);
        at += n;
        if (source && writable && at + 100000 < size)
            map[at + (long)chunk / 2 + 3] ^= 0x55;
        if (destination && writable && at > 10)
            map[at - 10] ^= 0x55;
    }
    where("end", in, out);
    note("looks %08x\n", looks);
    say();
    return 0;
}
