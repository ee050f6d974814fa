/* Kernels that lack something, played by filters: every program with certain seeds runs under them, plain
 * too. Only root can set one without that being an answer to "does the program sandbox itself".
 */
#ifndef KERNELS_H
#define KERNELS_H

#include <stdint.h>

/* In the process that becomes the program. */
void kernel_choose(uint64_t seed);

#endif
