/* Threads that block in read on an empty pipe and in write on a full one are cancelled there. Before and
 * after, the program copies.
 *
 * d9_cancel SRC DST
 */
#include <pthread.h>

#include "copy.h"

static char buffer[4096], block[65536];
static int empty[2], full[2];
static volatile int cleaned;

static void clean(void *unused)
{
    (void)unused;
    cleaned++;
}

static void *read_for_ever(void *unused)
{
    char byte;

    pthread_cleanup_push(clean, unused);
    while (read(empty[0], &byte, 1) != 0)
        ;
    pthread_cleanup_pop(0);
    return NULL;
}

static void *write_for_ever(void *unused)
{
    pthread_cleanup_push(clean, unused);
    while (write(full[1], block, sizeof block) != 0)
        ;
    pthread_cleanup_pop(0);
    return NULL;
}

static const char *cancel(void *(*function)(void *))
{
    pthread_t thread;
    void *result;
    struct timespec deadline;

    NEED(pthread_create(&thread, NULL, function, NULL) == 0);
    usleep(50000);
    NEED(pthread_cancel(thread) == 0);
    NEED(clock_gettime(CLOCK_REALTIME, &deadline) == 0);
    deadline.tv_sec += 5;
    if (pthread_timedjoin_np(thread, &result, &deadline) != 0)
        return "still there";
    return result == PTHREAD_CANCELED ? "cancelled" : "returned";
}

int main(int argc, char **argv)
{
    NEED(argc == 3);
    NEED(pipe(empty) == 0 && pipe(full) == 0);
    int in = open_source(argv[1]), out = open_destination(argv[2]);
    long total = copy_bytes(in, out, buffer, sizeof buffer, 1 << 20);
    printf("reader %s\n", cancel(read_for_ever));
    printf("writer %s\n", cancel(write_for_ever));
    total += copy_bytes(in, out, buffer, sizeof buffer, -1);
    printf("cleaned %d, %ld bytes\n", cleaned, total);
    return 0;
}
