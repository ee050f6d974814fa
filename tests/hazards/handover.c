/*
 * A12, A2, A23, A26: whoever goes on with a descriptor when a copier is done with it, or stops early,
 * goes on at the byte where the plain program left it.
 */
#include "support.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const size_t chunks[] = {1, 7, 512, 1000, 4096, 10240};
enum { CHUNKS = sizeof chunks / sizeof *chunks };

struct ends {
    int in, out;
};

/*
 * The copier must not see that the description is shared, so that only what it leaves behind tells: its
 * parent is a process between it and the test that has let go of both ends before the copier starts.
 */
static void step_between(void *argument)
{
    struct ends *ends = argument;
    int let_go[2];
    char byte;
    dup2(ends->in, 0);
    dup2(ends->out, 1);
    if (pipe2(let_go, O_CLOEXEC) != 0)
        _exit(125);
    pid_t pid = fork();
    if (pid == 0) {
        close(let_go[1]);
        if (read(let_go[0], &byte, 1) == 0)
            return;
        _exit(125);
    }
    close(0), close(1), close(ends->in), close(ends->out), close(let_go[1]);
    int status = 125 << 8;
    waitpid(pid, &status, 0);
    _exit(exit_code(status));
}

struct handed {
    struct outcome outcome;
    off_t in_at, out_at;
    char *out;
};

static struct handed hand_over(bool shim, const char *how, size_t chunk, long pairs)
{
    struct run copier = {.args = ARGS(victim("handover"), how, text("%zu", chunk), text("%ld", pairs)),
                         .cwd = scratch_dir(shim ? "shim" : "plain"),
                         .shim = shim,
                         .child = step_between};
    struct handed handed = {.out = text("%s/out", copier.cwd)};
    char *in = text("%s/in", copier.cwd);
    make_random(in, 3, 500001);
    struct ends ends = {open(in, O_RDONLY | O_CLOEXEC),
                        open(handed.out, O_WRONLY | O_CREAT | O_CLOEXEC, 0666)};
    cr_assert(ends.in >= 0 && ends.out >= 0);
    copier.argument = &ends;
    handed.outcome = run(&copier);
    cr_assert(!handed.outcome.timed_out);
    handed.in_at = lseek(ends.in, 0, SEEK_CUR), handed.out_at = lseek(ends.out, 0, SEEK_CUR);
    close(ends.in), close(ends.out);
    return handed;
}

static void hands_over_once(const char *how, size_t chunk, long pairs)
{
    struct handed plain = hand_over(false, how, chunk, pairs), shim = hand_over(true, how, chunk, pairs);
    char *name = text("%s %zu %ld", how, chunk, pairs);
    cr_assert(plain.outcome.status == shim.outcome.status, "%s: exit %d, plain %d", name,
              exit_code(shim.outcome.status), exit_code(plain.outcome.status));
    cr_assert_str_eq(shim.outcome.err, plain.outcome.err, "%s: %s", name, shim.outcome.err);
    cr_assert(plain.in_at == shim.in_at, "%s: source at %ld, plain %ld", name, (long)shim.in_at,
              (long)plain.in_at);
    cr_assert(plain.out_at == shim.out_at, "%s: destination at %ld, plain %ld", name, (long)shim.out_at,
              (long)plain.out_at);
    char *difference = file_difference(plain.out, shim.out);
    cr_assert(!difference, "%s: %s", name, difference);
    /* A process that does not end by exit() may write no report, but its calls are counted. At the end
     * of the file those who come second find nothing to do. */
    if (pairs * (long)chunk > 250000)
        return;
    if (shim.outcome.report.processes == 1)
        assert_sessions(shim.outcome);
    else if (pairs > 100 && plain.outcome.writes >= 0)
        cr_assert(shim.outcome.writes + pairs / 2 < plain.outcome.writes,
                  "%s: no session ran: %ld writes, plain %ld", name, (long)shim.outcome.writes,
                  (long)plain.outcome.writes);
}

static void hands_over(const char *how)
{
    for (int i = 0; i < CHUNKS; i++)
        for (long pairs = 3; pairs < 3000; pairs = pairs * 7 + 1)
            hands_over_once(how, chunks[i], pairs);
}

#define HANDOVER(test, how)                                                                                  \
    Test(hazard_a, test)                                                                                     \
    {                                                                                                        \
        hands_over(how);                                                                                     \
    }

HANDOVER(A12_return_from_main, "return")
HANDOVER(A12_exit, "exit")
HANDOVER(A12_underscore_exit, "_exit")
HANDOVER(A12_quick_exit, "quick-exit")
HANDOVER(A12_bare_exit_group, "bare-exit")
HANDOVER(A12_pthread_exit_of_main, "pthread-exit")
HANDOVER(A12_abort, "abort")
HANDOVER(A12_kills_itself, "kill")
HANDOVER(A12_terminates_itself_by_bare_call, "bare-kill")
HANDOVER(A12_exec, "exec")
HANDOVER(A12_exec_of_another_copier, "exec-self")
HANDOVER(A12_fork_child_exits_parent_goes_on, "fork-child-exits")
HANDOVER(A12_fork_parent_exits_child_goes_on, "fork-parent-exits")
HANDOVER(A12_fork_and_both_go_on_by_turns, "fork-alternate")
HANDOVER(A26_closes_after_some_pairs, "closed")
HANDOVER(A26_last_read_is_not_written, "read-not-written")
HANDOVER(A26_last_read_is_half_written, "half-written")
HANDOVER(A26_ends_with_other_bytes, "other-bytes")

static void prepare(const char *directory, void *unused)
{
    (void)unused;
    make_random(text("%s/in", directory), 3, 500001);
}

