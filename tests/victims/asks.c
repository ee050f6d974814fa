/*
 * asks HOW CHUNK: every few turns of its loop it asks another process, through a pipe, to change the
 * source in front of it, waits for the answer and goes on.
 */
#include "victim.h"

#include <sys/mman.h>
#include <sys/wait.h>

static char buffer[1 << 16];

static void change(const char *how, int fd, long at)
{
    char bytes[40];
    snprintf(bytes, sizeof bytes, "<changed at %20ld>", at);
    size_t size = strlen(bytes);
    long end = lseek(fd, 0, SEEK_END);
    if (strcmp(how, "pwrite") == 0) {
        if (at + 5000 < end)
            must(pwrite(fd, bytes, size, at + 3), "pwrite");
    } else if (strcmp(how, "store") == 0) {
        long page = at & -4096;
        if (page + 4096 > end)
            return;
        char *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, page);
        memcpy(map + 4000, bytes, size);
        munmap(map, 4096);
    } else if (strcmp(how, "shrink") == 0) {
        if (end - 3000 > at)
            must(ftruncate(fd, end - 3000), "ftruncate");
    } else if (strcmp(how, "shrink-behind") == 0) {
        /* Below what has been read: the next read finds the end. */
        if (at > 100000)
            must(ftruncate(fd, at - 1000), "ftruncate");
    } else if (strcmp(how, "grow") == 0) {
        if (end < 900000)
            must(pwrite(fd, bytes, size, end), "pwrite");
    } else if (strcmp(how, "grow-at-end") == 0) {
        if (at == end && end < 900000)
            must(pwrite(fd, bytes, size, end), "pwrite");
    } else {
        must(ftruncate(fd, 0), "ftruncate");
        must(pwrite(fd, bytes, size, 0), "pwrite");
    }
}

static pid_t start_helper(const char *how, int *ask, int *answer)
{
    int asked[2], answered[2];
    must(pipe(asked), "pipe");
    must(pipe(answered), "pipe");
    pid_t pid = (pid_t)must(fork(), "fork");
    if (pid == 0) {
        long at;
        int fd = (int)must(open("in", O_RDWR), "in");
        close(asked[1]), close(answered[0]);
        while (read(asked[0], &at, sizeof at) == sizeof at) {
            change(how, fd, at);
            must(write(answered[1], "", 1), "write");
        }
        _exit(0);
    }
    close(asked[0]), close(answered[1]);
    *ask = asked[1], *answer = answered[0];
    return pid;
}

int main(int count, char **arguments)
{
    if (count != 3)
        return 99;
    size_t chunk = size_argument(arguments[2]);
    int ask, answer;
    pid_t helper = start_helper(arguments[1], &ask, &answer);
    int in = (int)must(open("in", O_RDONLY), "in");
    int out = (int)must(open("out", O_WRONLY | O_CREAT | O_TRUNC, 0666), "out");
    /* No call but the message itself may be what makes the change visible. */
    long at = 0, pairs = 3;
    for (int turn = 0; turn < 400; turn++) {
        char byte;
        ssize_t n = 0;
        for (long pair = 0; pair < pairs && (n = read(in, buffer, chunk)) > 0; pair++) {
            at += n;
            must(write(out, buffer, (size_t)n), "write");
        }
        note("%ld\n", at);
        must(write(ask, &at, sizeof at), "ask");
        must(read(answer, &byte, 1), "answer");
        if (n <= 0 && turn > 20)
            break;
        pairs = turn % 8 == 7 ? 3 : pairs + pairs / 2;
    }
    where("end", in, out);
    close(ask);
    waitpid(helper, NULL, 0);
    say();
    return 0;
}
