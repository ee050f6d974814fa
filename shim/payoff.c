#include "payoff.h"

/* A session must save 1.5 times what it costs: its length is known from the source's size, but the loop may
 * end early. */
#define WORTH_TIMES 3
#define WORTH_OF 2

/* Start, one trapped system call, end, and what the first small windows save less than the table says, on
 * Linux 6.18: 120 us in a process with 25 mappings, of which the start is 77, and 320 us more with 300 more
 * of them. From copies of 400 files of 32, 64 and 128 KiB with a session for each: in pieces of 512 B they
 * take 10, -96 and -312 us longer than plain, in pieces of 4 KiB 99, 73 and 34 us. Not measured at run time:
 * under load a start takes long for reasons that slow the plain loop as well, and one such measurement would
 * keep sessions away for ever.
 */
#define COST_BASE 100000
#define COST_OF_MAPPING 820
#define MAPPINGS_USUAL 25

struct row {
    size_t chunk;    /* bytes */
    uint64_t saving; /* ns for one pair */
};

/* (plain - shim) / pairs, CPU time, for a 256 MiB copy within ext4, warm, Linux 6.18 on an AMD EPYC
 * (bench/gain): 512 B 1132 -> 142 ms, 1 KiB 693 -> 127, 4 KiB 358 -> 122, 8 KiB 241 -> 127, 16 KiB 178 ->
 * 135; from 32 KiB on the two are the same.
 */
static const struct row disk_rows[] = {
    {512, 1900}, {1024, 2200}, {4096, 3000}, {8192, 3000}, {16384, 2600}, {32768, 0},
};

/* The same within tmpfs, where a 4 KiB pair takes 1.5 us in all. */
static const struct row memory_rows[] = {
    {512, 1200},
    {1024, 1100},
    {4096, 700},
    {8192, 0},
};

/* Where blocks are shared, measured in the same way on XFS and btrfs (bench/share.sh): 512 B 1323 -> 45 and
 * 2701 -> 66 ms, 4 KiB 306 -> 34 and 451 -> 61, 64 KiB 66 -> 36 and 314 -> 55, 128 KiB 61 -> 42 and 312 ->
 * 58, 1 MiB 46 -> 42 and 301 -> 71.
 */
static const struct row shared_rows[] = {
    {512, 2400}, {1024, 2700}, {4096, 4100}, {65536, 7300}, {131072, 9300}, {2097152, 16000}, {2097153, 0},
};

static const struct row shared_btrfs_rows[] = {
    {512, 5000},      {1024, 5200},       {4096, 5900}, {65536, 63000},
    {131072, 124000}, {2097152, 1700000}, {2097153, 0},
};

static unsigned mappings = MAPPINGS_USUAL;

static uint64_t look_up(const struct row *rows, size_t count, size_t chunk)
{
    if (chunk <= rows[0].chunk)
        return rows[0].saving;
    for (size_t i = 1; i < count; i++) {
        const struct row *low = &rows[i - 1], *high = &rows[i];
        if (chunk < high->chunk) {
            int64_t slope = (int64_t)high->saving - (int64_t)low->saving;
            return (uint64_t)((int64_t)low->saving +
                              slope * (int64_t)(chunk - low->chunk) / (int64_t)(high->chunk - low->chunk));
        }
    }
    return 0;
}

#define LOOK_UP(table, chunk) look_up(table, sizeof(table) / sizeof((table)[0]), chunk)

enum payoff_kind payoff_unshared(enum payoff_kind kind)
{
    return kind == PAYOFF_MEMORY ? PAYOFF_MEMORY : PAYOFF_DISK;
}

uint64_t payoff_saving(size_t chunk, enum payoff_kind kind)
{
    switch (kind) {
    case PAYOFF_MEMORY:
        return LOOK_UP(memory_rows, chunk);
    case PAYOFF_SHARED:
        return LOOK_UP(shared_rows, chunk);
    case PAYOFF_SHARED_BTRFS:
        return LOOK_UP(shared_btrfs_rows, chunk);
    default:
        return LOOK_UP(disk_rows, chunk);
    }
}

uint64_t payoff_cost(void)
{
    return COST_BASE + (uint64_t)mappings * COST_OF_MAPPING;
}

void payoff_mappings(unsigned count)
{
    mappings = count;
}

bool payoff_worth(uint64_t bytes, size_t chunk, enum payoff_kind kind)
{
    uint64_t saving = payoff_saving(chunk, kind);
    return saving > 0 && bytes / (chunk ? chunk : 1) >= WORTH_TIMES * payoff_cost() / WORTH_OF / saving;
}

bool payoff_paid(uint64_t pairs, size_t chunk, enum payoff_kind kind)
{
    return pairs * payoff_saving(chunk, kind) > payoff_cost();
}
