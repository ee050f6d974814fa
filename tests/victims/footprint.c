/*
 * footprint CHUNK: a whole loop, with errno watched at each call, between two looks at everything of the
 * process that a library could leave something in.
 */
#include "victim.h"

#include <dirent.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>

extern char **environ;

static char own_stack[1 << 16];

static void descriptors(void)
{
    char path[64], target[300];
    for (int fd = 0; fd < 1024; fd++) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        ssize_t n = readlink(path, target, sizeof target - 1);
        if (n < 0)
            continue;
        target[n] = 0;
        char *name = strrchr(target, '/');
        /* Numbers of pipes differ from run to run. */
        note("fd %d: %.*s, flags %x %x\n", fd, (int)strcspn(name ? name : target, ":"), name ? name : target,
             fcntl(fd, F_GETFD), fcntl(fd, F_GETFL));
    }
}

static void signals(void)
{
    for (int number = 1; number < NSIG; number++) {
        struct sigaction action;
        if (sigaction(number, NULL, &action) != 0)
            continue;
        if (action.sa_handler != SIG_DFL || action.sa_flags)
            note("signal %d: handler %s, flags %x, mask %lx\n", number,
                 action.sa_handler == SIG_DFL   ? "default"
                 : action.sa_handler == SIG_IGN ? "ignore"
                                                : "set",
                 action.sa_flags, *(unsigned long *)&action.sa_mask);
    }
    stack_t stack;
    sigaltstack(NULL, &stack);
    note("alternate stack %s, flags %x, size %zu\n",
         stack.ss_sp == own_stack ? "own"
         : stack.ss_sp            ? "foreign"
                                  : "none",
         stack.ss_flags, stack.ss_size);
    sigset_t set;
    sigprocmask(SIG_SETMASK, NULL, &set);
    note("blocked %lx\n", *(unsigned long *)&set);
    sigpending(&set);
    note("pending %lx\n", *(unsigned long *)&set);
}

static void status_lines(void)
{
    static const char *const wanted[] = {
        "Threads:",    "SigPnd:",  "ShdPnd:",          "SigBlk:", "SigIgn:",    "SigCgt:",
        "NoNewPrivs:", "Seccomp:", "Seccomp_filters:", "FDSize:", "TracerPid:", "CapEff:"};
    static char status[8192];
    int fd = (int)must(open("/proc/self/status", O_RDONLY), "status");
    ssize_t n = bare(SYS_read, fd, (long)status, sizeof status - 1);
    close(fd);
    status[n > 0 ? n : 0] = 0;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        char *found = strstr(status, wanted[i]);
        if (found)
            note("%.*s\n", (int)strcspn(found, "\n"), found);
    }
}

static void others(void)
{
    struct itimerval timer;
    struct rlimit limit;
    char name[16] = "";
    int number = -1;
    for (int which = 0; which < 3; which++) {
        getitimer(which, &timer);
        note("timer %d: %ld\n", which, timer.it_value.tv_sec);
    }
    for (int which = 0; which < RLIM_NLIMITS; which++) {
        getrlimit(which, &limit);
        note("limit %d: %lx %lx\n", which, (long)limit.rlim_cur, (long)limit.rlim_max);
    }
    prctl(PR_GET_NAME, name);
    prctl(PR_GET_PDEATHSIG, &number);
    note("name %s, death signal %d, dumpable %d, subreaper, priority %d\n", name, number,
         prctl(PR_GET_DUMPABLE), getpriority(PRIO_PROCESS, 0));
    /* Enabled system call dispatch would be found on by switching it off, which is no way to ask;
     * a child inherits nothing of it, but a call of ours would be caught here. */
    note("getppid %s\n", bare(SYS_getppid, 0, 0, 0) > 0 ? "works" : "fails");
    int settings = 0;
    for (char **setting = environ; *setting; setting++)
        settings += strncmp(*setting, "XFERSHIM", 8) != 0 && strncmp(*setting, "LD_PRELOAD", 10) != 0;
    note("%d settings, umask %o\n", settings, umask(022));
}

static void look(const char *when)
{
    note("-- %s\n", when);
    descriptors();
    signals();
    status_lines();
    others();
}

static void handler(int number)
{
    (void)number;
}

int main(int count, char **arguments)
{
    static char buffer[1 << 16];
    if (count != 3)
        return 99;
    size_t chunk = size_argument(arguments[2]);
    if (strcmp(arguments[1], "busy") == 0) {
        /* A program with settings of its own must find those again. */
        stack_t stack = {.ss_sp = own_stack, .ss_size = sizeof own_stack};
        struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK | SA_RESTART};
        sigaddset(&action.sa_mask, SIGUSR2);
        sigaltstack(&stack, NULL);
        for (int number = SIGUSR1; number <= SIGTERM; number++)
            if (number != SIGSEGV)
                sigaction(number, &action, NULL);
        signal(SIGPIPE, SIG_IGN);
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGHUP);
        sigprocmask(SIG_BLOCK, &set, NULL);
        prctl(PR_SET_NAME, "busy");
        umask(027);
    }
    look("before");
    int in = (int)must(open("in", O_RDONLY), "in");
    int out = (int)must(open("out", O_WRONLY | O_CREAT | O_TRUNC, 0666), "out");
    long disturbed = 0;
    ssize_t n;
    do {
        /* 0 at the start of a program, anything later: success leaves it alone. */
        errno = disturbed % 2 ? 0 : EXDEV;
        int expected = errno;
        n = read(in, buffer, chunk);
        disturbed += errno != expected;
        if (n > 0 && write(out, buffer, (size_t)n) != n)
            disturbed += 1000000;
        disturbed += errno != expected;
    } while (n > 0);
    note("errno changed %ld times\n", disturbed);
    look("after the loop");
    close(in), close(out);
    look("after close");
    say();
    return 0;
}
