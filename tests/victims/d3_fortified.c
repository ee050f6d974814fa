/* A program built with _FORTIFY_SOURCE calls __read_chk where the size of the buffer is known and the count
 * is not. It copies when the count fits and aborts when it does not, in the middle of a loop as well.
 *
 * d3_fortified SRC DST COUNT
 */
#undef _FORTIFY_SOURCE
#define _FORTIFY_SOURCE 2
#include "copy.h"

int main(int argc, char **argv)
{
    char buffer[4096];

    NEED(argc == 4);
    size_t count = strtoul(argv[3], NULL, 10), now = 512;
    int in = open_source(argv[1]), out = open_destination(argv[2]);
    for (long total = 0;;) {
        ssize_t got = read(in, buffer, now);
        if (got <= 0)
            break;
        NEED(write(out, buffer, (size_t)got) == got);
        total += got;
        if (total > 100000)
            now = count;
    }
    printf("copied\n");
    return 0;
}
