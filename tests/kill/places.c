/* File systems of our own, in a mount namespace that nobody else sees. */
#include "kill.h"

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

/* Sparse. The library defers nothing where less than 64 MiB are free. */
#define IMAGE_SIZE ((off_t)2 << 30)

static struct {
    char folder[PATH_MAX], image[PATH_MAX], reason[200];
    bool mounted;
} state[PLACES_MOST];

static bool run_shell(const char *command)
{
    int status = system(command);
    return status == 0;
}

static bool __attribute__((format(printf, 2, 3))) refuse(int place, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(state[place].reason, sizeof state[place].reason, format, list);
    va_end(list);
    return false;
}

static bool mount_image(int place)
{
    const char *kind = places[place].kind;
    char command[3 * PATH_MAX];
    int fd = creat(state[place].image, 0600);
    if (fd < 0 || ftruncate(fd, IMAGE_SIZE) < 0)
        die(state[place].image);
    close(fd);
    const char *options = strcmp(kind, "xfs") == 0 ? "-q -f -m reflink=1" : "-q";
    snprintf(command, sizeof command, "mkfs.%s %s '%s' >/dev/null 2>&1", kind, options, state[place].image);
    if (!run_shell(command))
        return refuse(place, "mkfs.%s does not work here", kind);
    snprintf(command, sizeof command, "mount -o loop -t %s '%s' '%s' 2>/dev/null", kind, state[place].image,
             state[place].folder);
    return run_shell(command) || refuse(place, "mounting %s by a loop device does not work here", kind);
}

static bool open_own(int place, const char *no_mounts)
{
    if (no_mounts)
        return refuse(place, "%s", no_mounts);
    if (strcmp(places[place].kind, "tmpfs") == 0)
        state[place].mounted = mount("tmpfs", state[place].folder, "tmpfs", 0, "size=2g") == 0 ||
                               refuse(place, "mounting tmpfs does not work here");
    else
        state[place].mounted = mount_image(place);
    return state[place].mounted;
}

void places_open(const char *scratch, const bool *wanted)
{
    const char *no_mounts = NULL;
    if (geteuid() != 0)
        no_mounts = "mounting needs root";
    else if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        no_mounts = "no mount namespace here";
    for (int i = 0; i < place_count; i++) {
        int base = i;
        if (places[i].same)
            for (base = 0; strcmp(places[base].name, places[i].same) != 0;)
                base++;
        if (!wanted[i] && !places[i].kind)
            continue;
        if (base != i) {
            strcpy(state[i].folder, state[base].folder);
            strcpy(state[i].reason, state[base].reason);
            continue;
        }
        snprintf(state[i].folder, sizeof state[i].folder, "%s/%d", scratch, i);
        snprintf(state[i].image, sizeof state[i].image, "%s/%d.image", scratch, i);
        if (mkdir(state[i].folder, 0700) < 0)
            die(state[i].folder);
        if (places[i].kind)
            open_own(i, no_mounts);
    }
}

void places_close(void)
{
    for (int i = 0; i < place_count; i++)
        if (state[i].mounted && umount2(state[i].folder, MNT_DETACH) < 0)
            perror(state[i].folder);
}

const char *place_reason(int place)
{
    return state[place].reason[0] ? state[place].reason : NULL;
}

const char *place_folder(int place)
{
    return state[place].folder;
}
