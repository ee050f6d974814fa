/* The session: one pair of descriptors in the process whose read/write loop is served from a window, under
 * the guard. */
#ifndef SHIM_SESSION_H
#define SHIM_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "detect.h"

/* True while a session is active or owes bytes to its destination. */
extern volatile bool session_live;

/* The program's calls while session_live. True: `*result` is what the call returns (-errno for an error).
 * False: make the real call. May be interrupted and re-entered by signal handlers.
 */
bool session_read(int fd, void *buffer, size_t count, ssize_t *result);
bool session_write(int fd, const void *buffer, size_t count, ssize_t *result);

/* The detector thinks that it is time: starts a session if all checks pass, else notes the refusal. Or, in
 * observe mode, notes what would be gained. Leaves errno alone.
 */
void session_consider(struct detect *loop);

/* The process exits: ends a session, so that the report holds it. */
void session_end(void);

#endif
