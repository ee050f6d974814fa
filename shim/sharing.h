/* Whether somebody else reads from an open file description of ours, as far as the kernel tells. A shared
 * destination does no harm: each flush is one write at the common offset, like the program's own.
 */
#ifndef SHIM_SHARING_H
#define SHIM_SHARING_H

#include <stdbool.h>

/* True if the parent, one of its other children or a living child has the same description as `fd`: under the
 * same number, or as a standard descriptor where ours of that number is the same file (the program has
 * duplicated it); the parent of a program that reads a standard descriptor, under any small number. Also when
 * there are own children that cannot be named. A process that may not be looked at counts as having none: the
 * check of the offset before each flush is what remains. Not re-entered: no handler may run.
 */
bool sharing_found(int fd);

#endif
