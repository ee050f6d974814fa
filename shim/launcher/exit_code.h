/* What the launcher says with its exit code when the program does not run; as env(1), nice(1), stdbuf(1). */
#ifndef XFERSHIM_LAUNCHER_EXIT_CODE_H
#define XFERSHIM_LAUNCHER_EXIT_CODE_H

enum {
    EXIT_HELPLESS = 1,     /* --check: the program cannot be helped */
    EXIT_OURS = 125,       /* the launcher itself failed */
    EXIT_CANNOT_RUN = 126, /* the program was found and cannot run, or not under the library */
    EXIT_NOT_FOUND = 127,
};

#endif
