/* Runs a program and answers some of its system calls in the kernel's place (seccomp's user notification).
 *
 * fault_inject TALLY CALL:WHO:INDEX:COUNT:ANSWER... -- PROGRAM ARGS...
 *
 *   CALL          the number of a system call
 *   WHO           "library": calls made inside of libxfershim.so; a number: calls whose first argument it is,
 * whoever makes them; "trial": calls of the library in any other process than the program's INDEX, COUNT from
 * the INDEX'th of these on (1 is the first), COUNT of them (0: all) ANSWER        -errno; 0: "done", and
 * nothing is; for read, write and pread64 also the bytes that are moved at most, or "less": all but one
 *
 * The program's parent lives under the same filter. TALLY gets a line for each rule: how many calls it was
 * asked about, how many it answered, and how many of these while the library's guard was armed. Exits as the
 * program does, or with 77 where there is no such thing.
 */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "victim.h"

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#endif

enum { RULES = 16, SKIPPED = 77, MOST = 1 << 20, LIBRARY = -1, TRIAL = -2 };
#define LESS (1L << 40)

static struct rule {
    long call, who, index, count, answer;
    long asked, answered, answered_armed;
} rules[RULES];
static int rule_count;

static pid_t program;
static bool armed;

static void add_rule(char *words)
{
    char who[16], answer[16];
    struct rule *rule = &rules[rule_count++];
    if (rule_count > RULES ||
        sscanf(words, "%ld:%15[^:]:%ld:%ld:%15s", &rule->call, who, &rule->index, &rule->count, answer) != 5)
        _exit(99);
    rule->who = strcmp(who, "library") == 0 ? LIBRARY : strcmp(who, "trial") == 0 ? TRIAL : atol(who);
    rule->answer = strcmp(answer, "less") == 0 ? LESS : atol(answer);
}

/* ---- the program's side ---------------------------------------------------------------------- */

static int install(void)
{
    struct sock_filter code[2 * RULES + 8];
    unsigned short n = 0;
    code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (int i = -1; i < rule_count; i++) {
        __u32 call = i < 0 ? SYS_prctl : (__u32)rules[i].call;
        code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1);
        code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
    }
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog filter = {n, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return -1;
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &filter);
}

union control {
    char bytes[CMSG_SPACE(sizeof(int))];
    struct cmsghdr align;
};

static void hand_over(int to, int fd)
{
    union control control = {0};
    char byte = 0;
    struct iovec vector = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &vector, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(header), &fd, sizeof fd);
    must(sendmsg(to, &message, 0), "sendmsg");
}

static int take_over(int from)
{
    union control control;
    char byte;
    int fd = -1;
    struct iovec vector = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &vector, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    if (recvmsg(from, &message, MSG_CMSG_CLOEXEC) == 1 && CMSG_FIRSTHDR(&message))
        memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fd);
    return fd;
}

/* The parent of the program, which is under the filter too: nothing that it does here is in a rule. */
static void __attribute__((noreturn)) live_under_filter(int channel, char **arguments)
{
    int listener = install();
    if (listener < 0)
        _exit(SKIPPED);
    hand_over(channel, listener);
    close(listener);
    pid_t child = fork();
    if (child == 0) {
        execv(arguments[0], arguments);
        _exit(99);
    }
    int status;
    must(waitpid(child, &status, 0), "waitpid");
    if (WIFSIGNALED(status))
        kill(getpid(), WTERMSIG(status));
    _exit(WEXITSTATUS(status));
}

/* ---- the supervisor's side ------------------------------------------------------------------- */

/* Whether this address of the process is in the library. Where it lies is looked up once. */
static bool in_library(pid_t pid, unsigned long address)
{
    static unsigned long start, end;
    if (start == 0) {
        char path[64], line[4096];
        snprintf(path, sizeof path, "/proc/%d/maps", pid);
        FILE *maps = fopen(path, "r");
        while (maps && fgets(line, sizeof line, maps)) {
            unsigned long from, to;
            if (strstr(line, "/libxfershim.so") && sscanf(line, "%lx-%lx", &from, &to) == 2) {
                start = start ? start : from;
                end = to;
            }
        }
        if (maps)
            fclose(maps);
    }
    return address >= start && address < end;
}

