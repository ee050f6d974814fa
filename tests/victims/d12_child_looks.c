/* A child made by vfork, by clone(CLONE_VM) or by fork in the middle of a loop finds in the kernel all that
 * the parent wrote, and both offsets, at its very first instruction: it looks through raw system calls, and
 * moves both offsets on, which the parent must then see.
 *
 * d12_child_looks SRC DST vfork|clone-vfork|clone|fork
 */
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "copy.h"

static int in, out;
static long total;
static volatile int bad_shared;

static int look(void *unused)
{
    struct stat status;
    int bad = 0;

    (void)unused;
    bad |= syscall(SYS_fstat, out, &status) != 0 || status.st_size != total;
    bad |= (syscall(SYS_lseek, in, 0, SEEK_CUR) != total) << 1;
    bad |= (syscall(SYS_lseek, out, 0, SEEK_CUR) != total) << 2;
    bad |= (syscall(SYS_lseek, in, 1000, SEEK_CUR) != total + 1000) << 3;
    bad |= (syscall(SYS_lseek, out, 1000, SEEK_CUR) != total + 1000) << 4;
    return bad;
}

int main(int argc, char **argv)
{
    static char buffer[500];
    int bad = 0;

    NEED(argc == 4);
    in = open_source(argv[1]);
    out = open_destination(argv[2]);
    for (int round = 0; round < 20; round++) {
        int status = 0;
        pid_t child;
        long more = copy_bytes(in, out, buffer, sizeof buffer, 500 * (100 + round));

        NEED(more > 0);
        total += more;
        if (strcmp(argv[3], "vfork") == 0) {
            child = vfork();
            if (child == 0)
                _exit(look(NULL));
        } else if (strcmp(argv[3], "fork") == 0) {
            child = fork();
            if (child == 0)
                _exit(look(NULL));
        } else {
            char *stack = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            NEED(stack != MAP_FAILED);
            child = clone(look, stack + 65536,
                          CLONE_VM | SIGCHLD | (strcmp(argv[3], "clone") == 0 ? 0 : CLONE_VFORK), NULL);
        }
        NEED(child > 0 && waitpid(child, &status, 0) == child);
        bad |= WIFEXITED(status) ? WEXITSTATUS(status) : 0x100;
        total += 1000;
        bad |= (lseek(in, 0, SEEK_CUR) != total) << 5;
    }
    copy_bytes(in, out, buffer, sizeof buffer, -1);
    printf("bad %#x\n", bad);
    return 0;
}
