/* Copies to one file in blocks of as many pairs as fill BLOCK bytes, and tells about each, in one of the ways
 * in which programs let others at a file:
 *
 * e5_tells SRC DST BLOCK CHUNK HOW
 *   message      "so many bytes are there" to descriptor 1, a pipe or a socket
 *   posix, ofd, flock  the destination is locked while a block is copied
 */
#include "copy.h"

#include <sched.h>
#include <stdbool.h>
#include <string.h>
#include <sys/file.h>

static void lock(int fd, const char *how, bool on)
{
    struct flock whole = {.l_type = on ? F_WRLCK : F_UNLCK, .l_whence = SEEK_SET};
    if (strcmp(how, "posix") == 0)
        NEED(fcntl(fd, F_SETLKW, &whole) == 0);
    else if (strcmp(how, "ofd") == 0)
        NEED(fcntl(fd, F_OFD_SETLKW, &whole) == 0);
    else if (strcmp(how, "flock") == 0)
        NEED(flock(fd, on ? LOCK_EX : LOCK_UN) == 0);
}

int main(int argc, char **argv)
{
    static char buffer[1 << 16];
    NEED(argc == 6);
    long block = atol(argv[3]), total = 0, done;
    const char *how = argv[5];
    int in = open_source(argv[1]), out = open(argv[2], O_RDWR);
    NEED(out >= 0);
    do {
        lock(out, how, true);
        done = copy_bytes(in, out, buffer, (size_t)atol(argv[4]), block);
        NEED(done >= 0);
        total += done;
        lock(out, how, false);
        if (strcmp(how, "message") == 0)
            NEED(write(1, &total, sizeof total) == sizeof total);
        else
            sched_yield();
    } while (done == block);
    return 0;
}