/* Moves the bytes for the program, fewer than it asked for. Returns the count or -errno. */
static long move_some(const struct seccomp_notif *request, long most)
{
    static char bytes[MOST];
    const struct seccomp_data *data = &request->data;
    size_t count = data->args[2];
    if (most == LESS)
        count -= count > 1;
    else if (count > (size_t)most)
        count = (size_t)most;
    if (count > MOST)
        count = MOST;
    pid_t pid = (pid_t)request->pid;
    int process = (int)syscall(SYS_pidfd_open, pid, 0);
    int fd = (int)syscall(SYS_pidfd_getfd, process, (int)data->args[0], 0);
    struct iovec here = {bytes, count}, there = {(void *)data->args[1], count};
    ssize_t result = -1;
    if (fd >= 0 && data->nr == SYS_write && process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)count)
        result = write(fd, bytes, count);
    else if (fd >= 0 && data->nr == SYS_read)
        result = read(fd, bytes, count);
    else if (fd >= 0 && data->nr == SYS_pread64)
        result = pread(fd, bytes, count, (off_t)data->args[3]);
    result = result < 0 ? -errno : result;
    if (data->nr != SYS_write && result > 0) {
        here.iov_len = there.iov_len = (size_t)result;
        if (process_vm_writev(pid, &here, 1, &there, 1, 0) != result)
            result = -EFAULT;
    }
    close(fd);
    close(process);
    return result;
}

static bool is_for(const struct rule *rule, const struct seccomp_notif *request)
{
    const struct seccomp_data *data = &request->data;
    if (rule->call != data->nr)
        return false;
    if (rule->who >= 0)
        return (long)(int)data->args[0] == rule->who;
    return ((pid_t)request->pid == program) == (rule->who == LIBRARY) &&
           in_library((pid_t)request->pid, data->instruction_pointer);
}

/* The rule that answers this call, or NULL: the kernel does. */
static struct rule *rule_for(const struct seccomp_notif *request)
{
    struct rule *found = NULL;
    for (int i = 0; i < rule_count; i++) {
        struct rule *rule = &rules[i];
        if (!is_for(rule, request))
            continue;
        long at = ++rule->asked - rule->index;
        if (!found && at >= 0 && (rule->count == 0 || at < rule->count))
            found = rule;
    }
    return found;
}

static void watch_guard(const struct seccomp_notif *request, bool answered)
{
    const struct seccomp_data *data = &request->data;
    if ((pid_t)request->pid == program && data->nr == SYS_prctl &&
        data->args[0] == PR_SET_SYSCALL_USER_DISPATCH && !answered)
        armed = data->args[1] != 0;
}

static void answer(int listener, pid_t parent)
{
    struct seccomp_notif request = {0};
    struct seccomp_notif_resp response = {0};
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &request) != 0)
        return;
    if (program == 0 && (pid_t)request.pid != parent)
        program = (pid_t)request.pid;
    response.id = request.id;
    struct rule *rule = rule_for(&request);
    watch_guard(&request, rule != NULL);
    if (!rule) {
        response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    } else {
        rule->answered++;
        rule->answered_armed += armed && (pid_t)request.pid == program;
        long result = rule->answer > 0 ? move_some(&request, rule->answer) : rule->answer;
        response.error = result < 0 ? (int)result : 0;
        response.val = result < 0 ? 0 : result;
    }
    ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response);
}

int main(int count, char **arguments)
{
    int at = 2, channel[2], status;
    if (count < 5)
        return 99;
    for (; at < count && strcmp(arguments[at], "--") != 0; at++)
        add_rule(arguments[at]);
    if (at + 1 >= count)
        return 99;
    must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, channel), "socketpair");
    pid_t parent = fork();
    if (parent == 0)
        live_under_filter(channel[1], arguments + at + 1);
    close(channel[1]);
    int listener = take_over(channel[0]);
    struct pollfd poll_on = {.fd = listener, .events = POLLIN};
    while (listener >= 0 && poll(&poll_on, 1, -1) > 0 && !(poll_on.revents & POLLHUP))
        answer(listener, parent);
    must(waitpid(parent, &status, 0), "waitpid");
    FILE *tally = fopen(arguments[1], "w");
    for (int i = 0; tally && i < rule_count; i++)
        fprintf(tally, "%ld %ld %ld\n", rules[i].asked, rules[i].answered, rules[i].answered_armed);
    if (!tally || fclose(tally) != 0)
        return 99;
    if (WIFSIGNALED(status))
        kill(getpid(), WTERMSIG(status));
    _exit(WEXITSTATUS(status));
}
