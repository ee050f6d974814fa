/*
 * kinds END CHUNK: one end of the loop is no regular file: "from-..." the source, "to-..." the
 * destination. At the other side of the destination somebody notes the size of each message, and of all.
 */
#include "victim.h"

#include <pty.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <termios.h>

enum { FED = 700 };

static char buffer[1 << 16];

static void pair_of(const char *kind, int ends[2])
{
    if (strcmp(kind, "pipe") == 0) {
        must(pipe(ends), "pipe");
    } else if (strcmp(kind, "fifo") == 0) {
        must(mkfifo("fifo", 0666), "mkfifo");
        ends[0] = (int)must(open("fifo", O_RDWR), "fifo");
        ends[1] = (int)must(open("fifo", O_WRONLY), "fifo");
        must(unlink("fifo"), "unlink");
    } else if (strcmp(kind, "terminal") == 0) {
        int leader, follower;
        struct termios raw;
        must(openpty(&leader, &follower, NULL, NULL, NULL), "openpty");
        tcgetattr(follower, &raw);
        cfmakeraw(&raw);
        tcsetattr(follower, TCSANOW, &raw);
        ends[0] = leader, ends[1] = follower;
    } else {
        int type = strcmp(kind, "datagram") == 0    ? SOCK_DGRAM
                   : strcmp(kind, "seqpacket") == 0 ? SOCK_SEQPACKET
                                                    : SOCK_STREAM;
        must(socketpair(AF_UNIX, type, 0, ends), "socketpair");
    }
}

/* Reads until BYTES have come. Sizes are noted where they mean something. */
static void collect(int fd, long bytes, bool messages)
{
    uint32_t hash = 0;
    long seen = 0, count = 0;
    while (seen < bytes) {
        ssize_t n = read(fd, buffer, sizeof buffer);
        if (n <= 0)
            break;
        for (ssize_t i = 0; i < n; i++)
            hash = hash * 31 + (unsigned char)buffer[i];
        seen += n, count++;
        if (messages && count % 16 == 1)
            note("message %ld: %zd\n", count, n);
    }
    note("%ld bytes, sum %08x\n", seen, hash);
    if (messages)
        note("%ld messages\n", count);
    say();
    _exit(0);
}

static void feed(int fd, long bytes)
{
    int in = (int)must(open("in", O_RDONLY), "in");
    for (long sent = 0; sent < bytes;) {
        ssize_t n = bare(SYS_read, in, (long)buffer, FED);
        if (n <= 0)
            break;
        must(bare(SYS_write, fd, (long)buffer, n), "write");
        sent += n;
    }
    _exit(0);
}

int main(int count, char **arguments)
{
    if (count != 3)
        return 99;
    size_t chunk = size_argument(arguments[2]);
    struct stat status;
    must(stat("in", &status), "in");
    bool from = strncmp(arguments[1], "from-", 5) == 0;
    const char *kind = arguments[1] + (from ? 5 : 3);
    bool messages = strcmp(kind, "datagram") == 0 || strcmp(kind, "seqpacket") == 0;
    int ends[2], in, out;
    signal(SIGPIPE, SIG_IGN);
    if (kind[0] == '/') {
        in = (int)must(open(from ? kind : "in", O_RDONLY), kind);
        out =
            (int)must(open(from ? "out" : kind, from ? O_WRONLY | O_CREAT | O_TRUNC : O_WRONLY, 0666), kind);
        told("last", copy_pairs(in, out, buffer, chunk, 200));
        say();
        return 0;
    }
    if (strcmp(kind, "eventfd") == 0) {
        in = (int)must(open("in", O_RDONLY), "in");
        out = (int)must(eventfd(0, EFD_NONBLOCK), "eventfd");
        told("last", copy_pairs(in, out, buffer, 8, 200));
        say();
        return 0;
    }
    pair_of(kind, ends);
    pid_t helper = (pid_t)must(fork(), "fork");
    if (helper == 0) {
        close(ends[from ? 0 : 1]);
        if (from)
            feed(ends[1], status.st_size);
        collect(ends[0], status.st_size, messages);
    }
    if (from) {
        in = ends[0];
        close(ends[1]);
        out = (int)must(open("out", O_WRONLY | O_CREAT | O_TRUNC, 0666), "out");
        /* Stops early; what was not read must still be there for others. Messages are counted, as
         * a read takes a whole one even where it has no room for it. */
        long all = messages ? (status.st_size + FED - 1) / FED : status.st_size, enough = all / 5, seen = 0;
        for (ssize_t n; seen < enough && (n = read(in, buffer, chunk)) > 0; seen += messages ? 1 : n)
            must(write(out, buffer, (size_t)n), "write");
        for (long n; seen < all && (n = bare(SYS_read, in, (long)buffer, sizeof buffer)) > 0;)
            seen += messages ? 1 : n;
        note("all there: %ld of %ld\n", seen, all);
        if (!messages)
            must(ftruncate(out, enough), "ftruncate"); /* where it stopped is chance */
    } else {
        close(ends[0]);
        in = (int)must(open("in", O_RDONLY), "in");
        out = ends[1];
        told("last", copy_pairs(in, out, buffer, chunk, -1));
        if (strcmp(kind, "terminal") == 0)
            tcdrain(out);
    }
    waitpid(helper, NULL, 0);
    say();
    return 0;
}
