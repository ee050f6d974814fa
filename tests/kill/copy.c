/* One run of the copier, and its end: after a time, or at the entry or exit of one of its system calls. */
#include "kill.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The copier has its ends at 3 and 4, we far from those: a relative that holds the source at the same number
 * may be reading too, which keeps the library out. */
#define HIGH_NUMBER 300
#define STOPPED_AT_CALL (SIGTRAP | 0x80) /* PTRACE_O_TRACESYSGOOD */

const char *const call_names[CALLS] = {
    [CALL_LSEEK] = "lseek", [CALL_PREAD] = "pread64",         [CALL_READ] = "read",
    [CALL_WRITE] = "write", [CALL_RANGE] = "copy_file_range", [CALL_PRCTL] = "prctl",
    [CALL_OTHER] = "other",
};

static double seconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static int high(const char *path, int flags)
{
    int low = open(path, flags | O_CLOEXEC, 0600);
    int fd = low < 0 ? -1 : fcntl(low, F_DUPFD_CLOEXEC, HIGH_NUMBER);
    if (fd < 0)
        die(path);
    close(low);
    return fd;
}

static void write_old(const char *path, size_t size)
{
    static unsigned char bytes[64 << 10];
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        die(path);
    for (size_t at = 0, n; at < size; at += n) {
        n = size - at < sizeof bytes ? size - at : sizeof bytes;
        for (size_t i = 0; i < n; i++)
            bytes[i] = old_byte(at + i);
        if (write(fd, bytes, n) != (ssize_t)n)
            die(path);
    }
    close(fd);
}

/* Written out, or its blocks could not be shared. */
static void make_source(const char *path, size_t size)
{
    struct stat st;
    if (stat(path, &st) == 0)
        return;
    char fresh[PATH_MAX + 128];
    snprintf(fresh, sizeof fresh, "%s.%d", path, getpid());
    int fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, source_bytes(), size) != (ssize_t)size || fsync(fd) < 0)
        die(fresh);
    close(fd);
    if (rename(fresh, path) < 0)
        die(path);
}

/* Goes on when told, as `cat` would in { copier; cat; }. */
static pid_t start_survivor(const struct ends *ends, int *go)
{
    int told[2];
    if (pipe2(told, O_CLOEXEC) < 0)
        die("pipe");
    pid_t pid = fork();
    if (pid < 0)
        die("fork");
    if (pid > 0) {
        close(told[0]);
        *go = told[1];
        return pid;
    }
    static char buffer[64 << 10];
    ssize_t n;
    close(told[1]);
    if (read(told[0], buffer, 1) != 1)
        _exit(0);
    while ((n = read(ends->in, buffer, sizeof buffer)) > 0)
        if (write(ends->out, buffer, (size_t)n) != n)
            _exit(1);
    _exit(n < 0);
}

void ends_open(struct ends *ends, const char *folder, const struct shape *shape, const struct place *place)
{
    char path[PATH_MAX + 64];
    int flags = O_RDWR | (shape->append ? O_APPEND : 0);
    snprintf(path, sizeof path, "%s/source-%zu", folder, shape->size);
    make_source(path, shape->size);
    ends->in = high(path, O_RDONLY);
    /* A new one each time: ext4 writes a file out at once that was emptied and written again. */
    snprintf(path, sizeof path, "%s/destination-%d", folder, getpid());
    unlink(path);
    write_old(path, old_size(shape, place));
    ends->out = high(path, flags);
    if (lseek(ends->out, (off_t)place->ahead, SEEK_SET) < 0)
        die("lseek");
    ends->survivor = shape->survivor ? start_survivor(ends, &ends->survivor_go) : 0;
}

bool survivor_goes_on(struct ends *ends)
{
    int status = -1;
    bool told = write(ends->survivor_go, "", 1) == 1;
    waitpid(ends->survivor, &status, 0);
    close(ends->survivor_go);
    ends->survivor = 0;
    return told && status == 0;
}

