/* Copies to the end of the source; what fails is tried again. Then says what it was told on the way, where it
 * is, and whether the process is as it was before: handlers, mask, alternate stack, descriptors.
 *
 * fault_copy SRC DST CHUNK [WORD...]
 *
 *   keep      the destination is not truncated, and writing begins behind its first 5000 bytes
 *   handler   a handler for SIGUSR1, and SIGUSR2 is blocked
 *   stack     the same, on an alternate stack
 *   stop      the loop stops at the first error; what is told to be written is counted
 *   high      the descriptors are 50 and 51, which no loader uses
 *   slow      a millisecond of work with each piece, without a system call
 *   patient   what has failed is tried again later
 *   sync      fsync before the end
 *   twice     the same again, from the start of the source into DST2
 */
#include <signal.h>

#include "victim.h"

enum {
    DESCRIPTORS = 64,
    SIGNALS = 64,
    START = 5000,
    TRIES = 20,
    HIGH = 50,
    PAUSE_US = 5000,
    SIGNAL_STACK = 65536
};

struct state {
    struct {
        unsigned long handler, flags, restorer, mask;
    } action[SIGNALS + 1];
    unsigned long mask;
    stack_t stack;
    struct {
        int exists, on_exec, flags, owner, signal, lease;
    } descriptor[DESCRIPTORS];
};

static volatile sig_atomic_t handled;

static void handler(int number)
{
    (void)number;
    handled++;
}

/* By bare calls: the answers are the kernel's. */
static void look(struct state *state)
{
    memset(state, 0, sizeof *state);
    for (int i = 1; i <= SIGNALS; i++)
        syscall(SYS_rt_sigaction, i, NULL, &state->action[i], 8);
    syscall(SYS_rt_sigprocmask, 0, NULL, &state->mask, 8);
    sigaltstack(NULL, &state->stack);
    for (int fd = 0; fd < DESCRIPTORS; fd++) {
        int on_exec = fcntl(fd, F_GETFD);
        state->descriptor[fd].exists = on_exec >= 0;
        if (on_exec < 0)
            continue;
        state->descriptor[fd].on_exec = on_exec;
        state->descriptor[fd].flags = fcntl(fd, F_GETFL);
        state->descriptor[fd].owner = fcntl(fd, F_GETOWN);
        state->descriptor[fd].signal = fcntl(fd, F_GETSIG);
        state->descriptor[fd].lease = fcntl(fd, F_GETLEASE);
    }
}

static void compare(const struct state *before, const struct state *after)
{
    for (int i = 1; i <= SIGNALS; i++)
        if (memcmp(&before->action[i], &after->action[i], sizeof before->action[i]) != 0)
            note("signal %d: handler %lx, was %lx; flags %lx, were %lx\n", i, after->action[i].handler,
                 before->action[i].handler, after->action[i].flags, before->action[i].flags);
    if (before->mask != after->mask)
        note("mask %lx, was %lx\n", after->mask, before->mask);
    if (before->stack.ss_flags != after->stack.ss_flags || before->stack.ss_sp != after->stack.ss_sp ||
        before->stack.ss_size != after->stack.ss_size)
        note("another alternate stack\n");
    for (int fd = 0; fd < DESCRIPTORS; fd++)
        if (memcmp(&before->descriptor[fd], &after->descriptor[fd], sizeof before->descriptor[fd]) != 0)
            note("descriptor %d is another\n", fd);
}

static bool keep, stops, slow, patient;

static void work(void)
{
    /* Cycles; 1 to 5 GHz. */
    for (uint64_t start = __builtin_ia32_rdtsc(); __builtin_ia32_rdtsc() - start < 2000000;)
        ;
}

/* Whether to go on. */
static bool failed(const char *call, long result)
{
    static int tries;
    if (result < 0)
        note("%s: %s\n", call, strerrorname_np(errno));
    else
        note("%s: nothing\n", call);
    if (patient)
        usleep(PAUSE_US);
    return stops || tries++ == (patient ? 10 * TRIES : TRIES);
}

static long copy(int in, int out, char *buffer, size_t chunk)
{
    long told = 0;
    for (;;) {
        ssize_t got = read(in, buffer, chunk);
        if (slow)
            work();
        if (got == 0)
            return told;
        if (got < 0) {
            if (failed("read", got))
                return told;
            continue;
        }
        for (ssize_t put = 0; put < got;) {
            ssize_t n = write(out, buffer + put, (size_t)(got - put));
            if (n > 0) {
                put += n;
                told += n;
            } else if (failed("write", n)) {
                return told;
            }
        }
    }
}

static int move(int fd, int number)
{
    must(dup2(fd, number), "dup2");
    close(fd);
    return number;
}

static void signals(bool on_stack)
{
    static char stack[SIGNAL_STACK];
    struct sigaction action = {.sa_handler = handler, .sa_flags = on_stack ? SA_ONSTACK : 0};
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    must(sigprocmask(SIG_BLOCK, &set, NULL), "sigprocmask");
    must(sigaction(SIGUSR1, &action, NULL), "sigaction");
    if (on_stack)
        must(sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof stack}, NULL), "sigaltstack");
}

int main(int count, char **arguments)
{
    static struct state before, after;
    bool twice = false, high = false, syncs = false, has_handler = false;
    if (count < 4)
        return 99;
    size_t chunk = size_argument(arguments[3]);
    char *buffer = malloc(chunk);
    for (char **word = arguments + 4; *word; word++) {
        keep |= strcmp(*word, "keep") == 0;
        stops |= strcmp(*word, "stop") == 0;
        high |= strcmp(*word, "high") == 0;
        syncs |= strcmp(*word, "sync") == 0;
        slow |= strcmp(*word, "slow") == 0;
        patient |= strcmp(*word, "patient") == 0;
        twice |= strcmp(*word, "twice") == 0;
        if (strcmp(*word, "handler") == 0 || strcmp(*word, "stack") == 0) {
            has_handler = true;
            signals(**word == 's');
        }
    }
    for (int round = 0; round <= twice; round++) {
        char name[4096];
        snprintf(name, sizeof name, "%s%s", arguments[2], round ? "2" : "");
        int flags = O_WRONLY | O_CREAT | (keep ? 0 : O_TRUNC);
        int in = (int)must(open(arguments[1], O_RDONLY), arguments[1]);
        int out = (int)must(open(name, flags, 0666), name);
        if (high) {
            in = move(in, HIGH);
            out = move(out, HIGH + 1);
        }
        if (keep)
            must(lseek(out, START, SEEK_SET), "lseek");
        look(&before);
        long done = copy(in, out, buffer, chunk);
        if (!stops) {
            look(&after);
            compare(&before, &after);
            where("end", in, out);
        }
        if (syncs)
            told("fsync", fsync(out));
        long in_at = lseek(in, 0, SEEK_CUR);
        if (close(out) != 0)
            note("close: %s\n", strerrorname_np(errno));
        note("told %ld, source at %ld\n", done, in_at);
        close(in);
    }
    if (has_handler) {
        raise(SIGUSR1);
        note("handled %d\n", (int)handled);
    }
    say();
    return 0;
}
