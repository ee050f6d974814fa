#include "calls.h"

#include <sys/syscall.h>

#define CALL(name)                                                                                           \
    {                                                                                                        \
        SYS_##name, #name                                                                                    \
    }

/* The names are arrays, not pointers: no relocation when the library is loaded. */
static const struct {
    short number;
    char name[16];
} names[] = {
    CALL(read),
    CALL(write),
    CALL(open),
    CALL(openat),
    CALL(close),
    CALL(close_range),
    CALL(stat),
    CALL(fstat),
    CALL(lstat),
    CALL(newfstatat),
    CALL(statx),
    CALL(lseek),
    CALL(mmap),
    CALL(munmap),
    CALL(mremap),
    CALL(mprotect),
    CALL(brk),
    CALL(pread64),
    CALL(pwrite64),
    CALL(readv),
    CALL(writev),
    CALL(ioctl),
    CALL(fcntl),
    CALL(dup),
    CALL(dup2),
    CALL(dup3),
    CALL(pipe2),
    CALL(poll),
    CALL(ppoll),
    CALL(select),
    CALL(pselect6),
    CALL(nanosleep),
    CALL(clock_nanosleep),
    CALL(getpid),
    CALL(getppid),
    CALL(sendto),
    CALL(sendmsg),
    CALL(recvfrom),
    CALL(recvmsg),
    CALL(fork),
    CALL(vfork),
    CALL(clone),
    CALL(clone3),
    CALL(execve),
    CALL(wait4),
    CALL(waitid),
    CALL(kill),
    CALL(tgkill),
    CALL(exit),
    CALL(exit_group),
    CALL(rt_sigaction),
    CALL(rt_sigprocmask),
    CALL(rt_sigreturn),
    CALL(fsync),
    CALL(fdatasync),
    CALL(ftruncate),
    CALL(fallocate),
    CALL(fadvise64),
    CALL(copy_file_range),
    CALL(sendfile),
    CALL(splice),
    CALL(futex),
    CALL(time),
    CALL(gettimeofday),
    CALL(clock_gettime),
    CALL(prctl),
    CALL(unlink),
    CALL(unlinkat),
    CALL(rename),
    CALL(fchmod),
    CALL(fchown),
    CALL(utimensat),
};

void calls_name(struct text *text, long number)
{
    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (names[i].number == number) {
            text_put(text, names[i].name);
            return;
        }
    }
    text_number(text, (uint64_t)number);
}
