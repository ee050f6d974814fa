/* The exported functions: a program's calls come in here. */
#include <errno.h>
#include <linux/prctl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "config.h"
#include "detect.h"
#include "real.h"
#include "report.h"
#include "sandbox.h"
#include "session.h"

#define EXPORT __attribute__((visibility("default")))

/* Checked before anything else, so that each hook is one load and one branch where there is nothing to do. */
static inline bool watching(void)
{
    return config.mode != CONFIG_OFF;
}

static __thread struct detect loop = {.in = -1, .out = -1};

static ssize_t returned(ssize_t result)
{
    if (result >= 0)
        return result;
    errno = (int)-result;
    return -1;
}

static inline ssize_t hooked_read(int fd, void *buffer, size_t count)
{
    ssize_t n;
    if (!watching())
        return real_read(fd, buffer, count);
    if (session_live && session_read(fd, buffer, count, &n))
        return returned(n);
    n = real_read(fd, buffer, count);
    detect_read(&loop, fd, buffer, count, n);
    return n;
}

static inline ssize_t hooked_write(int fd, const void *buffer, size_t count, const void *site)
{
    ssize_t n;
    if (!watching())
        return real_write(fd, buffer, count);
    if (session_live && session_write(fd, buffer, count, &n))
        return returned(n);
    n = real_write(fd, buffer, count);
    if (detect_write(&loop, fd, buffer, n, site, config.threshold, config.threshold_given))
        session_consider(&loop);
    if (config.mode == CONFIG_OBSERVE && n > 0)
        report_observed(loop.in, fd, (size_t)n);
    return n;
}

EXPORT ssize_t read(int fd, void *buffer, size_t count)
{
    return hooked_read(fd, buffer, count);
}

EXPORT ssize_t __read(int fd, void *buffer, size_t count)
{
    return hooked_read(fd, buffer, count);
}

/* libc's, which ends a program that would overflow its buffer. */
_Noreturn void __chk_fail(void);

EXPORT ssize_t __read_chk(int fd, void *buffer, size_t count, size_t room)
{
    if (count > room)
        __chk_fail();
    return hooked_read(fd, buffer, count);
}

EXPORT ssize_t write(int fd, const void *buffer, size_t count)
{
    return hooked_write(fd, buffer, count, __builtin_return_address(0));
}

EXPORT ssize_t __write(int fd, const void *buffer, size_t count)
{
    return hooked_write(fd, buffer, count, __builtin_return_address(0));
}

/* Watched for one thing only: a program that sandboxes itself is left alone for good. libc forwards four arguments of any
 * prctl too.
 */
EXPORT int prctl(int option, ...)
{
    va_list list;
    va_start(list, option);
    unsigned long a = va_arg(list, unsigned long), b = va_arg(list, unsigned long);
    unsigned long c = va_arg(list, unsigned long), d = va_arg(list, unsigned long);
    va_end(list);
    if (option == PR_SET_NO_NEW_PRIVS || option == PR_SET_SECCOMP)
        sandbox_entered();
    return real_prctl(option, a, b, c, d);
}
