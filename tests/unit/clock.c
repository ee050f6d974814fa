/* The clock, and statistics. */
#include "support.h"

#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "stats.h"

Test(clock, goes_on_at_the_pace_of_sleep)
{
    uint64_t ms = xfer_clock_ms();
    usleep(120000);
    uint64_t passed = xfer_clock_ms() - ms;
    cr_expect(passed >= 105 && passed < 20000, "%lu ms", passed);
    cr_expect(!xfer_clock_inside());
}

Test(clock, is_monotonic_time_in_milliseconds)
{
    struct timespec now;
    uint64_t ms = xfer_clock_ms();
    clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t ahead = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000 - (int64_t)ms;
    cr_expect(ahead >= 0 && ahead < 10000, "%ld ms", ahead);
}

Test(clock, the_gate_tells_the_same_time_as_the_vdso)
{
    int64_t ms = (int64_t)xfer_clock_ms();
    xfer_clock_use_gate();
    int64_t later = (int64_t)xfer_clock_ms();
    cr_expect(later >= ms && later - ms < 10000);
    cr_expect(!xfer_clock_inside());
}

Test(stats, every_number_is_added)
{
    struct xfer_stats sum = {1, 2, 3, 4, 5, 6, 7}, more = {10, 20, 30, 40, 50, 60, 70};
    xfer_stats_add(&sum, &more);
    cr_expect(sum.reads == 11 && sum.writes == 22 && sum.bytes == 33 && sum.calls == 44 && sum.fills == 55 &&
              sum.flushes == 66 && sum.shared == 77);
}
