/* Copy loops of every shape with every other call in between, all chosen by a seed: what each call answered
 * and what was read goes into a digest, which is printed now and then, so that a difference shows near its
 * cause.
 *
 * c2_random_calls SEED ROUNDS calm|tick|limit|threads (in an empty directory)
 * "tick": a timer's handler writes to a log and copies a little of its own all the time. "limit": files may
 * not grow as they want to. "threads": other threads come, copy and go. */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "copy.h"

#define FILES 4
#define DESCRIPTORS 6
#define FILE_SIZE (1 << 20)
#define ROOM (200 << 10)
#define SIZE_LIMIT (2500000)
#define THREAD_BYTES (300 << 10)

static uint64_t state, digest;
static int fds[DESCRIPTORS];
static char *buffer, *other, *area;
static int verbose, round_number;

static uint64_t any(uint64_t below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % below;
}

static void note_bytes(const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < size; i++)
        digest = (digest ^ at[i]) * 0x100000001b3u;
}

/* Takes part in the digest: the answer and the reason of a failure. */
static long note(const char *what, long result)
{
    int error = result < 0 ? errno : 0;
    note_bytes(&result, sizeof(result));
    note_bytes(&error, sizeof(error));
    if (verbose)
        fprintf(stderr, "%d %s %ld %d %016lx\n", round_number, what, result, error, digest);
    return result;
}

static int open_any(void)
{
    static const int flags[] = {O_RDONLY, O_RDWR, O_RDWR, O_WRONLY, O_RDWR | O_APPEND, O_WRONLY | O_TRUNC};
    char name[2] = {(char)('a' + any(FILES)), 0};
    return (int)note("open", open(name, flags[any(sizeof(flags) / sizeof(*flags))]));
}

static size_t any_chunk(void)
{
    static const size_t sizes[] = {1,    7,    100,  512,   512,   1000,  4096,
                                   4096, 5000, 8192, 16384, 40000, 65536, 100000};
    return sizes[any(sizeof(sizes) / sizeof(*sizes))];
}

static off_t any_offset(void)
{
    return (off_t)(any(2) ? any(FILE_SIZE + 5000) : any(256) * 4096);
}

static void count_signal(int number)
{
    (void)number;
    digest++;
}

/* Changes of the bytes between read and write, or none. */
static const char *worked_on(size_t size)
{
    switch (any(8)) {
    case 0:
        if (size)
            buffer[any(size)] ^= 0x55;
        return buffer;
    case 1:
        memcpy(other, buffer, size);
        return other;
    case 2:
        memmove(buffer + 3, buffer, size);
        return buffer + 3;
    default:
        return buffer;
    }
}

/* Pairs of one size; now and then a write of a part, two writes for one read, a read without a write. */
static void copy_loop(void)
{
    int in = fds[any(DESCRIPTORS)], out = fds[any(DESCRIPTORS)];
    size_t chunk = any_chunk();
    int pairs = (int)any(chunk > 10000 ? 12 : 60), plain = any(3) != 0;

    for (int i = 0; i < pairs; i++) {
        ssize_t got = note("read", read(in, buffer, chunk));
        if (got <= 0)
            break;
        note_bytes(buffer, (size_t)got);
        const char *from = plain ? buffer : worked_on((size_t)got);
        size_t size = (size_t)got;
        switch (plain ? 9 : any(10)) {
        case 0:
            note("write part", write(out, from, any(size + 1)));
            break;
        case 1: {
            size_t half = any(size + 1);
            note("write first", write(out, from, half));
            note("write second", write(out, from + half, size - half));
            break;
        }
        case 2:
            break;
        default:
            if (note("write", write(out, from, size)) < 0)
                return;
        }
    }
}

/* The shape of cpio: a block holds the end of one read and the beginning of the next. */
static void lagging_loop(void)
{
    int in = fds[any(DESCRIPTORS)], out = fds[any(DESCRIPTORS)];
    size_t chunk = 512 * (1 + any(8)), have = any(chunk);
    for (int i = 0; i < 40; i++) {
        ssize_t got = note("read", read(in, other + have, chunk));
        if (got <= 0)
            break;
        have += (size_t)got;
        if (have >= chunk) {
            if (note("write", write(out, other, chunk)) < 0)
                break;
            have -= chunk;
            memmove(other, other + chunk, have);
        }
    }
    note_bytes(other, have);
}

static void in_a_child(int and_exit_badly)
{
    uint64_t seed = any(1u << 30);
    pid_t child = fork();
    if (child == 0) {
        state = seed;
        copy_loop();
        note("child at", lseek(fds[any(DESCRIPTORS)], 0, SEEK_CUR));
        if (and_exit_badly)
            raise(SIGKILL);
        _exit((int)(digest & 0x7f));
    }
    int status = 0;
    NEED(waitpid(child, &status, 0) == child);
    note("child", status);
}

