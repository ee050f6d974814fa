#include "real.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>

#include "sys.h"

typedef ssize_t read_function(int fd, void *buffer, size_t count);
typedef ssize_t write_function(int fd, const void *buffer, size_t count);
typedef int prctl_function(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d);

static struct {
    read_function *_Atomic read;
    write_function *_Atomic write;
    prctl_function *_Atomic prctl;
} real;

#define LOAD(function) atomic_load_explicit(&real.function, memory_order_acquire)

void real_find(void)
{
    atomic_store(&real.write, (write_function *)dlsym(RTLD_NEXT, "write"));
    atomic_store(&real.read, (read_function *)dlsym(RTLD_NEXT, "read"));
}

static long result(long value)
{
    if (value >= 0)
        return value;
    errno = (int)-value;
    return -1;
}

ssize_t real_read(int fd, void *buffer, size_t count)
{
    read_function *function = LOAD(read);
    return function ? function(fd, buffer, count) : result(sys_read(fd, buffer, count));
}

ssize_t real_write(int fd, const void *buffer, size_t count)
{
    write_function *function = LOAD(write);
    return function ? function(fd, buffer, count) : result(sys_write(fd, buffer, count));
}

/* Looked up at the first call: few programs make one, and each look-up at the start costs all of them microseconds. */
int real_prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d)
{
    prctl_function *function = LOAD(prctl);
    if (!function && LOAD(read)) {
        function = (prctl_function *)dlsym(RTLD_NEXT, "prctl");
        atomic_store(&real.prctl, function);
    }
    return function ? function(option, a, b, c, d) : (int)result(XFER_SYS(SYS_prctl, option, a, b, c, d));
}
