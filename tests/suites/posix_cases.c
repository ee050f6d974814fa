// What POSIX says of read, write, lseek and pipes, and Linux of sendfile, one case at a time. Every case is a
// copy loop that is interrupted by what it is about; it prints what it saw, with no word on what is right:
// that is what the same program prints without the shim. `posix_cases` runs all, in the current directory.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { size = 200 * 1000 + 7, chunk = 1000 };

static char bytes[size], buffer[1 << 16], out_text[1 << 16];
static const char *name;
static size_t text;

static void say(const char *what, long result)
{
    int error = result < 0 ? errno : 0;
    text += (size_t)snprintf(out_text + text, sizeof out_text - text, "%s: %s %ld%s%s\n", name, what, result,
                             error ? " " : "", error ? strerrorname_np(error) : "");
}

static int source(void)
{
    return open("source", O_RDONLY | O_CLOEXEC);
}

static int target(int flags)
{
    unlink("target");
    return open("target", O_RDWR | O_CREAT | O_CLOEXEC | flags, 0644);
}

static long offset(int fd)
{
    return lseek(fd, 0, SEEK_CUR);
}

// FNV-1a of the file's bytes, cut to what prints well.
static long sum(const char *path)
{
    unsigned hash = 2166136261U;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    for (ssize_t n; (n = pread(fd, buffer, sizeof buffer, 0)) >= 0;) {
        for (off_t at = 0; n > 0; at += n, n = pread(fd, buffer, sizeof buffer, at))
            for (ssize_t i = 0; i < n; i++)
                hash = (hash ^ (unsigned char)buffer[i]) * 16777619U;
        break;
    }
    close(fd);
    return hash;
}

// Pairs of read and write, until one of them does not do the whole; the last result of each is said.
static void copy(int in, int out, int pairs)
{
    ssize_t got = 0, put = 0;
    for (int i = 0; i < pairs; i++) {
        got = read(in, buffer, chunk);
        if (got <= 0)
            break;
        put = write(out, buffer, (size_t)got);
        if (put != got)
            break;
    }
    say("last write", put);
    say("last read", got);
}

static void state(int in, int out)
{
    say("offset in", offset(in));
    say("offset out", offset(out));
    struct stat st;
    say("fstat", fstat(out, &st));
    say("size", (long)st.st_size);
}

static void whole(void)
{
    int in = source(), out = target(0);
    copy(in, out, 1 << 20);
    state(in, out);
    say("read at the end", read(in, buffer, 1));
    say("close", close(out));
    say("sum", sum("target"));
    close(in);
}

static void zero_and_huge_counts(void)
{
    int in = source(), out = target(0);
    copy(in, out, 10);
    say("read 0", read(in, buffer, 0));
    say("write 0", write(out, buffer, 0));
    copy(in, out, 10);
    // More than there is, into what holds it: the rest of the file, in as many calls as it takes.
    say("read more than there is", read(in, bytes, size));
    state(in, out);
    close(in), close(out);
    int again = source();
    say("read all", read(again, bytes, size));
    close(again);
}

static void bad_addresses(void)
{
    int in = source(), out = target(0);
    copy(in, out, 20);
    void *volatile bad = (void *)16;
    say("read to nowhere", read(in, bad, chunk));
    say("write from nowhere", write(out, bad, chunk));
    state(in, out);
    copy(in, out, 20);
    state(in, out);
    close(in), close(out);
}

static void wrong_descriptors(void)
{
    int in = source(), out = target(0), only = open("target", O_WRONLY | O_CLOEXEC);
    copy(in, out, 20);
    say("write to what is read only", write(in, buffer, chunk));
    say("read from what is written only", read(only, buffer, chunk));
    say("read of -1", read(-1, buffer, chunk));
    say("write of -1", write(-1, buffer, chunk));
    int folder = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    say("read of a folder", read(folder, buffer, chunk));
    copy(in, out, 20);
    close(out);
    say("write after close", write(out, buffer, chunk));
    state(in, only);
    close(in), close(folder), close(only);
}

