/* The buffer lies in a private mapping of a file which another process truncates at some time: read or write
 * then fail with EFAULT, and no signal comes, because only the kernel touches the buffer. "read": the
 * mapping is what is read into and written from. "write": the program reads into its own memory and writes
 * from a mapping that holds the same bytes. Says "done" when the loop ended before the truncation.
 *
 * f7_mapping_truncated SRC DST MAPPED read|write
 */
#include <sys/mman.h>

#include "copy.h"

int main(int argc, char **argv)
{
    static char own[512];

    NEED(argc == 5);
    int in = open_source(argv[1]), out = open_destination(argv[2]);
    int into = strcmp(argv[4], "read") == 0;
    int fd = open(argv[3], O_RDONLY);
    off_t size = lseek(fd, 0, SEEK_END);
    char *map = mmap(NULL, (size_t)size, into ? PROT_READ | PROT_WRITE : PROT_READ, MAP_PRIVATE, fd, 0);
    NEED(fd >= 0 && map != MAP_FAILED);
    NEED(write(1, "ready\n", 6) == 6);

    long total = 0, unwritten = 0; /* read and not written when it ended */
    const char *outcome = "done";
    for (;;) {
        /* Round and round in the mapping, so that old and new pages of it are used. */
        char *piece = map + total % size;
        ssize_t got = read(in, into ? piece : own, sizeof own);
        if (got < 0 && errno == EFAULT) {
            outcome = "EFAULT by read";
            break;
        }
        if (got <= 0)
            break;
        ssize_t put = write(out, piece, (size_t)got);
        if (put > 0 && put < got) { /* truncated while the kernel copied: the rest must say so */
            total += put;
            got -= put;
            put = write(out, piece + put, (size_t)got);
            NEED(put < 0 && errno == EFAULT);
        }
        if (put < 0 && errno == EFAULT) {
            outcome = "EFAULT by write";
            unwritten = got;
            break;
        }
        NEED(put == got);
        total += put;
    }
    printf("%s\n", outcome);
    off_t at = lseek(out, 0, SEEK_CUR), from = lseek(in, 0, SEEK_CUR);
    printf("%s\n", at != total                 ? "destination astray"
                   : from != total + unwritten ? "source astray"
                                               : "exact");
    return 0;
}
