/* overhead: what the shim costs a program that it cannot help. */
#ifndef BENCH_OVERHEAD_H
#define BENCH_OVERHEAD_H

#include "common.h"

#include <stdbool.h>

/* A way to call read and write that is no bulk copy. */
struct pattern {
    const char *name;
    int calls; /* system calls in one turn */
    void (*turn)(const int sources[], const int sinks[], unsigned round);
};

enum { ENDS = 4 }; /* sources, and sinks, that a pattern may use */

extern const struct pattern patterns[];
extern const size_t pattern_count;

/* Runs a pattern in this process: the least nanoseconds a call took on average in any of many short
 * stretches, which is the figure that other people's load on the machine touches least. */
double pattern_time(const struct pattern *pattern);

struct calls_result {
    struct spread plain, shim; /* nanoseconds a call */
    struct spread more;        /* shim - plain, of each pair */
};

/* Measures a pattern in pairs of fresh processes of this program. */
struct calls_result calls_measure(size_t pattern, const char *library, size_t pairs);

struct start_result {
    struct spread empty_wall, shim_wall, empty_cpu, shim_cpu; /* microseconds a start */
    struct spread more_wall, more_cpu;                        /* shim - empty, of each pair */
};

/* Starts and awaits a program that does nothing, with either library preloaded, in pairs. */
struct start_result start_measure(const char *empty, const char *library, size_t pairs);

#endif
