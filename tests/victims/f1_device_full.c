/* Copies until an error, says where and from which call it came, then tries once more and closes.
 *
 * f1_device_full SRC DST CHUNK [keep]   keep: open the destination without creating or truncating it
 */
#include <sys/stat.h>

#include "copy.h"

int main(int argc, char **argv)
{
    NEED(argc >= 4);
    size_t chunk = strtoul(argv[3], NULL, 10);
    char *buffer = malloc(chunk);
    int in = open_source(argv[1]);
    int out = argc > 4 ? open(argv[2], O_WRONLY) : open_destination(argv[2]);
    long total = 0, short_writes = 0;

    NEED(out >= 0 && buffer);
    for (;;) {
        ssize_t got = read(in, buffer, chunk);
        if (got < 0)
            printf("read: %s\n", strerror(errno));
        if (got <= 0)
            break;
        ssize_t put = write(out, buffer, (size_t)got);
        if (put < 0) {
            printf("write after %ld: %s\n", total, strerror(errno));
            put = write(out, buffer, (size_t)got);
            printf("again: %zd %s\n", put, put < 0 ? strerror(errno) : "");
            break;
        }
        total += put;
        short_writes += put != got;
    }
    off_t read_to = lseek(in, 0, SEEK_CUR);
    printf("%ld bytes, %ld short, source at %ld\n", total, short_writes, (long)read_to);
    struct stat status;
    NEED(fstat(out, &status) == 0);
    if (S_ISREG(status.st_mode))
        printf("size %ld, offset %ld\n", (long)status.st_size, (long)lseek(out, 0, SEEK_CUR));
    int closed = close(out);
    printf("close %d %s\n", closed, closed ? strerror(errno) : "");
    return 0;
}
