#include <errno.h>
#include <stdatomic.h>

#include "transfer.h"

/* Pairs are kept by a hash of 64 bits, each at the place that the hash says. */
#define PLACES 64

static atomic_uint unknown_calls; /* a set of ways */
static _Atomic uint64_t pairs[PLACES];

/* The finalizer of MurmurHash3; 0 is an empty place. */
static uint64_t mix(uint64_t h)
{
    h ^= h >> 33;
    h *= 0xff51afd7ed558ccdULL;
    h ^= h >> 33;
    h *= 0xc4ceb9fe1a85ec53ULL;
    return h ^ h >> 33;
}

static uint64_t hash(enum xfer_way way, dev_t in, dev_t out)
{
    return mix(mix(mix(in + 1) + out) + way) | 1;
}

bool xfer_refused(enum xfer_way way, dev_t in, dev_t out)
{
    uint64_t h = hash(way, in, out);
    return (atomic_load(&unknown_calls) & XFER_WAY(way)) || atomic_load(&pairs[h / 2 % PLACES]) == h;
}

void xfer_refused_note(enum xfer_way way, dev_t in, dev_t out, long error)
{
    uint64_t h = hash(way, in, out);
    if (error == -ENOSYS)
        atomic_fetch_or(&unknown_calls, XFER_WAY(way));
    else if (error == -EXDEV || error == -EOPNOTSUPP || error == -ENOTTY)
        atomic_store(&pairs[h / 2 % PLACES], h);
}
