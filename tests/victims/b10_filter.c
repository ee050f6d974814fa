/* Installs a seccomp filter that answers some system calls with an error, or kills, and becomes another
 * program, or makes a child that does, so that the other program's parent lives under the same filter.
 *
 * b10_filter ACTION CALL[,CALL...] become|child PROGRAM ARGS...
 *
 * ACTION: an errno number, "kill" (the
 * process), "thread" (the thread) or "trap". A CALL is a number, or NUMBER:MIN for a call whose third
 * argument is at least MIN (a loader that makes small ones of the kind must still work). Exits 77 where
 * filters are not to be had.
 */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "copy.h"

int main(int argc, char **argv)
{
    static struct sock_filter code[1024];
    unsigned n = 0;
    __u32 action;

    NEED(argc > 4);
    if (strcmp(argv[1], "kill") == 0)
        action = SECCOMP_RET_KILL_PROCESS;
    else if (strcmp(argv[1], "thread") == 0)
        action = SECCOMP_RET_KILL_THREAD;
    else if (strcmp(argv[1], "trap") == 0)
        action = SECCOMP_RET_TRAP;
    else
        action = SECCOMP_RET_ERRNO | (__u32)atoi(argv[1]);

    code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (char *rest = argv[2], *call; (call = strsep(&rest, ","));) {
        char *least = strchr(call, ':');
        NEED(n + 8 < sizeof code / sizeof *code);
        if (least) {
            code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (__u32)atoi(call), 0, 4);
            code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                                     offsetof(struct seccomp_data, args[2]));
            code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, (__u32)atoi(least + 1), 0, 1);
            code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action);
            code[n++] =
                (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
        } else {
            code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (__u32)atoi(call), 0, 1);
            code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action);
        }
    }
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);

    struct sock_fprog program = {(unsigned short)n, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0)
        return 77;
    if (strcmp(argv[3], "child") == 0) {
        pid_t child = fork();
        NEED(child >= 0);
        if (child) {
            int status;
            NEED(waitpid(child, &status, 0) == child);
            if (WIFSIGNALED(status))
                kill(getpid(), WTERMSIG(status));
            _exit(WEXITSTATUS(status));
        }
    }
    execv(argv[4], argv + 4);
    return VICTIM_BROKEN;
}
