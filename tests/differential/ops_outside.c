/* Things that another process does in the middle of a copy, at a moment that no system call of the copier
 * tells: as in ops_race.c what must be true at every moment is checked, and said only where it is not.
 */
#include "player.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum does {
    DOES_LIMIT,  /* lowers the copier's RLIMIT_FSIZE below what it has promised */
    DOES_MOVE,   /* moves the offset of the source, whose description it has */
    DOES_SEND,   /* sends SIGSYS */
    DOES_OPEN,   /* opens the source for writing, which breaks a lease */
    DOES_SHRINK, /* truncates the source */
    DOES_GROW,   /* appends to it */
    DOES_STOP,   /* stops the copier for a moment */
    DOES,
};

/* What the copier does after an error, or at the end: calls that tell it, keep it, or let go of it. */
enum then {
    THEN_CALL,
    THEN_FORK,
    THEN_VFORK,
    THEN_ACTION,
    THEN_BLOCK,
    THEN_BLOCK_ALL,
    THEN_STACK,
    THEN_PPOLL,
    THEN_PSELECT,
    THEN_EPOLL,
    THEN_SUSPEND,
    THEN_SYNC,
    THEN_SEEK,
    THEN_TRUNCATE,
    THEN_RANGE,
    THEN_RAISE,
    THEN_OLD_CALL,
    THEN_WRITE,
    THEN_READ,
    THEN_OTHER_WRITE,
    THEN_BAD_SET,
    THEN_ENDS, /* from here on what is owed may be lost */
    THEN_CLOSE = THEN_ENDS,
    THEN_CLOSE_RANGE,
    THEN_DUP2,
    THEN_SIGSYS,
    THENS,
};
#define THEN_MANY 6
/* Bytes that all of them can write. */
#define AFTER_MOST (4 * THEN_MANY + 5)

#define FILE_SIZE (1 << 17)
#define CHUNK_MOST 4096
/* Above the number of any signal, and below the statuses of a shell. */
#define STATUS_WRONG 100
enum wrong { FINE, WRONG_ERROR = STATUS_WRONG, WRONG_CONTENT, WRONG_SIZE, WRONG_END, WRONG_OPEN };

static const char source_name[] = "t2", destination_name[] = "outside";

static struct {
    int in, out, does, pace, pairs;
    size_t chunk;
    bool error_seen, may_lose, unwatched;
    size_t written;
} it;

static unsigned char expected[FILE_SIZE + CHUNK_MOST], found[sizeof(expected)];

static void let_time_pass(int turns)
{
    for (volatile int i = 0; i < turns; i++)
        ;
}

static void act(pid_t copier)
{
    struct rlimit low;
    int fd;
    switch (it.does) {
    case DOES_LIMIT:
        getrlimit(RLIMIT_FSIZE, &low);
        low.rlim_cur = 1000;
        prlimit(copier, RLIMIT_FSIZE, &low, NULL);
        break;
    case DOES_MOVE:
        lseek(it.in, 1000, SEEK_SET);
        break;
    case DOES_SEND:
        kill(copier, SIGSYS);
        break;
    case DOES_STOP:
        kill(copier, SIGSTOP);
        usleep(500);
        kill(copier, SIGCONT);
        break;
    default:
        fd = open(source_name, O_RDWR);
        if (it.does == DOES_SHRINK && ftruncate(fd, 3000) < 0)
            _exit(1);
        if (it.does == DOES_GROW && pwrite(fd, found, 3000, FILE_SIZE / 2) < 0)
            _exit(1);
        close(fd);
        break;
    }
}

/* A child's child, so that nobody who looks at the copier's children finds the description of the source. */
static pid_t start_outside(int delay)
{
    pid_t copier = getpid(), between = fork();
    if (between != 0)
        return between;
    pid_t other = fork();
    if (other == 0) {
        usleep((useconds_t)delay);
        act(copier);
        _exit(0);
    }
    close(it.in);
    close(it.out);
    int status;
    waitpid(other, &status, 0);
    _exit(WEXITSTATUS(status));
}

static void put(const unsigned char *bytes, size_t count)
{
    ssize_t n = write(it.out, bytes, count);
    if (n < 0) {
        it.error_seen = true;
        return;
    }
    if (it.written + (size_t)n <= sizeof(expected))
        memcpy(expected + it.written, bytes, (size_t)n);
    it.written += (size_t)n;
    it.error_seen |= n != (ssize_t)count;
}

static void paced_copy(void)
{
    static unsigned char bytes[CHUNK_MOST];
    for (int i = 0; i < it.pairs && !it.error_seen && it.written < FILE_SIZE; i++) {
        ssize_t n = read(it.in, bytes, it.chunk);
        if (n <= 0)
            return;
        put(bytes, (size_t)n);
        let_time_pass(it.pace);
    }
}

static void in_handler(int number)
{
    (void)number;
    getppid();
}

/* The 32-bit way into the kernel: getpid. */
static void old_call(void)
{
    long rc;
    __asm__ volatile("int $0x80" : "=a"(rc) : "a"(20L) : "r8", "r9", "r10", "r11", "memory");
}

