/*
 * C1, C2: random programs. Each seed is another mixture of copy loops and other calls; every answer, every
 * byte and every file must be plain's.
 */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void seeds(const char *mode, int from, int to)
{
    static const char *const settings[] = {"XFERSHIM", "XFERSHIM_BUFFER_MAX=16K", "XFERSHIM_BUFFER=256K",
                                           "XFERSHIM=observe"};
    int64_t sessions = 0;
    for (int seed = from; seed < to; seed++) {
        struct run what = {.args = ARGS(victim("c2_random_calls"), text("%d", seed), "400", mode),
                           .env = ARGS(settings[seed % 4])};
        struct outcome outcome = run_both(&what, NULL, NULL);
        cr_assert(outcome.status == 0, "seed %d: exit %d; %s", seed, exit_code(outcome.status), outcome.err);
        sessions += outcome.report.sessions;
    }
    cr_assert(sessions > 4 * (to - from), "only %ld sessions", (long)sessions);
}

/* RANDOM_SEEDS=FROM-TO runs others, by the thousand if there is time. */
static void random_programs(const char *mode)
{
    const char *asked = getenv("RANDOM_SEEDS");
    int from = 0, to = 25;
    if (asked)
        cr_assert(sscanf(asked, "%d-%d", &from, &to) == 2, "RANDOM_SEEDS=%s", asked);
    seeds(mode, from, to);
}

Test(hazard_c, C2_random_calls, .timeout = 120)
{
    random_programs("calm");
}

Test(hazard_c, C2_random_calls_under_a_timer, .timeout = 120)
{
    random_programs("tick");
}

Test(hazard_c, C3_random_calls_under_a_file_size_limit, .timeout = 120)
{
    random_programs("limit");
}

Test(hazard_c, C2_random_calls_beside_threads, .timeout = 120)
{
    random_programs("threads");
}
