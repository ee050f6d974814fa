/* The program has an alternate signal stack, small or large, and perhaps a handler that runs on it.
 *
 * b2_alternate_stack SRC DST small|large handler|none|reused
 *
 * reused: no handler needs the stack any more, and its memory has become the copy's buffer; a call between
 * read and write must not disturb what lies in it.
 */
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/time.h>

#include "copy.h"

#define GUARD_BYTE 0x5a
#define LARGE (256 << 10)
#define REUSED 8192

static volatile sig_atomic_t ticks, off_stack;
static char *stack;
static size_t stack_size;

static void tick(int signal)
{
    char here;

    (void)signal;
    ticks++;
    if (&here < stack || &here >= stack + stack_size)
        off_stack++;
}

int main(int argc, char **argv)
{
    char buffer[512];
    struct itimerval every_ms = {{0, 1000}, {0, 1000}}, none = {0};

    NEED(argc == 5);
    int in = open_source(argv[1]), out = open_destination(argv[2]);

    /* Below the stack lies a painted page: an overflow shows there. 256 bytes are enough for tick(). */
    size_t page = 4096;
    /* The kernel takes no stack below 2048 bytes. */
    size_t least = getauxval(AT_MINSIGSTKSZ) + 256;
    stack_size = strcmp(argv[3], "large") == 0 ? LARGE : least < 2048 ? 2048 : (least + 15) & ~15UL;
    char *memory = mmap(NULL, page + stack_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    NEED(memory != MAP_FAILED);
    memset(memory, GUARD_BYTE, page);
    stack = memory + page;
    stack_t mine = {.ss_sp = stack, .ss_size = stack_size}, now;
    NEED(sigaltstack(&mine, NULL) == 0);

    if (strcmp(argv[4], "handler") == 0) {
        struct sigaction action = {.sa_handler = tick, .sa_flags = SA_ONSTACK | SA_RESTART};
        NEED(sigaction(SIGALRM, &action, NULL) == 0);
        NEED(setitimer(ITIMER_REAL, &every_ms, NULL) == 0);
    }
    long total = 0;
    if (strcmp(argv[4], "reused") == 0) {
        char *top = stack + stack_size - REUSED; /* where a signal frame would go */
        ssize_t n;
        for (unsigned turn = 1; (n = read(in, top, REUSED)) > 0; turn++) {
            if (turn % 3 == 0)
                getppid();
            NEED(write(out, top, (size_t)n) == n);
            total += n;
        }
    }
    total += copy_bytes(in, out, buffer, sizeof buffer, -1);
    NEED(setitimer(ITIMER_REAL, &none, NULL) == 0);

    NEED(sigaltstack(NULL, &now) == 0);
    int overflow = 0;
    for (size_t i = 0; i < page; i++)
        overflow |= memory[i] != GUARD_BYTE;
    printf("%ld bytes, alternate stack %s, handler %s, overflow %d\n", total,
           now.ss_sp == mine.ss_sp && now.ss_size == mine.ss_size && now.ss_flags == 0 ? "kept" : "changed",
           off_stack ? "elsewhere" : "on it", overflow);
    if (strcmp(argv[4], "handler") == 0)
        printf("%s\n", ticks > 2 ? "ticked" : "no tick");
    return 0;
}
