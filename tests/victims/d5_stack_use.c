/* How deep read and write go on a stack of their own, painted beforehand: the measure is printed in bytes,
 * for the test to compare. "pass": descriptors that nobody would help with (a pipe, /dev/zero, /dev/null).
 * "session": a loop that may be helped; the deepest call of all. "clone": instead, a process on a stack of
 * two pages that shares the memory copies the whole file.
 *
 * d5_stack_use SRC DST pass|session|clone
 */
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "copy.h"

#define PAINT 0x7c
#define SIZE (64 << 10)

/* Calls function() on the stack that ends at top. */
void call_on_stack(void *top, void (*function)(void));
__asm__(".text\n"
        ".type call_on_stack, @function\n"
        "call_on_stack:\n"
        "	push %rbp\n"
        "	mov %rsp, %rbp\n"
        "	mov %rdi, %rsp\n"
        "	call *%rsi\n"
        "	mov %rbp, %rsp\n"
        "	pop %rbp\n"
        "	ret\n"
        ".size call_on_stack, .-call_on_stack\n");

static char buffer[4096];
static int in, out;
static volatile ssize_t result;

static void read_once(void)
{
    result = read(in, buffer, 512);
}

static void write_once(void)
{
    result = write(out, buffer, (size_t)result);
}

static char *stack;

static long depth_of(void (*function)(void))
{
    memset(stack, PAINT, SIZE);
    call_on_stack(stack + SIZE, function);
    long i = 0;
    while (i < SIZE && stack[i] == PAINT)
        i++;
    return SIZE - i;
}

static int copy_all(void *unused)
{
    (void)unused;
    copy_bytes(in, out, buffer, 512, -1);
    return 7;
}

int main(int argc, char **argv)
{
    NEED(argc == 4);
    stack = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    NEED(stack != MAP_FAILED);
    in = open_source(argv[1]);
    out = open_destination(argv[2]);

    /* The first call of each goes through the dynamic linker's binding. */
    NEED(read(in, buffer, 1) == 1 && write(out, buffer, 1) == 1 && lseek(in, 0, SEEK_SET) == 0 &&
         lseek(out, 0, SEEK_SET) == 0);

    if (strcmp(argv[3], "clone") == 0) {
        char *two_pages = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        NEED(two_pages != MAP_FAILED && mprotect(two_pages, 4096, PROT_NONE) == 0);
        pid_t child =
            clone(copy_all, two_pages + 3 * 4096, CLONE_VM | CLONE_FS | CLONE_FILES | SIGCHLD, NULL);
        int status = 0;
        NEED(child > 0 && waitpid(child, &status, 0) == child);
        printf("child %s\n", WIFEXITED(status) && WEXITSTATUS(status) == 7 ? "ended well" : "died");
        return 0;
    }
    long deepest = 0;
    if (strcmp(argv[3], "pass") == 0) {
        int ends[2];
        NEED(pipe(ends) == 0 && write(ends[1], buffer, 2048) == 2048);
        int pairs[2][2] = {{ends[0], open("/dev/null", O_WRONLY)}, {open("/dev/zero", O_RDONLY), ends[1]}};
        for (int i = 0; i < 2; i++) {
            in = pairs[i][0];
            out = pairs[i][1];
            for (int turn = 0; turn < 3; turn++) {
                long depth = depth_of(read_once);
                NEED(result > 0);
                deepest = depth > deepest ? depth : deepest;
                depth = depth_of(write_once);
                NEED(result > 0);
                deepest = depth > deepest ? depth : deepest;
            }
        }
    } else {
        for (;;) {
            long depth = depth_of(read_once);
            deepest = depth > deepest ? depth : deepest;
            if (result <= 0)
                break;
            depth = depth_of(write_once);
            deepest = depth > deepest ? depth : deepest;
        }
    }
    printf("%ld\n", deepest);
    return 0;
}
