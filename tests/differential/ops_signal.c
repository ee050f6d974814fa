/* Signals with handlers that do things, raised where the program says so, or by a timer wherever it likes. */
#include "player.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum action {
    ACTION_COUNT,
    ACTION_READ,
    ACTION_WRITE,
    ACTION_SEEK,
    ACTION_CALL,
    ACTION_COPY,
    ACTION_JUMP,
    ACTION_BAD,
    ACTIONS,
};

/* What the handler of a signal does. */
struct handled {
    int action, in, out, count, pairs;
};

static const int signals[] = {SIGUSR1, SIGUSR2, SIGTRAP, SIGILL, SIGFPE};
#define SIGNALS ((int)(sizeof(signals) / sizeof(signals[0])))

static struct handled handled[SIGNALS];
static bool handler_set[SIGNALS];
static unsigned char bytes[1 << 14], alternate[1 << 16];
static volatile sig_atomic_t in_handler;

static int index_of(int number)
{
    for (int i = 0; i < SIGNALS; i++)
        if (signals[i] == number)
            return i;
    return 0;
}

static void act(const struct handled *h)
{
    errno = ERRNO_UNTOUCHED;
    switch (h->action) {
    case ACTION_READ:
        say_result("handler reads", read(slot[h->in], bytes, (size_t)h->count));
        break;
    case ACTION_WRITE:
        memset(bytes, 'w', (size_t)h->count);
        say_result("handler writes", write(slot[h->out], bytes, (size_t)h->count));
        break;
    case ACTION_SEEK:
        say_result("handler seeks", lseek(slot[h->pairs & 1 ? h->in : h->out], h->count, SEEK_CUR));
        break;
    case ACTION_CALL:
        say_result("handler calls", getppid() > 0);
        break;
    case ACTION_COPY:
        copy_quietly(slot[h->in], slot[h->out], (size_t)h->count, h->pairs);
        say(" handler copies");
        break;
    case ACTION_BAD:
        say_result("handler reads badly", read(slot[h->in], NULL, (size_t)h->count));
        break;
    default:
        say(" handler");
        break;
    }
}

/* The instruction that faulted is passed over: `ud2` has two bytes, `int3` has been passed already. */
static void on_signal(int number, siginfo_t *info, void *context)
{
    ucontext_t *interrupted = context;
    int saved = errno, which = index_of(number);
    in_handler++;
    if (number == SIGILL && info->si_code > 0)
        interrupted->uc_mcontext.gregs[REG_RIP] += 2;
    act(&handled[which]);
    errno = saved;
    in_handler--;
    if (handled[which].action == ACTION_JUMP && jump_to)
        siglongjmp(*jump_to, 1);
}

static void generate_handler(struct draw *draw, int *a)
{
    a[0] = draw_below(draw, SIGNALS);
    a[1] = draw_below(draw, ACTIONS);
    a[2] = draw_source(draw);
    a[3] = draw_destination(draw);
    a[4] = draw_size(draw, 8000);
    a[5] = draw_between(draw, 1, 6);
    a[6] = draw_chance(draw, 15) ? draw_below(draw, 16) : draw_chance(draw, 30) ? 2 : 0;
}

static int execute_handler(int index, const int *a)
{
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
    handled[a[0]] = (struct handled){a[1], a[2], a[3], a[4], a[5]};
    handler_set[a[0]] = true;
    if (a[6] & 1)
        action.sa_flags |= SA_ONSTACK;
    if (a[6] & 2)
        action.sa_flags |= SA_NODEFER;
    if (a[6] & 4)
        sigfillset(&action.sa_mask);
    if (a[6] & 1) {
        stack_t stack = {.ss_sp = alternate, .ss_size = sizeof(alternate)};
        sigaltstack(&stack, NULL);
    }
    say_result("set", sigaction(signals[a[0]], &action, NULL));
    say("\n");
    return index + 1;
}

static void generate_stack(struct draw *draw, int *a)
{
    a[0] = draw_chance(draw, 40) ? 0 : draw_between(draw, 1, 16) * 4096;
}

/* Small ones are used by no handler, which would overflow them. */
static int execute_stack(int index, const int *a)
{
    stack_t stack = {.ss_sp = alternate, .ss_size = (size_t)a[0], .ss_flags = a[0] ? 0 : SS_DISABLE},
            old = {0};
    if (in_handler) {
        say(" not here\n");
        return index + 1;
    }
    for (int i = 0; i < SIGNALS; i++) {
        struct sigaction action;
        sigaction(signals[i], NULL, &action);
        action.sa_flags &= ~SA_ONSTACK;
        if (a[0] && a[0] < 32768 && handler_set[i])
            sigaction(signals[i], &action, NULL);
    }
    errno = ERRNO_UNTOUCHED;
    say_result("stack", sigaltstack(&stack, &old));
    say(" before: %d %zu\n", old.ss_flags, old.ss_flags & SS_DISABLE ? 0 : old.ss_size);
    return index + 1;
}

static void generate_raise(struct draw *draw, int *a)
{
    generate_handler(draw, a);
}

/* A handler by itself every now and then, because most programs would set none before. */
static int execute_raise(int index, const int *a)
{
    int number = signals[a[0]];
    if (in_handler) {
        say(" not here\n");
        return index + 1;
    }
    if (!handler_set[a[0]]) {
        say("\n  ");
        execute_handler(index, a);
    }
    if (number == SIGTRAP)
        __asm__ volatile("int3" ::: "memory");
    else if (number == SIGILL)
        __asm__ volatile("ud2" ::: "memory");
    else
        raise(number);
    say(" raised\n");
    return index + 1;
}

