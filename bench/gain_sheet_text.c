#include "gain.h"

const char *verdict_text(const struct result *result)
{
    static char text[96];
    const struct bar *bar = &result->row->bar;
    const struct spread *measured = &result->measured;
    const char *word = result->reached ? "reached" : "MISSED";

    if (bar->kind == BAR_FASTER)
        snprintf(text, sizeof(text), "bar %.2gx, measured %.1fx (%.1f..%.1f), %s", bar->value,
                 measured->median, measured->low, measured->high, word);
    else if (bar->kind == BAR_NOT_SLOWER)
        snprintf(text, sizeof(text), "bar CPU x%.3g, measured x%.3f (%.3f..%.3f), %s", bar->value,
                 measured->median, measured->low, measured->high, word);
    else
        text[0] = '\0';
    return text;
}

static void head(FILE *file, const struct setting *setting)
{
    struct machine machine = machine_describe(setting->scratch);
    fprintf(file,
            "%s, %s, %s, load %.1f\n"
            "A file of %s%s, a new destination for each run, its bytes compared after each run.\n"
            "Plain and shim in turn, %zu pairs (up to %zu while noise hides the verdict): medians in "
            "milliseconds,\n"
            "gain = plain / shim of each pair, its median, in brackets the middle half; calls: what the shim "
            "took\n"
            "over, and what it made of it.\n%s\n",
            machine.processor, machine.kernel, machine.file_system, machine.load, size_text(setting->size),
            setting->warm ? " in the page cache" : "", setting->pairs, setting->most,
            machine_caution(&machine));
    fprintf(file, "%-48s %13s  %13s  %13s\n", "", "wall ms  ", "CPU ms   ", "gain    ");
    fprintf(file, "%-48s %6s%7s  %6s%7s  %6s%7s  %-14s\n", "", "plain", "shim", "plain", "shim", "wall",
            "CPU", "calls");
}

static void line(FILE *file, const struct result *result)
{
    fprintf(file, "%-48s %6.0f%7.0f  %6.0f%7.0f  %5.2fx%6.2fx  %-14s  %s\n", result->row->name,
            result->plain_wall.median * 1e3, result->shim_wall.median * 1e3, result->plain_cpu.median * 1e3,
            result->shim_cpu.median * 1e3, result->wall.median, result->cpu.median,
            acted_text(&result->acted), verdict_text(result));
    fflush(file);
}

const struct sheet sheet_text = {head, line};
