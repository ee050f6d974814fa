#include "common.h"

#include <bsd/string.h>
#include <linux/magic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <bsd/libutil.h>

#ifndef XFS_SUPER_MAGIC
#define XFS_SUPER_MAGIC 0x58465342
#endif
/* Not in linux/magic.h: include/uapi of ZFS and bcachefs. */
#define ZFS_MAGIC 0x2fc12fc1
#define BCACHEFS_MAGIC 0xca451a4e

static const struct {
    unsigned long magic;
    const char *name;
} file_systems[] = {
    {BCACHEFS_MAGIC, "bcachefs"}, {BTRFS_SUPER_MAGIC, "btrfs"}, {EXT4_SUPER_MAGIC, "ext4"},
    {F2FS_SUPER_MAGIC, "f2fs"},   {NFS_SUPER_MAGIC, "nfs"},     {OVERLAYFS_SUPER_MAGIC, "overlayfs"},
    {TMPFS_MAGIC, "tmpfs"},       {XFS_SUPER_MAGIC, "xfs"},     {ZFS_MAGIC, "zfs"},
};

static void name_file_system(const char *path, char *text, size_t size)
{
    struct statfs status;
    if (statfs(path, &status) < 0) {
        strlcpy(text, "unknown file system", size);
        return;
    }
    for (size_t i = 0; i < sizeof(file_systems) / sizeof(*file_systems); i++) {
        if ((unsigned long)status.f_type == file_systems[i].magic) {
            strlcpy(text, file_systems[i].name, size);
            return;
        }
    }
    snprintf(text, size, "file system 0x%lx", (unsigned long)status.f_type);
}

static void name_processor(char *text, size_t size)
{
    char line[256], model[64] = "unknown processor";
    FILE *file = fopen("/proc/cpuinfo", "re");
    while (file && fgets(line, sizeof(line), file)) {
        if (strncmp(line, "model name", strlen("model name")) == 0 && strchr(line, ':')) {
            line[strcspn(line, "\n")] = '\0';
            strlcpy(model, strchr(line, ':') + 2, sizeof(model));
            break;
        }
    }
    if (file)
        fclose(file);
    snprintf(text, size, "%ld x %s", sysconf(_SC_NPROCESSORS_ONLN), model);
}

struct machine machine_describe(const char *path)
{
    struct machine machine;
    struct utsname system;

    uname(&system);
    snprintf(machine.kernel, sizeof(machine.kernel), "Linux %.50s", system.release);
    name_file_system(path, machine.file_system, sizeof(machine.file_system));
    name_processor(machine.processor, sizeof(machine.processor));
    if (getloadavg(&machine.load, 1) != 1)
        machine.load = 0;
    return machine;
}

const char *machine_caution(const struct machine *machine)
{
    return machine->load > sysconf(_SC_NPROCESSORS_ONLN)
               ? "The machine is busy with other things: wall times say less than on a quiet one.\n"
               : "";
}

const char *size_text(unsigned long long bytes)
{
    static char text[8];
    uint64_t whole;
    humanize_number(text, 5, bytes, "", HN_AUTOSCALE, HN_NOSPACE);
    if (expand_number(text, &whole) < 0 || whole != bytes)
        humanize_number(text, 5, bytes, "", HN_AUTOSCALE, HN_NOSPACE | HN_DECIMAL);
    return text;
}
