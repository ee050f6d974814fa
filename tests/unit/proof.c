/* Proofs: which of the program's memory may be touched. */
#include "support.h"

#include <sys/mman.h>

#include "arch/x86_64/pkey.h"
#include "proof.h"

static struct xfer_proof proof;

static void *at(uintptr_t address)
{
    return (void *)address;
}

static void begin(uintptr_t start, uintptr_t end)
{
    xfer_proof_clear(&proof);
    xfer_proof_allow(&proof, start, end);
}

Test(proof, F2_nothing_holds_before_a_real_call)
{
    begin(0x1000, 0x9000);
    cr_expect(xfer_proof_possible(&proof, at(0x1000), 0x8000));
    cr_expect(!xfer_proof_holds(&proof, at(0x1000), 1, false));
    cr_expect(!xfer_proof_holds(&proof, at(0x1000), 1, true));
}

Test(proof, F2_holds_for_exactly_the_bytes_that_the_kernel_touched)
{
    begin(0x1000, 0x9000);
    xfer_proof_add(&proof, at(0x2000), 0x100, true);
    cr_expect(xfer_proof_holds(&proof, at(0x2000), 0x100, true));
    cr_expect(xfer_proof_holds(&proof, at(0x20ff), 1, true));
    cr_expect(!xfer_proof_holds(&proof, at(0x1fff), 1, true));
    cr_expect(!xfer_proof_holds(&proof, at(0x1fff), 2, true));
    cr_expect(!xfer_proof_holds(&proof, at(0x2000), 0x101, true));
    cr_expect(!xfer_proof_holds(&proof, at(0x2100), 1, true));
    cr_expect(!xfer_proof_holds(&proof, at(0x2001), SIZE_MAX, true), "the end wraps around");
}

Test(proof, F2_readable_is_not_writable_but_the_other_way_round)
{
    begin(0x1000, 0x9000);
    xfer_proof_add(&proof, at(0x2000), 0x100, false);
    xfer_proof_add(&proof, at(0x4000), 0x100, true);
    cr_expect(xfer_proof_holds(&proof, at(0x2000), 0x100, false));
    cr_expect(!xfer_proof_holds(&proof, at(0x2000), 0x100, true));
    cr_expect(xfer_proof_holds(&proof, at(0x4000), 0x100, false));
}

Test(proof, pieces_that_touch_are_one_proof)
{
    begin(0x1000, 0x9000);
    for (uintptr_t a = 0x2000; a < 0x6000; a += 0x100)
        xfer_proof_add(&proof, at(a), 0x100, true);
    cr_expect(xfer_proof_holds(&proof, at(0x2000), 0x4000, true));
    for (uintptr_t a = 0x8000; a > 0x7000; a -= 0x100)
        xfer_proof_add(&proof, at(a), 0x180, false);
    cr_expect(xfer_proof_holds(&proof, at(0x7100), 0x1000, false));
    cr_expect(!xfer_proof_holds(&proof, at(0x6000), 0x1100, false), "the gap is not proven");
}

Test(proof, F2_pieces_with_a_gap_are_not_merged)
{
    begin(0x1000, 0x9000);
    xfer_proof_add(&proof, at(0x2000), 0x100, true);
    xfer_proof_add(&proof, at(0x2101), 0x100, true);
    cr_expect(!xfer_proof_holds(&proof, at(0x2000), 0x201, true));
    cr_expect(!xfer_proof_holds(&proof, at(0x2100), 1, true));
}

Test(proof, the_oldest_separate_range_is_given_up_and_no_other)
{
    begin(0x1000, 0x100000);
    for (uintptr_t i = 0; i <= XFER_PROOF_RANGES; i++)
        xfer_proof_add(&proof, at(0x2000 + 0x1000 * i), 0x10, true);
    cr_expect(!xfer_proof_holds(&proof, at(0x2000), 0x10, true));
    for (uintptr_t i = 1; i <= XFER_PROOF_RANGES; i++)
        cr_expect(xfer_proof_holds(&proof, at(0x2000 + 0x1000 * i), 0x10, true), "range %lu", i);
    xfer_proof_add(&proof, at(0x2000), 0x10, true);
    cr_expect(!xfer_proof_holds(&proof, at(0x3000), 0x10, true));
    cr_expect(xfer_proof_holds(&proof, at(0x2000), 0x10, true));
}

