/*
 * middle ACTION CHUNK: copies "in" to "out"; after 3, 6, 12, ... more turns of the loop does ACTION and
 * notes what it saw. "any-SEED" picks another action each time, after a random number of turns.
 */
#include "victim.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>

extern char **environ;

enum { HELPERS = 50, BUFFER = 1 << 16 };

static int in, out;
/* Opened before the loop, so that using them takes no further call: other ends, and other descriptors
 * of the same files and of the same descriptions. */
static int other_in, other_out, out_reader, in_writer, in_twin, out_twin, tube[2];
static char *buffer, spare[3 * BUFFER + 1];
static size_t chunk;
static unsigned turn; /* how many actions before this one */

static int keep(int fd)
{
    int high = (int)must(fcntl(fd, F_DUPFD, HELPERS), "F_DUPFD");
    close(fd);
    return high;
}

static void note_bytes(const char *what, const void *bytes, ssize_t n)
{
    told(what, n);
    if (n > 0)
        note(" sum %08x\n", sum(bytes, (size_t)n));
}

static void wait_for(const char *what, pid_t pid)
{
    int status = 0;
    must(waitpid(pid, &status, 0), "waitpid");
    note("%s: status %x\n", what, status);
}

/* -- calls the library cannot interpose -- */

static void bare_fstat(void)
{
    struct stat status = {0};
    bare(SYS_fstat, out, (long)&status, 0);
    note("size %ld\n", (long)status.st_size);
}

static void bare_lseek_in(void)
{
    note("at %ld\n", bare(SYS_lseek, in, 0, SEEK_CUR));
}
static void bare_lseek_out(void)
{
    note("at %ld\n", bare(SYS_lseek, out, 0, SEEK_CUR));
}
static void bare_read(void)
{
    note_bytes("read", spare, bare(SYS_read, in, (long)spare, 100));
}
static void bare_write(void)
{
    note("%ld\n", bare(SYS_write, out, (long)"bare", 4));
}

static void bare_pread(void)
{
    register long offset __asm__("r10") = 0;
    long n;
    __asm__ volatile("syscall"
                     : "=a"(n)
                     : "a"(SYS_pread64), "D"(out), "S"(spare), "d"(sizeof spare), "r"(offset)
                     : "rcx", "r11", "memory");
    note_bytes("pread", spare, n);
}

static void libc_syscall(void)
{
    struct stat status = {0};
    told("fstat", syscall(SYS_fstat, out, &status));
    note("size %ld\n", (long)status.st_size);
}

/* -- other processes that look -- */

static void run_system(void)
{
    note("%d\n", system("wc -c < out"));
}

static void run_popen(void)
{
    char line[200] = "";
    FILE *pipe = popen("cksum out", "r");
    if (pipe && fgets(line, sizeof line, pipe))
        note("%s", line);
    note("%d\n", pipe ? pclose(pipe) : -1);
}

static char *const look[] = {"sh", "-c", "cksum < out; wc -c < /proc/self/fd/9", NULL};

static void run_spawn(void)
{
    pid_t pid;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, out, 9);
    int error = posix_spawnp(&pid, look[0], &actions, NULL, look, environ);
    posix_spawn_file_actions_destroy(&actions);
    note("posix_spawn: %d\n", error);
    if (error == 0)
        wait_for("spawned", pid);
}

static void run_vfork(void)
{
    pid_t pid = vfork();
    if (pid == 0) {
        dup2(out, 9);
        execvp(look[0], look);
        _exit(97);
    }
    wait_for("vforked", pid);
}

static void vfork_only(void)
{
    struct stat status = {0};
    pid_t pid = vfork();
    if (pid == 0) {
        fstat(out, &status);
        lseek(in, 0, SEEK_CUR);
        _exit((int)status.st_size & 63);
    }
    wait_for("vforked", pid);
}

static void run_fork(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        struct stat status = {0};
        fstat(out, &status);
        _exit(((int)status.st_size ^ (int)lseek(in, 0, SEEK_CUR) ^ (int)lseek(out, 0, SEEK_CUR)) & 127);
    }
    wait_for("forked", pid);
}

