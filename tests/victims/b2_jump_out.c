/* A 1 kHz timer whose handler jumps out of whatever it interrupted, all through a copy loop.
 * Two ways of going on. "resume": the program asks the kernel how far it got, which plain answers with the
 * source at the destination's offset or one piece ahead. "forward": it goes on with the next piece without a
 * single system call (SA_NODEFER and no saved mask, so the jump makes none either); then a piece may be
 * missing, once for each jump, but none is doubled, torn or out of order.
 *
 * b2_jump_out SRC DST resume|forward savemask|nomask CHUNK ordinary|alternate (the stack of the handler) */
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <sys/time.h>

#include "copy.h"

/* Room for a nested handler of the largest machines. */
#define STACK (256 << 10)

static sigjmp_buf back;
static volatile sig_atomic_t jumps, armed;

static void jump(int signal)
{
    (void)signal;
    if (!armed)
        return;
    jumps++;
    siglongjmp(back, 1);
}

int main(int argc, char **argv)
{
    static char buffer[65536];
    struct itimerval every_ms = {{0, 1000}, {0, 1000}}, none = {0};

    NEED(argc == 7);
    volatile int in = open_source(argv[1]), out = open_destination(argv[2]);
    volatile int resume = strcmp(argv[3], "resume") == 0, save_mask = strcmp(argv[4], "savemask") == 0;
    volatile size_t chunk = strtoul(argv[5], NULL, 10);
    volatile long torn = 0;
    struct sigaction action = {.sa_handler = jump, .sa_flags = SA_RESTART | (save_mask ? 0 : SA_NODEFER)};

    NEED(chunk <= sizeof buffer);
    if (strcmp(argv[6], "alternate") == 0) {
        stack_t stack = {.ss_sp = malloc(STACK), .ss_size = STACK};
        NEED(stack.ss_sp && sigaltstack(&stack, NULL) == 0);
        action.sa_flags |= SA_ONSTACK;
    }
    NEED(sigaction(SIGALRM, &action, NULL) == 0);
    NEED(setitimer(ITIMER_REAL, &every_ms, NULL) == 0);

    sigsetjmp(back, save_mask);
    armed = 0;
    if (resume && jumps) {
        off_t from = lseek(in, 0, SEEK_CUR), to = lseek(out, 0, SEEK_CUR);
        if (from != to && from != to + (off_t)chunk)
            torn++;
        NEED(lseek(in, to, SEEK_SET) == to);
    }
    armed = 1;
    for (;;) {
        ssize_t got = read(in, buffer, chunk);
        if (got <= 0)
            break;
        if (write(out, buffer, (size_t)got) != got)
            torn += 1000;
    }
    armed = 0;
    NEED(setitimer(ITIMER_REAL, &none, NULL) == 0);
    off_t from = lseek(in, 0, SEEK_CUR), to = lseek(out, 0, SEEK_CUR);
    long missing = (from - to) / (long)chunk;
    printf("%s, torn %ld, source at %ld, %s\n", jumps > 2 ? "jumped" : "no jump", torn, (long)from,
           missing < 0         ? "doubled"
           : resume && missing ? "missing"
           : missing > jumps   ? "more missing than jumps"
                               : "complete");
    return 0;
}
