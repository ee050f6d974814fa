/* C5 (nothing is left behind), and errno of every call that succeeds. */
#include "support.h"

#include <string.h>

static const size_t chunks[] = {1, 7, 512, 1000, 4096, 10240};
enum { CHUNKS = sizeof chunks / sizeof *chunks };

static void prepare(const char *directory, void *unused)
{
    (void)unused;
    make_random(text("%s/in", directory), 41, 100001);
}

static void leaves_nothing(const char *how)
{
    for (int i = 0; i < CHUNKS; i++) {
        struct run footprint = {.args = ARGS(victim("footprint"), how, text("%zu", chunks[i]))};
        struct outcome outcome = run_both(&footprint, prepare, NULL);
        cr_assert(outcome.status == 0, "%s", outcome.err);
        cr_assert(strstr(outcome.out, "errno changed 0 times"), "%s", outcome.out);
        assert_sessions(outcome);
    }
}

Test(contract, C5_nothing_left_in_a_quiet_process)
{
    leaves_nothing("quiet");
}

Test(contract, C5_nothing_left_in_a_process_with_handlers_masks_and_stack)
{
    leaves_nothing("busy");
}
