/* The program that the user names: where it is, which binary runs in the end, what stands against helping it.
 */
#ifndef XFERSHIM_LAUNCHER_TARGET_H
#define XFERSHIM_LAUNCHER_TARGET_H

#include "launcher/elf.h"

#include <limits.h>
#include <stdbool.h>

enum {
    TARGET_SCRIPTS = 5
}; /* interpreters that are scripts themselves; the kernel's own limit, see execve(2) */

enum target_refusal {
    TARGET_FITS,
    TARGET_UNREADABLE, /* may be executed, not read: nothing is known, nothing stands against a try */
    TARGET_DAMAGED,
    TARGET_FOREIGN,
    TARGET_STATIC,
    TARGET_OTHER_LOADER, /* musl's loader aborts a program when glibc's symbols are missing */
    TARGET_SET_ID,
    TARGET_CAPABILITIES,
};

struct target {
    char path[PATH_MAX]; /* what the name stands for */
    size_t script_count;
    char scripts[TARGET_SCRIPTS][PATH_MAX]; /* the scripts on the way to the binary, outermost first */
    char binary[PATH_MAX];                  /* the file whose code runs in the end */
    int fd;                                 /* of the binary, or -1 when it cannot be read */
    bool set_id;                            /* set-user-id or set-group-id */
    bool capabilities;
    enum target_refusal refusal;
    struct elf_file elf;
};

/* The file that execvp(3) would take for NAME. 0 with its path, -ENOENT, or -EACCES when there are only files
 * that may not be executed.
 */
int target_find(const char *name, char path[PATH_MAX]);

/* Look at the program NAME. 0, or -errno when it or an interpreter on its way is not there or may not be
 * executed: TARGET->binary is the one at fault then. Ends the process when memory or descriptors are missing.
 */
int target_look(const char *name, struct target *target);

/* Why, in words that follow the path and "is" or "has"; NULL for TARGET_FITS. */
const char *target_refusal_words(const struct target *target);

void target_close(struct target *target);

#endif
