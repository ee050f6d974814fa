/* A copy that runs into RLIMIT_FSIZE: the write that crosses it is cut, the next one fails with one SIGXFSZ
 * and EFBIG.
 *
 * b4_file_size_limit SRC DST CHUNK LIMIT before|middle handle|ignore|default
 */
#include <signal.h>
#include <sys/resource.h>

#include "copy.h"

static volatile sig_atomic_t signals;

static void count(int signal)
{
    (void)signal;
    signals++;
}

int main(int argc, char **argv)
{
    NEED(argc == 7);
    size_t chunk = strtoul(argv[3], NULL, 10);
    struct rlimit limit = {strtoul(argv[4], NULL, 10), RLIM_INFINITY};
    char *buffer = malloc(chunk);
    int in = open_source(argv[1]), out = open_destination(argv[2]);
    long total = 0;

    setvbuf(stdout, NULL, _IONBF, 0);
    if (strcmp(argv[6], "handle") == 0)
        NEED(sigaction(SIGXFSZ, &(struct sigaction){.sa_handler = count}, NULL) == 0);
    else if (strcmp(argv[6], "ignore") == 0)
        NEED(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    if (strcmp(argv[5], "middle") == 0)
        total = copy_bytes(in, out, buffer, chunk, (long)limit.rlim_cur / 2);
    NEED(setrlimit(RLIMIT_FSIZE, &limit) == 0);

    for (;;) {
        ssize_t got = read(in, buffer, chunk);
        NEED(got > 0);
        ssize_t put = write(out, buffer, (size_t)got);
        total += put > 0 ? put : 0;
        if (put == got)
            continue;
        printf("%ld written, last write %zd of %zd\n", total, put, got);
        break;
    }
    for (int i = 0; i < 3; i++) {
        ssize_t put = write(out, buffer, chunk);
        printf("again: %zd %s, signals %d\n", put, put < 0 ? strerror(errno) : "", (int)signals);
    }
    printf("close %d\n", close(out));
    return 0;
}
