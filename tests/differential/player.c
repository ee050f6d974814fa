#include "player.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define TRANSCRIPT_SIZE (1 << 18)
#define WAITING_MOST 4

const char *const file_names[FILES] = {"s0", "s1", "s2", "s3", "d0", "d1", "d2", "d3", "tiny/f", "tight/f"};
int slot[SLOTS];

static struct {
    char text[TRANSCRIPT_SIZE];
    size_t length;
    char label[LABEL_SIZE];
    const char *folder;
} transcript;

static struct {
    uint64_t seed;
    const char *skips;
    bool verbose;
    int child_end; /* this process is a child that ends at this operation, or -1 */
    struct {
        int end, gate;
        pid_t child;
    } waiting[WAITING_MOST];
    int waiting_used;
    int depth;
} run = {.child_end = -1};

void say(const char *format, ...)
{
    va_list list;
    size_t room = sizeof(transcript.text) - transcript.length;
    va_start(list, format);
    int n = vsnprintf(transcript.text + transcript.length, room, format, list);
    va_end(list);
    if (n > 0 && (size_t)n < room)
        transcript.length += (size_t)n;
}

void say_result(const char *what, long result)
{
    int saved = errno;
    say(" %s=%ld", what, result);
    if (result < 0)
        say("(%s)", strerrorname_np(saved));
    else if (saved != ERRNO_UNTOUCHED)
        say("(errno changed to %d)", saved);
    errno = saved;
}

uint64_t digest(uint64_t h, const void *bytes, size_t count)
{
    const unsigned char *at = bytes;
    for (; count >= 8; count -= 8, at += 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        h = (h ^ word) * 0x9e3779b97f4a7c15;
        h ^= h >> 29;
    }
    for (; count; count--, at++)
        h = (h ^ *at) * 0x100000001b3;
    return h;
}

void coverage_dump(void) __attribute__((weak));

void count_now(void)
{
    if (coverage_dump)
        coverage_dump();
}

/* Appended, because a program that has executed itself writes in two parts. */
void transcript_write(void)
{
    char path[PATH_MAX];
    struct rlimit limit, none;
    getrlimit(RLIMIT_NOFILE, &none);
    none.rlim_cur = none.rlim_max;
    setrlimit(RLIMIT_NOFILE, &none);
    getrlimit(RLIMIT_FSIZE, &limit);
    none = (struct rlimit){limit.rlim_max, limit.rlim_max};
    setrlimit(RLIMIT_FSIZE, &none);
    snprintf(path, sizeof(path), "%s/%s", transcript.folder, transcript.label);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0 || syscall(SYS_write, fd, transcript.text, transcript.length) != (long)transcript.length)
        abort();
    close(fd);
    transcript.length = 0;
    setrlimit(RLIMIT_FSIZE, &limit);
}

static void say_offsets(void)
{
    say("offsets");
    for (int i = 0; i < SLOTS; i++)
        if (slot[i] >= 0)
            say(" %d:%d:%ld", i, slot[i], (long)lseek(slot[i], 0, SEEK_CUR));
    say("\n");
}

int run_op(int index)
{
    const struct op *op = &program[index];
    if (op->skipped)
        return index + 1;
    say("%d %s:", index, op->kind->name);
    errno = ERRNO_UNTOUCHED;
    int next = op->kind->execute(index, op->a);
    if (run.verbose)
        say_offsets();
    return next;
}

static void await_children(int index)
{
    while (run.waiting_used > 0 && run.waiting[run.waiting_used - 1].end <= index) {
        int status = 0, i = --run.waiting_used;
        close(run.waiting[i].gate);
        pid_t got = waitpid(run.waiting[i].child, &status, 0);
        say("child:%s status=%x\n", got == run.waiting[i].child ? "" : " lost", (unsigned)status);
    }
}

void settle(void)
{
    timer_finish();
    await_children(INT_MAX);
}

static void end_child(void)
{
    settle();
    say_offsets();
    transcript_write();
    int status = run.child_end & 7;
    if (run.child_end & 8)
        exit(status);
    count_now();
    _exit(status);
}

void run_until(int end)
{
    for (int i = 0; i < end;) {
        await_children(i);
        if (run.child_end >= 0 && i >= run.child_end)
            end_child();
        i = run_op(i);
    }
}

void become_child(int name, int end)
{
    size_t used = strlen(transcript.label);
    snprintf(transcript.label + used, sizeof(transcript.label) - used, ".%d", name);
    transcript.length = 0;
    run.child_end = end;
    run.waiting_used = 0;
    run.depth++;
    timer_forget();
}

