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

static __thread struct detect loop = {.in = -1, .out = -1};

/* One load and one branch for everything that is not the usual case: switched off or not started yet, or a
 * session is live. */
static inline bool usual(void)
{
    return config.mode != CONFIG_OFF && !session_live;
}

static ssize_t returned(ssize_t result)
{
    if (result >= 0)
        return result;
    errno = (int)-result;
    return -1;
}

static __attribute__((noinline)) ssize_t unusual_read(int fd, void *buffer, size_t count)
{
    ssize_t n;
    if (config.mode == CONFIG_OFF)
        return real_read(fd, buffer, count);
    if (session_read(fd, buffer, count, &n))
        return returned(n);
    n = real_read(fd, buffer, count);
    detect_read(&loop, fd, buffer, count, n);
    return n;
}

static __attribute__((noinline)) void note_write(int fd, const void *buffer, ssize_t n, const void *site)
{
    if (detect_write(&loop, fd, buffer, n, site, config.threshold, config.threshold_given))
        session_consider(&loop);
    if (config.mode == CONFIG_OBSERVE && n > 0)
        report_observed(loop.in, fd, (size_t)n);
}

static __attribute__((noinline)) ssize_t unusual_write(int fd, const void *buffer, size_t count,
                                                       const void *site)
{
    ssize_t n;
    if (config.mode == CONFIG_OFF)
        return real_write(fd, buffer, count);
    if (session_write(fd, buffer, count, &n))
        return returned(n);
    n = real_write(fd, buffer, count);
    note_write(fd, buffer, n, site);
    return n;
}

static inline ssize_t hooked_read(int fd, void *buffer, size_t count)
{
    if (!usual())
        return unusual_read(fd, buffer, count);
    ssize_t n = real_read(fd, buffer, count);
    if (!detect_usual_read(&loop, fd, buffer, count, n))
        detect_read(&loop, fd, buffer, count, n);
    return n;
}

static inline ssize_t hooked_write(int fd, const void *buffer, size_t count, const void *site)
{
    if (!usual())
        return unusual_write(fd, buffer, count, site);
    ssize_t n = real_write(fd, buffer, count);
    if (config.mode != CONFIG_ON || config.threshold_given || !detect_usual_write(&loop, fd, buffer, n, site))
        note_write(fd, buffer, n, site);
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

/* Watched for one thing only: a program that sandboxes itself is left alone for good. libc forwards four
 * arguments of any prctl too.
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
