#include "clock.h"

#include <signal.h>
#include <stdatomic.h>
#include <time.h>

#include "sys.h"

static volatile sig_atomic_t inside;
static volatile sig_atomic_t by_gate;

static struct timespec now(clockid_t clock)
{
    struct timespec time = {0};
    if (by_gate) {
        XFER_SYS(SYS_clock_gettime, clock, &time);
        return time;
    }
    inside = 1;
    atomic_signal_fence(memory_order_seq_cst);
    clock_gettime(clock, &time);
    atomic_signal_fence(memory_order_seq_cst);
    inside = 0;
    return time;
}

uint64_t xfer_clock_ms(void)
{
    struct timespec time = now(CLOCK_MONOTONIC_COARSE);
    return (uint64_t)time.tv_sec * 1000 + (uint64_t)time.tv_nsec / 1000000;
}

uint64_t xfer_clock_ns(void)
{
    struct timespec time = now(CLOCK_MONOTONIC);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

bool xfer_clock_inside(void)
{
    return inside != 0;
}

void xfer_clock_use_gate(void)
{
    by_gate = 1;
}
