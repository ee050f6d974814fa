/* Everything else that is done to descriptors and files. */
#include "player.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* Above the numbers of a program's own descriptors, below those that the player needs. */
#define CLOSED_LAST 99

static unsigned char bytes[BUFFER_SIZE];

static int done(int index)
{
    say("\n");
    return index + 1;
}

static void put_in_slot(int number, int fd)
{
    if (slot[number] >= 0 && slot[number] != fd)
        close(slot[number]);
    slot[number] = fd;
}

static int draw_end(struct draw *draw)
{
    return draw_chance(draw, 50) ? draw_source(draw) : draw_destination(draw);
}

static const int open_flags[] = {
    O_RDONLY,
    O_WRONLY | O_CREAT | O_TRUNC,
    O_RDWR | O_CREAT,
    O_WRONLY | O_CREAT,
    O_WRONLY | O_CREAT | O_APPEND,
    O_RDWR | O_CREAT | O_APPEND,
    O_RDWR,
    O_RDWR | O_CREAT | O_TRUNC,
    O_WRONLY | O_CREAT | O_SYNC,
    O_WRONLY | O_CREAT | O_DSYNC,
    O_RDONLY | O_NOATIME,
    O_WRONLY | O_CREAT | O_NONBLOCK | O_CLOEXEC,
    O_PATH,
    O_RDWR | O_CREAT | O_EXCL,
    O_RDONLY | O_DIRECTORY,
};
#define OPEN_FLAGS ((int)(sizeof(open_flags) / sizeof(open_flags[0])))

static void generate_open(struct draw *draw, int *a)
{
    a[0] = draw_end(draw);
    bool source = draw_chance(draw, 90) ? a[0] < SLOT_DESTINATIONS : draw_chance(draw, 50);
    a[1] = source ? draw_below(draw, FILE_DESTINATIONS) : draw_between(draw, FILE_DESTINATIONS, FILES - 1);
    a[2] = source && draw_chance(draw, 85) ? 0 : draw_below(draw, draw_chance(draw, 85) ? 8 : OPEN_FLAGS);
}

static int execute_open(int index, const int *a)
{
    int fd = open(file_names[a[1]], open_flags[a[2]], 0644);
    say_result("fd", fd);
    put_in_slot(a[0], fd);
    return done(index);
}

static void generate_slot(struct draw *draw, int *a)
{
    a[0] = draw_end(draw);
    a[1] = draw_end(draw);
    a[2] = draw_below(draw, 4);
    a[3] = draw_below(draw, 100);
}

static int execute_close(int index, const int *a)
{
    say_result("close", close(slot[a[0]]));
    slot[a[0]] = -1;
    return done(index);
}

static int execute_dup(int index, const int *a)
{
    int fd = -1;
    if (a[2] == 0)
        fd = dup(slot[a[0]]);
    else if (a[2] == 1)
        fd = fcntl(slot[a[0]], F_DUPFD_CLOEXEC, 20);
    else if (slot[a[1]] >= 0)
        fd = a[2] == 2 ? dup2(slot[a[0]], slot[a[1]]) : dup3(slot[a[0]], slot[a[1]], O_CLOEXEC);
    say_result("fd", fd);
    if (fd >= 0)
        put_in_slot(a[1], fd);
    return done(index);
}

static int execute_flags(int index, const int *a)
{
    int flags = fcntl(slot[a[1]], F_GETFL);
    say_result("flags", flags);
    if (flags >= 0)
        say_result("set", fcntl(slot[a[1]], F_SETFL, flags ^ (a[3] & 1 ? O_APPEND : O_NONBLOCK)));
    return done(index);
}

static int execute_close_range(int index, const int *a)
{
    int first = slot[a[0]], last = a[2] ? first : CLOSED_LAST;
    if (first < 3)
        return done(index);
    say_result("closed", close_range((unsigned)first, (unsigned)last, a[2] == 3 ? CLOSE_RANGE_CLOEXEC : 0));
    for (int i = 0; i < SLOTS; i++)
        if (a[2] != 3 && slot[i] >= first && slot[i] <= last)
            slot[i] = -1;
    return done(index);
}

static void generate_seek(struct draw *draw, int *a)
{
    a[0] = draw_end(draw);
    a[1] = draw_chance(draw, 90) ? draw_below(draw, 3) : draw_between(draw, 3, 5);
    a[2] = draw_chance(draw, 40) ? 0 : draw_between(draw, -30000, 60000);
    a[3] = draw_below(draw, 3);
}