static void seeks(void)
{
    int in = source(), out = target(0);
    static const struct {
        off_t by;
        int whence;
    } moves[] = {{0, SEEK_CUR},     {-300, SEEK_CUR}, {12345, SEEK_SET}, {-777, SEEK_END},
                 {-1, SEEK_SET},    {0, SEEK_DATA},   {0, SEEK_HOLE},    {size + 5, SEEK_SET},
                 {size, SEEK_DATA}, {0, 99},          {5, SEEK_SET}};
    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++) {
        copy(in, out, 12);
        say("lseek of the source", lseek(in, moves[i].by, moves[i].whence));
        copy(in, out, 12);
        say("lseek of the target", lseek(out, moves[i].by, moves[i].whence));
    }
    state(in, out);
    close(in), close(out);
    say("sum", sum("target"));
}

static void append(void)
{
    int in = source(), out = target(O_APPEND), other = open("target", O_WRONLY | O_APPEND | O_CLOEXEC);
    for (int i = 0; i < 5; i++) {
        copy(in, out, 7);
        say("another's record", write(other, "record", 6));
    }
    say("flags", fcntl(out, F_SETFL, 0));
    say("lseek", lseek(out, 100, SEEK_SET));
    copy(in, out, 7);
    state(in, out);
    close(in), close(out), close(other);
    say("sum", sum("target"));
}

static void positioned(void)
{
    int in = source(), out = target(0);
    char got[64], first[20], second[30];
    struct iovec parts[] = {{first, sizeof first}, {second, sizeof second}};
    copy(in, out, 9);
    say("pread of the target", pread(out, got, sizeof got, 8950));
    say("pwrite", pwrite(out, "between", 7, 4000));
    copy(in, out, 9);
    say("readv", readv(in, parts, 2));
    say("writev", writev(out, parts, 2));
    copy(in, out, 9);
    say("pread before the start", pread(in, got, sizeof got, -1));
    say("truncate", ftruncate(out, 5000));
    copy(in, out, 9);
    state(in, out);
    close(in), close(out);
    say("sum", sum("target"));
}

static void shared_offsets(void)
{
    int in = source(), out = target(0), twin = dup(in);
    copy(in, out, 15);
    say("offset of the twin", offset(twin));
    copy(twin, out, 15);
    say("offset of the first", offset(in));
    for (int i = 0; i < 4; i++) {
        fflush(NULL);
        pid_t child = fork();
        if (child == 0) {
            for (int k = 0; k < 6; k++) {
                ssize_t n = read(in, buffer, chunk);
                if (n > 0 && write(out, buffer, (size_t)n) != n)
                    _exit(1);
            }
            _exit(0);
        }
        int status = 0;
        say("child", waitpid(child, &status, 0) == child ? status : -1);
        copy(in, out, 5);
    }
    state(twin, out);
    close(in), close(out), close(twin);
    say("sum", sum("target"));
}

static void file_size_limit(void)
{
    struct rlimit old, low;
    getrlimit(RLIMIT_FSIZE, &old);
    low = old;
    low.rlim_cur = 50 * 1000 + 300;
    signal(SIGXFSZ, SIG_IGN);
    int in = source(), out = target(0);
    setrlimit(RLIMIT_FSIZE, &low);
    copy(in, out, 1 << 20);
    state(in, out);
    say("once more", write(out, buffer, chunk));
    setrlimit(RLIMIT_FSIZE, &old);
    signal(SIGXFSZ, SIG_DFL);
    copy(in, out, 20);
    state(in, out);
    close(in), close(out);
    say("sum", sum("target"));
}

static void full_device(void)
{
    int in = source(), out = open("/dev/full", O_WRONLY | O_CLOEXEC);
    copy(in, out, 20);
    say("offset in", offset(in));
    close(in), close(out);
}

static void growing_and_shrinking(void)
{
    int first = source(), in = open("changing", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644),
        out = target(0);
    copy(first, in, 100);
    lseek(in, 0, SEEK_SET);
    copy(in, out, 30);
    say("shrink", ftruncate(in, 45 * 1000 + 5));
    copy(in, out, 1000);
    say("grow", ftruncate(in, 60 * 1000));
    copy(in, out, 1000);
    say("overwrite what comes", pwrite(in, "new", 3, 60 * 1000 + 1500));
    copy(in, out, 1000);
    state(in, out);
    close(first), close(in), close(out);
    say("sum", sum("target"));
}