static void end_with(long rc)
{
    it.error_seen |= rc < 0;
    it.may_lose = true;
}

/* Calls before which a library that looks on has to stop doing so. What a failed write of the copy was to
 * tell is then told by the next write only: `close` tells nothing, which is known, and not asked here.
 */
static bool stops_watching(int what)
{
    switch (what) {
    case THEN_FORK:
    case THEN_VFORK:
    case THEN_ACTION:
    case THEN_BLOCK_ALL:
    case THEN_STACK:
    case THEN_PPOLL:
    case THEN_PSELECT:
    case THEN_EPOLL:
    case THEN_SUSPEND:
    case THEN_OLD_CALL:
    case THEN_BAD_SET:
        return true;
    default:
        return false;
    }
}

static void then(int what)
{
    struct sigaction old;
    stack_t stack;
    sigset_t all, some;
    struct timespec none = {0};
    struct epoll_event event;
    int status, other;
    off_t from = 0, to = 0;
    pid_t child;
    unsigned char small[64];
    sigfillset(&all);
    sigemptyset(&some);
    sigaddset(&some, SIGUSR1);
    switch (what) {
    case THEN_CALL:
        getppid();
        break;
    case THEN_FORK:
    case THEN_VFORK:
        child = what == THEN_FORK ? fork() : vfork();
        if (child == 0)
            _exit(0);
        waitpid(child, &status, 0);
        break;
    case THEN_ACTION:
        sigaction(SIGSYS, NULL, &old);
        if (old.sa_handler != SIG_DFL)
            _exit(WRONG_END);
        break;
    case THEN_BLOCK:
        sigprocmask(SIG_BLOCK, &some, NULL);
        break;
    case THEN_BLOCK_ALL:
        sigprocmask(SIG_BLOCK, &all, NULL);
        break;
    case THEN_STACK:
        sigaltstack(NULL, &stack);
        break;
    case THEN_PPOLL:
        ppoll(NULL, 0, &none, it.pairs & 1 ? &all : &some);
        break;
    case THEN_PSELECT:
        pselect(0, NULL, NULL, NULL, &none, it.pairs & 1 ? &all : NULL);
        break;
    case THEN_EPOLL:
        other = epoll_create1(EPOLL_CLOEXEC);
        epoll_pwait(other, &event, 1, 0, it.pairs & 1 ? &all : &some);
        close(other);
        break;
    case THEN_SUSPEND:
        sigprocmask(SIG_BLOCK, &some, NULL);
        raise(SIGUSR1);
        sigdelset(&all, SIGUSR1);
        if (it.pairs & 1)
            sigdelset(&all, SIGSYS);
        sigsuspend(&all);
        break;
    case THEN_SYNC:
        it.error_seen |= it.pairs & 1 ? fsync(it.out) < 0 : fdatasync(it.out) < 0;
        break;
    case THEN_SEEK:
        it.error_seen |= lseek(it.out, 0, SEEK_CUR) < 0;
        break;
    case THEN_TRUNCATE: /* to what it is */
        it.error_seen |= fallocate(it.out, FALLOC_FL_KEEP_SIZE, 0, 1) < 0;
        break;
    case THEN_RANGE:
        it.error_seen |= copy_file_range(it.in, &from, it.out, &to, 0, 0) < 0;
        break;
    case THEN_RAISE: /* raise() blocks all signals first */
        syscall(SYS_tgkill, getpid(), gettid(), SIGUSR2);
        break;
    case THEN_OLD_CALL:
        old_call();
        break;
    case THEN_WRITE:
        put((const unsigned char *)"then", 4);
        break;
    case THEN_READ:
        if (pread(it.in, small, sizeof(small), 0) < 0)
            _exit(WRONG_ERROR);
        break;
    case THEN_OTHER_WRITE:
        other = open("/dev/null", O_WRONLY | O_CLOEXEC);
        if (write(other, "x", 1) != 1)
            _exit(WRONG_ERROR);
        close(other);
        break;
    case THEN_BAD_SET:
        if (syscall(SYS_rt_sigprocmask, SIG_BLOCK, (void *)16, NULL, 8) == 0)
            _exit(WRONG_ERROR);
        break;
    case THEN_CLOSE:
        end_with(close(it.out));
        break;
    case THEN_CLOSE_RANGE:
        end_with(close_range((unsigned)it.out, (unsigned)it.out, 0));
        break;
    case THEN_DUP2:
        other = open(destination_name, O_WRONLY | O_APPEND | O_CLOEXEC);
        end_with(dup2(other, it.out));
        close(other);
        break;
    case THEN_SIGSYS:
        if (getpid() == 1) /* would live on */
            break;
        count_now();
        raise(SIGSYS);
        break;
    default:
        break;
    }
}

/* In the copier. The destination is checked by the parent when the copier was killed. */
static int check_contents(void)
{
    int fd = open(destination_name, O_RDONLY | O_CLOEXEC);
    ssize_t size = pread(fd, found, sizeof(found), 0);
    close(fd);
    if (size < 0)
        return WRONG_OPEN;
    if ((size_t)size > it.written ||
        ((size_t)size < it.written && !(it.may_lose && (it.error_seen || it.unwatched))))
        return WRONG_SIZE;
    return memcmp(found, expected, (size_t)size) ? WRONG_CONTENT : FINE;
}