/* The child copies on through the same descriptions, then the parent does. */
static void fork_copies(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        copy_pairs(in, out, buffer, chunk, 5);
        _exit(0);
    }
    wait_for("forked", pid);
}

static void *thread_looks(void *argument)
{
    *(off_t *)argument = lseek(in, 0, SEEK_CUR);
    return NULL;
}

static void run_thread(void)
{
    pthread_t thread;
    off_t at = -1;
    must(-pthread_create(&thread, NULL, thread_looks, &at), "pthread_create");
    pthread_join(thread, NULL);
    note("thread: at %ld\n", (long)at);
}

static void on_signal(int number)
{
    struct stat status = {0};
    fstat(out, &status);
    note("handler %d: size %ld\n", number, (long)status.st_size);
}

static void run_handler(void)
{
    signal(SIGUSR1, on_signal);
    raise(SIGUSR1);
}

/* -- the descriptors become something else -- */

static void dup2_in(void)
{
    int kept = dup(in);
    told("dup2", dup2(turn % 2 ? in_twin : other_in, in));
    close(kept);
}

static void dup2_out(void)
{
    told("dup2", dup2(turn % 2 ? out_twin : other_out, out));
}

static void reopen_in(void)
{
    off_t at = lseek(in, 0, SEEK_CUR);
    close(in);
    told("open", open("in", O_RDONLY) - in);
    told("lseek", lseek(in, at + 17, SEEK_SET));
}

static void reopen_in_at_start(void)
{
    close(in);
    told("open", open(turn % 2 ? "in" : "other-in", O_RDONLY) - in);
}

static void reopen_out(void)
{
    close(out);
    told("open", open("out", O_RDWR) - out);
    told("lseek", lseek(out, 0, SEEK_END));
}

static void reopen_out_elsewhere(void)
{
    close(out);
    told("open", open(turn % 2 ? "out" : "other-out", O_RDWR | O_CREAT | O_TRUNC, 0666) - out);
}

static void swap_ends(void)
{
    /* The numbers change roles for a moment. */
    int kept = dup(in);
    dup2(out, in);
    told("read from the destination", read(in, spare, 10));
    dup2(kept, in);
    close(kept);
}

static void close_out(void)
{
    told("close", close(out));
    told("write", write(out, "x", 1));
    told("open", open("out", O_RDWR | O_APPEND) - out);
}

static void close_in(void)
{
    off_t at = lseek(in, 0, SEEK_CUR);
    told("close", close(in));
    told("read", read(in, spare, 10));
    told("open", open("in", O_RDONLY) - in);
    lseek(in, at, SEEK_SET);
}

static void append_flag(void)
{
    told("F_SETFL", fcntl(out, F_SETFL, turn % 2 ? 0 : O_APPEND));
    told("lseek", lseek(out, turn % 2 ? 10 : 0, turn % 2 ? SEEK_END : SEEK_SET));
}

/* -- offsets and sizes -- */

static void lseek_in_back(void)
{
    told("lseek", lseek(in, -(off_t)(chunk / 2 + 1), SEEK_CUR));
}
static void lseek_in_ahead(void)
{
    told("lseek", lseek(in, (off_t)chunk + 3, SEEK_CUR));
}
static void lseek_in_and_back(void)
{
    off_t at = lseek(in, 0, SEEK_CUR);
    told("lseek", lseek(in, 0, SEEK_END));
    told("lseek", lseek(in, at, SEEK_SET));
}
static void lseek_out_back(void)
{
    told("lseek", lseek(out, -(off_t)(chunk / 2), SEEK_CUR));
}
static void lseek_out_ahead(void)
{
    told("lseek", lseek(out, 1000, SEEK_CUR));
}
static void lseek_out_start(void)
{
    told("lseek", lseek(out, 0, SEEK_SET));
}
static void lseek_out_end(void)
{
    told("lseek", lseek(out, 0, SEEK_END));
}
static void shrink_out(void)
{
    told("ftruncate", ftruncate(out, lseek(out, 0, SEEK_CUR) / 2));
}
static void grow_out(void)
{
    told("ftruncate", ftruncate(out, lseek(out, 0, SEEK_CUR) + 1000));
}
static void truncate_path(void)
{
    told("truncate", truncate("out", 100));
}
static void allocate_out(void)
{
    told("fallocate", fallocate(out, 0, lseek(out, 0, SEEK_CUR), 5000));
}
static void punch_out(void)
{
    told("punch",
         fallocate(out, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, lseek(out, 0, SEEK_CUR) / 2, 3000));
}

