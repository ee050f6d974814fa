/* B10, C5: whichever system call of the library fails, once, with whichever errno: the program's bytes are
 * all there, what it is told is what a read or write of its own would have said, and the process is as it
 * was.
 */
#ifndef TESTS_FAULTS_SWEEP_H
#define TESTS_FAULTS_SWEEP_H

#include "faults.h"

#include <fcntl.h>
#include <sys/prctl.h>

/* These give back what was taken, with the kernel's own values, or ask and set an offset that could be asked
 * for and set a moment ago: no kernel and no filter that let the session begin refuses them.
 */
static inline bool gives_back(const struct fault_call *calls, int at)
{
    const struct fault_call *call = &calls[at];
    if (call->number == SYS_rt_sigprocmask)
        return true;
    if (call->number == SYS_prctl)
        return call->armed;
    if (call->number == SYS_lseek)
        return call->armed != 0;
    if (call->number == SYS_fcntl && call->armed)
        return (call->second == F_SETLEASE && call->third == F_UNLCK) ||
               ((call->second == F_SETOWN || call->second == F_SETSIG) && call->third == 0);
    if (call->number != SYS_rt_sigaction && call->number != SYS_sigaltstack)
        return false;
    for (int i = at - 1; i >= 0; i--)
        if (calls[i].number != SYS_rt_sigaction && calls[i].number != SYS_sigaltstack)
            return calls[i].number == SYS_prctl && calls[i].armed;
    return false;
}

/* Each signal and each mapping is asked about by the same call: a few of them stand for all. */
static inline bool is_one_of_many(const struct fault_call *calls, int at)
{
    long number = calls[at].number;
    return (number == SYS_rt_sigaction || number == SYS_ioctl) && at > 1 && calls[at - 1].number == number &&
           calls[at - 2].number == number && at % 16 != 0;
}

/* What the program may be told, a line, when this call fails. */
static inline const char *told(const struct fault_call *call)
{
    if (call->armed && call->number == SYS_write)
        return "write";
    return call->armed && call->number == SYS_read ? "read" : NULL;
}

struct sweep {
    const char *word; /* of fault_copy */
    const char *source, *out;
    int chunk;
};

static inline struct faulted sweep_copy(const struct sweep *s, const char *fault)
{
    return fault_run(fault, ARGS(victim("fault_copy"), s->source, s->out, text("%d", s->chunk), s->word),
                     scratch());
}

static inline void sweep_check(const struct sweep *s, const struct faulted *result,
                               const struct faulted *base, int at, int error)
{
    const struct fault_call *call = &base->call[at];
    const struct outcome *outcome = &result->outcome;
    char *what = text("%s, call %d (number %ld, %s) fails with %s", s->word, at + 1, call->number,
                      call->armed ? "armed" : "not armed", strerrorname_np(error));
    cr_assert(outcome->status == 0, "%s: exit %d; %s%s", what, exit_code(outcome->status), outcome->out,
              outcome->err);
    cr_assert(result->injected == 1, "%s: %d faults", what, result->injected);
    cr_assert(result->injected_armed == (call->armed != 0), "%s: not in the same place", what);
    const char *teller = told(call);
    char *expected =
        text("%s%s", teller ? text("%s: %s\n", teller, strerrorname_np(error)) : "", base->outcome.out);
    cr_assert_str_eq(outcome->out, expected, "%s: says %s instead of %s", what, outcome->out, expected);
    char *difference = file_difference(s->out, s->source);
    cr_assert(!difference, "%s: %s", what, difference);
    free(expected);
    free(what);
}

/* A window that grows old on a busy machine means another call or two: then the fault was another call's. */
static inline struct faulted sweep_one(const struct sweep *s, const struct faulted *base, int at, int error)
{
    for (int tries = 0;; tries++) {
        struct faulted result = sweep_copy(s, text("%d:1:%d", at + 1, -error));
        const struct fault_call *now = &result.call[at], *then = &base->call[at];
        if (tries == 5 || (result.calls > at && now->number == then->number && now->armed == then->armed))
            return result;
        fault_free(&result);
    }
}

/* Part `share` of `shares`: the same test is several, to run side by side. */
static inline void sweep(const struct sweep *s, int share, int shares)
{
    struct faulted base = sweep_copy(s, NULL);
    cr_assert(base.outcome.status == 0, "%s", base.outcome.err);
    assert_sessions(base.outcome);
    int tried = 0, armed = 0, refused = 0;
    for (int at = 0; at < base.calls; at++) {
        if (at % shares != share || gives_back(base.call, at) || is_one_of_many(base.call, at))
            continue;
        for (int e = 0; e < FAULT_ERRORS; e++) {
            if (!fault_all() && (at + e) % 4 != 0)
                continue;
            struct faulted result = sweep_one(s, &base, at, fault_errors[e]);
            sweep_check(s, &result, &base, at, fault_errors[e]);
            tried++;
            armed += result.injected_armed;
            refused += result.outcome.report.sessions < base.outcome.report.sessions;
            fault_free(&result);
        }
    }
    cr_assert(tried > 60 && armed > 10 && refused > 10, "%d faults, %d in a session, %d kept one away", tried,
              armed, refused);
}

#endif
