/* The pay-off rule. */
#include "support.h"

#include "payoff.h"

Test(payoff, the_table_says_what_was_measured_and_nothing_from_32_KiB_on)
{
    cr_expect(payoff_saving(512, PAYOFF_DISK) > 0 && payoff_saving(4096, PAYOFF_DISK) > 0 &&
              payoff_saving(16384, PAYOFF_DISK) > 0);
    cr_expect(payoff_saving(32768, PAYOFF_DISK) == 0 && payoff_saving(65536, PAYOFF_DISK) == 0);
    cr_expect(payoff_saving(65537, PAYOFF_DISK) == 0 && payoff_saving(1 << 20, PAYOFF_DISK) == 0 &&
              payoff_saving(SIZE_MAX, PAYOFF_DISK) == 0);
    cr_expect(payoff_saving(0, PAYOFF_DISK) == payoff_saving(512, PAYOFF_DISK) &&
              payoff_saving(1, PAYOFF_DISK) == payoff_saving(512, PAYOFF_DISK));
}

Test(payoff, saving_for_a_pair_rises_to_4_KiB_and_then_falls)
{
    for (size_t chunk = 1; chunk < 4096; chunk++)
        cr_assert(payoff_saving(chunk, PAYOFF_DISK) <= payoff_saving(chunk + 1, PAYOFF_DISK), "%zu", chunk);
    for (size_t chunk = 4096; chunk < 70000; chunk++)
        cr_assert(payoff_saving(chunk, PAYOFF_DISK) >= payoff_saving(chunk + 1, PAYOFF_DISK), "%zu", chunk);
}

Test(payoff, between_two_rows_it_goes_in_a_straight_line)
{
    uint64_t low = payoff_saving(8192, PAYOFF_DISK), high = payoff_saving(16384, PAYOFF_DISK);
    cr_expect(payoff_saving(12288, PAYOFF_DISK) == (low + high) / 2);
    cr_expect(payoff_saving(10240, PAYOFF_DISK) == low - (low - high) / 4);
    for (size_t chunk = 513; chunk < 66000; chunk++) {
        int64_t step =
            (int64_t)payoff_saving(chunk, PAYOFF_DISK) - (int64_t)payoff_saving(chunk - 1, PAYOFF_DISK);
        cr_assert(step >= -2 && step <= 2, "a jump of %ld at %zu", step, chunk);
    }
}

Test(payoff, C7_saving_for_a_byte_falls_with_the_size_of_the_piece)
{
    for (size_t chunk = 512; chunk < 65536; chunk += 512)
        cr_assert(payoff_saving(chunk, PAYOFF_DISK) * (chunk + 512) >=
                      payoff_saving(chunk + 512, PAYOFF_DISK) * chunk,
                  "%zu", chunk);
}

Test(payoff, a_start_costs_more_with_more_mappings)
{
    uint64_t usual = payoff_cost();
    payoff_mappings(25);
    cr_expect(payoff_cost() == usual);
    payoff_mappings(325);
    cr_expect(payoff_cost() > 2 * usual && payoff_cost() < 10 * usual);
    payoff_mappings(0);
    cr_expect(payoff_cost() > 0 && payoff_cost() < usual);
}

/* The fewest bytes that are worth it. */
static uint64_t least(size_t chunk)
{
    uint64_t pairs = 0;
    while (!payoff_worth(pairs * chunk, chunk, PAYOFF_DISK))
        pairs++;
    return pairs * chunk;
}

Test(payoff, worth_it_is_one_and_a_half_times_the_cost)
{
    size_t chunks[] = {1, 100, 512, 1000, 4096, 8192, 16384, 20000, 30000};
    for (int i = 0; i < 9; i++) {
        size_t chunk = chunks[i];
        uint64_t gain = least(chunk) / chunk * payoff_saving(chunk, PAYOFF_DISK),
                 cost = 3 * payoff_cost() / 2;
        cr_expect(gain + payoff_saving(chunk, PAYOFF_DISK) >= cost && gain <= cost, "%zu: gain %lu, cost %lu",
                  chunk, gain, cost);
        cr_expect(payoff_worth(UINT64_MAX, chunk, PAYOFF_DISK));
    }
    cr_expect(!payoff_worth(UINT64_MAX, 65536, PAYOFF_DISK));
    cr_expect(!payoff_worth(0, 512, PAYOFF_DISK));
    cr_expect(payoff_worth(UINT64_MAX, 0, PAYOFF_DISK));
}

Test(payoff, C7_sizes_that_were_measured_to_lose_are_refused_and_bulk_copies_are_not)
{
    cr_expect(!payoff_worth(96 << 10, 16384, PAYOFF_DISK),
              "copying 96 KiB files in pieces of 16 KiB got 37 %% slower");
    cr_expect(!payoff_worth(16 << 10, 4096, PAYOFF_DISK));
    cr_expect(!payoff_worth(32 << 10, 512, PAYOFF_DISK), "10 us in 160 slower");
    cr_expect(!payoff_worth(128 << 10, 4096, PAYOFF_DISK), "34 us in 180 slower");
    cr_expect(payoff_worth(60 << 10, 512, PAYOFF_DISK), "a third faster at 64 KiB");
    cr_expect(payoff_worth(64 << 20, 512, PAYOFF_DISK));
    cr_expect(payoff_worth(64 << 20, 16384, PAYOFF_DISK));
}

Test(payoff, C7_within_memory_less_is_saved)
{
    for (size_t chunk = 1; chunk < 65536; chunk += 511)
        cr_assert(payoff_saving(chunk, PAYOFF_MEMORY) <= payoff_saving(chunk, PAYOFF_DISK), "%zu", chunk);
    cr_expect(payoff_saving(512, PAYOFF_MEMORY) > 0);
    cr_expect(payoff_saving(8192, PAYOFF_MEMORY) == 0);
    cr_expect(!payoff_worth(UINT64_MAX, 8192, PAYOFF_MEMORY));
}

Test(payoff, C7_where_no_block_was_shared_a_session_has_earned_no_more_than_elsewhere)
{
    cr_expect(payoff_unshared(PAYOFF_SHARED) == PAYOFF_DISK &&
              payoff_unshared(PAYOFF_SHARED_BTRFS) == PAYOFF_DISK);
    cr_expect(payoff_unshared(PAYOFF_DISK) == PAYOFF_DISK && payoff_unshared(PAYOFF_MEMORY) == PAYOFF_MEMORY);
    uint64_t pairs = payoff_cost() / payoff_saving(512, PAYOFF_SHARED_BTRFS) + 1;
    cr_expect(payoff_paid(pairs, 512, PAYOFF_SHARED_BTRFS));
    cr_expect(!payoff_paid(pairs, 512, payoff_unshared(PAYOFF_SHARED_BTRFS)));
}

Test(payoff, C7_a_session_that_only_earned_its_cost_has_not_paid)
{
    uint64_t even = payoff_cost() / payoff_saving(4096, PAYOFF_DISK);
    cr_expect(!payoff_paid(0, 4096, PAYOFF_DISK));
    cr_expect(!payoff_paid(even, 4096, PAYOFF_DISK));
    cr_expect(payoff_paid(3 * even / 2, 4096, PAYOFF_DISK), "what payoff_worth() promised");
    cr_expect(!payoff_paid(UINT64_MAX / 8192, 65536, PAYOFF_DISK));
}