// A pipe that is filled and drained in turns, as one process must.
static void pipes(void)
{
    int ends[2], in = source(), out = target(0);
    say("pipe", pipe2(ends, O_CLOEXEC));
    for (int i = 0; i < 40; i++) {
        copy(in, ends[1], 3);
        copy(ends[0], out, 3);
    }
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    copy(in, ends[1], 1000);
    say("offset in", offset(in));
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    copy(ends[0], out, 1000);
    close(ends[1]);
    say("read of a pipe nobody writes", read(ends[0], buffer, chunk));
    state(in, out);
    say("lseek of a pipe", lseek(ends[0], 0, SEEK_SET));
    close(ends[0]), close(in), close(out);
    say("sum", sum("target"));
}

static volatile sig_atomic_t signals;

static void count_signal(int number)
{
    (void)number;
    signals++;
}

static void broken_pipe(void)
{
    int ends[2], in = source();
    struct sigaction act = {.sa_handler = count_signal}, old;
    sigaction(SIGPIPE, &act, &old);
    for (int kind = 0; kind < 2; kind++) {
        signals = 0;
        say("make", kind ? socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) : pipe2(ends, O_CLOEXEC));
        copy(in, ends[1], 4);
        close(ends[0]);
        copy(in, ends[1], 4);
        say("signals", signals);
        say("offset in", offset(in));
        close(ends[1]);
    }
    sigaction(SIGPIPE, &old, NULL);
    close(in);
}

static void messages(void)
{
    int ends[2], in = source();
    say("socketpair", socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends));
    copy(in, ends[1], 8);
    for (int i = 0; i < 8; i++)
        say("message", read(ends[0], buffer, sizeof buffer));
    say("offset in", offset(in));
    close(in), close(ends[0]), close(ends[1]);
}

static void sent_file(void)
{
    int in = source(), out = target(0);
    off_t at = 333;
    copy(in, out, 11);
    say("sendfile", sendfile(out, in, NULL, 5000));
    state(in, out);
    copy(in, out, 11);
    say("sendfile from an offset", sendfile(out, in, &at, 5000));
    say("offset after", (long)at);
    state(in, out);
    copy(in, out, 11);
    say("copy_file_range", copy_file_range(in, NULL, out, NULL, 5000, 0));
    at = -1;
    say("sendfile before the start", sendfile(out, in, &at, 10));
    say("sendfile to what is read only", sendfile(in, out, NULL, 10));
    copy(in, out, 1 << 20);
    say("sendfile at the end", sendfile(out, in, NULL, 10));
    state(in, out);
    close(in), close(out);
    say("sum", sum("target"));
}

static void numbers_reused(void)
{
    int in = source(), out = target(0);
    for (int i = 0; i < 6; i++) {
        copy(in, out, 8);
        say("close", close(in));
        say("open", source() == in ? 0 : -1);
        copy(in, out, 8);
        int other = open("other", O_RDWR | O_CREAT | O_CLOEXEC, 0644);
        say("dup2", dup2(other, out) == out ? 0 : -1);
        copy(in, out, 8);
        state(in, out);
        close(other);
    }
    close(in), close(out);
    say("sum", sum("target"));
    say("sum of the other", sum("other"));
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {{"whole", whole},
             {"zero_and_huge_counts", zero_and_huge_counts},
             {"bad_addresses", bad_addresses},
             {"wrong_descriptors", wrong_descriptors},
             {"seeks", seeks},
             {"append", append},
             {"positioned", positioned},
             {"shared_offsets", shared_offsets},
             {"file_size_limit", file_size_limit},
             {"full_device", full_device},
             {"growing_and_shrinking", growing_and_shrinking},
             {"pipes", pipes},
             {"broken_pipe", broken_pipe},
             {"messages", messages},
             {"sent_file", sent_file},
             {"numbers_reused", numbers_reused}};

int main(void)
{
    for (int i = 0; i < size; i++)
        bytes[i] = (char)(i * 2654435761U >> 13);
    int fd = open("source", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, bytes, size) != size || close(fd))
        return 1;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        name = cases[i].name;
        text = 0;
        cases[i].run();
        // Said at the end of a case, so that saying it is no part of it.
        fputs(out_text, stdout);
        fflush(stdout);
    }
    return 0;
}
