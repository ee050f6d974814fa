#include "transfer.h"

#include <errno.h>
#include <fcntl.h>

#include "engine.h"
#include "plan.h"
#include "sys.h"

static const struct xfer_engine *const engines[XFER_WAYS] = {
    [XFER_CLONE] = &xfer_engine_clone,   [XFER_RANGE] = &xfer_engine_range,
    [XFER_SPLICE] = &xfer_engine_splice, [XFER_SENDFILE] = &xfer_engine_sendfile,
    [XFER_MAPPED] = &xfer_engine_mapped,
};

int xfer_transfer_fail(struct xfer_transfer *t, enum xfer_side side, long error)
{
    t->result->side = side;
    return (int)error;
}

int xfer_transfer_advance(struct xfer_transfer *t, enum xfer_way way, size_t bytes)
{
    t->result->bytes += bytes;
    t->result->by[way] += bytes;
    t->result->steps++;
    t->left -= bytes;
    if (t->in_offset)
        *t->in_offset += (off_t)bytes;
    if (t->out_offset)
        *t->out_offset += (off_t)bytes;
    if (t->policy->progress && t->policy->progress(t->policy->argument, t->result->bytes) != 0)
        return xfer_transfer_fail(t, XFER_SIDE_PROGRESS, -ECANCELED);
    return 0;
}

/* By one engine, until there is nothing left or it has no more to say: then `*over` tells if that was the
 * end, which read must confirm. Returns 0 or -errno.
 */
static int by_engine(struct xfer_transfer *t, const struct xfer_rung *rung, const dev_t device[2], bool *over)
{
    while (t->left > 0 && !*over) {
        struct xfer_piece piece = {
            .in = t->in,
            .in_offset = t->in_offset ? *t->in_offset : -1,
            .count = t->left < rung->window ? (size_t)t->left : rung->window,
            .out_offset = t->out_offset,
        };
        ssize_t n = engines[rung->way]->move(&piece, t->out);
        /* These have raised their signal. */
        if (n == -EPIPE || n == -EFBIG)
            return xfer_transfer_fail(t, XFER_SIDE_DESTINATION, n);
        if (n < 0) {
            xfer_refused_note(rung->way, device[0], device[1], n);
            return 0;
        }
        *over = n == 0;
        int rc = n > 0 ? xfer_transfer_advance(t, rung->way, (size_t)n) : 0;
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int by_plan(struct xfer_transfer *t, const struct xfer_plan *plan, const dev_t device[2],
                   uint64_t amount)
{
    size_t window = plan->rung[plan->rungs - 1].window;
    bool over = false;
    int rc = plan->head ? xfer_transfer_plain(t, plan->head, window, plan->head) : 0;
    for (int i = 0; i < plan->rungs - 1 && rc == 0 && t->left > 0 && !over && !t->ended; i++)
        if (!xfer_refused(plan->rung[i].way, device[0], device[1]))
            rc = by_engine(t, &plan->rung[i], device, &over);
    if (rc < 0 || t->left == 0 || t->ended)
        return rc;
    return xfer_transfer_plain(t, t->left, window, amount > t->result->bytes ? amount - t->result->bytes : 1);
}

/* What cannot be asked is left to read and write, which will say so. */
static bool look(struct xfer_endpoint *end, int fd, const off_t *offset)
{
    end->offset = -1;
    bool seeks = xfer_endpoint_look(end, fd) == 0;
    if (!seeks)
        end->offset = -1;
    if (xfer_endpoint_look_closer(end) < 0)
        end->flags = O_APPEND;
    if (seeks && offset)
        end->offset = *offset;
    return seeks;
}

int xfer_copy(int in, off_t *in_offset, int out, off_t *out_offset, uint64_t count,
              const struct xfer_policy *policy, struct xfer_result *result)
{
    static const struct xfer_policy usual;
    struct xfer_result own;
    struct xfer_endpoint source = {.fd = in}, destination = {.fd = out};
    if (!policy)
        policy = &usual;
    if (!result)
        result = &own;
    *result = (struct xfer_result){0};
    struct xfer_transfer transfer = {
        .in = in,
        .out = out,
        .in_offset = in_offset,
        .out_offset = out_offset,
        .left = count,
        .policy = policy,
        .result = result,
    };
    struct xfer_wish wish = {
        .count = count,
        .out_explicit = out_offset,
        .ways = policy->ways ? policy->ways : XFER_WAYS_DEFAULT,
        .flags = policy->flags,
        .window = policy->window,
    };
    transfer.in_seeks = look(&source, in, in_offset);
    look(&destination, out, out_offset);
    transfer.out_waits = !(destination.flags & O_NONBLOCK);

    struct xfer_plan plan = xfer_plan_make(&source, &destination, &wish);
    dev_t device[2] = {source.device, destination.device};
    return by_plan(&transfer, &plan, device, xfer_plan_amount(&source, &wish));
}
