/* The pay-off rule: does what is left of a loop gain more than a session costs? From measured costs. */
#ifndef SHIM_PAYOFF_H
#define SHIM_PAYOFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What one read/write pair of `chunk` bytes saves in a session, in nanoseconds; 0 from 64 KiB on. */
uint64_t payoff_saving(size_t chunk);

/* What a start and an end cost, in nanoseconds: the table's figure until sessions of this process have been measured. */
uint64_t payoff_cost(void);

/* A start took `ns`. */
void payoff_measured(uint64_t ns);

/* True if copying `bytes` more in pieces of `chunk` bytes is worth a session. */
bool payoff_worth(uint64_t bytes, size_t chunk);

/* The fewest bytes for which that is true. */
uint64_t payoff_least(size_t chunk);

#endif