static void in_a_vfork_child(int in, int out)
{
    pid_t child = vfork();
    if (child == 0) {
        ssize_t got = read(in, other, 512);
        if (got > 0)
            got = write(out, other, (size_t)got);
        _exit(got < 0 ? 1 : 2);
    }
    int status = 0;
    NEED(waitpid(child, &status, 0) == child);
    note("vfork", status);
}

static int log_fd, ticker_source, with_threads;

/* Leaves no trace in the digest: when it comes is nobody's choice. */
static void tick(int number)
{
    static char small[700];
    int saved = errno;
    (void)number;
    NEED(write(log_fd, "tick\n", 5) == 5);
    if (lseek(ticker_source, 0, SEEK_CUR) > 100000)
        NEED(lseek(ticker_source, 0, SEEK_SET) == 0);
    for (int i = 0; i < 4; i++) {
        ssize_t got = read(ticker_source, small, sizeof(small));
        NEED(got == sizeof(small));
        NEED(pwrite(log_fd, small, 5, 0) == 5);
    }
    errno = saved;
}

static void start_ticking(void)
{
    struct sigaction action = {.sa_handler = tick, .sa_flags = SA_RESTART};
    struct itimerval every_ms = {{0, 1000}, {0, 1000}};
    log_fd = open("/dev/null", O_WRONLY);
    ticker_source = open("for-the-ticker", O_RDWR | O_CREAT | O_TRUNC, 0644);
    NEED(log_fd >= 0 && ticker_source >= 0);
    /* More than the ticker reads before it begins again. */
    NEED(write(ticker_source, buffer, ROOM) == ROOM && lseek(ticker_source, 0, SEEK_SET) == 0);
    log_fd = fcntl(log_fd, F_DUPFD, 100);
    ticker_source = fcntl(ticker_source, F_DUPFD, 100);
    NEED(sigaction(SIGALRM, &action, NULL) == 0 && setitimer(ITIMER_REAL, &every_ms, NULL) == 0);
}

/* Copies its own file, with its own buffer, at its own offsets. */
static void *copy_beside(void *unused)
{
    char mine[1000];
    int in = open("/proc/self/exe", O_RDONLY), out = open("beside", O_RDWR | O_CREAT | O_TRUNC, 0644);
    (void)unused;
    NEED(in >= 0 && out >= 0);
    long total = copy_bytes(in, out, mine, sizeof(mine), THREAD_BYTES);
    NEED(total > 0 && lseek(out, 0, SEEK_CUR) == total && lseek(in, 0, SEEK_CUR) == total);
    close(in);
    close(out);
    return NULL;
}

static void beside_a_thread(void)
{
    pthread_t thread;
    NEED(pthread_create(&thread, NULL, copy_beside, NULL) == 0);
    copy_loop();
    NEED(pthread_join(thread, NULL) == 0);
}

