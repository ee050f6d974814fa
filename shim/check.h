/* The start checks: what must be true of the process and the two descriptors before a session. */
#ifndef SHIM_CHECK_H
#define SHIM_CHECK_H

#include <stdint.h>

#include "detect.h"
#include "endpoint.h"
#include "payoff.h"
#include "proof.h"
#include "refusal.h"
#include "share.h"
#include "signals.h"

struct check {
    struct xfer_endpoint in, out;
    enum payoff_kind kind;              /* of the destination */
    struct xfer_share share;            /* whether it can share the source's blocks */
    uint64_t left;                      /* bytes from the source's offset to its end */
    off_t out_limit;                    /* RLIMIT_FSIZE in bytes, -1: none */
    struct xfer_range buffer[2], stack; /* provable memory around the loop's buffers and the stack */
};

/* What can be said without a system call: sizes of the calls, configuration. Any context. */
enum refusal check_loop(const struct detect *loop);

/* The cheap half: kinds, sizes, pay-off; under 1 us, ordinary calls only. Changes nothing, any context. */
enum refusal check_worth(struct check *check, const struct detect *loop);

/* Whether the process is fit for a session. No handler may run, because the survey is of handlers. */
enum refusal check_process(const struct signals_survey *survey);

/* The expensive half: descriptors, their sharing, the memory. No handler may run. */
enum refusal check_ends(struct check *check, const struct detect *loop);

/* Bytes that must be free on the destination's file system for anything to be deferred. */
uint64_t check_free_least(void);

#endif
