/*
 * D11, D13, E4, B10: the system calls that strace sees, with and without the library.
 */
#include "support.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MIB = 1 << 20, LINES = 20000 };

/* Process numbers, and how much of a file system is free. */
static bool names_what_moves(const char *line)
{
    return strstr(line, "pid") || strstr(line, "gettid(") || strstr(line, "statfs(") ||
           strstr(line, "pgrp(") || strstr(line, "fork(") || strstr(line, "clone") || strstr(line, "wait");
}

/* What differs from run to run: addresses, process numbers, the machine's load, random bytes. */
static char *without_accidents(const char *line)
{
    static const char *const dropped[] = {"getrandom(", "set_tid_address(", "rseq(", "brk(", "sysinfo("};
    for (size_t i = 0; i < sizeof dropped / sizeof *dropped; i++)
        if (strncmp(line, dropped[i], strlen(dropped[i])) == 0)
            return text("%s...", dropped[i]);
    char *to = text("%s", line), *write = to;
    for (const char *from = line; *from;) {
        if (from[0] == '0' && from[1] == 'x') {
            *write++ = '@';
            for (from += 2; isxdigit((unsigned char)*from);)
                from++;
        } else if (isdigit((unsigned char)*from) && strspn(from, "0123456789") > 2 &&
                   names_what_moves(line)) {
            *write++ = '#';
            from += strspn(from, "0123456789");
        } else {
            *write++ = *from++;
        }
    }
    *write = 0;
    return to;
}

/* The end of a child is told before or after the wait for it. */
static bool comes_when_it_comes(const char *line)
{
    return strncmp(line, "--- SIGCHLD", 11) == 0 || strncmp(line, "rt_sigreturn(", 13) == 0;
}

struct trace {
    int count;
    char *lines[LINES];
};

/* What each program image does once it is loaded: the loader ends with unmapping its cache of library names.
 * Whatever a constructor does comes behind it. */
static void add_file(struct trace *trace, const char *path)
{
    char *all = file_read(path, NULL);
    bool loading = false, mappings = false, dice = false;
    for (char *line; (line = strsep(&all, "\n"));) {
        /* grep looks for its stack in /proc/self/maps, which has the library in it: other sizes all the way.
         */
        mappings = strstr(line, "/proc/self/maps") || (mappings && strncmp(line, "close(", 6) != 0);
        dice = strstr(line, "/dev/urandom") || (dice && strncmp(line, "close(", 6) != 0);
        if (dice && strncmp(line, "read(", 5) == 0)
            continue;
        if (strncmp(line, "brk(", 4) == 0) /* depends on where the heap begins, which is drawn by lot */
            continue;
        if (strncmp(line, "execve(", 7) == 0 && strstr(line, " = 0"))
            loading = true;
        else if (loading && strncmp(line, "munmap(", 7) == 0)
            loading = false;
        else if (!loading && *line && !mappings && !comes_when_it_comes(line) && trace->count < LINES)
            trace->lines[trace->count++] = without_accidents(line);
    }
}

static int traces_only(const struct dirent *entry)
{
    return strncmp(entry->d_name, "trace.", 6) == 0;
}

/* By the time of their making: process numbers may wrap. */
static int by_number(const struct dirent **a, const struct dirent **b)
{
    return atoi((*a)->d_name + 6) - atoi((*b)->d_name + 6);
}

/* The program's calls after loading, process by process. SETTING is one for the library, or NULL. */
static struct trace *trace_of(const char *const *args, const char *setting, bool shim,
                              struct outcome *outcome, void (*child)(void *))
{
    if (!find_program("strace"))
        cr_skip_test("strace is not installed");
    const char *directory = scratch_dir("traced");
    const char *command[40] = {"strace", "-ff", "-qq", "-s", "64", "-o", text("%s/trace", directory)};
    int count = 7;
    /* Set in both: shells and interpreters count their variables. */
    command[count++] = "-E";
    command[count++] = text("LD_PRELOAD=%s", shim ? shim_library() : "");
    if (setting) {
        command[count++] = "-E";
        command[count++] = setting;
    }
    for (int i = 0; args[i]; i++)
        command[count++] = args[i];
    struct run what = {.args = command, .cwd = directory, .child = child};
    *outcome = run(&what);
    if (strstr(outcome->err, "ptrace"))
        cr_skip_test("no tracing here: %s", outcome->err);
    struct trace *trace = calloc(1, sizeof *trace);
    struct dirent **entries;
    int entry_count = scandir(directory, &entries, traces_only, by_number);
    for (int i = 0; i < entry_count; i++)
        add_file(trace, text("%s/%s", directory, entries[i]->d_name));
    cr_assert(trace->count > 0, "%s: no trace; %s", args[0], outcome->err);
    return trace;
}

