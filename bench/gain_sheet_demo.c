#include "gain.h"

static void head(FILE *file, const struct setting *setting)
{
    struct machine machine = machine_describe(setting->scratch);
    fprintf(file,
            "\nCopying a file of %s of random bytes on %s, without and with LD_PRELOAD=libxfershim.so\n"
            "(%s, %s; medians of up to %zu runs each)\n%s\n"
            "  %-38s %8s %8s %8s   %-14s  %s\n",
            size_text(setting->size), machine.file_system, machine.processor, machine.kernel, setting->pairs,
            machine_caution(&machine), "", "plain", "shim", "faster", "system calls", "bytes");
}

/* A row is printed only when all of its outputs were compared and are right. */
static void line(FILE *file, const struct result *result)
{
    fprintf(file, "  %-38s %6.2f s %6.2f s %7.1fx   %-14s  identical\n", result->row->brief,
            result->plain_wall.median, result->shim_wall.median, result->wall.median,
            acted_text(&result->acted));
    fflush(file);
}

const struct sheet sheet_demo = {head, line};
