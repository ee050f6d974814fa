/* Threads and others that share memory with the program, for a while; pipes and sockets that block, with
 * somebody at the other end; and the calls that move bytes between descriptors in the kernel.
 */
#include "player.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

/* Above every number that a program's close_range reaches. */
#define FIRST_PRIVATE 500
#define STACK 65536

static unsigned char bytes[BUFFER_SIZE];

static struct {
    int in, out, pairs, does;
    size_t count;
    long result;
} task;

static int done(int index)
{
    say("\n");
    return index + 1;
}

static void do_task(void)
{
    static unsigned char own[BUFFER_SIZE];
    switch (task.does) {
    case 0:
        copy_quietly(task.in, task.out, task.count, task.pairs);
        break;
    case 1:
        task.result = read(task.in, own, task.count);
        break;
    case 2:
        memset(own, 'q', task.count);
        task.result = write(task.out, own, task.count);
        break;
    case 3:
        task.result = lseek(task.in, (off_t)task.count, SEEK_CUR);
        break;
    default:
        break;
    }
}

static void set_task(const int *a)
{
    task.in = slot[a[0]];
    task.out = slot[a[1]];
    task.does = a[2];
    task.count = (size_t)a[3];
    task.pairs = a[4];
    task.result = 0;
}

static void generate_task(struct draw *draw, int *a)
{
    a[0] = draw_source(draw);
    a[1] = draw_destination(draw);
    a[2] = draw_below(draw, 5);
    a[3] = draw_size(draw, 5000);
    a[4] = draw_between(draw, 1, 12);
    a[5] = draw_below(draw, 3);
}

static sem_t go, ready;

static void *in_thread(void *unused)
{
    (void)unused;
    do_task();
    sem_post(&ready);
    sem_wait(&go);
    return NULL;
}

/* The thread does its part, then waits while the program goes on with one operation. */
static int execute_thread(int index, const int *a)
{
    pthread_t thread;
    static bool running;
    if (running || few_descriptors || timer_is_set()) {
        say(" not here\n");
        return index + 1;
    }
    set_task(a);
    sem_init(&go, 0, 0);
    sem_init(&ready, 0, 0);
    sigset_t all, mask;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &mask);
    int rc = pthread_create(&thread, NULL, in_thread, NULL);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    if (rc) {
        say(" no thread\n");
        return index + 1;
    }
    while (sem_wait(&ready) < 0)
        ;
    say(" result %ld", task.result);
    if (a[5] == 1) { /* two in one process, in turn */
        copy_quietly(slot[a[0]], slot[a[1]], (size_t)a[3], a[4]);
    }
    sem_post(&go);
    pthread_join(thread, NULL);
    return done(index);
}

static int in_clone(void *unused)
{
    (void)unused;
    do_task();
    return (int)(task.result & 63);
}

/* Shares the memory, and the files or not. */
static int execute_clone(int index, const int *a)
{
    static unsigned char stack[STACK] __attribute__((aligned(64)));
    int status = 0;
    if (!fork_allowed()) {
        say(" not here\n");
        return index + 1;
    }
    set_task(a);
    int flags = CLONE_VM | SIGCHLD | (a[5] == 1 ? CLONE_FILES : a[5] == 2 ? CLONE_VFORK : 0);
    errno = ERRNO_UNTOUCHED;
    pid_t child = clone(in_clone, stack + STACK, flags, NULL);
    if (child > 0)
        waitpid(child, &status, 0);
    errno = ERRNO_UNTOUCHED; /* shared with the child */
    say(" status=%x result %ld", (unsigned)status, task.result);
    return done(index);
}

static int high(int fd)
{
    int up = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_PRIVATE);
    close(fd);
    return up;
}

/* The reader of a pipe or a socket: its status tells what came through. */
static pid_t start_reader(int ends[2])
{
    pid_t child = fork();
    if (child == 0) {
        uint64_t seen = 1;
        ssize_t n;
        long total = 0;
        close(ends[1]);
        while ((n = read(ends[0], bytes, sizeof(bytes))) != 0) {
            if (n < 0 && errno != EINTR)
                break;
            for (ssize_t i = 0; i < n; i++)
                seen = (seen ^ bytes[i]) * 0x100000001b3;
            total += n > 0 ? n : 0;
        }
        count_now();
        _exit((int)((seen ^ seen >> 32 ^ (uint64_t)total) & 127));
    }
    return child;
}

static void generate_blocking(struct draw *draw, int *a)
{
    generate_task(draw, a);
    a[4] = draw_between(draw, 1, 60);
}

/* A copy into something that blocks, or sent with MSG_NOSIGNAL. */
static int execute_blocking(int index, const int *a)
{
    int ends[2], status = 0;
    long total = 0;
    if (!fork_allowed() || few_descriptors || timer_is_set() ||
        (a[5] == 0 ? pipe2(ends, O_CLOEXEC) : socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) < 0) {
        say(" not here\n");
        return index + 1;
    }
    ends[0] = high(ends[0]);
    ends[1] = high(ends[1]);
    pid_t child = start_reader(ends);
    close(ends[0]);
    for (int i = 0; i < a[4]; i++) {
        ssize_t n = read(slot[a[0]], bytes, (size_t)a[3]);
        if (n <= 0)
            break;
        total += a[5] == 2 ? send(ends[1], bytes, (size_t)n, MSG_NOSIGNAL) : write(ends[1], bytes, (size_t)n);
    }
    close(ends[1]);
    waitpid(child, &status, 0);
    say(" total %ld status=%x", total, (unsigned)status);
    return done(index);
}

