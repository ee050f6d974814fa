/* Throws its environment away, in the rudest way, before and in the middle of a loop.
 *
 * d10_no_environment SRC DST clear|null|garbage
 */
#include "copy.h"

int main(int argc, char **argv)
{
    static char buffer[2048];
    static char *garbage[] = {"XFERSHIM", "=", "", "XFERSHIM_BUFFER=", "LD_PRELOAD", NULL};

    NEED(argc == 4);
    int in = open_source(argv[1]), out = open_destination(argv[2]);
    for (int round = 0; round < 3; round++) {
        if (strcmp(argv[3], "clear") == 0)
            clearenv();
        else
            environ = strcmp(argv[3], "null") == 0 ? NULL : garbage;
        NEED(copy_bytes(in, out, buffer, sizeof buffer, 300000) > 0);
    }
    printf("%ld\n", copy_bytes(in, out, buffer, sizeof buffer, -1));
    return 0;
}