/* The usual shell form: the shell has the same description at the same number. */
static struct outcome run_script(const char *script, const char *program)
{
    struct run shell = {.args = ARGS("sh", "-c", script, program)};
    return run_both(&shell, prepare, NULL);
}

Test(hazard_a, A12_group_in_shell_shares_both_ends)
{
    struct outcome outcome =
        run_script("{ \"$0\" exit 1 100; \"$0\" exit 512 20; cat; } <in >out", victim("handover"));
    assert_stays_out(outcome, "shared-offset");
}

Test(hazard_a, A23_group_with_timeout_skips_nothing)
{
    /* timeout(1) is the parent then, with the same description at the same number. */
    run_script("{ timeout 10 \"$0\" return 512 300; cat; } <in >out", victim("handover"));
    char *difference = file_difference(shim_path("in"), shim_path("out"));
    cr_expect(!difference, "%s", difference);
}

/* How many bytes are missing between what the killed one wrote and where the next went on. */
static int64_t gap_after_kill(double seconds)
{
    /* Which byte it had come to is chance; that the next one goes on there is not. */
    struct run shell = {
        .args = ARGS("sh", "-c",
                     "exec 5<in 6>out; timeout -s KILL \"$1\" \"$0\" return 1 -1 <&5 >&6 5<&- 6>&- & "
                     "wait; cat <&5 >&6",
                     victim("handover"), text("%f", seconds)),
        .shim = true,
        .cwd = scratch_dir("killed")};
    make_random(text("%s/in", shell.cwd), 3, 2 << 20);
    struct outcome outcome = run(&shell);
    cr_assert(outcome.status == 0, "%s", outcome.err);
    size_t in_size, out_size, same = 0;
    char *in = file_read(text("%s/in", shell.cwd), &in_size);
    char *out = file_read(text("%s/out", shell.cwd), &out_size);
    cr_assert(out_size <= in_size, "bytes came twice: %zu of %zu", out_size, in_size);
    while (same < out_size && in[same] == out[same])
        same++;
    size_t gap = in_size - out_size;
    cr_assert(memcmp(out + same, in + same + gap, out_size - same) == 0, "not a copy with one gap");
    free(in), free(out);
    return (int64_t)gap;
}

Test(hazard_a, A23_killed_and_another_goes_on)
{
    enum { KILLS = 25, LARGEST_WINDOW = 512 << 10 };
    int gaps = 0;
    for (int i = 1; i <= KILLS; i++) {
        int64_t gap = gap_after_kill(0.002 * i);
        /* Killed between the setting of the source's offset and the write, one promise is missing. */
        cr_assert(gap <= LARGEST_WINDOW, "%ld bytes missing", (long)gap);
        /* One byte was read and not written: that is plain's gap. */
        gaps += gap > 1;
    }
    /* That moment is short beside thousands of turns of the loop, one byte each. Reading ahead by read()
     * left a gap at 24 of 25 kills. */
    cr_assert(gaps < KILLS / 4, "a gap at %d of %d kills", gaps, KILLS);
}

/* -- two who drain one description -- */

enum { BLOCK = 512, BLOCKS = 20000 };

static void numbered_blocks(const char *path)
{
    static uint32_t blocks[BLOCKS][BLOCK / 4];
    for (uint32_t i = 0; i < BLOCKS; i++)
        for (uint32_t word = 0; word < BLOCK / 4; word++)
            blocks[i][word] = i;
    make_file(path, blocks, sizeof blocks);
}

static void count_blocks(const char *path, unsigned char *seen)
{
    size_t size;
    const uint32_t(*blocks)[BLOCK / 4] = (const void *)file_read(path, &size);
    cr_assert(size % BLOCK == 0, "%s: torn block", path);
    for (size_t i = 0; i < size / BLOCK; i++) {
        for (int word = 1; word < BLOCK / 4; word++)
            cr_assert(blocks[i][word] == blocks[i][0], "%s: torn block %zu", path, i);
        cr_assert(blocks[i][0] < BLOCKS);
        seen[blocks[i][0]]++;
    }
}

static void drained_once(const char *where, const char *setting)
{
    for (int round = 0; round < 5; round++) {
        struct run shell = {.args = ARGS("sh", "-c",
                                         "exec 5<in; \"$0\" one \"$1\" <&5 & \"$0\" two \"$1\" <&5 & wait",
                                         victim("drain"), where),
                            .env = ARGS(setting),
                            .shim = true,
                            .cwd = scratch_dir("drained")};
        numbered_blocks(text("%s/in", shell.cwd));
        struct outcome outcome = run(&shell);
        cr_assert(outcome.status == 0 && !outcome.timed_out);
        static unsigned char seen[BLOCKS];
        memset(seen, 0, sizeof seen);
        count_blocks(text("%s/one", shell.cwd), seen);
        count_blocks(text("%s/two", shell.cwd), seen);
        for (int i = 0; i < BLOCKS; i++)
            cr_assert(seen[i] == 1, "block %d came %d times; report %s", i, seen[i], outcome.report.raw);
    }
}

Test(hazard_a, A2_two_readers_of_one_description_with_a_call_after_each_write)
{
    drained_once("after", "XFERSHIM_THRESHOLD=1");
}

Test(hazard_a, A2_two_readers_of_one_description_with_a_call_before_each_write)
{
    drained_once("before", "XFERSHIM_THRESHOLD=1");
}

Test(hazard_a, A2_two_readers_of_one_description_without_other_calls)
{
    drained_once("none", "XFERSHIM_THRESHOLD=1");
    drained_once("none", "XFERSHIM_THRESHOLD");
}
