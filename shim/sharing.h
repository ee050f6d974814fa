/* Whether somebody else uses an open file description of ours, as far as the kernel tells. */
#ifndef SHIM_SHARING_H
#define SHIM_SHARING_H

#include <stdbool.h>

/* True if the parent or a living child has one of the two descriptions, under the same number or as 0, 1 or 2; also when
 * there are children that cannot be named. A process that may not be looked at counts as having none: the check of
 * the offset before each flush is what remains. Any context.
 */
bool sharing_found(int in, int out);

#endif
