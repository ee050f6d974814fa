/* Handlers that come at any instruction of a copy and touch what is being copied. What happens depends on the
 * moment, plain too, so it is not compared; what must be true at every moment is checked, and said only where
 * it is not.
 */
#include "player.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum does {
    DOES_JUMP,  /* leaves the loop */
    DOES_READ,  /* takes some of the source away */
    DOES_WRITE, /* puts something into the destination */
    DOES_LOOK,  /* asks where the two are */
    DOES_PAIR,  /* copies a little itself */
    DOES_FORK,  /* has a child look */
    DOES,
};

#define CHUNK_MOST 8192
#define ROUNDS 12
/* Handlers in one round: one that takes longer than the timer would be all that runs. */
#define RUNS_MOST 40
#define TAKEN 100
#define FILE_SIZE (1 << 17)

static const char source_name[] = "t0", destination_name[] = "race";

/* Counted where a call has returned: the kernel is at most one call of the loop ahead. */
static struct {
    int in, out, does;
    size_t chunk;
    volatile long loop_read, loop_written, handler_read, handler_written;
    volatile sig_atomic_t runs;
    const char *volatile wrong;
    volatile long found;
    sigjmp_buf leave;
} race;

static void wrong(const char *what, long found)
{
    if (!race.wrong) {
        race.wrong = what;
        race.found = found;
    }
}

/* `slack` is what a call of the loop may have moved and not counted yet. */
static void check_offsets(long slack)
{
    long in = lseek(race.in, 0, SEEK_CUR) - race.loop_read - race.handler_read;
    long out = lseek(race.out, 0, SEEK_CUR) - race.loop_written - race.handler_written;
    if (in < 0 || in > slack)
        wrong("source's offset is off by", in);
    if (out < 0 || out > slack)
        wrong("destination's offset is off by", out);
}

/* Handlers may nest. */
static void count_up(volatile long *counter, long n)
{
    __atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
}

static size_t handler_reads(unsigned char *bytes, size_t count)
{
    long n = read(race.in, bytes, count);
    if (n < 0)
        wrong("handler's read: errno", errno);
    else
        count_up(&race.handler_read, n);
    return n > 0 ? (size_t)n : 0;
}

static void handler_writes(const unsigned char *bytes, size_t count)
{
    long n = write(race.out, bytes, count);
    if (n != (long)count)
        wrong("handler's write returned", n);
    else
        count_up(&race.handler_written, n);
}

static void look_from_child(void)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        check_offsets((long)race.chunk);
        _exit(race.wrong != NULL);
    }
    if (waitpid(child, &status, 0) != child)
        wrong("waitpid: errno", errno);
    if (status)
        wrong("the child saw wrong offsets, status", status);
}

static void stop_timer(void)
{
    struct itimerval none = {0};
    setitimer(ITIMER_REAL, &none, NULL);
}

static void on_alarm(int number)
{
    unsigned char bytes[TAKEN];
    int saved = errno;
    (void)number;
    if (__atomic_add_fetch(&race.runs, 1, __ATOMIC_RELAXED) == RUNS_MOST)
        stop_timer();
    switch (race.does) {
    case DOES_JUMP:
        siglongjmp(race.leave, 1);
    case DOES_READ:
        handler_reads(bytes, sizeof(bytes));
        break;
    case DOES_WRITE:
        memset(bytes, 'w', sizeof(bytes));
        handler_writes(bytes, sizeof(bytes));
        break;
    case DOES_LOOK:
        check_offsets((long)race.chunk);
        break;
    case DOES_PAIR:
        for (int i = 0; i < 5; i++)
            handler_writes(bytes, handler_reads(bytes, sizeof(bytes)));
        break;
    default:
        look_from_child();
        break;
    }
    errno = saved;
}

