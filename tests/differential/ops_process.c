/* More processes: children that go on with the program, take turns with it, or look at it; exec; and ways to
 * end. */
#include "player.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Above every number that a program's close_range reaches. */
#define FIRST_PRIVATE 500

static bool taking_turns;

static bool private_pipe(int ends[2])
{
    int low[2];
    if (pipe(low) < 0)
        return false;
    for (int i = 0; i < 2; i++) {
        ends[i] = fcntl(low[i], F_DUPFD_CLOEXEC, FIRST_PRIVATE);
        close(low[i]);
    }
    return ends[0] >= 0 && ends[1] >= 0;
}

static void generate_fork(struct draw *draw, int *a)
{
    a[0] = draw_between(draw, 1, 6);
    a[1] = draw_below(draw, 2);
}

/* Both sides do the same operations, first one side, then the other. */
static int execute_fork(int index, const int *a)
{
    int gate[2], status = 0;
    if (taking_turns || !fork_allowed() || (a[1] && !private_pipe(gate))) {
        say(" not here\n");
        return index + 1;
    }
    errno = ERRNO_UNTOUCHED;
    pid_t child = fork();
    if (child == 0) {
        char byte;
        become_child(index, index + 1 + a[0]);
        if (a[1]) {
            close(gate[1]);
            while (read(gate[0], &byte, 1) < 0)
                ;
            close(gate[0]);
        }
        return index + 1;
    }
    say_result("child", child > 0 ? 0 : -1);
    if (a[1]) {
        close(gate[0]);
        child_is_due(index + 1 + a[0], child, gate[1]);
    } else {
        waitpid(child, &status, 0);
        say(" status=%x", (unsigned)status);
    }
    say("\n");
    return index + 1;
}

static void generate_turns(struct draw *draw, int *a)
{
    a[0] = draw_between(draw, 2, 8);
    a[1] = draw_below(draw, 256);
    a[2] = draw_chance(draw, 30);
}

/* Each operation of the next `count` is done by the parent or by the child; the other waits for it. */
static void play_turns(int at, int end, int mask, int me, int from, int to)
{
    int first = at;
    int turn = 0;
    for (;;) {
        if (turn == me) {
            while (at < end && (mask >> (at - first) & 1) == me)
                at = run_op(at);
            if (write(to, &at, sizeof(at)) != sizeof(at) || at >= end)
                break;
        } else if (read(from, &at, sizeof(at)) != sizeof(at) || at >= end) {
            break;
        }
        turn = !turn;
    }
}

static void take_turns(int at, int end, int mask, int me, int from, int to)
{
    sigjmp_buf *outer = jump_to;
    jump_to = NULL; /* nobody may leave while the other waits */
    taking_turns = true;
    play_turns(at, end, mask, me, from, to);
    taking_turns = false;
    jump_to = outer;
    close(from);
    close(to);
}

/* A child that only waits for one of its own: the two that take turns are not each other's parent and child.
 */
static void stand_between(int from, int to)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0)
        return;
    close(from);
    close(to);
    for (int i = 0; i < SLOTS; i++)
        if (slot[i] >= 0)
            close(slot[i]);
    waitpid(child, &status, 0);
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 99);
}

static int execute_turns(int index, const int *a)
{
    int down[2], up[2], status = 0, end = index + 1 + a[0];
    if (end > program_length)
        end = program_length;
    if (taking_turns || !fork_allowed() || !private_pipe(down) || !private_pipe(up)) {
        say(" not here\n");
        return index + 1;
    }
    pid_t child = fork();
    if (child == 0) {
        close(down[1]);
        close(up[0]);
        if (a[2])
            stand_between(down[0], up[1]);
        become_child(index, end);
        take_turns(index + 1, end, a[1], 1, down[0], up[1]);
        return OPS_MOST; /* beyond its end */
    }
    close(down[0]);
    close(up[1]);
    say("\n");
    take_turns(index + 1, end, a[1], 0, up[0], down[1]);
    waitpid(child, &status, 0);
    say("turns over: status=%x\n", (unsigned)status);
    return end;
}

