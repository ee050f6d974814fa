#include "gain.h"

#include <bsd/libutil.h>
#include <err.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char variable[] = "XFERSHIM_REPORT";
static const char report_name[] = "report.json"; /* the suffix asks for JSON */

void acted_begin(const struct setting *setting)
{
    char path[PATH_MAX];
    scratch_path(path, setting, report_name);
    unlink(path);
    if (setenv(variable, path, 1) < 0)
        err(2, "%s", variable);
}

/* The sum of an unsigned field over one object. The reports are our own, one line a process with no
 * spaces around the colons, so this needs no parser. */
static unsigned long long sum(const char *line, const char *field)
{
    unsigned long long total = 0;
    for (const char *at = line; (at = strstr(at, field));) {
        at += strlen(field);
        total += strtoull(at, NULL, 10);
    }
    return total;
}

struct acted acted_end(const struct setting *setting)
{
    struct acted acted = {0};
    char path[PATH_MAX], *line = NULL;
    size_t size = 0;

    unsetenv(variable);
    scratch_path(path, setting, report_name);
    FILE *file = fopen(path, "re");
    while (file && getline(&line, &size, file) > 0) {
        const char *loops = strstr(line, "\"loops\":");
        acted.reported = true;
        if (!loops)
            continue;
        acted.sessions += sum(loops, "\"sessions\":");
        acted.calls_before += sum(loops, "\"calls_before\":");
        acted.calls_after += sum(loops, "\"calls_after\":");
    }
    free(line);
    if (file)
        fclose(file);
    return acted;
}

static const char *count_text(char text[8], unsigned long long count)
{
    humanize_number(text, 5, count, "", HN_AUTOSCALE, HN_NOSPACE | HN_DECIMAL | HN_DIVISOR_1000);
    return text;
}

const char *acted_text(const struct acted *acted)
{
    static char text[24];
    char before[8], after[8];
    if (!acted->reported)
        return "?";
    if (acted->sessions == 0)
        return "-";
    snprintf(text, sizeof(text), "%s -> %s", count_text(before, acted->calls_before),
             count_text(after, acted->calls_after));
    return text;
}