static int execute_seek(int index, const int *a)
{
    long to = a[3] == 0 ? lseek(slot[a[0]], a[2], a[1]) : syscall(SYS_lseek, slot[a[0]], (long)a[2], a[1]);
    say_result("at", to);
    return done(index);
}

static void generate_rewind(struct draw *draw, int *a)
{
    a[0] = draw_source(draw);
    a[1] = SEEK_SET;
    a[2] = draw_chance(draw, 50) ? 0 : draw_below(draw, 9000);
    a[3] = 0;
}

static void generate_io(struct draw *draw, int *a)
{
    a[0] = draw_end(draw);
    a[1] = draw_chance(draw, 5) ? 0 : draw_size(draw, 30000);
    a[2] = draw_between(draw, 0, 100000);
    a[3] = draw_below(draw, 1000);
    a[4] = draw_end(draw);
}

static int execute_read(int index, const int *a)
{
    long n = read(slot[a[0]], bytes, (size_t)a[1]);
    say_result("n", n);
    say(" %016llx", (unsigned long long)digest(1, bytes, n > 0 ? (size_t)n : 0));
    return done(index);
}

static int execute_write(int index, const int *a)
{
    memset(bytes, a[3], (size_t)a[1]);
    say_result("n", write(slot[a[0]], bytes, (size_t)a[1]));
    return done(index);
}

static int execute_pread(int index, const int *a)
{
    long n = pread(slot[a[0]], bytes, (size_t)a[1], a[2]);
    say_result("n", n);
    say(" %016llx", (unsigned long long)digest(1, bytes, n > 0 ? (size_t)n : 0));
    return done(index);
}

static int execute_pwrite(int index, const int *a)
{
    draw_fill((uint64_t)a[3], bytes, (size_t)a[1]);
    say_result("n", pwrite(slot[a[0]], bytes, (size_t)a[1], a[2]));
    return done(index);
}

static int execute_readv(int index, const int *a)
{
    struct iovec parts[3] = {
        {bytes, (size_t)a[1] / 3}, {bytes + 20000, 7}, {bytes + 30000, (size_t)a[1] / 2}};
    memset(bytes, 0, sizeof(bytes));
    long n = a[3] & 1 ? preadv(slot[a[0]], parts, 3, a[2]) : readv(slot[a[0]], parts, 3);
    say_result("n", n);
    say(" %016llx", (unsigned long long)digest(1, bytes, sizeof(bytes)));
    return done(index);
}

static int execute_writev(int index, const int *a)
{
    struct iovec parts[3] = {
        {bytes, (size_t)a[1] / 3}, {bytes + 20000, 7}, {bytes + 30000, (size_t)a[1] / 2}};
    draw_fill((uint64_t)a[3], bytes, sizeof(bytes));
    say_result("n", a[3] & 1 ? pwritev(slot[a[0]], parts, 3, a[2]) : writev(slot[a[0]], parts, 3));
    return done(index);
}

static int execute_truncate(int index, const int *a)
{
    long size = a[3] % 3 == 0 ? 0 : a[2];
    say_result("truncated",
               a[3] & 1 ? ftruncate(slot[a[0]], size) : truncate(file_names[a[3] % FILES], size));
    return done(index);
}

static int execute_allocate(int index, const int *a)
{
    static const int modes[] = {0, FALLOC_FL_KEEP_SIZE, FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE};
    say_result("allocated", fallocate(slot[a[0]], modes[a[3] % 3], a[2], a[1] + 1));
    return done(index);
}

static int execute_stat(int index, const int *a)
{
    struct stat st = {0};
    long rc = a[3] & 1 ? fstat(slot[a[0]], &st) : stat(file_names[a[3] % FILES], &st);
    say_result("stat", rc);
    say(" size=%ld mode=%o links=%d", (long)st.st_size, st.st_mode, (int)st.st_nlink);
    return done(index);
}

static int execute_sync(int index, const int *a)
{
    say_result("synced", a[3] & 1 ? fsync(slot[a[0]]) : fdatasync(slot[a[0]]));
    return done(index);
}

/* Through a descriptor of its own, the way another program would look. */
static int execute_look(int index, const int *a)
{
    uint64_t seen = 1;
    ssize_t n;
    off_t at = 0;
    int fd = open(file_names[a[3] % FILES], O_RDONLY | O_CLOEXEC);
    for (; fd >= 0 && (n = pread(fd, bytes, sizeof(bytes), at)) > 0; at += n)
        seen = digest(seen, bytes, (size_t)n);
    if (fd >= 0)
        close(fd);
    say(" size=%ld %016llx", (long)at, (unsigned long long)seen);
    return done(index);
}

