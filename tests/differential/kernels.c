#include "kernels.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROCMAP_QUERY 0xc0686611u /* _IOWR('f', 17, struct procmap_query), Linux 6.11 */
#define SET_DISPATCH 59           /* PR_SET_SYSCALL_USER_DISPATCH, Linux 5.11 */
#define ANY (~0u)

/* A call, the argument that makes it one of those that are missing, and what it returns. */
struct missing {
    unsigned number, argument, value;
    int error;
};

enum { NO_QUERY, NO_UNSHARE, NO_KCMP, NO_DISPATCH, MISSING };

static const struct missing all[MISSING] = {
    {SYS_ioctl, 1, PROCMAP_QUERY, ENOTTY},
    {SYS_unshare, 0, ANY, EPERM},
    {SYS_kcmp, 0, ANY, EPERM},
    {SYS_prctl, 0, SET_DISPATCH, EINVAL},
};

static void refuse(const struct missing *m)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, m->number, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)offsetof(struct seccomp_data, args) + 8 * m->argument),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, m->value, 0, m->value == ANY ? 0 : 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)m->error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* A library that asks its parent what it may do finds one under the same filters. */
static void stand_behind(void)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0)
        return;
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status)) {
        signal(WTERMSIG(status), SIG_DFL);
        raise(WTERMSIG(status));
    }
    _exit(WEXITSTATUS(status));
}

void kernel_choose(uint64_t seed)
{
    switch (seed % 32) {
    case 4:
        refuse(&all[NO_QUERY]);
        break;
    case 10:
        refuse(&all[NO_QUERY]);
        refuse(&all[NO_UNSHARE]);
        break;
    case 20:
        refuse(&all[NO_KCMP]);
        break;
    case 26:
        if (seed % 256 == 26)
            refuse(&all[NO_DISPATCH]);
        break;
    default:
        return;
    }
    stand_behind();
}