static bool equal(const struct trace *a, const struct trace *b)
{
    for (int i = 0; i < a->count && i < b->count; i++)
        if (strcmp(a->lines[i], b->lines[i]) != 0)
            return false;
    return a->count == b->count;
}

/* Some programs ask for more heap at another place from time to time, plain or not: a difference has to show
 * thrice. */
enum { TRIES = 3 };

static void same_calls(const char *const *args, const char *setting)
{
    struct outcome plain_outcome, shim_outcome;
    struct trace *plain, *shim;
    int tries = 0;
    do {
        plain = trace_of(args, setting, false, &plain_outcome, NULL);
        shim = trace_of(args, setting, true, &shim_outcome, NULL);
    } while (!equal(plain, shim) && ++tries < TRIES);
    cr_assert(plain_outcome.status == shim_outcome.status, "%s: status", args[0]);
    cr_assert_str_eq(plain_outcome.out, shim_outcome.out);
    cr_assert_str_eq(plain_outcome.err, shim_outcome.err);
    for (int i = 0; i < plain->count && i < shim->count; i++)
        cr_assert_str_eq(shim->lines[i], plain->lines[i], "%s, call %d: %s, plain %s", args[0], i,
                         shim->lines[i], plain->lines[i]);
    cr_assert(plain->count == shim->count, "%s: %d calls, plain %d; the first more is %s", args[0],
              shim->count, plain->count,
              shim->count > plain->count ? shim->lines[plain->count] : plain->lines[shim->count]);
}

Test(hazard_d, D11_start_makes_no_system_call)
{
    same_calls(ARGS("/bin/true"), NULL);
    same_calls(ARGS("/bin/true"), "XFERSHIM=on");
    same_calls(ARGS("/bin/true"), "XFERSHIM=off");
    same_calls(ARGS("/bin/true"), "XFERSHIM=observe");
    same_calls(ARGS("/bin/true"), "XFERSHIM_SKIP=true,false");
    same_calls(ARGS("/bin/true"), "XFERSHIM_BUFFER=nonsense");
}

static void make_files(void)
{
    make_random(scratch_path("big"), 50, 8 * MIB);
    make_random(scratch_path("small"), 50, 10000);
    make_text(scratch_path("list"), "pear\napple\nquince\nmedlar\n");
}

Test(hazard_d, D13_programs_that_copy_nothing)
{
    make_files();
    const char *big = scratch_path("big"), *small = scratch_path("small"), *list = scratch_path("list");
    same_calls(ARGS("/bin/echo", "a", "b"), NULL);
    same_calls(ARGS("/bin/ls", "-l", scratch_path("list")), NULL);
    same_calls(ARGS("sort", list), NULL);
    same_calls(ARGS("uniq", list), NULL);
    same_calls(ARGS("head", "-c", "5000", small), NULL);
    same_calls(ARGS("wc", "-c", small), NULL);
    same_calls(ARGS("wc", "-l", big), NULL);
    same_calls(ARGS("sha256sum", big), NULL);
    same_calls(ARGS("seq", "20000"), NULL);
    same_calls(ARGS("/bin/sh", "-c", "for i in 1 2 3; do echo $i; done; /bin/true; /bin/echo x"), NULL);
}

/* Pairs of read and write, but too few, or between ends that nobody would help with. */
Test(hazard_d, D13_programs_that_copy_little)
{
    make_files();
    const char *small = scratch_path("small"), *list = scratch_path("list");
    same_calls(ARGS("dd", text("if=%s", small), "of=copy", "bs=512", "status=none"), NULL);
    same_calls(ARGS("cat", list), NULL);
    same_calls(ARGS("tee", "copy"), NULL);
    same_calls(ARGS("tr", "a", "b"), NULL);
}

