/* Green threads: a timer's handler switches from one coroutine to the other and leaves its frame on the stack
 * of the first, which later goes on in the middle of the handler. Each coroutine copies the source.
 *
 * b2_preempted SRC DST0 DST1 asking|plain
 *
 * asking: the handler has SA_ONSTACK, and there is no alternate stack.
 */
#include <signal.h>
#include <sys/time.h>
#include <ucontext.h>

#include "copy.h"

#define STACK (256 << 10)

static ucontext_t main_context, context[2];
static char stack[2][STACK] __attribute__((aligned(4096)));
static volatile int current = -1, finished[2], torn, switches;
/* swapcontext() gives the signals free before it is on the other stack: the next tick may come there already.
 */
static volatile int switching;
static const char *source, *destination[2];

static void tick(int signal)
{
    volatile char mine[3000];
    int me = current;

    (void)signal;
    if (me < 0 || switching || finished[!me])
        return;
    for (unsigned i = 0; i < sizeof mine; i++)
        mine[i] = (char)(me + 1);
    switches++;
    switching = 1;
    current = !me;
    swapcontext(&context[me], &context[!me]);
    switching = 0;
    for (unsigned i = 0; i < sizeof mine; i++)
        torn += mine[i] != me + 1;
}

static void body(int me)
{
    char buffer[512];
    sigset_t alarm;
    switching = 0;
    int in = open_source(source), out = open_destination(destination[me]);

    NEED(copy_bytes(in, out, buffer, sizeof buffer, -1) > 0);
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    sigprocmask(SIG_BLOCK, &alarm, NULL);
    finished[me] = 1;
    current = finished[!me] ? -1 : !me;
    setcontext(finished[!me] ? &main_context : &context[!me]);
}

int main(int argc, char **argv)
{
    static volatile int begun;
    struct itimerval every = {{0, 500}, {0, 500}}, none = {0};

    NEED(argc == 5);
    source = argv[1];
    destination[0] = argv[2];
    destination[1] = argv[3];
    NEED(getcontext(&main_context) == 0);
    if (!begun) {
        begun = 1;
        static int i; /* getcontext() returns like setjmp() */
        for (i = 0; i < 2; i++) {
            NEED(getcontext(&context[i]) == 0);
            context[i].uc_stack = (stack_t){.ss_sp = stack[i], .ss_size = STACK};
            context[i].uc_link = &main_context;
            makecontext(&context[i], (void (*)(void))body, 1, i);
        }
        struct sigaction action = {.sa_handler = tick, .sa_flags = SA_RESTART};
        if (strcmp(argv[4], "asking") == 0)
            action.sa_flags |= SA_ONSTACK;
        NEED(sigaction(SIGALRM, &action, NULL) == 0);
        NEED(setitimer(ITIMER_REAL, &every, NULL) == 0);
        current = 0;
        setcontext(&context[0]);
    }
    NEED(setitimer(ITIMER_REAL, &none, NULL) == 0);
    stack_t now;
    struct sigaction action;
    NEED(sigaltstack(NULL, &now) == 0 && sigaction(SIGALRM, NULL, &action) == 0);
    printf("%s, torn %d, alternate stack %s, handler %s\n", switches > 2 ? "switched" : "no switch", torn,
           now.ss_flags & SS_DISABLE ? "none" : "there", action.sa_flags & SA_ONSTACK ? "asking" : "plain");
    return 0;
}
