/* common: running programs with and without the shim, and what is known about the machine. */
#ifndef BENCH_COMMON_H
#define BENCH_COMMON_H

#include <limits.h>
#include <stddef.h>

/* Seconds of one run, from before the process is made until it is waited for. */
struct cost {
    double wall;
    double cpu; /* user and system time of the process and of those it waited for */
};

struct command {
    char *const *argv;
    const char *stdin_path;  /* NULL for /dev/null */
    const char *stdout_path; /* created or truncated; NULL for /dev/null */
    const char *preload;     /* absolute path, or NULL to run without */
};

/* Runs a command and says what it cost. Returns 0, a negative errno when it could not be started, or
 * the wait status when it did not succeed. */
int command_run(const struct command *command, struct cost *cost);

/* What the middle half of some figures looks like. */
struct spread {
    double low, median, high;
};

/* Sorts the values. count is at least 1. */
struct spread spread_of(double *values, size_t count);

/* A path in the folder where the running program is; the folder itself for an empty name. */
void beside_self(char path[PATH_MAX], const char *name);

/* The absolute path of the shim: the one asked for, or NULL for the one that was built with this
 * program. Does not return when there is none. */
void library_find(char path[PATH_MAX], const char *asked);

struct machine {
    char kernel[64];
    char file_system[64]; /* of the given path */
    char processor[96];
    double load; /* processes that want to run, mean of the last minute; ours is one of them */
};

struct machine machine_describe(const char *path);

/* A sentence when so much else runs that wall times say little, otherwise empty. */
const char *machine_caution(const struct machine *machine);

/* "4K" for 4096, as expand_number reads it; in a static buffer. */
const char *size_text(unsigned long long bytes);

#endif
