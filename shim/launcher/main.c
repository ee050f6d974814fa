/* xfershim(1): put the library into LD_PRELOAD and become the program. No process stays behind, so signals,
 * exit codes and job control are the program's own.
 */
#include "launcher/check.h"
#include "launcher/exit_code.h"
#include "launcher/options.h"
#include "launcher/preload.h"
#include "launcher/target.h"

#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void look(const char *name, struct target *target)
{
    int rc = target_look(name, target);
    if (rc == 0)
        return;
    if (target->script_count > 0)
        warnx("%s: its interpreter %s: %s", target->path, target->binary, strerror(-rc));
    else
        warnx("%s: %s", name, strerror(-rc));
    exit(rc == -ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN);
}

static int check(const char *name)
{
    struct target target;
    look(name, &target);
    bool helped = check_print(&target);
    if (fflush(stdout) == EOF)
        err(EXIT_OURS, "standard output");
    return helped ? EXIT_SUCCESS : EXIT_HELPLESS;
}

static _Noreturn void run(const struct options *options)
{
    struct target target;
    char library[PATH_MAX];
    look(options->command[0], &target);
    if (target.refusal != TARGET_FITS && target.refusal != TARGET_UNREADABLE)
        errx(EXIT_CANNOT_RUN, "%s %s", target.binary, target_refusal_words(&target));
    preload_find(options->library, library);
    preload_set(library, &target);
    target_close(&target);

    execvp(options->command[0], options->command);
    int code = errno == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
    err(code, "%s", options->command[0]);
}

int main(int argc, char **argv)
{
    struct options options = options_parse(argc, argv);
    if (options.check)
        return check(options.check);
    run(&options);
}
