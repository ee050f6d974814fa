#include "loop.h"

#include <dirent.h>
#include <err.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

static void join(char *path, const char *directory, const char *name)
{
    if (snprintf(path, PATH_MAX, "%s/%s", directory, name) >= PATH_MAX)
        errx(1, "%s/%s: the name is too long", directory, name);
}

void loop_tree(const struct loop *loop, const char *source, const char *destination)
{
    DIR *directory = opendir(source);
    if (!directory)
        err(1, "%s", source);
    if (mkdir(destination, 0777) < 0)
        err(1, "%s", destination);

    const struct dirent *entry;
    while ((entry = readdir(directory))) {
        if (entry->d_type != DT_REG)
            continue;
        char from[PATH_MAX], to[PATH_MAX];
        join(from, source, entry->d_name);
        join(to, destination, entry->d_name);
        loop_file(loop, from, to);
    }
    closedir(directory);
}
