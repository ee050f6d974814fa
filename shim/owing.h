/* Owing: a flush has failed, and the bytes that the program was told are written are still in memory.
 *
 * The guard stays armed, so that every later call on the destination tries the flush again first, and reports
 * the error when that fails. All other calls of the program run under the armed guard.
 */
#ifndef SHIM_OWING_H
#define SHIM_OWING_H

#include <stdbool.h>

#include "guard.h"
#include "stream.h"

/* What happens to a call while `stream` owes bytes that have just failed to be written. */
enum guard_verdict owing_decide(struct xfer_stream *stream, const struct guard_trap *trap, long *result);

/* A write(2) of the program to descriptor `fd`, when the guard had to be given up. True: it returns `*result`
 * (-errno). */
bool owing_write(struct xfer_stream *stream, int fd, ssize_t *result);

#endif
