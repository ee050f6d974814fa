/* The system call gate: every call that the library makes goes through xfer_gate_call().
 *
 * Nothing here touches errno, takes a lock or is a cancellation point; every function may be called in a
 * signal handler, on a small stack and before any constructor. All return a value >= 0, or -errno.
 */
#ifndef XFER_SYS_H
#define XFER_SYS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/types.h>

/* Bytes that xfer_gate_resume removes from the program's stack: the red zone of the x86-64 ABI (128 bytes,
 * which belong to the interrupted function) and the address to go on at.
 */
#define XFER_GATE_RESUME_FRAME 136

extern const char xfer_gate_start[], xfer_gate_end[];
extern const char xfer_gate_resume[], xfer_gate_sigreturn[];

long xfer_gate_call(long number, long a, long b, long c, long d, long e, long f);

/* A call of two arguments with the stack pointer at `stack`; the memory there is not used, but no handler may
 * run. */
long xfer_gate_call_from(void *stack, long number, long a, long b);

#define XFER_SYS(number, ...) XFER_SYS_(number, ##__VA_ARGS__, 0, 0, 0, 0, 0, 0)
#define XFER_SYS_(number, a, b, c, d, e, f, ...)                                                             \
    xfer_gate_call((number), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

static inline ssize_t sys_read(int fd, void *buffer, size_t count)
{
    return XFER_SYS(SYS_read, fd, buffer, count);
}

static inline ssize_t sys_write(int fd, const void *buffer, size_t count)
{
    return XFER_SYS(SYS_write, fd, buffer, count);
}

static inline ssize_t sys_pread(int fd, void *buffer, size_t count, off_t offset)
{
    return XFER_SYS(SYS_pread64, fd, buffer, count, offset);
}

static inline off_t sys_lseek(int fd, off_t offset, int whence)
{
    return XFER_SYS(SYS_lseek, fd, offset, whence);
}

static inline int sys_close(int fd)
{
    return (int)XFER_SYS(SYS_close, fd);
}

static inline int sys_getpid(void)
{
    return (int)XFER_SYS(SYS_getpid);
}

#endif
