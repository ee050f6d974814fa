#include "common.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void beside_self(char path[PATH_MAX], const char *name)
{
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (length < 0)
        err(2, "/proc/self/exe");
    self[length] = '\0';
    *strrchr(self, '/') = '\0';
    if (snprintf(path, PATH_MAX, "%s%s%s", self, *name ? "/" : "", name) >= PATH_MAX)
        errx(2, "%s/%s: the name is too long", self, name);
}

void library_find(char path[PATH_MAX], const char *asked)
{
    char built[PATH_MAX];
    beside_self(built, "../libxfershim.so");
    const char *chosen = asked ? asked : built;
    if (!realpath(chosen, path))
        err(2, "%s", chosen);
    /* ld.so splits LD_PRELOAD at both, and knows no way to quote them. */
    if (strpbrk(path, " :"))
        errx(2, "%s: LD_PRELOAD cannot name a path with a space or a colon", path);
}
