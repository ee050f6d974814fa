#include "proof.h"

#include <string.h>

#include "arch/x86_64/pkey.h"

void xfer_proof_clear(struct xfer_proof *proof)
{
    memset(proof, 0, sizeof(*proof));
    proof->keys = arch_has_pkeys();
    if (proof->keys)
        proof->rights = arch_read_pkru();
}

void xfer_proof_allow(struct xfer_proof *proof, uintptr_t start, uintptr_t end)
{
    if (proof->memories < XFER_PROOF_MEMORIES)
        proof->memory[proof->memories++] = (struct xfer_range){start, end};
}

static bool inside(const struct xfer_range *ranges, unsigned n, uintptr_t start, size_t count)
{
    for (unsigned i = 0; i < n; i++)
        if (start >= ranges[i].start && start < ranges[i].end && count <= ranges[i].end - start)
            return true;
    return false;
}

bool xfer_proof_possible(const struct xfer_proof *proof, const void *buffer, size_t count)
{
    return inside(proof->memory, proof->memories, (uintptr_t)buffer, count);
}

/* Ranges that touch or overlap become one, so that a buffer walked through in pieces is one proof. */
static void add(struct xfer_proven *proven, uintptr_t start, uintptr_t end)
{
    for (unsigned i = 0; i < proven->used; i++) {
        struct xfer_range *range = &proven->range[i];
        if (start <= range->end && end >= range->start) {
            if (start < range->start)
                range->start = start;
            if (end > range->end)
                range->end = end;
            return;
        }
    }
    proven->range[proven->next] = (struct xfer_range){start, end};
    proven->next = (proven->next + 1) % XFER_PROOF_RANGES;
    if (proven->used < XFER_PROOF_RANGES)
        proven->used++;
}

void xfer_proof_add(struct xfer_proof *proof, const void *buffer, size_t count, bool wrote)
{
    uintptr_t start = (uintptr_t)buffer;
    if (count == 0 || !xfer_proof_possible(proof, buffer, count))
        return;
    if (proof->keys && arch_read_pkru() != proof->rights) {
        proof->writable.used = proof->readable.used = 0;
        proof->writable.next = proof->readable.next = 0;
        proof->rights = arch_read_pkru();
    }
    add(wrote ? &proof->writable : &proof->readable, start, start + count);
}

bool xfer_proof_holds(const struct xfer_proof *proof, const void *buffer, size_t count, bool write)
{
    uintptr_t start = (uintptr_t)buffer;
    if (proof->keys && arch_read_pkru() != proof->rights)
        return false;
    if (inside(proof->writable.range, proof->writable.used, start, count))
        return true;
    return !write && inside(proof->readable.range, proof->readable.used, start, count);
}
