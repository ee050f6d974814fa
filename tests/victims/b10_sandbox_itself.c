/* Copies a part, locks itself up so that anything but read, write and the end kills it, copies the rest.
 *
 * b10_sandbox_itself SRC DST HOW BYTES_BEFORE
 *
 * HOW: "filter" prctl(NO_NEW_PRIVS) then prctl(SECCOMP);
 * "seccomp" prctl(NO_NEW_PRIVS) then the seccomp call, as libseccomp does; "strict" SECCOMP_MODE_STRICT;
 * "raw" both by raw system calls, which no function can see (root alone needs no prctl first); "allow" like
 * filter, but allows everything, for a trace.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "copy.h"

#define ALLOW(call)                                                                                          \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static void lock_up(const char *how)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(SYS_read),
        ALLOW(SYS_write),
        ALLOW(SYS_exit_group),
        ALLOW(SYS_exit),
        ALLOW(SYS_rt_sigreturn),
        BPF_STMT(BPF_RET | BPF_K, strcmp(how, "allow") ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};

    if (strcmp(how, "strict") == 0) {
        NEED(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0);
        return;
    }
    if (strcmp(how, "raw") == 0) {
        NEED(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0);
        return;
    }
    NEED(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    if (strcmp(how, "seccomp") == 0)
        NEED(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0);
    else
        NEED(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

int main(int argc, char **argv)
{
    static char buffer[4096];

    NEED(argc == 5);
    int in = open_source(argv[1]), out = open_destination(argv[2]);
    long before = copy_bytes(in, out, buffer, sizeof buffer, strtol(argv[4], NULL, 10));
    NEED(before >= 0);
    lock_up(argv[3]);
    long after = copy_bytes(in, out, buffer, sizeof buffer, -1);

    /* Without stdio, which would ask for the terminal; SECCOMP_MODE_STRICT knows only SYS_exit. */
    char line[64];
    int length = snprintf(line, sizeof line, "%ld then %ld\n", before, after);
    NEED(write(1, line, (size_t)length) == length);
    syscall(SYS_exit, 0);
    return 1;
}
