#include "payoff.h"

/* A start must save three times what it costs: the loop may end early, and the costs vary that much with load. */
#define WORTH 3

/* A start with 25 mappings, read as text: measured on Linux 6.18; see bench/. */
#define COST_DEFAULT 40000
/* One trapped system call, the end that it brings, and the caches that a session leaves cold. */
#define COST_OF_END 10000

struct row {
    size_t chunk;     /* bytes */
    uint64_t saving;  /* ns for one pair */
};

/* (plain - shim) / pairs for a 256 MiB copy within ext4, warm, Linux 6.18: 512 B 1411 -> 148 ms, 4 KiB 452 -> 135 ms,
 * 16 KiB 212 -> 160 ms; 64 KiB gains nothing.
 */
static const struct row rows[] = {
    {512, 2400}, {4096, 4800}, {8192, 4500}, {16384, 3200}, {32768, 1500}, {65536, 0},
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

static uint64_t measured;

uint64_t payoff_saving(size_t chunk)
{
    if (chunk <= rows[0].chunk)
        return rows[0].saving;
    for (size_t i = 1; i < ROWS; i++) {
        const struct row *low = &rows[i - 1], *high = &rows[i];
        if (chunk < high->chunk) {
            int64_t slope = (int64_t)high->saving - (int64_t)low->saving;
            return (uint64_t)((int64_t)low->saving +
                              slope * (int64_t)(chunk - low->chunk) / (int64_t)(high->chunk - low->chunk));
        }
    }
    return 0;
}

uint64_t payoff_cost(void)
{
    return (measured ? measured : COST_DEFAULT) + COST_OF_END;
}

/* A moving average over about four starts; one that was put off by the scheduler counts for no more than twice the
 * average.
 */
void payoff_measured(uint64_t ns)
{
    uint64_t average = measured ? measured : COST_DEFAULT;
    if (ns > 2 * average)
        ns = 2 * average;
    measured = (3 * average + ns) / 4;
}

bool payoff_worth(uint64_t bytes, size_t chunk)
{
    uint64_t saving = payoff_saving(chunk);
    return saving > 0 && bytes / (chunk ? chunk : 1) >= WORTH * payoff_cost() / saving;
}

uint64_t payoff_least(size_t chunk)
{
    uint64_t saving = payoff_saving(chunk);
    return saving ? (WORTH * payoff_cost() / saving + 1) * chunk : UINT64_MAX;
}
