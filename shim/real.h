/* The functions behind ours: the next ones in the search order, libc's or those of a library preloaded after this one. */
#ifndef SHIM_REAL_H
#define SHIM_REAL_H

#include <stddef.h>
#include <sys/types.h>

/* Finds them. Before that, the calls go to the kernel by way of the gate: constructors of other libraries may run
 * earlier than ours, and dlsym may allocate, which an allocator that is just starting would not survive.
 */
void real_find(void);

/* As the functions of these names: errno is set, read and write are cancellation points. */
ssize_t real_read(int fd, void *buffer, size_t count);
ssize_t real_write(int fd, const void *buffer, size_t count);
int real_prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d);

#endif
