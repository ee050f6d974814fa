#include "launcher/needed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bsd/string.h>

static const char *const standard_directories[] = {
    "/lib/" XFERSHIM_TRIPLET,
    "/usr/lib/" XFERSHIM_TRIPLET,
    "/lib64",
    "/usr/lib64",
    "/lib",
    "/usr/lib",
    "/usr/local/lib/" XFERSHIM_TRIPLET,
    "/usr/local/lib",
};

struct search {
    const char *name;
    const char *origin; /* the directory of the program */
    char *path;
    struct elf_file *file;
};

static int try_file(const struct search *search)
{
    struct stat status;
    int fd = open(search->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return -errno;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && elf_read(fd, search->file) == 0 &&
        search->file->kind != ELF_NOT && search->file->kind != ELF_FOREIGN)
        return fd;
    close(fd);
    return -ENOENT;
}

/* The loader's words of a search path, see ld.so(8). */
static const char *token_value(const char *at, const char *origin, size_t *length)
{
    const struct {
        const char *name;
        const char *value;
    } tokens[] = {
        {"$ORIGIN", origin},
        {"${ORIGIN}", origin},
        {"$LIB", "lib/" XFERSHIM_TRIPLET},
        {"${LIB}", "lib/" XFERSHIM_TRIPLET},
        {"$PLATFORM", (const char *)getauxval(AT_PLATFORM)},
        {"${PLATFORM}", (const char *)getauxval(AT_PLATFORM)},
    };
    for (size_t i = 0; i < sizeof(tokens) / sizeof(tokens[0]); i++) {
        *length = strlen(tokens[i].name);
        if (strncmp(at, tokens[i].name, *length) == 0)
            return tokens[i].value;
    }
    return NULL;
}

static int try_directory(const struct search *search, const char *directory, size_t length)
{
    char *path = search->path;
    char *end = path + PATH_MAX - 1;
    for (const char *at = directory; at < directory + length;) {
        size_t token;
        const char *value = *at == '$' ? token_value(at, search->origin, &token) : NULL;
        if (value) {
            size_t room = (size_t)(end - path);
            size_t n = strlcpy(path, value, room);
            if (n >= room)
                return -ENOENT;
            path += n;
            at += token;
        } else {
            if (path == end)
                return -ENOENT;
            *path++ = *at++;
        }
    }
    int n = snprintf(path, (size_t)(end - path), "%s%s", length ? "/" : "./", search->name);
    return n < end - path ? try_file(search) : -ENOENT;
}

static int try_list(const struct search *search, const char *list, const char *separators)
{
    for (const char *at = list;; at++) {
        size_t length = strcspn(at, separators);
        int fd = try_directory(search, at, length);
        if (fd >= 0)
            return fd;
        at += length;
        if (*at == '\0')
            return -ENOENT;
    }
}

static int try_tag(const struct search *search, const struct elf_file *needer, ElfW(Sxword) tag)
{
    size_t at = 0;
    char list[ELF_NAME];
    if (elf_next_string(needer, tag, &at, list) <= 0)
        return -ENOENT;
    return try_list(search, list, ":");
}

int needed_open(const char *name, const struct elf_file *needer, const char *needer_path, char path[PATH_MAX],
                struct elf_file *file)
{
    char origin[PATH_MAX];
    struct search search = {name, origin, path, file};
    if (strchr(name, '/'))
        return strlcpy(path, name, PATH_MAX) < PATH_MAX ? try_file(&search) : -ENOENT;

    if (!realpath(needer_path, origin))
        return -ENOENT;
    char *slash = strrchr(origin, '/');
    slash[slash == origin] = '\0';

    size_t at = 0;
    char runpath[ELF_NAME];
    bool has_runpath = elf_next_string(needer, DT_RUNPATH, &at, runpath) > 0;
    int fd = has_runpath ? -ENOENT : try_tag(&search, needer, DT_RPATH);
    const char *library_path = getenv("LD_LIBRARY_PATH");
    if (fd < 0 && library_path && *library_path)
        fd = try_list(&search, library_path, ":;");
    if (fd < 0 && has_runpath)
        fd = try_list(&search, runpath, ":");
    for (size_t i = 0; fd < 0 && i < sizeof(standard_directories) / sizeof(standard_directories[0]); i++)
        fd = try_directory(&search, standard_directories[i], strlen(standard_directories[i]));
    return fd;
}