void ends_close(struct ends *ends)
{
    if (ends->survivor) {
        close(ends->survivor_go);
        waitpid(ends->survivor, NULL, 0);
    }
    close(ends->in);
    close(ends->out);
}

struct copier {
    pid_t pid;
    int go, ready;
};

static void start(struct copier *copier, const struct ends *ends, const struct shape *shape,
                  const struct place *place, bool shim)
{
    char preload[PATH_MAX + 16], share[32], number[4][24];
    snprintf(preload, sizeof preload, "LD_PRELOAD=%s", tools.library);
    snprintf(share, sizeof share, "XFERSHIM_SHARE=%s", place->share);
    snprintf(number[0], sizeof number[0], "%zu", shape->chunk);
    snprintf(number[1], sizeof number[1], "%zu", shape->block);
    snprintf(number[2], sizeof number[2], "%zu", shape->head);
    snprintf(number[3], sizeof number[3], "%u", shape->breaks);
    char *arguments[] = {"copier", number[0], number[1], number[2], number[3], NULL};
    char *environment[] = {"XFERSHIM_THRESHOLD=1", share, preload, NULL};
    if (!shim)
        environment[2] = NULL;

    int go[2], ready[2];
    if (pipe2(go, O_CLOEXEC) < 0 || pipe2(ready, O_CLOEXEC) < 0)
        die("pipe");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    /* 3 and 4 last: some of the pipes' numbers may be those. */
    posix_spawn_file_actions_adddup2(&actions, go[0], 0);
    posix_spawn_file_actions_adddup2(&actions, ready[1], 1);
    posix_spawn_file_actions_adddup2(&actions, ends->in, 3);
    posix_spawn_file_actions_adddup2(&actions, ends->out, 4);
    errno = posix_spawn(&copier->pid, tools.copier, &actions, NULL, arguments, environment);
    if (errno)
        die(tools.copier);
    posix_spawn_file_actions_destroy(&actions);
    close(go[0]);
    close(ready[1]);
    copier->go = go[1];
    copier->ready = ready[0];
    char byte;
    if (read(copier->ready, &byte, 1) != 1)
        die("the copier did not begin");
}

static void tell(const struct copier *copier)
{
    if (write(copier->go, "", 1) != 1)
        die("the copier did not wait");
}

static enum call classify(const struct __ptrace_syscall_info *info)
{
    uint64_t fd = info->entry.args[0];
    switch (info->entry.nr) {
    case SYS_lseek:
        return CALL_LSEEK;
    case SYS_pread64:
        return fd == 3 ? CALL_PREAD : CALL_OTHER;
    case SYS_read:
        return fd == 3 ? CALL_READ : CALL_OTHER;
    case SYS_write:
        return fd == 4 ? CALL_WRITE : CALL_OTHER;
    case SYS_copy_file_range:
        return CALL_RANGE;
    case SYS_prctl:
        return CALL_PRCTL;
    default:
        return CALL_OTHER;
    }
}

/* Between the setting of the source's offset and the last byte of the promise the offsets may lie apart. */
static void follow(struct death *death, const struct __ptrace_syscall_info *entry, bool shares,
                   int64_t result)
{
    const uint64_t *args = entry->entry.args;
    if (!death->leaving) {
        if (death->call == CALL_PREAD || death->call == CALL_READ)
            death->flushing = false;
    } else if (death->call == CALL_LSEEK && args[0] == 3 && args[2] == SEEK_SET) {
        death->flushing = true;
    } else if (death->call == CALL_WRITE && !shares && result == (int64_t)args[2]) {
        death->flushing = false;
    }
}

static void cut_off(struct death *death, pid_t pid, int signal, const struct __ptrace_syscall_info *entry,
                    bool shares)
{
    kill(pid, signal);
    if (signal == SIGKILL)
        return;            /* a call that was entered is not made */
    if (!death->leaving) { /* it is, and the signal comes at its end */
        death->leaving = true;
        follow(death, entry, shares, (int64_t)entry->entry.args[2]);
    }
    ptrace(PTRACE_DETACH, pid, 0, 0);
}

