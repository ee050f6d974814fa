/* A child with memory of its own but the same table of descriptors (clone with CLONE_FILES): what it does to
 * them, the parent's next call must see, and no call of the parent says when. "idle": it is there from
 * beginning to end. "moves": in the middle, told through a pipe, it moves the source's offset and puts
 * another file at the destination's number.
 *
 * b15_shared_descriptors SRC DST DST2 idle|moves */
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "copy.h"

#define STACK (256 << 10)

static int in, out, go[2], done[2];
static const char *second;

static int child(void *mode)
{
    char byte;
    if (read(go[0], &byte, 1) != 1)
        return 1;
    if (strcmp(mode, "moves") == 0) {
        int other = open(second, O_WRONLY | O_CREAT | O_TRUNC, 0644);
        if (other < 0 || lseek(in, 3000, SEEK_CUR) < 0 || dup2(other, out) != out || close(other) != 0)
            return 2;
    }
    return write(done[1], "", 1) == 1 ? 3 : 4;
}

int main(int argc, char **argv)
{
    static char buffer[1000];
    char byte;
    int status;

    NEED(argc == 5);
    second = argv[3];
    in = open_source(argv[1]);
    out = open_destination(argv[2]);
    NEED(pipe(go) == 0 && pipe(done) == 0);
    char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    NEED(stack != MAP_FAILED);
    pid_t pid = clone(child, stack + STACK, CLONE_FILES | SIGCHLD, argv[4]);
    NEED(pid > 0);
    long total = copy_bytes(in, out, buffer, sizeof buffer, strcmp(argv[4], "idle") == 0 ? -1 : 2000000);
    NEED(write(go[1], "", 1) == 1 && read(done[0], &byte, 1) == 1);
    total += copy_bytes(in, out, buffer, sizeof buffer, -1);
    printf("%ld bytes, source at %ld\n", total, (long)lseek(in, 0, SEEK_CUR));
    NEED(waitpid(pid, &status, 0) == pid);
    printf("child %d\n", WEXITSTATUS(status));
    return 0;
}