static void race_loop(void)
{
    static unsigned char bytes[CHUNK_MOST];
    long n;
    while ((n = read(race.in, bytes, race.chunk)) > 0) {
        race.loop_read = race.loop_read + n;
        long put = write(race.out, bytes, (size_t)n);
        if (put != n) {
            wrong("write returned", put);
            break;
        }
        race.loop_written = race.loop_written + put;
    }
    if (n < 0)
        wrong("read: errno", errno);
}

static size_t load(const char *name, unsigned char *bytes)
{
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    ssize_t n = pread(fd, bytes, FILE_SIZE, 0);
    close(fd);
    return n > 0 ? (size_t)n : 0;
}

/* Nothing but the loop's own calls has touched the destination then, and it has to be a copy of the source's
 * start. */
static void check_contents(void)
{
    static unsigned char source[FILE_SIZE], destination[FILE_SIZE];
    load(source_name, source);
    size_t size = load(destination_name, destination);
    if ((long)size < race.loop_written + race.handler_written)
        wrong("the destination has only", (long)size);
    if ((race.does == DOES_JUMP || race.does == DOES_LOOK || race.does == DOES_FORK) &&
        memcmp(source, destination, size))
        wrong("the destination is no copy; its size is", (long)size);
}

static void round_of(int delay)
{
    struct itimerval when = {.it_value.tv_usec = delay};
    race.runs = 0;
    race.loop_read = race.loop_written = race.handler_read = race.handler_written = 0;
    race.in = open(source_name, O_RDONLY | O_CLOEXEC);
    race.out = open(destination_name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (race.does != DOES_JUMP)
        when.it_interval.tv_usec = delay;
    if (race.in < 0 || race.out < 0)
        wrong("open", errno);
    else if (sigsetjmp(race.leave, 1) == 0) {
        setitimer(ITIMER_REAL, &when, NULL);
        race_loop();
    }
    stop_timer();
    check_offsets(race.does == DOES_JUMP ? (long)race.chunk : 0);
    close(race.in);
    close(race.out);
    check_contents();
}

static void generate_race(struct draw *draw, int *a)
{
    a[0] = draw_below(draw, DOES);
    a[1] = draw_size(draw, CHUNK_MOST);
    a[2] = draw_between(draw, 60, 600);
    a[3] = draw_chance(draw, 5) ? 2 : draw_below(draw, 2);
    if (a[0] == DOES_FORK && a[3] == 1) /* glibc's fork() is not made to interrupt itself */
        a[3] = 0;
    if (a[1] < 32)
        a[1] += 32;
}

static int execute_race(int index, const int *a)
{
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART | (a[3] == 1 ? SA_NODEFER : 0)},
                     before;
    struct rlimit limit, wide;
    sigset_t alarm_only, mask;
    if (timer_is_set()) {
        say(" not here\n");
        return index + 1;
    }
    if (a[3] == 2)
        sigfillset(&action.sa_mask);
    sigemptyset(&alarm_only);
    sigaddset(&alarm_only, SIGALRM);
    sigprocmask(SIG_UNBLOCK, &alarm_only, &mask);
    sigaction(SIGALRM, &action, &before);
    getrlimit(RLIMIT_FSIZE, &limit);
    wide = (struct rlimit){limit.rlim_max, limit.rlim_max};
    setrlimit(RLIMIT_FSIZE, &wide);
    race.does = a[0];
    race.chunk = (size_t)a[1];
    race.wrong = NULL;
    for (int i = 0; i < ROUNDS && !race.wrong; i++)
        round_of(a[2] + 37 * i);
    unlink(destination_name);
    setrlimit(RLIMIT_FSIZE, &limit);
    sigaction(SIGALRM, &before, NULL);
    sigprocmask(SIG_SETMASK, &mask, NULL);
    if (race.wrong)
        say(" %s %ld", race.wrong, race.found);
    say("\n");
    return index + 1;
}

static const struct operation operations[] = {
    {"race", 10, "handler does %d chunk %d every %d us, flags %d", generate_race, execute_race},
};

const struct table ops_race = {operations, sizeof(operations) / sizeof(operations[0])};
