#include "loop.h"

#include <err.h>
#include <fcntl.h>
#include <unistd.h>

static void turns(const struct loop *loop, int in, int out, const char *source, const char *destination)
{
    ssize_t got;
    while ((got = read(in, loop->buffer, loop->chunk)) > 0) {
        if (loop->transform)
            loop->buffer[got / 2] ^= 1;
        if (loop->third && lseek(in, 0, SEEK_CUR) < 0)
            err(1, "%s", source);
        if (write(out, loop->buffer, got) != got)
            err(1, "%s", destination);
    }
    if (got < 0)
        err(1, "%s", source);
}

void loop_file(const struct loop *loop, const char *source, const char *destination)
{
    int in = open(source, O_RDONLY);
    if (in < 0)
        err(1, "%s", source);
    int out = open(destination, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (out < 0)
        err(1, "%s", destination);

    turns(loop, in, out, source, destination);

    if (close(out) < 0)
        err(1, "%s", destination);
    close(in);
}
