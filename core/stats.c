#include "stats.h"

void xfer_stats_add(struct xfer_stats *to, const struct xfer_stats *from)
{
    to->reads += from->reads;
    to->writes += from->writes;
    to->bytes += from->bytes;
    to->calls += from->calls;
    to->fills += from->fills;
    to->flushes += from->flushes;
    to->shared += from->shared;
}
