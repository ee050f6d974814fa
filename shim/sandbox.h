/* System call filters, the program's own and inherited ones. */
#ifndef SHIM_SANDBOX_H
#define SHIM_SANDBOX_H

#include <stdbool.h>

#include "refusal.h"

/* The program has sandboxed itself: from now on not one call is made that it did not make. */
void sandbox_entered(void);
bool sandbox_is_entered(void);

/* REFUSAL_SECCOMP if an inherited filter might kill for one of our calls. The first call finds out, by
 * reading a file and, where there is a filter at all, with a child process; later ones remember.
 * REFUSAL_NO_DESCRIPTOR or REFUSAL_NO_MAPS if the file cannot be read. To be asked before any other call of
 * ours is made. Any context.
 */
enum refusal sandbox_check(void);

#endif
