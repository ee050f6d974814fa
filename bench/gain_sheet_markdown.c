#include "gain.h"

static void head(FILE *file, const struct setting *setting)
{
    struct machine machine = machine_describe(setting->scratch);
    fprintf(
        file,
        "%s, %s, %s, load %.1f; a file of %s%s, a new destination for each run, its bytes compared after\n"
        "each run. Plain runs and runs under the shim in turn, %zu to %zu pairs; times are medians, a gain "
        "is\n"
        "the median of plain / shim over the pairs, with the middle half of them; calls are those that the\n"
        "shim took over, and what it made of them.\n\n"
        "| | plain, ms | shim, ms | gain | CPU plain, ms | CPU shim, ms | CPU gain | calls | bar | |\n"
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|---|\n",
        machine.processor, machine.kernel, machine.file_system, machine.load, size_text(setting->size),
        setting->warm ? " in the page cache" : "", setting->pairs, setting->most);
}

static void bar_cell(FILE *file, const struct result *result)
{
    const struct bar *bar = &result->row->bar;
    const char *word = result->reached ? "reached" : "missed";
    if (bar->kind == BAR_FASTER)
        fprintf(file, "%.2gx | %s |\n", bar->value, word);
    else if (bar->kind == BAR_NOT_SLOWER)
        fprintf(file, "CPU x%.3g | %s: x%.3f |\n", bar->value, word, result->measured.median);
    else
        fputs(" | |\n", file);
}

static void line(FILE *file, const struct result *result)
{
    fprintf(file, "| %s | %.0f | %.0f | %.2fx (%.2f..%.2f) | %.0f | %.0f | %.2fx (%.2f..%.2f) | %s | ",
            result->row->name, result->plain_wall.median * 1e3, result->shim_wall.median * 1e3,
            result->wall.median, result->wall.low, result->wall.high, result->plain_cpu.median * 1e3,
            result->shim_cpu.median * 1e3, result->cpu.median, result->cpu.low, result->cpu.high,
            acted_text(&result->acted));
    bar_cell(file, result);
    fflush(file);
}

const struct sheet sheet_markdown = {head, line};
