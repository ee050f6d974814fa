/* Copies descriptor 3 to descriptor 4 in pieces of CHUNK bytes. It says on descriptor 1 that the loop begins,
 * and is killed somewhere in it; its parent holds both open file descriptions too and looks at their offsets
 * then.
 *
 * b1_copy_to_be_killed CHUNK */
#include "copy.h"

int main(int argc, char **argv)
{
    NEED(argc == 2);
    size_t chunk = strtoul(argv[1], NULL, 10);
    char *buffer = malloc(chunk);

    NEED(buffer);
    NEED(write(1, "", 1) == 1);
    NEED(copy_bytes(3, 4, buffer, chunk, -1) >= 0);
    return 0;
}
