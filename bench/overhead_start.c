#include "overhead.h"

#include <err.h>
#include <stdlib.h>

enum side { EMPTY, SHIM, SIDES };

static struct cost start(const char *library)
{
    static char *const argv[] = {"/bin/true", NULL};
    struct cost cost;
    if (command_run(&(struct command){.argv = argv, .preload = library}, &cost) != 0)
        errx(2, "%s with %s", argv[0], library);
    return cost;
}

static double *figures(size_t count)
{
    double *values = calloc(count, sizeof(*values));
    if (!values)
        err(2, "figures");
    return values;
}

struct start_result start_measure(const char *empty, const char *library, size_t pairs)
{
    static const double micro = 1e6;
    const char *const libraries[SIDES] = {empty, library};
    double *wall[SIDES] = {figures(pairs), figures(pairs)}, *cpu[SIDES] = {figures(pairs), figures(pairs)};
    double *more_wall = figures(pairs), *more_cpu = figures(pairs);

    for (size_t i = 0; i < pairs; i++) {
        for (size_t turn = 0; turn < SIDES; turn++) {
            enum side side = (i + turn) % SIDES;
            struct cost cost = start(libraries[side]);
            wall[side][i] = cost.wall * micro;
            cpu[side][i] = cost.cpu * micro;
        }
        more_wall[i] = wall[SHIM][i] - wall[EMPTY][i];
        more_cpu[i] = cpu[SHIM][i] - cpu[EMPTY][i];
    }

    struct start_result result = {
        .empty_wall = spread_of(wall[EMPTY], pairs),
        .shim_wall = spread_of(wall[SHIM], pairs),
        .empty_cpu = spread_of(cpu[EMPTY], pairs),
        .shim_cpu = spread_of(cpu[SHIM], pairs),
        .more_wall = spread_of(more_wall, pairs),
        .more_cpu = spread_of(more_cpu, pairs),
    };
    for (int side = 0; side < SIDES; side++) {
        free(wall[side]);
        free(cpu[side]);
    }
    free(more_wall);
    free(more_cpu);
    return result;
}