/* D13: what Debian ships, each doing what it is mostly used for, none of it a bulk loop. A program that is
 * not there is left out; there have to be enough. */
static int inert(const char *const *args)
{
    if (*args[0] == '/' ? !file_exists(args[0]) : !find_program(args[0]))
        return 0;
    same_calls(args, NULL);
    return 1;
}

static void make_project(void)
{
    make_files();
    cr_assert(chdir(scratch_dir("project")) == 0, "chdir");
    make_text("a.txt", "one\ntwo\nthree\n");
    make_text("Makefile", "all: b.txt\nb.txt: a.txt\n\tsort a.txt >b.txt\n\trm b.txt\n");
    struct run pack = {.args = ARGS("tar", "-cf", "some.tar", "a.txt", "Makefile")};
    run(&pack);
}

Test(hazard_d, D13_programs_of_the_distribution, .timeout = 100)
{
    make_project();
    int count = 0;
    char *here = scratch_path("project"), *a = text("%s/a.txt", here), *list = scratch_path("list");
    count += inert(ARGS("/bin/true"));
    count += inert(ARGS("ls", "-lR", here));
    count += inert(ARGS("cat", a));
    count += inert(ARGS("cp", a, "copy"));
    count += inert(ARGS("grep", "t", a, list));
    count += inert(ARGS("sed", "s/o/0/", a));
    count += inert(ARGS("awk", "{ n += length } END { print n }", a));
    /* Without children: bash waits for them in its handler or outside of it, as it happens. */
    count += inert(ARGS("bash", "-c", "while read -r x; do echo \"${x/o/0}\" >>log; done <$0", a));
    count += inert(ARGS("perl", "-ne", "print if /t/", a));
    count += inert(ARGS("find", here, "-type", "f", "-size", "-4"));
    count += inert(ARGS("sort", "-r", a, list));
    count += inert(ARGS("tar", "-tf", text("%s/some.tar", here)));
    count += inert(ARGS("make", "-s", "-C", here));
    count += inert(ARGS("gzip", "-c", a));
    count += inert(ARGS("cut", "-c", "2-", a));
    count += inert(ARGS("xargs", "-a", list, "echo"));
    count += inert(ARGS("id"));
    cr_assert(count >= 12, "only %d programs are here", count);
}

Test(hazard_d, D13_interpreters_and_large_programs, .timeout = 100)
{
    make_project();
    char *here = scratch_path("project");
    struct run init = {.args = ARGS("git", "init", "-q", here)};
    if (find_program("git"))
        run(&init);
    int count = inert(ARGS("/usr/bin/python3", "-ISc", "print(len(open('/proc/self/comm').read()))"));
    count += inert(ARGS("git", "-C", here, "status", "--short"));
    make_text("script.tcl", "puts [expr {6 * 7}]\n");
    count += inert(ARGS("tclsh", text("%s/script.tcl", here)));
    cr_assert(count > 0, "none of them is here");
}

/* Threads race, so only which calls there are can be compared: none that is ours. */
Test(hazard_d, D13_java_virtual_machine, .timeout = 100)
{
    static const char *const ours[] = {"kcmp(", "unshare(", "cachestat(", "PR_SET_SYSCALL_USER_DISPATCH",
                                       "F_SETLEASE"};
    if (!find_program("java"))
        cr_skip_test("java is not installed");
    struct outcome outcome;
    struct trace *trace = trace_of(ARGS("java", "-version"), NULL, true, &outcome, NULL);
    cr_assert(outcome.status == 0, "exit %d; %s", exit_code(outcome.status), outcome.err);
    for (int i = 0; i < trace->count; i++)
        for (size_t j = 0; j < sizeof ours / sizeof *ours; j++)
            cr_assert(!strstr(trace->lines[i], ours[j]), "%s", trace->lines[i]);
}

/* Asked not to act: not one call of its own, however large the copy. */
Test(hazard_d, D13_switched_off)
{
    make_files();
    const char *input = text("if=%s", scratch_path("big"));
    same_calls(ARGS("dd", input, "of=copy", "bs=4096", "status=none"), "XFERSHIM=off");
    same_calls(ARGS("dd", input, "of=copy", "bs=4096", "status=none"), "XFERSHIM_SKIP=dd");
    same_calls(ARGS("dd", input, "of=copy", "bs=4096", "status=none"), "XFERSHIM_ONLY=cpio");
}

