/* Sharing of blocks: whether a pair may, and the lease that makes it exact. */
#ifndef SHIM_BLOCKS_H
#define SHIM_BLOCKS_H

#include <stdbool.h>

#include "endpoint.h"
#include "payoff.h"
#include "share.h"

/* True if the settings allow it at all. */
bool blocks_wanted(void);

/* What a loop to this file system gains from, were nothing in the way. */
enum payoff_kind blocks_kind(uint64_t fs_type);

/* Whether this pair can share, from what has been looked at closer; asks the file system once for each
 * device. Sets `share`; its `why_not` says what is in the way. */
void blocks_examine(struct xfer_share *share, const struct xfer_endpoint *in,
                    const struct xfer_endpoint *out);

/* Takes the lease. False: `share` is off and says why. The guard is armed. */
bool blocks_hold(struct xfer_share *share, int in);

/* A session has ended in this way: what the file system refused is not asked of it again. */
void blocks_learn(const struct xfer_share *share, dev_t out);

#endif
