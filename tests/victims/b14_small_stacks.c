/* Two coroutines on 2 KiB stacks, switched by a few instructions and no system call. Below each stack lie
 * painted bytes, below those a page without access. "loop": the main stack copies; after each piece a
 * coroutine runs and now and then makes a raw system call: it traps there. "inside": the loop itself runs in
 * a coroutine, so that everything the loop causes happens on 2 KiB. "swap": one coroutine reads, the other
 * writes.
 *
 * b14_small_stacks SRC DST loop|inside|swap [asking]
 *
 * asking: there is a handler with SA_ONSTACK, and no alternate stack.
 */
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "copy.h"

#define STACK 2048
#define PAGE 4096
#define PAINT 0x6b

/* Saves the callee-saved registers and the stack pointer in *from, continues with to: the System V x86-64
 * calling convention. */
void switch_stack(void **from, void *to);
__asm__(".text\n"
        ".type switch_stack, @function\n"
        "switch_stack:\n"
        "	push %rbp\n	push %rbx\n	push %r12\n	push %r13\n	push %r14\n	push %r15\n"
        "	mov %rsp, (%rdi)\n"
        "	mov %rsi, %rsp\n"
        "	pop %r15\n	pop %r14\n	pop %r13\n	pop %r12\n	pop %rbx\n	pop %rbp\n"
        "	ret\n"
        ".size switch_stack, .-switch_stack\n");

static char buffer[4096];
static int in, out;
static void *main_context, *context[2];
static unsigned char *memory[2];
static volatile long total, pending, turns;
static volatile int done;

static long raw_call(long number)
{
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number) : "rcx", "r11", "memory");
    return result;
}

static void call_now_and_then(void)
{
    for (;;) {
        if (++turns % 16 == 0 && raw_call(SYS_getppid) <= 0)
            total = -1000000;
        switch_stack(&context[0], main_context);
    }
}

static void copy_inside(void)
{
    for (;;) {
        ssize_t got = read(in, buffer, sizeof buffer);
        if (got <= 0)
            break;
        if (write(out, buffer, (size_t)got) != got)
            break;
        total += got;
        if (++turns % 64 == 0)
            raw_call(SYS_getppid);
    }
    done = 1;
    for (;;)
        switch_stack(&context[0], main_context);
}

static void reader(void)
{
    while ((pending = read(in, buffer, sizeof buffer)) > 0)
        switch_stack(&context[0], context[1]);
    done = 1;
    for (;;)
        switch_stack(&context[0], main_context);
}

static void writer(void)
{
    for (;;) {
        long put = write(out, buffer, (size_t)pending);
        total += put;
        if (put != pending)
            done = 1;
        switch_stack(&context[1], context[0]);
    }
}

static void make(int which, void (*function)(void))
{
    unsigned char *map = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    NEED(map != MAP_FAILED);
    NEED(mprotect(map, PAGE, PROT_NONE) == 0);
    memory[which] = map + PAGE;
    memset(map + PAGE, PAINT, 2 * PAGE);
    /* Six registers and the entry; the System V convention wants rsp at 16 n + 8 on entry. */
    uint64_t *top = (uint64_t *)(map + 3 * PAGE) - 3;
    *top = 0;
    *--top = (uint64_t)function;
    top -= 6;
    memset(top, 0, 48);
    context[which] = top;
}

static long deepest(int which)
{
    long i = 0;
    while (i < 2 * PAGE && memory[which][i] == PAINT)
        i++;
    return 2 * PAGE - i;
}

static void ignore(int signal)
{
    (void)signal;
}

int main(int argc, char **argv)
{
    NEED(argc == 4 || argc == 5);
    if (argc == 5) {
        struct sigaction action = {.sa_handler = ignore, .sa_flags = SA_ONSTACK};
        NEED(sigaction(SIGUSR1, &action, NULL) == 0);
    }
    in = open_source(argv[1]);
    out = open_destination(argv[2]);

    /* The dynamic linker binds a function at its first call, which alone takes more than 2 KiB of stack for
     * the vector registers. */
    NEED(read(in, buffer, 1) == 1 && write(out, buffer, 1) == 1);
    NEED(lseek(in, 0, SEEK_SET) == 0 && lseek(out, 0, SEEK_SET) == 0);

    if (strcmp(argv[3], "loop") == 0) {
        make(0, call_now_and_then);
        for (;;) {
            ssize_t got = read(in, buffer, sizeof buffer);
            if (got <= 0)
                break;
            total += write(out, buffer, (size_t)got);
            switch_stack(&main_context, context[0]);
        }
    } else if (strcmp(argv[3], "inside") == 0) {
        make(0, copy_inside);
        while (!done)
            switch_stack(&main_context, context[0]);
    } else {
        make(0, reader);
        make(1, writer);
        while (!done)
            switch_stack(&main_context, context[0]);
    }
    printf("%ld bytes\n", (long)total);
    for (int i = 0; i < 2; i++)
        if (memory[i])
            printf("stack %d %s\n", i, deepest(i) > STACK ? "overflowed" : "fits");
    for (int i = 0; i < 2; i++)
        if (memory[i] && getenv("SHOW_DEPTH"))
            fprintf(stderr, "stack %d: %ld bytes\n", i, deepest(i));
    return 0;
}
