#include "overhead.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* A fresh process each time: where the loader puts things is a part of the noise, and must not be the
 * same for all the runs of one side. */
static double run_pattern(size_t pattern, const char *library, const char *answer)
{
    char self[PATH_MAX], number[16];
    char *const argv[] = {self, "--pattern", number, NULL};
    struct cost cost;
    double time;

    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (length < 0)
        err(2, "/proc/self/exe");
    self[length] = '\0';
    snprintf(number, sizeof(number), "%zu", pattern);
    if (command_run(&(struct command){.argv = argv, .stdout_path = answer, .preload = library}, &cost) != 0)
        errx(2, "%s %s", patterns[pattern].name, library ? "under the shim" : "plain");

    FILE *file = fopen(answer, "re");
    if (!file || fscanf(file, "%lf", &time) != 1)
        errx(2, "%s: no figure in it", answer);
    fclose(file);
    return time;
}

struct calls_result calls_measure(size_t pattern, const char *library, size_t pairs)
{
    double *plain = calloc(pairs, sizeof(*plain));
    double *shim = calloc(pairs, sizeof(*shim));
    double *more = calloc(pairs, sizeof(*more));
    char answer[PATH_MAX];
    beside_self(answer, "overhead.XXXXXX");
    int descriptor = mkstemp(answer);
    if (!plain || !shim || !more || descriptor < 0)
        err(2, "figures");
    close(descriptor);

    for (size_t i = 0; i < pairs; i++) {
        if (i % 2 == 0)
            plain[i] = run_pattern(pattern, NULL, answer);
        shim[i] = run_pattern(pattern, library, answer);
        if (i % 2 == 1)
            plain[i] = run_pattern(pattern, NULL, answer);
        more[i] = shim[i] - plain[i];
    }
    unlink(answer);

    struct calls_result result = {
        .plain = spread_of(plain, pairs),
        .shim = spread_of(shim, pairs),
        .more = spread_of(more, pairs),
    };
    free(plain);
    free(shim);
    free(more);
    return result;
}