static int play(const int *a)
{
    struct sigaction action = {.sa_handler = in_handler};
    struct rlimit limit;
    sigset_t none;
    int status = 0;
    signal(SIGSYS, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGUSR2, &action, NULL);
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_FSIZE, &limit);
    it.in = open(source_name, O_RDONLY | O_CLOEXEC);
    it.out = open(destination_name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (it.in < 0 || it.out < 0)
        return WRONG_OPEN;
    pid_t between = start_outside(a[3]);
    paced_copy();
    if (it.error_seen && it.does != DOES_LIMIT)
        return WRONG_ERROR;
    for (int i = 0; i < THEN_MANY && !it.may_lose; i++) {
        it.unwatched |= stops_watching(a[6 + i]);
        then(a[6 + i]);
    }
    waitpid(between, &status, 0);
    setrlimit(RLIMIT_FSIZE, &limit);
    bool lost = it.may_lose;
    if (!lost) {
        it.error_seen = false;
        put((const unsigned char *)"after", 5);
        if (it.error_seen)
            return WRONG_ERROR;
        if (close(it.out) < 0)
            return WRONG_ERROR;
    }
    close(it.in);
    return check_contents();
}

/* What a killed copier leaves is a piece of the source's start, and perhaps what it has written after the
 * copy.
 */
static int check_prefix(void)
{
    int in = open(source_name, O_RDONLY | O_CLOEXEC), out = open(destination_name, O_RDONLY | O_CLOEXEC);
    ssize_t have = pread(in, expected, FILE_SIZE, 0), size = pread(out, found, FILE_SIZE, 0), same = 0;
    close(in);
    close(out);
    if (size < 0)
        return WRONG_OPEN;
    while (same < size && same < have && expected[same] == found[same])
        same++;
    return size - same > AFTER_MOST ? WRONG_CONTENT : FINE;
}

static void make_source(uint64_t seed)
{
    int fd = open(source_name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    draw_fill(seed, found, FILE_SIZE / 2);
    syscall(SYS_write, fd, found, FILE_SIZE / 2);
    close(fd);
}

/* The first process of its own namespace does not die of a signal: it goes on behind it. */
static void supervise(const int *a)
{
    int status = 0;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    pid_t child = a[5] ? (pid_t)syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, 0, 0, 0, 0) : fork();
    if (child == 0) {
        int verdict = play(a);
        count_now();
        _exit(verdict);
    }
    if (child > 0)
        waitpid(child, &status, 0);
    while (wait(NULL) > 0)
        ;
    _exit(WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

static void generate_outside(struct draw *draw, int *a)
{
    a[0] = draw_chance(draw, 50) ? DOES_LIMIT : draw_below(draw, DOES);
    a[1] = draw_between(draw, 16, draw_chance(draw, 80) ? 300 : CHUNK_MOST);
    a[2] = draw_between(draw, 5000, 30000);
    a[3] = draw_between(draw, 100, 3000);
    a[4] = draw_between(draw, 20, 250);
    a[5] = draw_chance(draw, 20);
    for (int i = 0; i < THEN_MANY; i++)
        a[6 + i] =
            draw_chance(draw, 80) ? draw_below(draw, THEN_ENDS) : draw_between(draw, THEN_ENDS, THENS - 1);
}

static int execute_outside(int index, const int *a)
{
    struct rlimit limit, wide;
    sigset_t all, mask;
    int status = 0;
    if (!fork_allowed() || few_descriptors || timer_is_set()) {
        say(" not here\n");
        return index + 1;
    }
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &mask);
    getrlimit(RLIMIT_FSIZE, &limit);
    wide = (struct rlimit){limit.rlim_max, limit.rlim_max};
    setrlimit(RLIMIT_FSIZE, &wide);
    memset(&it, 0, sizeof(it));
    it.does = a[0];
    it.chunk = (size_t)a[1];
    it.pace = a[2];
    it.pairs = a[4];
    make_source((uint64_t)a[1]);
    pid_t child = fork();
    if (child == 0)
        supervise(a);
    waitpid(child, &status, 0);
    status = WEXITSTATUS(status);
    if (status == SIGSYS) {
        if (check_prefix() != FINE && it.does != DOES_MOVE && it.does != DOES_SHRINK && it.does != DOES_LIMIT)
            say(" left something else");
    } else if (status) {
        say(" status=%d", status);
    }
    unlink(source_name);
    unlink(destination_name);
    setrlimit(RLIMIT_FSIZE, &limit);
    sigprocmask(SIG_SETMASK, &mask, NULL);
    say("\n");
    return index + 1;
}

static const struct operation operations[] = {
    {"outside", 20, "does %d chunk %d pace %d after %d us pairs %d namespace %d then %d %d %d %d %d %d",
     generate_outside, execute_outside},
};

const struct table ops_outside = {operations, sizeof(operations) / sizeof(operations[0])};
