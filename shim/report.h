/* The report: what was done, what was not and why. Kept in static memory, written once at exit. */
#ifndef SHIM_REPORT_H
#define SHIM_REPORT_H

#include <stdbool.h>

#include "detect.h"
#include "payoff.h"
#include "refusal.h"
#include "stream.h"

/* True if a report was asked for: the paths of the loops are then looked up. */
bool report_wanted(void);

/* A session on in and out starts. The guard is not armed yet. No handler may run. */
void report_start(int in, int out, size_t chunk);

/* It is over. `call` is the system call that ended it, -1: none; `chunk` the size of its writes in bytes. Any
 * context. */
void report_end(const struct xfer_stream *stream, size_t chunk, enum payoff_kind kind, long call);

/* A session was refused. Any context. */
void report_refusal(enum refusal why);

/* In observe mode: a session would have started on this loop. The loop's later calls are counted by
 * report_observed(). */
void report_would_start(int in, int out, size_t chunk);
void report_observed(int in, int out, size_t bytes);

/* Writes the file. Called once, by the destructor. */
void report_write(void);

#endif
