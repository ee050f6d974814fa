#include "real.h"

#include <dlfcn.h>
#include <errno.h>

#include "sys.h"

typedef int prctl_function(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d);

static long result(long value)
{
    if (value >= 0)
        return value;
    errno = (int)-value;
    return -1;
}

static ssize_t early_read(int fd, void *buffer, size_t count)
{
    return result(sys_read(fd, buffer, count));
}

static ssize_t early_write(int fd, const void *buffer, size_t count)
{
    return result(sys_write(fd, buffer, count));
}

real_read_function *_Atomic real_read_next = early_read;
real_write_function *_Atomic real_write_next = early_write;
static prctl_function *_Atomic prctl_next;

/* There is a next one unless libc is not where it always is; the early ones do then. */
void real_find(void)
{
    real_write_function *write_next = (real_write_function *)dlsym(RTLD_NEXT, "write");
    real_read_function *read_next = (real_read_function *)dlsym(RTLD_NEXT, "read");
    if (write_next)
        atomic_store(&real_write_next, write_next);
    if (read_next)
        atomic_store(&real_read_next, read_next);
}

/* Looked up at the first call: few programs make one, and each look-up at the start costs all of them
 * microseconds. Before the constructor not at all, see real_find().
 */
int real_prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d)
{
    prctl_function *function = atomic_load(&prctl_next);
    if (!function && atomic_load(&real_read_next) != early_read) {
        function = (prctl_function *)dlsym(RTLD_NEXT, "prctl");
        atomic_store(&prctl_next, function);
    }
    return function ? function(option, a, b, c, d) : (int)result(XFER_SYS(SYS_prctl, option, a, b, c, d));
}
