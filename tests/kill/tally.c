/* What a run has come to, and whether that proves anything. */
#include "kill.h"

#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>

/* Below so many the chances of a place or a kind of call to be missed are not small. */
#define KILLS_TO_JUDGE 400
/* Of the kills where the library must act, at least so many per cent died in a session. It is 60 to 70 on an
 * idle machine; on a busy one more of the loops have not come so far. */
#define ACTIVE_LEAST 33

struct tally *tally;

void tally_open(void)
{
    tally = mmap(NULL, sizeof *tally, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (tally == MAP_FAILED)
        die("memory");
}

void tally_count(long *counter)
{
    __atomic_add_fetch(counter, 1, __ATOMIC_RELAXED);
}

void tally_death(const struct death *death, int at_shape, int at_place, const struct cut *cut)
{
    const struct shape *shape = &shapes[at_shape];
    const struct place *place = &places[at_place];
    bool expected = must_act(shape, place);
    tally_count(cut->timed ? &tally->timed : &tally->at_call);
    if (cut->signal == SIGKILL)
        tally_count(&tally->sigkill);
    tally_count(&tally->place_kills[at_place]);
    if (expected) {
        tally_count(&tally->expected);
        tally_count(&tally->place_expected[at_place]);
    }
    if (death->active) {
        tally_count(&tally->sessions);
        tally_count(&tally->place_sessions[at_place]);
    }
    if (death->status == 0)
        tally_count(&tally->finished);
    if (death->status && gap(death, shape, place) > own(shape))
        tally_count(&tally->in_flush);
    if (death->beyond)
        tally_count(&tally->beyond);
    if (death->found && death->active)
        tally_count(&tally->stops[death->call][death->leaving]);
    if (expected && place->shares)
        tally_count(&tally->range_expected);
}

void tally_complain(const char *what)
{
    printf("FAILED: %s\n", what);
    tally_count(&tally->failures);
}

void tally_judge(void)
{
    char text[128];
    if (tally->sessions * 100 < tally->expected * ACTIVE_LEAST || tally->sessions == 0)
        tally_complain("too few were killed in a session");
    if (tally->timed + tally->at_call < KILLS_TO_JUDGE)
        return;
    for (int i = 0; i < place_count; i++)
        if (tally->place_sessions[i] * 100 < tally->place_expected[i] * ACTIVE_LEAST) {
            snprintf(text, sizeof text, "too few were killed in a session on %s", places[i].name);
            tally_complain(text);
        }
    for (int call = 0; call < CALLS; call++)
        for (int leaving = 0; leaving < 2; leaving++) {
            bool needed = call == CALL_LSEEK || call == CALL_PREAD || call == CALL_WRITE ||
                          (call == CALL_RANGE && tally->range_expected > KILLS_TO_JUDGE / 4);
            if (!needed || tally->stops[call][leaving])
                continue;
            snprintf(text, sizeof text, "no session was cut when it had %s %s", leaving ? "made" : "entered",
                     call_names[call]);
            tally_complain(text);
        }
}

void tally_summarize(void)
{
    for (int i = 0; i < place_count; i++)
        if (place_reason(i))
            printf("  skipped: %s: %s\n", places[i].name, place_reason(i));
        else if (tally->place_kills[i])
            printf("  %-16s %5ld kills, %5ld in a session\n", places[i].name, tally->place_kills[i],
                   tally->place_sessions[i]);
    printf("  sessions cut, call entered/made:");
    for (int call = 0; call < CALLS; call++)
        if (tally->stops[call][0] + tally->stops[call][1])
            printf(" %s %ld/%ld", call_names[call], tally->stops[call][0], tally->stops[call][1]);
    printf("\n  %ld were in the middle of a flush (%ld of them left shared blocks behind the offset), %ld "
           "had ended before, %ld survivors went on\n",
           tally->in_flush, tally->beyond, tally->finished, tally->survivors);
    long all = tally->timed + tally->at_call;
    printf("%ld kills (%ld at a time, %ld at a system call; %ld by SIGKILL, %ld by SIGTERM and SIGINT), %ld "
           "with a session active, %ld failed, %ld skipped\n",
           all, tally->timed, tally->at_call, tally->sigkill, all - tally->sigkill, tally->sessions,
           tally->failures, tally->skipped);
}