/* -- bytes by other calls -- */

static void pread_in(void)
{
    note_bytes("pread", spare, pread(in, spare, 1000, lseek(in, 0, SEEK_CUR)));
}
static void pread_out(void)
{
    note_bytes("pread", spare, pread(out, spare, sizeof spare, 0));
}
static void pwrite_out_behind(void)
{
    told("pwrite", pwrite(out, "behind", 6, lseek(out, 0, SEEK_CUR) / 2));
}
static void pwrite_out_ahead(void)
{
    told("pwrite", pwrite(out, "ahead!", 6, lseek(out, 0, SEEK_CUR) + 50));
}
static void pwrite_in_ahead(void)
{
    told("pwrite", pwrite(in_writer, "changed", 7, lseek(in, 0, SEEK_CUR) + 20));
}

static void vectors(void)
{
    struct iovec parts[2] = {{spare, 30}, {spare + 100, 70}};
    told("readv", readv(in, parts, 2));
    told("writev", writev(out, parts, 2));
    told("preadv2", preadv2(in, parts, 2, -1, 0));
    told("pwritev2", pwritev2(out, parts, 2, -1, 0));
}

static void send_file(void)
{
    told("sendfile", sendfile(out, in, NULL, 300));
}
static void range(void)
{
    told("copy_file_range", copy_file_range(in, NULL, out, NULL, 300, 0));
}

static void splice_through_pipe(void)
{
    told("splice", splice(in, NULL, tube[1], NULL, 200, 0));
    told("splice", splice(tube[0], NULL, out, NULL, 200, SPLICE_F_NONBLOCK));
}

static void map_out(void)
{
    struct stat status = {0};
    fstat(out, &status);
    if (status.st_size == 0)
        return;
    void *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_SHARED, out, 0);
    note("mapped %ld, sum %08x\n", (long)status.st_size, sum(bytes, (size_t)status.st_size));
    munmap(bytes, (size_t)status.st_size);
}

static void map_out_writes(void)
{
    struct stat status = {0};
    fstat(out, &status);
    if (status.st_size == 0)
        return;
    char *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, out, 0);
    bytes[status.st_size / 3] ^= 1;
    munmap(bytes, (size_t)status.st_size);
}

static void map_in(void)
{
    off_t at = lseek(in, 0, SEEK_CUR) & -4096;
    if (at >= lseek(in_writer, 0, SEEK_END))
        return;
    char *bytes = mmap(NULL, 100, PROT_READ | PROT_WRITE, MAP_SHARED, in_writer, at);
    for (int i = 0; i < 4096; i += 100)
        bytes[i] ^= 1;
    munmap(bytes, 100);
}

/* -- read and write themselves, on other descriptors or in another order -- */

static void read_out_reader(void)
{
    /* Keeps up with the destination; what it gets shows how much of it is there. */
    for (ssize_t n; (n = read(out_reader, spare, sizeof spare)) != 0;)
        note_bytes("read", spare, n);
}
static void read_out_itself(void)
{
    note_bytes("read", spare, read(out, spare, 100));
}
static void write_in_writer(void)
{
    told("write", write(in_writer, "other writer", 12));
}
static void read_in_twin(void)
{
    note_bytes("read", spare, read(in_twin, spare, chunk));
}
static void write_out_twin(void)
{
    told("write", write(out_twin, "twin", 4));
}
static void read_other_in(void)
{
    note_bytes("read", spare, read(other_in, spare, chunk));
}
static void write_other_out(void)
{
    told("write", write(other_out, "other", 5));
}