void child_is_due(int end, pid_t child, int gate)
{
    run.waiting[run.waiting_used].end = end;
    run.waiting[run.waiting_used].child = child;
    run.waiting[run.waiting_used].gate = gate;
    run.waiting_used++;
}

bool fork_allowed(void)
{
    return run.depth < 2 && run.waiting_used < WAITING_MOST;
}

/* The descriptors go along as text. */
void run_exec(int next)
{
    char seed[24], start[16], slots[SLOTS * 12 + 1] = "", end[16], depth[16];
    for (int i = 0; i < SLOTS; i++)
        snprintf(slots + strlen(slots), sizeof(slots) - strlen(slots), "%d,", slot[i]);
    snprintf(seed, sizeof(seed), "%llu", (unsigned long long)run.seed);
    snprintf(start, sizeof(start), "%d", next);
    snprintf(end, sizeof(end), "%d", run.child_end);
    snprintf(depth, sizeof(depth), "%d", run.depth);
    count_now();
    execl("/proc/self/exe", "player", seed, transcript.folder, run.skips, transcript.label, start, slots, end,
          depth, (char *)NULL);
    abort();
}

static void make_file(const char *name, uint64_t seed, size_t size, size_t hole)
{
    static unsigned char bytes[1 << 19];
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    draw_fill(seed, bytes, size);
    if (hole && size > 2 * hole)
        memset(bytes + hole, 0, hole);
    if (fd < 0 || syscall(SYS_write, fd, bytes, size) != (long)size)
        abort();
    if (getenv("TEST_ON_DISK")) /* only then its blocks can be shared */
        fsync(fd);
    close(fd);
}

static void make_files(void)
{
    struct draw draw = {run.seed ^ 0x5eed};
    make_file("s0", run.seed + 1, (size_t)draw_between(&draw, 5000, 300000), 0);
    make_file("s1", run.seed + 2, (size_t)draw_between(&draw, 0, draw_chance(&draw, 50) ? 3000 : 100000), 0);
    make_file("s2", run.seed + 3, (size_t)draw_between(&draw, 1, 40) * 4096, 0);
    make_file("s3", run.seed + 4, (size_t)draw_between(&draw, 0, 200000), 30000);
    make_file("t0", run.seed + 6, 50000, 0);
    make_file("d2", run.seed + 5, (size_t)draw_between(&draw, 1, 60000), 0);
}

/* "3,4,9-20"; or "+copy": all but operations of that name, beside the first ones that open files. */
static void skip(const char *list)
{
    for (int i = 0; *list == '+' && i < program_length; i++)
        program[i].skipped = i >= OPENED && strcmp(program[i].kind->name, list + 1) != 0;
    while (*list) {
        char *end;
        long from = strtol(list, &end, 10), to = from;
        if (end == list)
            return;
        if (*end == '-')
            to = strtol(end + 1, &end, 10);
        for (long i = from; i <= to && i < OPS_MOST; i++)
            program[i].skipped = true;
        list = *end ? end + 1 : end;
    }
}

static int go_on(char **argv)
{
    char *list = argv[6];
    strcpy(transcript.label, argv[4]);
    for (int i = 0; i < SLOTS; i++, list++)
        slot[i] = (int)strtol(list, &list, 10);
    run.child_end = atoi(argv[7]);
    run.depth = atoi(argv[8]);
    return atoi(argv[5]);
}

static void begin(void)
{
    strcpy(transcript.label, "t");
    for (int i = 0; i < SLOTS; i++)
        slot[i] = -1;
    make_files();
}

int main(int argc, char **argv)
{
    int from = 0;
    if (argc == 3 && !strcmp(argv[1], "look"))
        return look_and_exit(atoi(argv[2]));
    if (argc < 3) {
        fprintf(stderr, "usage: player SEED FOLDER [SKIPS]: plays the program in the working directory\n"
                        "       player SEED - [SKIPS]: prints it\n");
        return 2;
    }
    run.seed = strtoull(argv[1], NULL, 10);
    run.skips = argc > 3 ? argv[3] : "";
    run.verbose = getenv("PLAYER_OFFSETS") != NULL;
    transcript.folder = argv[2];
    program_make(run.seed);
    skip(run.skips);
    if (!strcmp(argv[2], "-")) {
        program_print();
        return 0;
    }
    umask(022);
    signals_start();
    memory_catch_faults();
    if (argc > 8)
        from = go_on(argv);
    else
        begin();
    for (int i = 0; i < from; i++)
        program[i].skipped = true;
    run_until(program_length);
    if (run.child_end >= 0)
        end_child();
    settle();
    say_offsets();
    transcript_write();
    struct draw draw = {run.seed ^ 0xe0d};
    ending(&draw);
}