/* The source or the destination is changed behind the descriptor's back. */
static int execute_touch(int index, const int *a)
{
    int fd = open(file_names[a[3] % FILES], O_WRONLY | O_CLOEXEC);
    draw_fill((uint64_t)a[3], bytes, (size_t)a[1]);
    long n = fd < 0 ? -1 : pwrite(fd, bytes, (size_t)a[1], a[2]);
    say_result("n", n);
    if (fd >= 0)
        close(fd);
    return done(index);
}

static int execute_unlink(int index, const int *a)
{
    const char *name = file_names[a[3] % FILES];
    say_result("rc", a[2] & 1 ? unlink(name) : rename(name, file_names[FILE_DESTINATIONS + a[1] % 4]));
    return done(index);
}

static int execute_sendfile(int index, const int *a)
{
    off_t at = a[2];
    say_result("n", sendfile(slot[a[4]], slot[a[0]], a[3] & 1 ? &at : NULL, (size_t)a[1]));
    say(" at=%ld", (long)at);
    return done(index);
}

static int execute_range(int index, const int *a)
{
    off_t from = a[2], to = a[3];
    say_result("n", copy_file_range(slot[a[0]], a[3] & 1 ? &from : NULL, slot[a[4]], a[3] & 2 ? &to : NULL,
                                    (size_t)a[1], 0));
    say(" from=%ld to=%ld", (long)from, (long)to);
    return done(index);
}

static int execute_raw(int index, const int *a)
{
    struct stat st = {0};
    switch (a[3] % 4) {
    case 0:
        say_result("getpid", syscall(SYS_getpid) > 0);
        break;
    case 1:
        say_result("fstat", syscall(SYS_fstat, slot[a[0]], &st));
        say(" size=%ld", (long)st.st_size);
        break;
    case 2:
        say_result("read", syscall(SYS_read, slot[a[0]], bytes, (size_t)a[1]));
        break;
    default:
        say_result("write", syscall(SYS_write, slot[a[0]], bytes, (size_t)a[1] % 500));
        break;
    }
    return done(index);
}

/* The non-blocking ends of a pipe or of a socket pair. */
static int execute_pipe(int index, const int *a)
{
    int ends[2] = {-1, -1};
    if (a[2] < 2)
        say_result("pipe", pipe2(ends, O_NONBLOCK));
    else
        say_result("pair",
                   socketpair(AF_UNIX, (a[2] == 2 ? SOCK_STREAM : SOCK_SEQPACKET) | SOCK_NONBLOCK, 0, ends));
    put_in_slot(SLOT_PIPES + 2 * (a[2] / 2), ends[0]);
    put_in_slot(SLOT_PIPES + 2 * (a[2] / 2) + 1, ends[1]);
    return done(index);
}

static void generate_drain(struct draw *draw, int *a)
{
    generate_io(draw, a);
    a[0] = draw_between(draw, SLOT_PIPES, SLOTS - 1);
}

static int execute_drain(int index, const int *a)
{
    return execute_read(index, a);
}

static int execute_send(int index, const int *a)
{
    memset(bytes, a[3], (size_t)a[1]);
    say_result("n", send(slot[a[0]], bytes, (size_t)a[1], MSG_NOSIGNAL));
    return done(index);
}

static void generate_standard(struct draw *draw, int *a)
{
    a[0] = draw_below(draw, 3);
}

/* The next descriptors get its number. */
static int execute_standard(int index, const int *a)
{
    say_result("close", close(a[0]));
    return done(index);
}

static void generate_none_left(struct draw *draw, int *a)
{
    a[0] = draw_below(draw, 3);
}

bool few_descriptors;

/* The next operation has few or no descriptors to get. */
static int execute_none_left(int index, const int *a)
{
    struct rlimit before, limit;
    int next = dup(0);
    if (next < 0 || index + 1 >= program_length) {
        say(" not here\n");
        return index + 1;
    }
    close(next);
    getrlimit(RLIMIT_NOFILE, &before);
    limit = before;
    limit.rlim_cur = (rlim_t)(next + a[0]);
    say_result("limit", setrlimit(RLIMIT_NOFILE, &limit));
    say("\n  under it ");
    few_descriptors = true;
    int after = run_op(index + 1);
    few_descriptors = false;
    setrlimit(RLIMIT_NOFILE, &before);
    return after;
}

static void generate_limit(struct draw *draw, int *a)
{
    a[0] = draw_chance(draw, 30)   ? -1
           : draw_chance(draw, 50) ? draw_between(draw, 1, 300000)
                                   : draw_between(draw, 66000, 100000);
}

