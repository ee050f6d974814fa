/*
 * handover HOW CHUNK PAIRS: copies PAIRS pieces from descriptor 0 to descriptor 1 and then gives both up,
 * in the way that HOW says. Somebody else goes on with them.
 */
#include "victim.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

static char buffer[1 << 16];

static void turns(int get, int put, const char *name, size_t chunk)
{
    /* One at a time: the other process waits at its pipe meanwhile. */
    char token;
    while (read(get, &token, 1) == 1) {
        for (int pair = 0; pair < 7; pair++) {
            ssize_t n = read(0, buffer, chunk);
            if (n <= 0)
                return;
            if (pair == 0)
                buffer[0] = *name;
            must(write(1, buffer, (size_t)n), "write");
        }
        if (write(put, "t", 1) != 1)
            return;
    }
}

static void fork_and_alternate(size_t chunk)
{
    int to_child[2], to_parent[2];
    must(pipe(to_child), "pipe");
    must(pipe(to_parent), "pipe");
    signal(SIGPIPE, SIG_IGN);
    pid_t pid = (pid_t)must(fork(), "fork");
    if (pid == 0) {
        close(to_child[1]), close(to_parent[0]);
        turns(to_child[0], to_parent[1], "child", chunk);
        _exit(0);
    }
    close(to_child[0]), close(to_parent[1]);
    must(write(to_child[1], "t", 1), "write");
    turns(to_parent[0], to_child[1], "parent", chunk);
    close(to_child[1]), close(to_parent[0]);
    waitpid(pid, NULL, 0);
}

int main(int count, char **arguments)
{
    if (count != 4)
        return 99;
    const char *how = arguments[1];
    size_t chunk = size_argument(arguments[2]);
    long pairs = atol(arguments[3]);
    ssize_t n = copy_pairs(0, 1, buffer, chunk, pairs);

    if (strcmp(how, "return") == 0)
        return 0;
    if (strcmp(how, "exit") == 0)
        exit(3);
    if (strcmp(how, "_exit") == 0)
        _exit(4);
    if (strcmp(how, "quick-exit") == 0)
        quick_exit(5);
    if (strcmp(how, "bare-exit") == 0)
        bare(SYS_exit_group, 6, 0, 0);
    if (strcmp(how, "pthread-exit") == 0)
        pthread_exit(NULL);
    if (strcmp(how, "abort") == 0)
        abort();
    if (strcmp(how, "kill") == 0)
        kill(getpid(), SIGKILL);
    if (strcmp(how, "bare-kill") == 0)
        bare(SYS_kill, bare(SYS_getpid, 0, 0, 0), SIGTERM, 0);
    if (strcmp(how, "closed") == 0) {
        if (close(1) != 0 || close(0) != 0)
            return 9;
        return 0;
    }
    if (strcmp(how, "read-not-written") == 0) {
        n = read(0, buffer, chunk);
        return n > 0 ? 0 : 1;
    }
    if (strcmp(how, "half-written") == 0) {
        n = read(0, buffer, chunk);
        return n > 0 && write(1, buffer, (size_t)n / 2 + 1) > 0 ? 0 : 1;
    }
    if (strcmp(how, "other-bytes") == 0)
        return write(1, "the end\n", 8) == 8 ? 0 : 1;
    if (strcmp(how, "exec") == 0)
        execlp("sh", "sh", "-c", "head -c 10; echo; wc -c < /proc/self/fd/1; cksum", NULL);
    if (strcmp(how, "exec-self") == 0)
        execl("/proc/self/exe", "handover", "return", arguments[2], arguments[3], NULL);
    if (strcmp(how, "fork-child-exits") == 0) {
        pid_t pid = fork();
        if (pid == 0)
            exit(0);
        waitpid(pid, NULL, 0);
        return copy_pairs(0, 1, buffer, chunk, pairs) < 0;
    }
    if (strcmp(how, "fork-parent-exits") == 0) {
        int gone[2];
        must(pipe(gone), "pipe");
        if (fork() == 0) {
            /* The parent's end of the pipe closes when it is gone. */
            char byte;
            close(gone[1]);
            if (read(gone[0], &byte, 1) != 0)
                _exit(1);
            copy_pairs(0, 1, buffer, chunk, pairs);
            exit(0);
        }
        _exit(0);
    }
    if (strcmp(how, "fork-alternate") == 0) {
        fork_and_alternate(chunk);
        return 0;
    }
    return 99;
}
