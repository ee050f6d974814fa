/* A library that copies: host_loop loads it in the ways in which programs load theirs. */
#include <unistd.h>

long plugin_copy(int in, int out, char *buffer, size_t chunk, long pairs);

long plugin_copy(int in, int out, char *buffer, size_t chunk, long pairs)
{
    long done = 0;
    while (pairs-- > 0) {
        ssize_t got = read(in, buffer, chunk);
        if (got <= 0)
            break;
        if (write(out, buffer, (size_t)got) != got)
            return -1;
        done += got;
    }
    return done;
}
