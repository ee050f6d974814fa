/* A copy by a program instrumented against undefined behaviour. The flags are in
 * tests/hazards/host.mk.
 *
 * d8_undefined_behaviour SRC DST
 */
#include "copy.h"

int main(int argc, char **argv)
{
    NEED(argc == 3);
    char *buffer = malloc(3000);
    int in = open_source(argv[1]), out = open_destination(argv[2]);
    printf("%ld bytes\n", copy_bytes(in, out, buffer + argc, 2048, -1));
    free(buffer);
    return close(out);
}
