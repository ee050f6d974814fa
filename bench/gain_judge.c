#include "gain.h"

#include <err.h>
#include <math.h>
#include <stdlib.h>

/* Half the width of a 95 % interval of a median, in quartile distances over the root of the count
 * (McGill, Tukey and Larsen 1978: the notches of a box plot). */
static const double notch = 1.58;

typedef double figure(const struct pair *pair);

static double plain_wall(const struct pair *pair)
{
    return pair->plain.wall;
}

static double shim_wall(const struct pair *pair)
{
    return pair->shim.wall;
}

static double plain_cpu(const struct pair *pair)
{
    return pair->plain.cpu;
}

static double shim_cpu(const struct pair *pair)
{
    return pair->shim.cpu;
}

static double wall_gain(const struct pair *pair)
{
    return pair->plain.wall / pair->shim.wall;
}

static double cpu_gain(const struct pair *pair)
{
    return pair->plain.cpu / pair->shim.cpu;
}

static double cpu_loss(const struct pair *pair)
{
    return pair->shim.cpu / pair->plain.cpu;
}

static struct spread over_pairs(const struct result *result, figure *figure)
{
    double *values = calloc(result->count, sizeof(*values));
    if (!values)
        err(2, "figures");
    for (size_t i = 0; i < result->count; i++)
        values[i] = figure(&result->pairs[i]);
    struct spread spread = spread_of(values, result->count);
    free(values);
    return spread;
}

bool result_judge(struct result *result)
{
    const struct bar *bar = &result->row->bar;
    result->plain_wall = over_pairs(result, plain_wall);
    result->shim_wall = over_pairs(result, shim_wall);
    result->plain_cpu = over_pairs(result, plain_cpu);
    result->shim_cpu = over_pairs(result, shim_cpu);
    result->wall = over_pairs(result, wall_gain);
    result->cpu = over_pairs(result, cpu_gain);
    if (bar->kind == BAR_NONE)
        return false;

    bool faster = bar->kind == BAR_FASTER;
    result->measured = over_pairs(result, faster ? wall_gain : cpu_loss);
    double median = result->measured.median;
    result->reached = faster ? median >= bar->value : median <= bar->value;
    double doubt = notch * (result->measured.high - result->measured.low) / sqrt(result->count);
    return fabs(median - bar->value) < doubt;
}