static void something_else(void)
{
    int a = fds[any(DESCRIPTORS)], b = fds[any(DESCRIPTORS)];
    struct iovec parts[2] = {{buffer, any(5000)}, {other, any(5000)}};
    struct stat status;
    off_t offset = any_offset();

    switch (any(with_threads ? 33 : 30)) {
    case 0:
    case 1:
        note("lseek", lseek(a, offset, SEEK_SET));
        break;
    case 2:
        note("lseek by", lseek(a, (off_t)any(20000) - 10000, SEEK_CUR));
        break;
    case 3:
        note("lseek end", lseek(a, -(off_t)any(100000), SEEK_END));
        break;
    case 4:
    case 5: {
        ssize_t got = note("pread", pread(a, other, any_chunk(), offset));
        note_bytes(other, got > 0 ? (size_t)got : 0);
        break;
    }
    case 6:
    case 7:
        note("pwrite", pwrite(a, buffer, any_chunk(), offset));
        break;
    case 8:
        note("ftruncate", ftruncate(a, offset));
        break;
    case 9:
        if (note("fstat", fstat(a, &status)) == 0)
            note("size", status.st_size);
        break;
    case 10:
        note("raw fstat", syscall(SYS_fstat, a, &status));
        note("size", status.st_size);
        break;
    case 11:
        note("readv", readv(a, parts, 2));
        break;
    case 12:
        note("writev", writev(a, parts, 2));
        break;
    case 13:
        note("raw read", syscall(SYS_read, a, buffer, any_chunk()));
        break;
    case 14:
        note("raw write", syscall(SYS_write, a, buffer, any_chunk()));
        break;
    case 15:
        if (!log_fd) /* a signal cuts them short */
            note("sendfile", sendfile(b, a, NULL, any_chunk()));
        break;
    case 16:
        if (!log_fd)
            note("copy_file_range", copy_file_range(a, NULL, b, NULL, any_chunk(), 0));
        break;
    case 17: {
        size_t which = any(DESCRIPTORS);
        note("close", close(fds[which]));
        fds[which] = open_any();
        break;
    }
    case 18:
        note("dup2", dup2(a, b));
        break;
    case 19: {
        size_t which = any(DESCRIPTORS);
        note("close", close(fds[which]));
        fds[which] = (int)note("dup", dup(fds[(which + 1) % DESCRIPTORS]));
        break;
    }
    case 20:
        note("append", fcntl(a, F_SETFL, any(2) ? O_APPEND : 0));
        break;
    case 21:
        in_a_child(0);
        break;
    case 22:
        in_a_child(1);
        break;
    case 23:
        in_a_vfork_child(a, b);
        break;
    case 24:
        note("raise", raise(SIGUSR1));
        break;
    case 25: {
        char *map = mmap(NULL, 65536, PROT_READ, any(2) ? MAP_SHARED : MAP_PRIVATE, a, (off_t)any(4) * 65536);
        if (map == MAP_FAILED)
            break;
        if (fstat(a, &status) == 0 && status.st_size >= 5 * 65536)
            note_bytes(map, 65536);
        /* Copied while it is mapped, and looked at without a call. */
        copy_loop();
        if (fstat(a, &status) == 0 && status.st_size >= 5 * 65536)
            note_bytes(map, 65536);
        munmap(map, 65536);
        break;
    }
    case 26:
        NEED(mprotect(area, 8192, PROT_NONE) == 0);
        note("read to nowhere", read(a, area + any(4096), any(4096)));
        note("write from nowhere", write(b, area + any(4096), any(4096)));
        NEED(mprotect(area, 8192, PROT_READ | PROT_WRITE) == 0);
        note("read to somewhere", read(a, area, any(8192)));
        note("write from somewhere", write(b, area, any(8192)));
        break;
    case 27:
        note("nothing", read(a, buffer, 0));
        note("nothing", write(b, buffer, 0));
        break;
    case 28: {
        FILE *file = fopen("a", "r+");
        note("stdio", (long)fread(buffer, 1, any(9000), file));
        note("stdio", (long)fwrite(buffer, 1, any(9000), file));
        note("stdio", fclose(file));
        break;
    }
    case 29:
        note("fsync", fdatasync(a));
        break;
    default:
        beside_a_thread();
        break;
    }
}

int main(int argc, char **argv)
{
    NEED(argc == 4);
    state = strtoul(argv[1], NULL, 10) * 7919 + 1;
    verbose = getenv("VERBOSE") != NULL;
    buffer = malloc(ROOM);
    other = malloc(ROOM);
    area = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    NEED(buffer && other && area != MAP_FAILED);
    memset(buffer, 1, ROOM);
    memset(other, 2, ROOM);
    NEED(sigaction(SIGUSR1, &(struct sigaction){.sa_handler = count_signal}, NULL) == 0);
    for (int i = 0; i < FILES; i++) {
        char name[2] = {(char)('a' + i), 0};
        int fd = open(name, O_WRONLY | O_CREAT | O_EXCL, 0644);
        NEED(fd >= 0);
        for (int done = 0; done < FILE_SIZE; done += 4096) {
            for (int j = 0; j < 4096; j++)
                buffer[j] = (char)any(256);
            NEED(write(fd, buffer, 4096) == 4096);
        }
        close(fd);
    }
    for (int i = 0; i < DESCRIPTORS; i++)
        fds[i] = open_any();
    if (strcmp(argv[3], "tick") == 0)
        start_ticking();
    if (strcmp(argv[3], "limit") == 0) {
        struct rlimit limit = {SIZE_LIMIT, SIZE_LIMIT};
        NEED(signal(SIGXFSZ, SIG_IGN) != SIG_ERR && setrlimit(RLIMIT_FSIZE, &limit) == 0);
    }
    with_threads = strcmp(argv[3], "threads") == 0;
    int rounds = atoi(argv[2]);
    for (round_number = 0; round_number < rounds; round_number++) {
        /* Files grow by copies onto themselves. */
        for (int i = 0; i < DESCRIPTORS; i++)
            if (lseek(fds[i], 0, SEEK_END) > 4 * FILE_SIZE || any(4) == 0)
                lseek(fds[i], any_offset(), SEEK_SET);
        if (any(6))
            copy_loop();
        else
            lagging_loop();
        for (int n = (int)any(3); n > 0; n--)
            something_else();
        for (int i = 0; i < FILES; i++) {
            char name[2] = {(char)('a' + i), 0};
            struct stat status;
            if (stat(name, &status) == 0 && status.st_size > 4 * FILE_SIZE)
                NEED(truncate(name, FILE_SIZE) == 0);
        }
        if (round_number % 10 == 9)
            printf("%d %016lx\n", round_number, digest);
    }
    return 0;
}
