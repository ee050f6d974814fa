/*
 * moving HOW CHUNK: copies "in" while another process changes it without a word. Tells whether "out"
 * holds the very bytes that were passed to write.
 */
#include "victim.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

static char buffer[1 << 16];

static void grow(int fd, long size)
{
    (void)size;
    for (int i = 0; i < 300; i++) {
        must(pwrite(fd, buffer, 1000, lseek(fd, 0, SEEK_END)), "pwrite");
        usleep(100);
    }
}

static void shrink(int fd, long size)
{
    for (int i = 1; i < 100; i++) {
        must(ftruncate(fd, size - size / 120 * i), "ftruncate");
        usleep(200);
    }
}

static void store(int fd, long size)
{
    unsigned char *map = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    for (unsigned long at = 1;; at = at * 6364136223846793005u + 1442695040888963407u)
        map[(at >> 20) % (unsigned long)size]++;
}

static void overwrite(int fd, long size)
{
    for (unsigned long at = 1;; at = at * 6364136223846793005u + 1442695040888963407u)
        must(pwrite(fd, &at, sizeof at, (long)((at >> 20) % (unsigned long)(size - 8))), "pwrite");
}

int main(int count, char **arguments)
{
    if (count != 3)
        return 99;
    const char *how = arguments[1];
    size_t chunk = size_argument(arguments[2]);
    struct stat status;
    must(stat("in", &status), "in");
    pid_t helper = (pid_t)must(fork(), "fork");
    if (helper == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        int fd = (int)must(open("in", O_RDWR), "in");
        (strcmp(how, "grow") == 0     ? grow
         : strcmp(how, "shrink") == 0 ? shrink
         : strcmp(how, "store") == 0  ? store
                                      : overwrite)(fd, status.st_size);
        _exit(0);
    }
    int in = (int)must(open("in", O_RDONLY), "in");
    int out = (int)must(open("out", O_RDWR | O_CREAT | O_TRUNC, 0666), "out");
    uint32_t passed = 2166136261u, stored = 2166136261u;
    long bytes = 0;
    for (ssize_t n; (n = read(in, buffer, chunk)) > 0; bytes += n) {
        for (ssize_t i = 0; i < n; i++)
            passed = (passed ^ (unsigned char)buffer[i]) * 16777619u;
        must(write(out, buffer, (size_t)n), "write");
    }
    long in_at = lseek(in, 0, SEEK_CUR), out_at = lseek(out, 0, SEEK_CUR);
    kill(helper, SIGKILL);
    waitpid(helper, NULL, 0);
    must(lseek(out, 0, SEEK_SET), "lseek");
    for (ssize_t n; (n = bare(SYS_read, out, (long)buffer, sizeof buffer)) > 0;)
        for (ssize_t i = 0; i < n; i++)
            stored = (stored ^ (unsigned char)buffer[i]) * 16777619u;
    note("offsets %s, bytes %s\n", in_at == bytes && out_at == bytes ? "right" : "wrong",
         passed == stored ? "right" : "wrong");
    say();
    return 0;
}