Test(proof, F7_memory_that_was_not_named_is_never_proven)
{
    begin(0x2000, 0x3000);
    xfer_proof_add(&proof, at(0x1000), 0x100, true);
    xfer_proof_add(&proof, at(0x2f00), 0x101, true);
    xfer_proof_add(&proof, at(0x1fff), 0x10, true);
    xfer_proof_add(&proof, at(0x2000), SIZE_MAX, true);
    cr_expect(proof.writable.used == 0);
    cr_expect(!xfer_proof_possible(&proof, at(0x3000), 0));
    xfer_proof_add(&proof, at(0x2f00), 0x100, true);
    cr_expect(xfer_proof_holds(&proof, at(0x2f00), 0x100, true));
}

Test(proof, F7_two_named_pieces_do_not_name_what_lies_across_them)
{
    begin(0x2000, 0x3000);
    xfer_proof_allow(&proof, 0x4000, 0x5000);
    cr_expect(!xfer_proof_possible(&proof, at(0x2800), 0x2000));
    xfer_proof_add(&proof, at(0x2800), 0x2000, true);
    cr_expect(!xfer_proof_holds(&proof, at(0x3800), 1, false));
}

Test(proof, an_empty_call_proves_nothing)
{
    begin(0x1000, 0x9000);
    xfer_proof_add(&proof, at(0x2000), 0, true);
    cr_expect(proof.writable.used == 0);
}

Test(proof, too_many_named_memories_are_ignored)
{
    begin(0x1000, 0x1100);
    for (uintptr_t i = 1; i <= XFER_PROOF_MEMORIES; i++)
        xfer_proof_allow(&proof, 0x1000 + 0x1000 * i, 0x1100 + 0x1000 * i);
    cr_expect(proof.memories == XFER_PROOF_MEMORIES);
    cr_expect(!xfer_proof_possible(&proof, at(0x1000 + 0x1000 * XFER_PROOF_MEMORIES), 1));
}

Test(proof, clearing_forgets_everything)
{
    begin(0x1000, 0x9000);
    xfer_proof_add(&proof, at(0x2000), 0x100, true);
    xfer_proof_clear(&proof);
    cr_expect(!xfer_proof_holds(&proof, at(0x2000), 1, false));
    cr_expect(!xfer_proof_possible(&proof, at(0x2000), 1));
}

/* The same on a machine without protection keys, by a proof that was made with other rights than now. */
Test(proof, F7_other_access_rights_than_at_the_proof_end_it)
{
    begin(0x1000, 0x9000);
    if (!proof.keys)
        cr_skip_test("no protection keys here");
    xfer_proof_add(&proof, at(0x2000), 0x100, true);
    proof.rights ^= 1;
    cr_expect(!xfer_proof_holds(&proof, at(0x2000), 0x100, true));
    cr_expect(!xfer_proof_holds(&proof, at(0x2000), 0x100, false));
    xfer_proof_add(&proof, at(0x4000), 0x100, false);
    cr_expect(xfer_proof_holds(&proof, at(0x4000), 0x100, false));
    cr_expect(!xfer_proof_holds(&proof, at(0x2000), 0x100, true),
              "an old proof came back with the new rights");
}

Test(proof, F7_a_key_revoked_without_a_call_ends_the_proof)
{
    if (!arch_has_pkeys())
        cr_skip_test("no protection keys here");
    int key = pkey_alloc(0, 0);
    if (key < 0)
        cr_skip_test("no protection key free");
    begin(0x1000, 0x9000);
    xfer_proof_add(&proof, at(0x2000), 0x100, true);
    cr_expect(xfer_proof_holds(&proof, at(0x2000), 0x100, true));
    pkey_set(key, PKEY_DISABLE_ACCESS);
    cr_expect(!xfer_proof_holds(&proof, at(0x2000), 0x100, true));
    pkey_set(key, 0);
    cr_expect(xfer_proof_holds(&proof, at(0x2000), 0x100, true));
}