static void generate_slots(struct draw *draw, int *a)
{
    a[0] = draw_source(draw);
    a[1] = draw_destination(draw);
    a[2] = draw_below(draw, 5);
    a[3] = draw_size(draw, 5000);
    a[4] = draw_between(draw, 0, 8);
}

static int execute_vfork(int index, const int *a)
{
    static unsigned char bytes[8192];
    int status = 0;
    errno = ERRNO_UNTOUCHED;
    pid_t child = vfork();
    if (child == 0) {
        long n = 0;
        if (a[2] == 1)
            n = read(slot[a[0]], bytes, (size_t)a[3]);
        else if (a[2] == 2)
            n = write(slot[a[1]], bytes, (size_t)a[3]);
        else if (a[2] == 3)
            n = lseek(slot[a[0]], 10, SEEK_CUR);
        else if (a[2] == 4)
            copy_quietly(slot[a[0]], slot[a[1]], (size_t)a[3], a[4]);
        _exit(n < 0 ? 100 : (int)(n % 100));
    }
    waitpid(child, &status, 0);
    say(" status=%x\n", (unsigned)status);
    return index + 1;
}

static int execute_exec(int index, const int *a)
{
    if (taking_turns || few_descriptors) {
        say(" not here\n");
        return index + 1;
    }
    settle();
    say("\n");
    transcript_write();
    copy_quietly(slot[a[0]], slot[a[1]], (size_t)a[3], a[4]);
    run_exec(index + 1);
}

/* Another program looks at what it was given. */
static int execute_spawn(int index, const int *a)
{
    if (few_descriptors) {
        say(" not here\n");
        return index + 1;
    }
    char number[16];
    char *arguments[] = {"player", "look", number, NULL};
    pid_t child;
    int status = 0;
    snprintf(number, sizeof(number), "%d", slot[a[a[2] & 1]]);
    if (posix_spawn(&child, "/proc/self/exe", NULL, NULL, arguments, environ) == 0)
        waitpid(child, &status, 0);
    say(" status=%x\n", (unsigned)status);
    return index + 1;
}

int look_and_exit(int fd)
{
    struct stat st = {0};
    long what[2] = {lseek(fd, 0, SEEK_CUR), 0};
    if (fstat(fd, &st) == 0)
        what[1] = st.st_size;
    return (int)(digest(1, what, sizeof(what)) % 100);
}

/* A last copy that only the files tell about, then one of the ways to go. */
void ending(struct draw *draw)
{
    int in = slot[draw_source(draw)], out = slot[draw_destination(draw)], how = draw_below(draw, 8);
    size_t chunk = (size_t)draw_size(draw, 5000);
    int pairs = draw_between(draw, 0, 12);
    copy_quietly(in, out, chunk, pairs);
    if (how >= 2 && how <= 6)
        count_now();
    switch (how) {
    case 0:
    case 1:
        exit(3);
    case 2:
        _exit(4);
    case 3:
        abort();
    case 4:
        signal(SIGTERM, SIG_DFL);
        raise(SIGTERM);
        exit(5);
    case 5:
        kill(getpid(), SIGKILL);
        exit(6);
    case 6:
        quick_exit(7);
    default:
        exit(0);
    }
}

static const struct operation operations[] = {
    {"fork", 18, "operations %d parent first %d", generate_fork, execute_fork},
    {"turns", 14, "operations %d child's %#x grandchild %d", generate_turns, execute_turns},
    {"vfork", 12, "source %d destination %d does %d count %d pairs %d", generate_slots, execute_vfork},
    {"exec", 5, "source %d destination %d (%d) count %d pairs %d", generate_slots, execute_exec},
    {"spawn", 4, "source %d destination %d which %d&1", generate_slots, execute_spawn},
};

const struct table ops_process = {operations, sizeof(operations) / sizeof(operations[0])};
