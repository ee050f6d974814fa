#include "gain.h"

/* Every pair as it was measured, so that other statistics than ours can be made of them. */

static void head(FILE *file, const struct setting *setting)
{
    struct machine machine = machine_describe(setting->scratch);
    fprintf(file,
            "# %s, %s, %s, load %.1f, %llu bytes\n"
            "row,pair,first,plain_wall_s,shim_wall_s,plain_cpu_s,shim_cpu_s\n",
            machine.processor, machine.kernel, machine.file_system, machine.load,
            (unsigned long long)setting->size);
}

static void line(FILE *file, const struct result *result)
{
    for (size_t i = 0; i < result->count; i++) {
        const struct pair *pair = &result->pairs[i];
        fprintf(file, "\"%s\",%zu,%s,%.6f,%.6f,%.6f,%.6f\n", result->row->name, i + 1,
                pair->shim_first ? "shim" : "plain", pair->plain.wall, pair->shim.wall, pair->plain.cpu,
                pair->shim.cpu);
    }
    fflush(file);
}

const struct sheet sheet_csv = {head, line};
