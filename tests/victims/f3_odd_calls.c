/* Odd counts and wrong descriptors in the middle of a loop and outside of one.
 *
 * f3_odd_calls SRC DST DIRECTORY
 */
#include <limits.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

#include "copy.h"

static int in, out;
static char buffer[8192];

static void loop(void)
{
    for (int i = 0; i < 8; i++) {
        NEED(read(in, buffer, 512) == 512);
        NEED(write(out, buffer, 512) == 512);
    }
}

static void say(const char *what, ssize_t result)
{
    int error = errno;
    printf("%s: %zd %s, at %ld and %ld\n", what, result, result < 0 ? strerror(error) : "",
           (long)lseek(in, 0, SEEK_CUR), (long)lseek(out, 0, SEEK_CUR));
    errno = 0;
}

#define TRY(call)                                                                                            \
    do {                                                                                                     \
        loop();                                                                                              \
        say(#call, call);                                                                                    \
    } while (0)

int main(int argc, char **argv)
{
    int pipe_ends[2], pair[2], closed;
    /* The compiler warns of counts and descriptors that it can see to be wrong. */
    volatile size_t none = 0, huge = SSIZE_MAX, largest = SIZE_MAX, cap = 0x7ffff000,
                    more = (size_t)SSIZE_MAX + 1;
    volatile int minus_one = -1, far = 1 << 30, lowest = INT_MIN;
    void *volatile null = NULL;
    uint64_t one = 1;

    NEED(argc == 4);
    in = open_source(argv[1]);
    out = open_destination(argv[2]);
    int directory = open(argv[3], O_RDONLY | O_DIRECTORY), path = open(argv[1], O_PATH);
    int event = eventfd(0, EFD_NONBLOCK), timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    NEED(directory >= 0 && path >= 0 && event >= 0 && timer >= 0);
    NEED(pipe2(pipe_ends, O_NONBLOCK) == 0 && socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) == 0);
    closed = dup(in);
    close(closed);

    TRY(read(in, buffer, none));
    TRY(write(out, buffer, none));
    TRY(read(in, null, none));
    TRY(write(out, null, none));
    TRY(read(in, buffer, huge));
    TRY(write(out, buffer, huge));
    TRY(read(in, buffer, largest));
    TRY(write(out, buffer, largest));
    TRY(read(in, buffer, more));
    TRY(write(out, buffer, more));
    TRY(write(out, null, cap));
    TRY(read(in, null, cap));

    TRY(read(out, buffer, 512));
    TRY(write(in, buffer, 512));
    TRY(read(closed, buffer, 512));
    TRY(write(closed, buffer, 512));
    TRY(read(closed, null, none));
    TRY(read(minus_one, buffer, 512));
    TRY(write(minus_one, buffer, 512));
    TRY(read(far, buffer, 512));
    TRY(write(lowest, buffer, 512));
    TRY(read(directory, buffer, 512));
    TRY(write(directory, buffer, 512));
    TRY(read(path, buffer, 512));
    TRY(read(event, buffer, 4));
    TRY(read(event, buffer, 8));
    TRY(write(event, &one, 8));
    TRY(read(event, buffer, 8));
    TRY(read(timer, buffer, 4));
    TRY(read(timer, buffer, 8));
    TRY(write(timer, buffer, 8));
    TRY(read(pipe_ends[0], buffer, 8));
    TRY(write(pipe_ends[1], buffer, 100));
    TRY(read(pipe_ends[0], buffer, 512));
    TRY(read(pipe_ends[1], buffer, 8));
    TRY(write(pipe_ends[0], buffer, 8));
    TRY(pread(pipe_ends[0], buffer, 8, 0));
    TRY(lseek(pipe_ends[0], 0, SEEK_CUR));
    TRY(lseek(pair[0], 0, SEEK_CUR));
    TRY(lseek(in, -1, SEEK_SET));
    TRY(lseek(in, 0, 77));
    TRY(read(pair[0], buffer, 8));
    TRY(write(pair[1], buffer, 100));
    TRY(read(pair[0], buffer, 512));

    /* At and behind the end of the file. */
    NEED(lseek(in, -100, SEEK_END) > 0);
    say("read over the end", read(in, buffer, 512));
    say("write of it", write(out, buffer, 100));
    say("read at the end", read(in, buffer, 512));
    say("read at the end again", read(in, buffer, 512));
    NEED(lseek(in, 1000, SEEK_END) > 0);
    say("read behind the end", read(in, buffer, 512));
    return 0;
}