/* Lets the copier run from call to call; to its end without a cut. */
static void walk(struct death *death, const struct copier *copier, const struct cut *cut, bool shares)
{
    struct __ptrace_syscall_info info, entry = {0};
    bool begun = false;
    int status;
    if (ptrace(PTRACE_SEIZE, copier->pid, 0, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL) < 0 ||
        ptrace(PTRACE_INTERRUPT, copier->pid, 0, 0) < 0)
        die("ptrace");
    tell(copier);
    for (;;) {
        siginfo_t dead = {0};
        if (waitid(P_PID, (id_t)copier->pid, &dead, WEXITED | WSTOPPED | WNOWAIT) < 0)
            die("waitid");
        if (dead.si_code == CLD_EXITED || dead.si_code == CLD_KILLED || dead.si_code == CLD_DUMPED)
            return;
        waitpid(copier->pid, &status, 0);
        int signal = WSTOPSIG(status);
        if (signal == STOPPED_AT_CALL) {
            signal = 0;
            ptrace(PTRACE_GET_SYSCALL_INFO, copier->pid, sizeof info, &info);
            death->leaving = info.op == PTRACE_SYSCALL_INFO_EXIT;
            if (!death->leaving)
                entry = info;
            death->call = classify(&entry);
            begun |= !death->leaving && death->call == CALL_READ;
            if (begun) {
                death->acted |= death->call == CALL_PREAD;
                follow(death, &entry, shares, death->leaving ? info.exit.rval : 0);
                bool exits = entry.entry.nr == SYS_exit_group; /* a signal comes too late for it */
                if (cut && death->stops == cut->stop && !exits) {
                    death->found = true;
                    cut_off(death, copier->pid, cut->signal, &entry, shares);
                    return;
                }
                if (death->call < CALL_PRCTL && death->moves < MOVES)
                    death->move[death->moves++] = death->stops;
                death->stops++;
            }
        } else if (status >> 16) {
            signal = 0;
        }
        ptrace(PTRACE_SYSCALL, copier->pid, 0, signal);
    }
}

static void kill_after(const struct copier *copier, double start, const struct cut *cut)
{
    double when = start + cut->after;
    struct timespec time = {(time_t)when, (long)((when - (double)(time_t)when) * 1e9)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
    kill(copier->pid, cut->signal);
}

/* A session has a handler for SIGSYS, and only a session: the one who died still tells. */
static bool had_session(pid_t pid)
{
    char path[32], line[128];
    unsigned long long caught = 0;
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    FILE *file = fopen(path, "re");
    if (!file)
        die(path);
    while (fgets(line, sizeof line, file))
        sscanf(line, "SigCgt: %llx", &caught);
    fclose(file);
    return caught >> (SIGSYS - 1) & 1;
}

void copy_run(struct death *death, const struct ends *ends, const struct shape *shape,
              const struct place *place, const struct cut *cut, bool shim, bool trace)
{
    struct copier copier;
    *death = (struct death){.call = CALL_OTHER};
    start(&copier, ends, shape, place, shim);
    double begin = seconds();
    if (trace || (cut && !cut->timed)) {
        walk(death, &copier, cut, place->shares);
    } else {
        tell(&copier);
        if (cut)
            kill_after(&copier, begin, cut);
    }
    siginfo_t dead;
    if (waitid(P_PID, (id_t)copier.pid, &dead, WEXITED | WNOWAIT) < 0)
        die("waitid");
    death->seconds = seconds() - begin;
    death->active = had_session(copier.pid);
    waitpid(copier.pid, &death->status, 0);
    close(copier.go);
    close(copier.ready);
    struct stat st;
    death->in = lseek(ends->in, 0, SEEK_CUR);
    death->out = lseek(ends->out, 0, SEEK_CUR);
    if (fstat(ends->out, &st) < 0)
        die("fstat");
    death->size = st.st_size;
}
