/*
 * D11: what a start of a program costs with the library, in counts: time depends on the machine, these do
 * not. The measure is an empty library, which is what preloading anything at all costs.
 */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Most of it is the loader's work on our relocations and symbols: 26450 with gcc 12 and glibc 2.36. */
enum { INSTRUCTIONS_MORE = 40000 };

static const char *empty_library(void)
{
    if (!find_program("gcc"))
        cr_skip_test("gcc is not installed");
    make_text(scratch_path("empty.c"), "");
    struct run what = {.args = ARGS("gcc", "-shared", "-fPIC", "-o", "empty.so", "empty.c"),
                       .cwd = scratch()};
    cr_assert(run(&what).status == 0, "no empty library");
    return scratch_path("empty.so");
}

static char *trace_of_true(const char *library)
{
    if (!find_program("strace"))
        cr_skip_test("strace is not installed");
    struct run what = {.args =
                           ARGS("strace", "-qq", "-o", "trace", "-E", text("LD_PRELOAD=%s", library), "true"),
                       .cwd = scratch()};
    struct outcome outcome = run(&what);
    if (strstr(outcome.err, "ptrace"))
        cr_skip_test("no tracing here: %s", outcome.err);
    cr_assert(outcome.status == 0, "%s", outcome.err);
    return file_read(scratch_path("trace"), NULL);
}

static int count(const char *trace, const char *call)
{
    int lines = 0;
    for (const char *line = trace; line && *line; line = strchr(line, '\n'), line += line != NULL)
        lines += strncmp(line, call, strlen(call)) == 0;
    return lines;
}

static int mappings(const char *trace)
{
    return count(trace, "mmap(") + count(trace, "mprotect(");
}

static int others(const char *trace)
{
    return count(trace, "") - mappings(trace);
}

Test(hazard_d, D11_start_makes_no_more_calls_than_an_empty_library)
{
    char *empty = trace_of_true(empty_library()), *ours = trace_of_true(shim_library()),
         *none = trace_of_true("");
    cr_assert(count(ours, "openat(") == count(none, "openat(") + 1, "%s", ours);
    /* Mappings are counted by themselves: an empty library may have more segments than ours, which must not
     * hide a call. */
    cr_assert(others(ours) <= others(empty), "%d calls, an empty library %d, none %d:\n%s", others(ours),
              others(empty), others(none), ours);
    cr_assert(mappings(ours) <= mappings(empty), "%d mappings, an empty library %d, none %d", mappings(ours),
              mappings(empty), mappings(none));
}

static long instructions_of_true(const char *library)
{
    if (!find_program("valgrind"))
        cr_skip_test("valgrind is not installed");
    struct run what = {.args = ARGS("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "true"),
                       .env = ARGS(text("LD_PRELOAD=%s", library), "XFERSHIM"),
                       .cwd = scratch()};
    struct outcome outcome = run(&what);
    char *collected = strstr(outcome.err, "Collected : ");
    if (outcome.status != 0 || !collected)
        cr_skip_test("callgrind does not run here: %.*s", (int)strcspn(outcome.err, "\n"), outcome.err);
    return strtol(collected + strlen("Collected : "), NULL, 10);
}

Test(hazard_d, D11_start_takes_few_instructions)
{
    long empty = instructions_of_true(empty_library()), ours = instructions_of_true(shim_library());
    cr_assert(ours - empty < INSTRUCTIONS_MORE, "%ld instructions more than an empty library's %ld",
              ours - empty, empty);
    cr_assert(ours > empty, "%ld instructions, an empty library %ld: it was not loaded", ours, empty);
}