Test(hazard_b, B10_sandboxed_program_makes_not_one_call_more)
{
    const char *source = scratch_path("source");
    make_random(source, 51, 2 * MIB);
    same_calls(ARGS(victim("b10_sandbox_itself"), source, "out", "allow", "0"), "XFERSHIM_THRESHOLD=1");
    /* With a session before: compare what comes behind the lock. */
    struct outcome outcome;
    struct trace *traces[2];
    int from[2];
    for (int i = 0; i < 2; i++) {
        traces[i] = trace_of(ARGS(victim("b10_sandbox_itself"), source, "out", "allow", "1048576"),
                             "XFERSHIM_THRESHOLD=1", i, &outcome, NULL);
        for (from[i] = 0; from[i] < traces[i]->count; from[i]++)
            if (strstr(traces[i]->lines[from[i]], "PR_SET_NO_NEW_PRIVS"))
                break;
        cr_assert(from[i] < traces[i]->count, "no lock in the trace");
    }
    cr_assert(from[1] < from[0], "no session before the lock");
    for (int i = 0; from[0] + i < traces[0]->count || from[1] + i < traces[1]->count; i++) {
        cr_assert(from[0] + i < traces[0]->count && from[1] + i < traces[1]->count, "%d calls, plain %d",
                  traces[1]->count - from[1], traces[0]->count - from[0]);
        cr_assert_str_eq(traces[1]->lines[from[1] + i], traces[0]->lines[from[0] + i]);
    }
}

static void answers_in_advance(void *unused)
{
    int ends[2];
    (void)unused;
    if (pipe(ends) != 0 || write(ends[1], "....", 4) != 4 || dup2(ends[0], 3) != 3)
        _exit(126);
    /* dup2 to itself would leave it close-on-exec. */
    int nowhere = open("/dev/null", O_WRONLY);
    if (dup2(nowhere, 4) != 4)
        _exit(126);
    fcntl(3, F_SETFD, 0);
    fcntl(4, F_SETFD, 0);
}

static bool syncs(const char *line)
{
    static const char *const calls[] = {"fsync(",  "fdatasync(",       "sync(",
                                        "syncfs(", "sync_file_range(", "msync("};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (strncmp(line, calls[i], strlen(calls[i])) == 0)
            return true;
    return false;
}

Test(hazard_e, E4_sync_covers_every_byte_and_is_the_programs_own)
{
    const char *source = scratch_path("source");
    make_random(source, 52, 6 * MIB);
    struct outcome outcome;
    struct trace *traces[2];
    long written[2][4] = {{0}};
    int count[2] = {0}, writes[2] = {0};
    for (int i = 0; i < 2; i++) {
        traces[i] = trace_of(ARGS(victim("e4_synced"), source, "out"), "XFERSHIM_THRESHOLD=1", i, &outcome,
                             answers_in_advance);
        cr_assert(outcome.status == 0, "exit %d; %s", exit_code(outcome.status), outcome.err);
        long total = 0;
        int out = -1;
        for (int j = 0; j < traces[i]->count; j++) {
            const char *line = traces[i]->lines[j], *result = strrchr(line, '=');
            int fd;
            if (strstr(line, "O_CREAT") && strstr(line, "\"out\""))
                out = atoi(result + 1);
            if (strncmp(line, "copy_file_range(", 16) == 0) /* blocks are shared here */
                total += strtol(result + 1, NULL, 10);
            if (sscanf(line, "write(%d", &fd) == 1 && fd == out) {
                total += strtol(result + 1, NULL, 10);
                writes[i]++;
            }
            if (syncs(line)) {
                cr_assert(count[i] < 4, "one sync too many: %s", line);
                written[i][count[i]++] = total;
            }
        }
    }
    cr_assert(count[0] == 4 && count[1] == 4, "%d syncs, plain %d", count[1], count[0]);
    for (int i = 0; i < 4; i++)
        cr_assert(written[0][i] == (i + 1L) * MIB && written[1][i] == written[0][i],
                  "before sync %d: %ld bytes, plain %ld", i, written[1][i], written[0][i]);
    cr_assert(writes[1] < writes[0] / 4, "%d writes, plain %d: not helped", writes[1], writes[0]);
}
