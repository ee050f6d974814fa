/*
 * Programs nobody here wrote, one row for each thing they do: a shell command that runs plain, under
 * the shim with a session at every second pair, and under the shim as it comes, each time in an empty
 * directory of the same name. Exit status, stdout, stderr and all files left behind must be equal.
 */
#ifndef TESTS_APPS_ROW_H
#define TESTS_APPS_ROW_H

#include "support.h"

struct row {
    const char *needs; /* programs, separated by blanks; the row is skipped where one is missing */
    /*
     * For sh -e. Made by seed and only to be read: $SRC (64 MiB and a bit, random), $MID (6 MiB and a
     * bit, random), $TEXT (lines, 3 MiB), $TREE (2000 small files, links, empty directories).
     */
    const char *command;
    /*
     * Program names, separated by blanks, in whose reports sessions must be seen: BUSY in both
     * configurations, EAGER only where every second pair starts one, IDLE never.
     */
    const char *busy, *eager, *idle;
    const char *idle_because; /* a refusal that the idle programs must have given */
    bool quick;               /* many files, nothing to win: only the run with sessions everywhere */
    bool times;               /* the files' modification times are part of the result */
    int exit;                 /* what the command exits with; a row that fails by mistake proves nothing */
};

void row_check(const struct row *row);

#define ROW(suite, name, ...)                                                                                \
    Test(suite, name)                                                                                        \
    {                                                                                                        \
        row_check(&(const struct row){__VA_ARGS__});                                                         \
    }

/* The inputs by name ("SRC"), for tests that are no rows. */
char *input(const char *name);

#endif
