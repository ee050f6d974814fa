/* The fuzz target and what it has been through: a run in which no stream served anything says nothing. */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

enum { FUZZ_ENDS = 32 };

struct fuzz_stats {
    uint64_t runs, opened, served, accepted, bytes, shared;
    uint64_t ends[FUZZ_ENDS]; /* by enum xfer_stream_end */
};

/* libFuzzer's interface; returns 0, or does not return. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t count);

const struct fuzz_stats *fuzz_stats(void);

#endif