static void generate_privileges(struct draw *draw, int *a)
{
    a[0] = draw_below(draw, 2);
}

/* From here on a library had better make no call that the program does not make. */
static int execute_privileges(int index, const int *a)
{
    if (a[0])
        say_result("prctl", prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    else
        say_result("prctl", syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    say("\n");
    return index + 1;
}

static void generate_mask(struct draw *draw, int *a)
{
    a[0] = draw_chance(draw, 40) ? SIG_UNBLOCK : draw_below(draw, 3);
    a[1] = draw_below(draw, 4);
}

/* Blocked signals come when the mask is opened. A signal of a fault is never blocked: it would kill. */
static int execute_mask(int index, const int *a)
{
    sigset_t set, before;
    sigemptyset(&set);
    switch (a[1]) {
    case 0:
        sigaddset(&set, SIGUSR1);
        break;
    case 1:
        sigaddset(&set, SIGSYS);
        break;
    case 2:
        sigfillset(&set);
        sigdelset(&set, SIGTRAP);
        sigdelset(&set, SIGILL);
        sigdelset(&set, SIGBUS);
        break;
    default:
        break;
    }
    say_result("mask", sigprocmask(a[0], &set, &before));
    for (int i = 0; i < SIGNALS; i++)
        say(" %d", sigismember(&before, signals[i]));
    say("\n");
    return index + 1;
}

static struct {
    volatile sig_atomic_t due;
    volatile sig_atomic_t count;
    struct handled what;
    bool set;
} timer;

/* Says nothing: when it comes is nobody's business. Its copy is between files that nothing else uses then. */
static void on_alarm(int number)
{
    int saved = errno;
    (void)number;
    timer.count = timer.count + 1;
    if (timer.what.action == ACTION_CALL)
        getppid();
    if (timer.due) {
        timer.due = 0;
        copy_quietly(timer.what.in, timer.what.out, (size_t)timer.what.count, timer.what.pairs);
    }
    errno = saved;
}

void timer_forget(void)
{
    timer.set = false;
    timer.due = 0;
}

bool timer_is_set(void)
{
    return timer.set;
}

void timer_finish(void)
{
    struct itimerval none = {0};
    if (!timer.set)
        return;
    timer.set = false;
    setitimer(ITIMER_REAL, &none, NULL);
    if (timer.due)
        on_alarm(SIGALRM);
    if (timer.what.action == ACTION_COPY) {
        close(timer.what.in);
        close(timer.what.out);
    }
}

/* Above every number that a program's close_range reaches. */
#define FIRST_PRIVATE 500

static int high(int fd)
{
    int up = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_PRIVATE);
    close(fd);
    return up;
}

static void timer_files(int *in, int *out)
{
    *in = high(open("t0", O_RDONLY));
    *out = high(open("t1", O_WRONLY | O_CREAT | O_APPEND, 0644));
}

static void generate_timer(struct draw *draw, int *a)
{
    a[0] = draw_between(draw, 20, 2000);
    a[1] = draw_below(draw, 3);
    a[2] = draw_size(draw, 4000);
    a[3] = draw_between(draw, 1, 30);
    a[4] = draw_below(draw, 4);
}

/* Runs the next operation, most often a copy, under a timer. */
static int execute_timer(int index, const int *a)
{
    static const int actions[] = {ACTION_COUNT, ACTION_CALL, ACTION_COPY};
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART | (a[4] & 1 ? SA_NODEFER : 0)};
    struct itimerval when = {.it_value.tv_usec = a[0]};
    if (timer.set || index + 1 >= program_length) {
        say(" not here\n");
        return index + 1;
    }
    sigaction(SIGALRM, &action, NULL);
    timer.what = (struct handled){.action = actions[a[1]], .count = a[2], .pairs = a[3]};
    timer.due = 0;
    if (timer.what.action == ACTION_COPY) {
        timer_files(&timer.what.in, &timer.what.out);
        timer.due = 1;
    } else {
        when.it_interval.tv_usec = a[0];
    }
    timer.set = true;
    setitimer(ITIMER_REAL, &when, NULL);
    say("\n  under it ");
    int next = run_op(index + 1);
    timer_finish();
    return next;
}

static void generate_spin(struct draw *draw, int *a)
{
    a[0] = draw_between(draw, 20, 120);
}

/* Time passes without a system call. */
static int execute_spin(int index, const int *a)
{
    struct timespec start, now;
    clock_gettime(CLOCK_MONOTONIC, &start);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 < a[0]);
    say("\n");
    return index + 1;
}

void signals_start(void)
{
    signal(SIGXFSZ, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
}

static const struct operation operations[] = {
    {"handler", 20, "signal %d does %d source %d destination %d count %d pairs %d flags %#x",
     generate_handler, execute_handler},
    {"raise", 45, "signal %d (does %d source %d destination %d count %d pairs %d flags %#x)", generate_raise,
     execute_raise},
    {"altstack", 12, "size %d", generate_stack, execute_stack},
    {"privileges", 2, "by libc %d", generate_privileges, execute_privileges},
    {"mask", 10, "how %d set %d", generate_mask, execute_mask},
    {"timer", 16, "after %d us, action %d count %d pairs %d flags %d", generate_timer, execute_timer},
    {"spin", 1, "%d ms", generate_spin, execute_spin},
};

const struct table ops_signal = {operations, sizeof(operations) / sizeof(operations[0])};