static void pipe_round(void)
{
    told("write", write(tube[1], "pipe", 4));
    told("read", read(tube[0], spare, 4));
}

static void read_twice(void)
{
    note_bytes("read", buffer, read(in, buffer, chunk));
    note_bytes("read", spare, read(in, spare, chunk));
}
static void write_twice(void)
{
    ssize_t n = read(in, buffer, chunk);
    told("write", write(out, buffer, n > 0 ? (size_t)n : 0));
    told("write", write(out, buffer, n > 0 ? (size_t)n : 0));
}
static void write_before_read(void)
{
    told("write", write(out, buffer, chunk));
    note_bytes("read", buffer, read(in, buffer, chunk));
}
static void write_in_parts(void)
{
    ssize_t n = read(in, buffer, chunk);
    for (ssize_t i = 0; i < n; i += n / 3 + 1)
        told("write", write(out, buffer + i, (size_t)(n - i < n / 3 + 1 ? n - i : n / 3 + 1)));
}
static void write_half(void)
{
    ssize_t n = read(in, buffer, chunk);
    told("write", write(out, buffer, n > 0 ? (size_t)n / 2 : 0));
}
static void write_more(void)
{
    ssize_t n = read(in, spare, chunk);
    told("write", write(out, spare, (n > 0 ? (size_t)n : 0) + 10));
}
static void write_shifted(void)
{
    ssize_t n = read(in, spare, chunk);
    memmove(spare + 1, spare, n > 0 ? (size_t)n : 0);
    spare[0] = '>';
    told("write", write(out, spare, (n > 0 ? (size_t)n : 0) + 1));
}
static void write_foreign(void)
{
    static const char text[] = "something that was never read";
    told("write", write(out, text, sizeof text));
}
static void read_more(void)
{
    ssize_t n = read(in, spare, 3 * chunk + 1);
    note_bytes("read", spare, n);
    told("write", write(out, spare, n > 0 ? (size_t)n : 0));
}
static void read_less(void)
{
    ssize_t n = read(in, spare, chunk / 3 + 1);
    note_bytes("read", spare, n);
    told("write", write(out, spare, n > 0 ? (size_t)n : 0));
}
static void nothing(void)
{
    told("read", read(in, buffer, 0));
    told("write", write(out, buffer, 0));
    told("read", read(in, NULL, 0));
    told("write", write(out, NULL, 0));
}
static void bad_pointer(void)
{
    told("read", read(in, (void *)8, chunk));
    told("write", write(out, (void *)8, chunk));
    told("read", read(in, NULL, chunk));
}
static void bad_descriptor(void)
{
    told("read", read(-1, buffer, chunk));
    told("write", write(1000, buffer, chunk));
    told("write to the source", write(in, buffer, chunk));
}
static void huge_counts(void)
{
    static volatile size_t huge = SIZE_MAX; /* the compiler knows better than to let a constant pass */
    told("write", write(-1, buffer, huge));
    told("write", write(out, (void *)8, huge));
    told("read", read(in, (void *)8, huge));
    told("read", read(in, (void *)8, huge / 2));
}

/* -- the program's memory -- */