static void generate_splice(struct draw *draw, int *a)
{
    generate_task(draw, a);
    a[5] = draw_below(draw, 4);
    a[6] = draw_below(draw, 20000);
}

/* Through a pipe of the moment, so that nothing can block. */
static int execute_splice(int index, const int *a)
{
    int ends[2];
    loff_t at = a[6];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0) {
        say(" no pipe\n");
        return index + 1;
    }
    ssize_t n = 0;
    errno = ERRNO_UNTOUCHED;
    if (a[5] == 3) {
        struct iovec part = {bytes, (size_t)a[3]};
        memset(bytes, 'v', (size_t)a[3]);
        n = vmsplice(ends[1], &part, 1, SPLICE_F_NONBLOCK);
    } else {
        n = splice(slot[a[0]], a[5] & 1 ? &at : NULL, ends[1], NULL, (size_t)a[3], SPLICE_F_NONBLOCK);
    }
    say_result("in", n);
    if (n > 0) {
        errno = ERRNO_UNTOUCHED;
        say_result("out", splice(ends[0], NULL, slot[a[1]], NULL, (size_t)n, SPLICE_F_NONBLOCK));
    }
    close(ends[0]);
    close(ends[1]);
    return done(index);
}

static void generate_direct(struct draw *draw, int *a)
{
    generate_task(draw, a);
    a[6] = draw_between(draw, 1, 8) * 4096;
}

/* Destinations that keep nothing back, and sources past the page cache: by an open of their own. */
static int execute_direct(int index, const int *a)
{
    static const int flags[] = {O_DIRECT, O_SYNC, O_DSYNC};
    static unsigned char aligned[BUFFER_SIZE] __attribute__((aligned(4096)));
    long got = 0, put = 0;
    int in = open(file_names[a[0] % FILE_DESTINATIONS], O_RDONLY | O_CLOEXEC | (a[2] == 0 ? O_DIRECT : 0));
    int out = open("d3", O_WRONLY | O_CREAT | O_CLOEXEC | flags[a[5]], 0644);
    for (int i = 0; i < a[4] && in >= 0 && out >= 0; i++) {
        ssize_t n = read(in, aligned, (size_t)a[6]);
        if (n <= 0)
            break;
        got += n;
        put += write(out, aligned, (size_t)n);
    }
    say(" %d %d got %ld put %ld", in >= 0, out >= 0, got, put);
    if (in >= 0)
        close(in);
    if (out >= 0)
        close(out);
    return done(index);
}

static void generate_messages(struct draw *draw, int *a)
{
    generate_task(draw, a);
    a[4] = draw_between(draw, 2, 12);
    a[5] = draw_between(draw, 1, 5);
}

/* A helper changes the source each time it is told to, and answers when it has. */
static int execute_messages(int index, const int *a)
{
    int ends[2], status = 0;
    char byte = 'm';
    uint64_t seen = 1;
    if (!fork_allowed() || few_descriptors || timer_is_set() ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) {
        say(" not here\n");
        return index + 1;
    }
    ends[0] = high(ends[0]);
    ends[1] = high(ends[1]);
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        int fd = open(file_names[a[0] % FILE_DESTINATIONS], O_WRONLY | O_CLOEXEC);
        for (int at = a[3]; read(ends[1], &byte, 1) == 1; at += 1777) {
            if (pwrite(fd, &at, sizeof(at), at) < 0 || write(ends[1], &byte, 1) != 1)
                break;
        }
        _exit(0);
    }
    close(ends[1]);
    for (int i = 0; i < a[4]; i++) {
        for (int pair = 0; pair < a[5]; pair++) {
            ssize_t n = read(slot[a[0]], bytes, (size_t)a[3]);
            seen = digest(seen, bytes, n > 0 ? (size_t)n : 0);
            if (n > 0 && write(slot[a[1]], bytes, (size_t)n) < 0)
                seen++;
        }
        if (write(ends[0], &byte, 1) != 1 || read(ends[0], &byte, 1) != 1)
            break;
    }
    close(ends[0]);
    waitpid(child, &status, 0);
    say(" seen %016llx status=%x", (unsigned long long)seen, (unsigned)status);
    return done(index);
}

static const struct operation operations[] = {
    {"thread", 8, "%d -> %d does %d count %d pairs %d then %d", generate_task, execute_thread},
    {"clone", 8, "%d -> %d does %d count %d pairs %d flags %d", generate_task, execute_clone},
    {"blocking", 8, "%d (%d) (%d) count %d pairs %d kind %d", generate_blocking, execute_blocking},
    {"splice", 10, "%d -> %d (%d) count %d (%d) how %d at %d", generate_splice, execute_splice},
    {"direct", 5, "file %d%%4 (%d) direct source %d=0 (%d) pairs %d flags %d count %d", generate_direct,
     execute_direct},
    {"messages", 6, "%d -> %d (%d) count %d rounds %d pairs %d", generate_messages, execute_messages},
};

const struct table ops_thread = {operations, sizeof(operations) / sizeof(operations[0])};
