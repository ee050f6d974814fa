#include "gain.h"

#include <bsd/string.h>
#include <err.h>
#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const int descriptors = 16; /* that nftw may hold */
static char folder[PATH_MAX];
static volatile sig_atomic_t stop;

static void note(int signal)
{
    stop = signal;
}

bool interrupted(void)
{
    return stop != 0;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *place)
{
    (void)status, (void)type, (void)place;
    if (remove(path) < 0)
        warn("%s", path);
    return 0;
}

void tree_remove(const char *path)
{
    if (nftw(path, remove_one, descriptors, FTW_DEPTH | FTW_PHYS | FTW_MOUNT) < 0 && errno != ENOENT)
        warn("%s", path);
}

static int empty_one(const char *path, const struct stat *status, int type, struct FTW *place)
{
    (void)type, (void)place;
    if (S_ISREG(status->st_mode) && truncate(path, 0) < 0)
        warn("%s", path);
    return 0;
}

void tree_retire(const char *path)
{
    static unsigned count;
    char retired[PATH_MAX];
    if (nftw(path, empty_one, descriptors, FTW_PHYS | FTW_MOUNT) < 0) {
        if (errno != ENOENT)
            warn("%s", path);
        return;
    }
    if (snprintf(retired, PATH_MAX, "%s/retired.%u", folder, count++) >= PATH_MAX ||
        rename(path, retired) < 0)
        warn("%s", path);
}

static void close_scratch(void)
{
    tree_remove(folder);
}

void scratch_open(struct setting *setting, const char *parent)
{
    struct sigaction action = {.sa_handler = note, .sa_flags = SA_RESTART};
    if (snprintf(setting->scratch, PATH_MAX, "%s/scratch.XXXXXX", parent) >= PATH_MAX)
        errx(2, "%s: the name is too long", parent);
    if (!mkdtemp(setting->scratch))
        err(2, "%s", setting->scratch);

    strlcpy(folder, setting->scratch, sizeof(folder));
    atexit(close_scratch);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
}

void scratch_path(char path[PATH_MAX], const struct setting *setting, const char *name)
{
    if (snprintf(path, PATH_MAX, "%s/%s", setting->scratch, name) >= PATH_MAX)
        errx(2, "%s/%s: the name is too long", setting->scratch, name);
}
