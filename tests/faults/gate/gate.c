/* The shim's system call gate with faults: this file stands in front of the true one, whose entrance is
 * called fault_real_call in the library that is built with it (see faults.mk).
 *
 *   FAULT=INDEX:COUNT:ANSWER[:CALL]   COUNT calls (0: all) from the INDEX'th on (1 is the first; only calls
 * of number CALL count, where given) get ANSWER: -errno, the bytes that are moved at most, 0: nothing is
 * moved; "less": all but one FAULT_TALLY=path                  gets a line for each call: number, armed,
 * injected, three arguments, result
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "sys.h"

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#endif

#define LESS (1L << 40)

enum { LOGGED = 8192 };

__attribute__((visibility("hidden"))) long fault_real_call(long number, long a, long b, long c, long d,
                                                           long e, long f);

static struct entry {
    long number, first, second, third, result;
    bool armed, injected;
} calls[LOGGED];

static struct {
    long index, count, answer, call;
    long seen, made;
    bool armed;
    const char *tally;
} fault = {.call = -1};

static void __attribute__((constructor(101))) fault_begin(void)
{
    const char *how = getenv("FAULT");
    fault.tally = getenv("FAULT_TALLY");
    char answer[32];
    if (!how)
        return;
    if (sscanf(how, "%ld:%ld:%31[^:]:%ld", &fault.index, &fault.count, answer, &fault.call) < 3)
        abort();
    fault.answer = strcmp(answer, "less") == 0 ? LESS : strtol(answer, NULL, 10);
}

/* Behind the shim's own destructor, which has no priority and so runs first. */
static void __attribute__((destructor(101))) fault_end(void)
{
    int fd = fault.tally ? open(fault.tally, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666) : -1;
    for (long i = 0; fd >= 0 && i < fault.made && i < LOGGED; i++)
        dprintf(fd, "%ld %d %d %ld %ld %ld %ld\n", calls[i].number, calls[i].armed, calls[i].injected,
                calls[i].first, calls[i].second, calls[i].third, calls[i].result);
    if (fd >= 0)
        close(fd);
}

static bool is_hit(long number)
{
    if (fault.index == 0 || (fault.call >= 0 && number != fault.call))
        return false;
    long at = ++fault.seen - fault.index;
    return at >= 0 && (fault.count == 0 || at < fault.count);
}

static long *count_of(long number, long *argument)
{
    switch (number) {
    case SYS_read:
    case SYS_write:
    case SYS_pread64:
        return &argument[2];
    case SYS_copy_file_range:
        return &argument[4];
    default:
        return NULL;
    }
}

static long faulty(long number, long *a)
{
    long *count = count_of(number, a);
    bool moves = fault.answer > 0 && count;
    if (moves && fault.answer == LESS)
        *count -= *count > 1;
    else if (moves && *count > fault.answer)
        *count = fault.answer;
    /* close(2) closes, whatever it says. */
    long result = 0;
    if (moves || number == SYS_close)
        result = fault_real_call(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    return moves ? result : fault.answer;
}

long xfer_gate_call(long number, long a, long b, long c, long d, long e, long f)
{
    long argument[6] = {a, b, c, d, e, f};
    bool hit = is_hit(number);
    long result = hit ? faulty(number, argument) : fault_real_call(number, a, b, c, d, e, f);
    if (fault.made < LOGGED)
        calls[fault.made] = (struct entry){number, a, b, c, result, fault.armed, hit};
    fault.made++;
    if (number == SYS_prctl && a == PR_SET_SYSCALL_USER_DISPATCH && result >= 0)
        fault.armed = b != 0;
    return result;
}