static void protect_buffer(void)
{
    must(mprotect(buffer, BUFFER, PROT_READ), "mprotect");
    told("read", read(in, buffer, chunk));
    must(mprotect(buffer, BUFFER, PROT_NONE), "mprotect");
    told("write", write(out, buffer, chunk));
    must(mprotect(buffer, BUFFER, PROT_READ | PROT_WRITE), "mprotect");
}
static void unmap_buffer(void)
{
    must(munmap(buffer, BUFFER), "munmap");
    told("read", read(in, buffer, chunk));
    told("write", write(out, buffer, chunk));
    void *again =
        mmap(buffer, BUFFER, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    must(-(again != buffer), "mmap");
}
static void drop_buffer(void)
{
    ssize_t n = read(in, buffer, chunk);
    madvise(buffer, BUFFER, MADV_DONTNEED);
    told("write", write(out, buffer, n > 0 ? (size_t)n : 0));
}

/* -- paths, locks, the rest -- */

static void open_and_read(void)
{
    int fd = open("out", O_RDONLY);
    note_bytes("read", spare, read(fd, spare, sizeof spare));
    close(fd);
}
static void open_by_number(void)
{
    char path[40];
    snprintf(path, sizeof path, "/proc/self/fd/%d", out);
    int fd = open(path, O_RDONLY);
    told("lseek", lseek(fd, 0, SEEK_END));
    close(fd);
}
static void offset_in_proc(void)
{
    char path[40], line[64] = "";
    snprintf(path, sizeof path, "/proc/self/fdinfo/%d", in);
    int fd = open(path, O_RDONLY);
    must(read(fd, line, 30), "fdinfo");
    close(fd);
    note("%.*s\n", (int)strcspn(line, "\n"), line);
}
static void stat_path(void)
{
    struct stat status = {0};
    told("stat", stat("out", &status));
    note("size %ld\n", (long)status.st_size);
}
static void unread_bytes(void)
{
    int left = -1;
    told("FIONREAD", ioctl(in, FIONREAD, &left));
    note("%d left\n", left);
}
static void rename_out(void)
{
    told("rename", turn % 2 ? rename("renamed", "out") : rename("out", "renamed"));
}
static void unlink_out(void)
{
    told("unlink", unlink("out"));
}
static void lock_out(void)
{
    struct flock lock = {.l_type = turn % 2 ? F_UNLCK : F_WRLCK};
    told("F_SETLK", fcntl(out, F_SETLK, &lock));
    told("flock", flock(in, turn % 2 ? LOCK_UN : LOCK_SH));
}
static void sync_out(void)
{
    told("fsync", fsync(out));
}
static void poll_both(void)
{
    struct pollfd polls[2] = {{.fd = in, .events = POLLIN}, {.fd = out, .events = POLLOUT}};
    told("poll", poll(polls, 2, 0));
}
static void pass_descriptor(void)
{
    int pair[2], got;
    char byte = 'x';
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(int))];
    } control = {
        .header = {.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
    struct iovec part = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    must(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), "socketpair");
    memcpy(CMSG_DATA(&control.header), &in, sizeof in);
    told("sendmsg", sendmsg(pair[0], &message, 0));
    told("recvmsg", recvmsg(pair[1], &message, 0));
    memcpy(&got, CMSG_DATA(&control.header), sizeof got);
    note_bytes("read", spare, read(got, spare, 33));
    close(got), close(pair[0]), close(pair[1]);
}
static void only_pause(void)
{
    usleep(1000);
}
static void long_pause(void)
{
    if (turn == 2)
        usleep(150000);
}