static int execute_limit(int index, const int *a)
{
    struct rlimit limit;
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = a[0] < 0 ? limit.rlim_max : (rlim_t)a[0];
    say_result("limit", setrlimit(RLIMIT_FSIZE, &limit));
    return done(index);
}

static int execute_memfd(int index, const int *a)
{
    int fd = memfd_create("m", MFD_ALLOW_SEALING);
    say_result("fd", fd);
    draw_fill((uint64_t)a[3], bytes, (size_t)a[1]);
    if (a[3] & 1)
        say_result("n", write(fd, bytes, (size_t)a[1]));
    if (a[3] % 8 == 2)
        say_result("seal", fcntl(fd, F_ADD_SEALS, F_SEAL_GROW));
    lseek(fd, 0, SEEK_SET);
    put_in_slot(a[0], fd);
    return done(index);
}

static int execute_seal(int index, const int *a)
{
    static const int seals[] = {F_SEAL_WRITE, F_SEAL_GROW, F_SEAL_SHRINK, F_SEAL_FUTURE_WRITE};
    say_result("seal", fcntl(slot[a[0]], F_ADD_SEALS, seals[a[3] % 4]));
    return done(index);
}

static int execute_odd(int index, const int *a)
{
    volatile size_t count =
        a[3] & 1 ? SIZE_MAX : 0; /* the kernel refuses the one and takes no byte for the other */
    long n = a[2] & 1 ? read(slot[a[0]], bytes, count) : write(slot[a[0]], bytes, count);
    say_result("n", n);
    return done(index);
}

static const struct operation operations[] = {
    {"open", 45, "slot %d file %d flags %d", generate_open, execute_open},
    {"close", 14, "slot %d", generate_slot, execute_close},
    {"dup", 20, "slot %d to %d by %d", generate_slot, execute_dup},
    {"flags", 12, "(%d) slot %d (%d) toggle %d", generate_slot, execute_flags},
    {"close_range", 3, "slot %d (%d) kind %d", generate_slot, execute_close_range},
    {"seek", 50, "slot %d whence %d by %d call %d", generate_seek, execute_seek},
    {"rewind", 60, "slot %d whence %d to %d", generate_rewind, execute_seek},
    {"read", 20, "slot %d count %d", generate_io, execute_read},
    {"write", 20, "slot %d count %d (%d) value %d", generate_io, execute_write},
    {"pread", 10, "slot %d count %d at %d", generate_io, execute_pread},
    {"pwrite", 14, "slot %d count %d at %d value %d", generate_io, execute_pwrite},
    {"readv", 8, "slot %d count %d at %d positioned %d&1", generate_io, execute_readv},
    {"writev", 8, "slot %d count %d at %d positioned %d&1", generate_io, execute_writev},
    {"truncate", 16, "slot %d (%d) to %d how %d", generate_io, execute_truncate},
    {"allocate", 5, "slot %d count %d at %d mode %d%%3", generate_io, execute_allocate},
    {"stat", 12, "slot %d (%d) (%d) how %d", generate_io, execute_stat},
    {"sync", 4, "slot %d (%d) (%d) how %d", generate_io, execute_sync},
    {"look", 20, "(%d) (%d) (%d) file %d%%10", generate_io, execute_look},
    {"touch", 20, "(%d) count %d at %d file %d%%10", generate_io, execute_touch},
    {"unlink", 4, "(%d) to 4+%d%%4 how %d file %d%%10", generate_io, execute_unlink},
    {"sendfile", 8, "from %d count %d at %d explicit %d&1 to %d", generate_io, execute_sendfile},
    {"range", 8, "from %d count %d at %d how %d to %d", generate_io, execute_range},
    {"raw", 16, "slot %d count %d (%d) call %d%%4", generate_io, execute_raw},
    {"pipe", 10, "(%d) (%d) kind %d", generate_slot, execute_pipe},
    {"drain", 14, "slot %d count %d", generate_drain, execute_drain},
    {"send", 6, "slot %d count %d", generate_drain, execute_send},
    {"limit", 14, "size %d", generate_limit, execute_limit},
    {"standard", 3, "descriptor %d", generate_standard, execute_standard},
    {"none_left", 8, "left %d", generate_none_left, execute_none_left},
    {"memfd", 8, "slot %d size %d (%d) how %d", generate_io, execute_memfd},
    {"seal", 3, "slot %d (%d) (%d) seal %d%%4", generate_io, execute_seal},
    {"odd", 6, "slot %d (%d) read %d&1 large %d&1", generate_io, execute_odd},
};

const struct table ops_descriptor = {operations, sizeof(operations) / sizeof(operations[0])};
