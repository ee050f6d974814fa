#include <errno.h>

#include "engine.h"
#include "sys.h"
#include "transfer.h"

/* With somebody to tell, or to be stopped by. */
#define STEP ((size_t)64 << 20)

static const struct xfer_policy usual;

static struct xfer_transfer begin(const struct xfer_policy *policy, struct xfer_result *result, size_t count)
{
    *result = (struct xfer_result){0};
    return (struct xfer_transfer){.policy = policy ? policy : &usual, .result = result, .left = count};
}

static size_t next(const struct xfer_transfer *t)
{
    return t->policy->progress && t->left > STEP ? STEP : (size_t)t->left;
}

int xfer_write_all(int out, const void *bytes, size_t count, const struct xfer_policy *policy,
                   struct xfer_result *result)
{
    struct xfer_result own;
    struct xfer_transfer t = begin(policy, result ? result : &own, count);
    const unsigned char *at = bytes;
    int rc = 0;
    while (rc == 0 && t.left > 0) {
        struct xfer_piece piece = {.bytes = at, .in = -1, .count = next(&t)};
        ssize_t n = xfer_engine_write.move(&piece, out);
        if (n < 0)
            return xfer_transfer_fail(&t, XFER_SIDE_DESTINATION, n);
        at += n;
        rc = xfer_transfer_advance(&t, XFER_PLAIN, (size_t)n);
    }
    return rc;
}

int xfer_read_all(int in, void *buffer, size_t size, const struct xfer_policy *policy,
                  struct xfer_result *result)
{
    struct xfer_result own;
    struct xfer_transfer t = begin(policy, result ? result : &own, size);
    unsigned char *at = buffer;
    int rc = 0;
    while (rc == 0 && t.left > 0) {
        ssize_t n = sys_read(in, at, next(&t));
        if (n < 0)
            return xfer_transfer_fail(&t, XFER_SIDE_SOURCE, n);
        if (n == 0)
            break;
        at += n;
        rc = xfer_transfer_advance(&t, XFER_PLAIN, (size_t)n);
    }
    return rc;
}
