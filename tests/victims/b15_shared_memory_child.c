/* In the middle of the parent's loop a child that shares its memory copies another file, with the same
 * functions and so with the same state of whoever stands between.
 *
 * b15_shared_memory_child SRC DST DST2 vfork|vfork-exec|clone|clone-stays
 *
 * "clone": a CLONE_VM process beside
 * the parent, which goes on copying; "clone-stays": it is there, idle, from beginning to end.
 */
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "copy.h"

static const char *source, *second;
static volatile int quit;
static volatile long child_total = -1;

static int copy_second(void *unused)
{
    static char buffer[1000];

    (void)unused;
    int in = open(source, O_RDONLY), out = open(second, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    child_total = copy_bytes(in, out, buffer, sizeof buffer, -1);
    close(in);
    close(out);
    return 0;
}

static int stay(void *unused)
{
    (void)unused;
    while (!quit)
        usleep(1000);
    return 0;
}

int main(int argc, char **argv)
{
    static char buffer[512];
    int status = 0;
    pid_t child;

    NEED(argc == 5);
    source = argv[1];
    second = argv[3];
    int in = open_source(argv[1]), out = open_destination(argv[2]);
    long total = copy_bytes(in, out, buffer, sizeof buffer, 1 << 20);

    /* One piece read and not yet written: what the child does must not disturb it. */
    ssize_t got = read(in, buffer, sizeof buffer);
    if (strncmp(argv[4], "vfork", 5) == 0) {
        child = vfork();
        if (child == 0) {
            copy_second(NULL);
            if (strcmp(argv[4], "vfork-exec") == 0)
                execl("/bin/true", "true", (char *)NULL);
            _exit(3);
        }
    } else {
        size_t size = 256 << 10;
        char *stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        NEED(stack != MAP_FAILED);
        child =
            clone(strcmp(argv[4], "clone") == 0 ? copy_second : stay, stack + size, CLONE_VM | SIGCHLD, NULL);
    }
    NEED(child > 0);
    total += write(out, buffer, (size_t)got);
    total += copy_bytes(in, out, buffer, sizeof buffer, strcmp(argv[4], "clone") == 0 ? 4 << 20 : -1);
    quit = 1;
    NEED(waitpid(child, &status, 0) == child);
    total += copy_bytes(in, out, buffer, sizeof buffer, -1);
    printf("%ld and %ld bytes, child %d\n", total, child_total, WEXITSTATUS(status));
    return 0;
}
