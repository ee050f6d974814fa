#include "common.h"

#include <stdlib.h>

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Between the two nearest values in proportion, as R's type 7 and numpy's default do. */
static double quantile(const double *sorted, size_t count, double part)
{
    double place = part * (count - 1);
    size_t below = place;
    size_t above = below + 1 < count ? below + 1 : below;
    return sorted[below] + (place - below) * (sorted[above] - sorted[below]);
}

struct spread spread_of(double *values, size_t count)
{
    qsort(values, count, sizeof(*values), by_value);
    return (struct spread){
        .low = quantile(values, count, 0.25),
        .median = quantile(values, count, 0.5),
        .high = quantile(values, count, 0.75),
    };
}
