/* Runs fault_copy under the library whose gate fails on request (gate/gate.c), and reads the gate's tally. */
#ifndef TESTS_FAULTS_FAULTS_H
#define TESTS_FAULTS_FAULTS_H

#include "support.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FAULT_CALLS = 8192 };

/* One system call of the library. */
struct fault_call {
    long number, armed, injected, first, second, third, result;
};

struct faulted {
    struct outcome outcome;
    struct fault_call *call;
    int calls, injected, injected_armed; /* armed: while the guard was */
};

static inline struct faulted fault_tally(const char *path)
{
    struct faulted result = {.call = calloc(FAULT_CALLS, sizeof *result.call)};
    FILE *file = fopen(path, "r");
    struct fault_call c;
    while (file && result.calls < FAULT_CALLS &&
           fscanf(file, "%ld %ld %ld %ld %ld %ld %ld", &c.number, &c.armed, &c.injected, &c.first, &c.second,
                  &c.third, &c.result) == 7) {
        result.call[result.calls++] = c;
        result.injected += c.injected != 0;
        result.injected_armed += c.injected && c.armed;
    }
    if (file)
        fclose(file);
    return result;
}

/* FAULT as gate.c has it; NULL: none. `args` begins with the program. */
static inline struct faulted fault_run(const char *fault, const char *const *args, const char *cwd)
{
    char *tally = scratch_path("tally");
    remove(tally);
    struct run what = {
        .args = args,
        .cwd = cwd,
        .shim = true,
        .env = ARGS(text("LD_PRELOAD=%s", build_path("tests/faults/libfaultgate.so")),
                    text("FAULT_TALLY=%s", tally), fault ? text("FAULT=%s", fault) : "FAULT"),
        .timeout = 20,
    };
    struct outcome outcome = run(&what);
    struct faulted result = fault_tally(tally);
    result.outcome = outcome;
    cr_assert(!outcome.timed_out, "%s: timed out", fault ?: "no fault");
    return result;
}

static inline void fault_free(struct faulted *result)
{
    free(result->call);
    free(result->outcome.out);
    free(result->outcome.err);
    free(result->outcome.report.raw);
}

/* The numbers at which each errno of the list is a likely answer of a kernel or a filter. */
static const int fault_errors[] = {EPERM,  ENOSYS, EACCES, EINVAL, EINTR,  EIO,
                                   ENOSPC, EDQUOT, EFBIG,  EAGAIN, ENOMEM, EBADF};
enum { FAULT_ERRORS = sizeof fault_errors / sizeof *fault_errors };

/* How many calls of this number an undisturbed run makes before the guard is armed, and while it is. */
static inline void fault_count(const struct faulted *base, long number, int *before, int *armed)
{
    *before = *armed = 0;
    for (int i = 0; i < base->calls; i++)
        if (base->call[i].number == number) {
            *armed += base->call[i].armed != 0;
            *before += !base->call[i].armed && *armed == 0;
        }
}

/* Lines of `text` that begin so. */
static inline int fault_lines(const char *text, const char *begin)
{
    int count = 0;
    for (const char *at = text; (at = strstr(at, begin)); at++)
        count += at == text || at[-1] == '\n';
    return count;
}

/* With FAULT_ALL=1 in the environment every test tries all it can, else what fits into `make check`. */
static inline bool fault_all(void)
{
    return getenv("FAULT_ALL") != NULL;
}

#endif
