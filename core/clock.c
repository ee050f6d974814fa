#include "clock.h"

#include <signal.h>
#include <stdatomic.h>
#include <time.h>

#include "sys.h"

static volatile sig_atomic_t inside;
static volatile sig_atomic_t by_gate;

uint64_t xfer_clock_ms(void)
{
    struct timespec time;
    if (by_gate) {
        XFER_SYS(SYS_clock_gettime, CLOCK_MONOTONIC_COARSE, &time);
    } else {
        inside = 1;
        atomic_signal_fence(memory_order_seq_cst);
        clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
        atomic_signal_fence(memory_order_seq_cst);
        inside = 0;
    }
    return (uint64_t)time.tv_sec * 1000 + (uint64_t)time.tv_nsec / 1000000;
}

bool xfer_clock_inside(void)
{
    return inside != 0;
}

void xfer_clock_use_gate(void)
{
    by_gate = 1;
}
