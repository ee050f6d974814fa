/*
 * share_copy IN OUT CHUNK [OFFSET [OWN]]: a read/write loop that says what it wrote and how it left the
 * source's description. OFFSET: so many bytes are written before the loop, so that the offsets do not lie
 * alike within a block. OWN: "lease", "signal" or "owner": what the program itself sets on the description.
 */
#include <err.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint64_t digest = 14695981039346656037u; /* FNV-1a, over words where there are any */

static void digest_bytes(const unsigned char *bytes, size_t count)
{
    for (; count >= 8; bytes += 8, count -= 8) {
        uint64_t word;
        memcpy(&word, bytes, 8);
        digest = (digest ^ word) * 1099511628211u;
    }
    for (; count; bytes++, count--)
        digest = (digest ^ *bytes) * 1099511628211u;
}

int main(int argc, char **argv)
{
    if (argc < 4)
        errx(2, "usage: share_copy IN OUT CHUNK [OFFSET]");
    size_t chunk = strtoul(argv[3], NULL, 10), offset = argc > 4 ? strtoul(argv[4], NULL, 10) : 0;
    unsigned char *buffer = malloc(chunk);
    int in = open(argv[1], O_RDONLY), out = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (!buffer || in < 0 || out < 0)
        err(2, "%s or %s", argv[1], argv[2]);
    const char *own = argc > 5 ? argv[5] : "";
    if (!strcmp(own, "lease") && fcntl(in, F_SETLEASE, F_RDLCK) < 0)
        err(2, "lease");
    if (!strcmp(own, "signal") && fcntl(in, F_SETSIG, SIGUSR1) < 0)
        err(2, "signal");
    if (!strcmp(own, "owner") && fcntl(in, F_SETOWN, getpid()) < 0)
        err(2, "owner");
    memset(buffer, 'h', chunk);
    for (size_t left = offset; left;) {
        size_t n = left < chunk ? left : chunk;
        if (write(out, buffer, n) != (ssize_t)n)
            err(1, "head");
        digest_bytes(buffer, n);
        left -= n;
    }
    ssize_t n;
    while ((n = read(in, buffer, chunk)) > 0) {
        for (ssize_t done = 0, m; done < n; done += m)
            if ((m = write(out, buffer + done, (size_t)(n - done))) <= 0) {
                printf("write: %m\n");
                return 1;
            }
        digest_bytes(buffer, (size_t)n);
    }
    if (n < 0)
        err(1, "read");
    struct f_owner_ex owner = {0};
    fcntl(in, F_GETOWN_EX, &owner);
    printf("digest %016llx offsets %ld %ld\n", (unsigned long long)digest, (long)lseek(in, 0, SEEK_CUR),
           (long)lseek(out, 0, SEEK_CUR));
    printf("lease %d signal %d owner %d\n", fcntl(in, F_GETLEASE), fcntl(in, F_GETSIG),
           owner.pid == getpid() ? 1 : owner.pid);
    return 0;
}
