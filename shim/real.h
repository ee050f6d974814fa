/* The functions behind ours: the next ones in the search order, libc's or those of a library preloaded after
 * this one. */
#ifndef SHIM_REAL_H
#define SHIM_REAL_H

#include <stdatomic.h>
#include <stddef.h>
#include <sys/types.h>

typedef ssize_t real_read_function(int fd, void *buffer, size_t count);
typedef ssize_t real_write_function(int fd, const void *buffer, size_t count);

extern real_read_function *_Atomic real_read_next;
extern real_write_function *_Atomic real_write_next;

/* Finds them. Before that, the calls go to the kernel by way of the gate: constructors of other libraries may
 * run earlier than ours, and dlsym may allocate, which an allocator that is just starting would not survive.
 */
void real_find(void);

/* As the functions of these names: errno is set, read and write are cancellation points. */
static inline ssize_t real_read(int fd, void *buffer, size_t count)
{
    return atomic_load_explicit(&real_read_next, memory_order_acquire)(fd, buffer, count);
}

static inline ssize_t real_write(int fd, const void *buffer, size_t count)
{
    return atomic_load_explicit(&real_write_next, memory_order_acquire)(fd, buffer, count);
}

int real_prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d);

#endif