static const struct {
    const char *name;
    void (*act)(void);
    bool alone; /* it leaves the ends so that later actions of another kind mean little */
} actions[] = {
#define ACTION(name)                                                                                         \
    {                                                                                                        \
#name, name, false                                                                                   \
    }
    ACTION(bare_fstat),
    ACTION(bare_lseek_in),
    ACTION(bare_lseek_out),
    ACTION(bare_read),
    ACTION(bare_write),
    ACTION(bare_pread),
    ACTION(libc_syscall),
    ACTION(run_system),
    ACTION(run_popen),
    ACTION(run_spawn),
    ACTION(run_vfork),
    ACTION(vfork_only),
    ACTION(run_fork),
    ACTION(fork_copies),
    ACTION(run_thread),
    ACTION(run_handler),
    ACTION(dup2_in),
    ACTION(dup2_out),
    ACTION(reopen_in),
    {"reopen_in_at_start", reopen_in_at_start, true},
    ACTION(reopen_out),
    ACTION(reopen_out_elsewhere),
    ACTION(swap_ends),
    ACTION(close_out),
    ACTION(close_in),
    ACTION(append_flag),
    ACTION(lseek_in_back),
    ACTION(lseek_in_ahead),
    ACTION(lseek_in_and_back),
    ACTION(lseek_out_back),
    ACTION(lseek_out_ahead),
    ACTION(lseek_out_start),
    ACTION(lseek_out_end),
    ACTION(shrink_out),
    ACTION(grow_out),
    ACTION(truncate_path),
    ACTION(allocate_out),
    ACTION(punch_out),
    ACTION(pread_in),
    ACTION(pread_out),
    ACTION(pwrite_out_behind),
    ACTION(pwrite_out_ahead),
    ACTION(pwrite_in_ahead),
    ACTION(vectors),
    ACTION(send_file),
    ACTION(range),
    ACTION(splice_through_pipe),
    ACTION(map_out),
    ACTION(map_out_writes),
    ACTION(map_in),
    ACTION(read_out_reader),
    ACTION(read_out_itself),
    ACTION(write_in_writer),
    ACTION(read_in_twin),
    ACTION(write_out_twin),
    ACTION(read_other_in),
    ACTION(write_other_out),
    ACTION(pipe_round),
    ACTION(read_twice),
    ACTION(write_twice),
    ACTION(write_before_read),
    ACTION(write_in_parts),
    ACTION(write_half),
    ACTION(write_more),
    ACTION(write_shifted),
    ACTION(write_foreign),
    ACTION(read_more),
    ACTION(read_less),
    ACTION(nothing),
    ACTION(bad_pointer),
    ACTION(bad_descriptor),
    ACTION(huge_counts),
    ACTION(protect_buffer),
    ACTION(unmap_buffer),
    ACTION(drop_buffer),
    ACTION(open_and_read),
    ACTION(open_by_number),
    ACTION(offset_in_proc),
    ACTION(stat_path),
    ACTION(unread_bytes),
    ACTION(rename_out),
    {"unlink_out", unlink_out, true},
    ACTION(lock_out),
    ACTION(sync_out),
    ACTION(poll_both),
    ACTION(pass_descriptor),
    ACTION(only_pause),
    ACTION(long_pause),
#undef ACTION
};
enum { ACTIONS = sizeof actions / sizeof *actions, MOST_TURNS = 200 };

static int find(const char *name)
{
    for (int i = 0; i < ACTIONS; i++)
        if (strcmp(actions[i].name, name) == 0)
            return i;
    dprintf(2, "no action %s\n", name);
    exit(99);
}

static void open_all(void)
{
    other_in = keep((int)must(open("other-in", O_RDONLY), "other-in"));
    other_out = keep((int)must(open("other-out", O_RDWR | O_CREAT | O_TRUNC, 0666), "other-out"));
    in_writer = keep((int)must(open("in", O_RDWR), "in"));
    must(pipe(tube), "pipe");
    tube[0] = keep(tube[0]), tube[1] = keep(tube[1]);
    in = (int)must(open("in", O_RDONLY), "in");
    out = (int)must(open("out", O_RDWR | O_CREAT | O_TRUNC, 0666), "out");
    out_reader = keep((int)must(open("out", O_RDONLY), "out"));
    in_twin = (int)must(fcntl(in, F_DUPFD, HELPERS), "F_DUPFD");
    out_twin = (int)must(fcntl(out, F_DUPFD, HELPERS), "F_DUPFD");
}

int main(int count, char **arguments)
{
    if (count != 3)
        return 99;
    bool any = strncmp(arguments[1], "any-", 4) == 0;
    srandom(any ? (unsigned)atoi(arguments[1] + 4) : 0);
    int action = any ? 0 : find(arguments[1]);
    chunk = size_argument(arguments[2]);
    buffer = mmap(NULL, BUFFER, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    open_all();
    for (long pairs = 3; turn < MOST_TURNS; turn++, pairs *= 2) {
        ssize_t n = copy_pairs(in, out, buffer, chunk, any ? 1 + random() % 40 : pairs);
        note("turn %u, last read %zd\n", turn, n);
        if (n <= 0 && (any ? turn > 60 : turn > 3))
            break;
        if (any)
            do
                action = (int)(random() % ACTIONS);
            while (actions[action].alone);
        note("%s\n", actions[action].name);
        actions[action].act();
        where("then", in, out);
    }
    copy_pairs(in, out, buffer, chunk, 1000000);
    where("at the end", in, out);
    say();
    return 0;
}
