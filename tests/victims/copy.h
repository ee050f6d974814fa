/* copy.h: the copy loop that the victims share, kept so small that each victim still reads alone. */
#ifndef VICTIM_COPY_H
#define VICTIM_COPY_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The exit status of a victim whose own preparation failed: never a result of the thing under test. */
#define VICTIM_BROKEN 99

#define NEED(condition)                                                                                      \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            dprintf(2, "%s:%d: %s: %s\n", __FILE__, __LINE__, #condition, strerror(errno));                  \
            _exit(VICTIM_BROKEN);                                                                            \
        }                                                                                                    \
    } while (0)

static inline int open_source(const char *path)
{
    int in = open(path, O_RDONLY);
    NEED(in >= 0);
    return in;
}

static inline int open_destination(const char *path)
{
    int out = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    NEED(out >= 0);
    return out;
}

/* Copies until `limit` bytes are written or the source ends (limit < 0: to the end). Gives the bytes written,
 * or -errno of the call that failed; a short write is taken for a failure that the next write explains. */
static inline long copy_bytes(int in, int out, char *buffer, size_t chunk, long limit)
{
    long done = 0;

    while (limit < 0 || done < limit) {
        ssize_t got = read(in, buffer, chunk);
        if (got < 0)
            return -errno;
        if (got == 0)
            break;
        for (ssize_t put = 0; put < got;) {
            ssize_t n = write(out, buffer + put, (size_t)(got - put));
            if (n < 0)
                return -errno;
            put += n;
            done += n;
        }
    }
    return done;
}

#endif
