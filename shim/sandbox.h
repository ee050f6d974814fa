/* System call filters, the program's own and inherited ones. */
#ifndef SHIM_SANDBOX_H
#define SHIM_SANDBOX_H

#include <stdbool.h>

/* The program has sandboxed itself: from now on not one call is made that it did not make. */
void sandbox_entered(void);
bool sandbox_is_entered(void);

/* False if an inherited filter might kill for one of our calls. The first call finds out, with a child process where there is a
 * filter at all; later ones remember. Not re-entered: no handler may run.
 */
bool sandbox_lets_us(void);

#endif
