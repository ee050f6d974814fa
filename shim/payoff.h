/* The pay-off rule: does what is left of a loop gain more than a session costs? From measured costs. */
#ifndef SHIM_PAYOFF_H
#define SHIM_PAYOFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where the destination's pages live: on a disk's file system a large write saves the allocation of blocks as
 * well, and where blocks are shared there are no pages at all. */
enum payoff_kind { PAYOFF_DISK, PAYOFF_MEMORY, PAYOFF_SHARED, PAYOFF_SHARED_BTRFS };

/* What a loop saves of this kind when no blocks are shared after all: the source cannot be held, or is dirty.
 */
enum payoff_kind payoff_unshared(enum payoff_kind kind);

/* What one read/write pair of `chunk` bytes saves in a session, in nanoseconds; 0 where nothing is saved. */
uint64_t payoff_saving(size_t chunk, enum payoff_kind kind);

/* What a session costs, its start and its end, in nanoseconds. */
uint64_t payoff_cost(void);

/* The last start has looked at so many mappings of this process. */
void payoff_mappings(unsigned count);

/* True if copying `bytes` more in pieces of `chunk` bytes is worth a session. */
bool payoff_worth(uint64_t bytes, size_t chunk, enum payoff_kind kind);

/* True if a session of so many pairs was worth it. */
bool payoff_paid(uint64_t pairs, size_t chunk, enum payoff_kind kind);

#endif
