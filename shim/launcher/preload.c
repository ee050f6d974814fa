#include "launcher/preload.h"

#include "launcher/exit_code.h"
#include "launcher/needed.h"

#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <bsd/string.h>

/* ld.so(8) splits LD_PRELOAD at these and expands $ORIGIN and the like; nothing quotes them. */
static const char separators[] = ": ";
static const char meaningful[] = ": $";

static bool own_directory(char directory[PATH_MAX])
{
    ssize_t n = readlink("/proc/self/exe", directory, PATH_MAX - 1);
    if (n > 0) {
        directory[n] = '\0';
    } else {
        const char *name = (const char *)getauxval(AT_EXECFN);
        if (!name || !realpath(name, directory))
            return false;
    }
    char *slash = strrchr(directory, '/');
    if (slash)
        *slash = '\0';
    return slash;
}

static bool find_own(char path[PATH_MAX])
{
    static const char *const places[] = {
        "libxfershim.so",
        "../lib/" XFERSHIM_TRIPLET "/xfershim/libxfershim.so",
    };
    char directory[PATH_MAX];
    if (!own_directory(directory))
        return false;
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        char candidate[PATH_MAX];
        int n = snprintf(candidate, sizeof(candidate), "%s/%s", directory, places[i]);
        if (n < PATH_MAX && realpath(candidate, path))
            return true;
    }
    return false;
}

void preload_find(const char *asked, char path[PATH_MAX])
{
    if (asked && !realpath(asked, path))
        err(EXIT_OURS, "%s", asked);
    if (!asked && !find_own(path))
        errx(EXIT_OURS, "libxfershim.so is neither beside the launcher nor in ../lib/" XFERSHIM_TRIPLET
                        "/xfershim; --library says where it is");
    if (access(path, R_OK) < 0)
        err(EXIT_OURS, "%s", path);
    if (strpbrk(path, meaningful))
        errx(EXIT_OURS, "%s: a path with a space, a colon or a dollar sign cannot be preloaded", path);
}

static bool lists(const char *list, const char *library)
{
    size_t length = strlen(library);
    for (const char *at = list; *at;) {
        size_t entry = strcspn(at, separators);
        if (entry == length && strncmp(at, library, length) == 0)
            return true;
        at += entry;
        at += strspn(at, separators);
    }
    return false;
}

/* gcc's and clang's shared runtimes. */
static bool is_asan(const char *name)
{
    return strstr(name, "libasan.so") || strstr(name, "libclang_rt.asan");
}

static bool asan_runtime(const struct target *target, char runtime[PATH_MAX])
{
    struct elf_file file;
    size_t at = 0;
    char name[ELF_NAME];
    if (target->fd < 0 || target->elf.kind != ELF_DYNAMIC)
        return false;
    while (elf_next_string(&target->elf, DT_NEEDED, &at, name) > 0) {
        if (!is_asan(name))
            continue;
        int fd = needed_open(name, &target->elf, target->binary, runtime, &file);
        if (fd >= 0)
            close(fd);
        if (fd < 0 || strpbrk(runtime, meaningful))
            strlcpy(runtime, name, PATH_MAX); /* the loader's cache may know better */
        return true;
    }
    return false;
}

void preload_set(const char *library, const struct target *target)
{
    char runtime[PATH_MAX] = "";
    char *list;
    const char *before = getenv("LD_PRELOAD");
    if (!before)
        before = "";
    if (is_asan(before) || !asan_runtime(target, runtime))
        runtime[0] = '\0';
    const char *last = lists(before, library) ? "" : library;
    int n = asprintf(&list, "%s%s%s%s%s", runtime, *runtime && (*before || *last) ? ":" : "", before,
                     *before && *last ? ":" : "", last);
    if (n < 0 || setenv("LD_PRELOAD", list, 1) < 0)
        err(EXIT_OURS, "LD_PRELOAD");
    free(list);
}
