#include "launcher/target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <bsd/string.h>

enum { SCRIPT_LINE = 256 }; /* BINPRM_BUF_SIZE: the kernel looks no further for the end of the #! line */

static int executable(const char *path)
{
    struct stat status;
    if (stat(path, &status) < 0)
        return -errno;
    if (!S_ISREG(status.st_mode) || access(path, X_OK) < 0)
        return -EACCES;
    return 0;
}

int target_find(const char *name, char path[PATH_MAX])
{
    if (strchr(name, '/')) {
        if (strlcpy(path, name, PATH_MAX) >= PATH_MAX)
            return -ENAMETOOLONG;
        return executable(path);
    }

    const char *list = getenv("PATH");
    int best = -ENOENT;
    if (*name == '\0')
        return best;
    for (const char *from = list ? list : "/bin:/usr/bin";; from++) {
        size_t length = strcspn(from, ":");
        int n = snprintf(path, PATH_MAX, "%.*s%s%s", (int)length, from, length ? "/" : "./", name);
        if (n < PATH_MAX) {
            int rc = executable(path);
            if (rc == 0)
                return 0;
            if (rc == -EACCES)
                best = rc;
        }
        from += length;
        if (*from == '\0')
            break;
    }
    strlcpy(path, name, PATH_MAX);
    return best;
}

/* What `env ARGUMENT script` would run: the program's name, put into NAME. ARGUMENT is one word for env,
 * unless it begins with -S.
 */
static bool env_program(char *argument, char name[PATH_MAX])
{
    bool split = false;
    if (strncmp(argument, "-S", 2) == 0) {
        split = true;
        argument += 2;
    } else if (strncmp(argument, "--split-string=", 15) == 0) {
        split = true;
        argument += 15;
    }
    if (!split)
        return *argument && *argument != '-' && !strchr(argument, '=') &&
               strlcpy(name, argument, PATH_MAX) < PATH_MAX;

    char *rest = NULL;
    for (char *word = strtok_r(argument, " \t", &rest); word; word = strtok_r(NULL, " \t", &rest)) {
        if (*word != '-' && !strchr(word, '='))
            return strlcpy(name, word, PATH_MAX) < PATH_MAX;
    }
    return false;
}

/* The interpreter of the script in FD; false when it is none. */
static bool script_interpreter(int fd, char path[PATH_MAX])
{
    char line[SCRIPT_LINE + 1];
    ssize_t n = pread(fd, line, SCRIPT_LINE, 0);
    if (n < 2 || memcmp(line, "#!", 2) != 0)
        return false;
    line[n] = '\0';
    line[strcspn(line, "\n")] = '\0';

    char *interpreter = line + 2 + strspn(line + 2, " \t");
    char *argument = interpreter + strcspn(interpreter, " \t");
    if (*argument) {
        *argument++ = '\0';
        argument += strspn(argument, " \t");
        for (size_t end = strlen(argument); end > 0 && strchr(" \t", argument[end - 1]); end--)
            argument[end - 1] = '\0';
    }
    if (strlcpy(path, interpreter, PATH_MAX) >= PATH_MAX)
        return false;

    const char *base = strrchr(interpreter, '/');
    char name[PATH_MAX];
    char found[PATH_MAX];
    if (base && strcmp(base, "/env") == 0 && env_program(argument, name) && target_find(name, found) == 0)
        strlcpy(path, found, PATH_MAX);
    return true;
}

/* The base name of the loader that the launcher itself was started by, and so of libc's that the library
 * needs. */
static bool own_loader(const char *loader)
{
    static char own[PATH_MAX];
    if (!own[0]) {
        const ElfW(Phdr) *segments = (const ElfW(Phdr) *)getauxval(AT_PHDR);
        ElfW(Addr) base = 0;
        for (unsigned long i = 0; segments && i < getauxval(AT_PHNUM); i++) {
            if (segments[i].p_type == PT_PHDR)
                base = (ElfW(Addr))segments - segments[i].p_vaddr;
            if (segments[i].p_type == PT_INTERP)
                strlcpy(own, (const char *)(base + segments[i].p_vaddr), sizeof(own));
        }
    }
    const char *ours = strrchr(own, '/');
    const char *theirs = strrchr(loader, '/');
    return !ours || (theirs && strcmp(ours, theirs) == 0);
}

static enum target_refusal judge(const struct target *target)
{
    const struct elf_file *elf = &target->elf;
    /* The kernel starts such a program with AT_SECURE, and the loader then takes no path from LD_PRELOAD. It
     * does so only if the ids really change; started by root a program may get away with it, but what it is
     * for is to change them, and the environment with them.
     */
    if (target->set_id)
        return TARGET_SET_ID;
    if (target->capabilities)
        return TARGET_CAPABILITIES;
    if (elf->kind == ELF_FOREIGN)
        return TARGET_FOREIGN;
    if (elf->kind == ELF_STATIC)
        return TARGET_STATIC;
    if (elf->kind == ELF_DYNAMIC && !own_loader(elf->loader))
        return TARGET_OTHER_LOADER;
    return TARGET_FITS;
}

int target_look(const char *name, struct target *target)
{
    memset(target, 0, sizeof(*target));
    target->fd = -1;
    int rc = target_find(name, target->path);
    strlcpy(target->binary, target->path, PATH_MAX);
    while (rc == 0) {
        struct stat status;
        target_close(target);
        target->fd = open(target->binary, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        if (target->fd < 0 && errno == EACCES) {
            target->refusal = TARGET_UNREADABLE;
            return 0;
        }
        if (target->fd < 0 || fstat(target->fd, &status) < 0)
            return -errno;
        rc = elf_read(target->fd, &target->elf);
        if (rc < 0) {
            target->refusal = TARGET_DAMAGED;
            return rc == -ENOEXEC ? 0 : rc;
        }
        /* Set-group-id without group execution marked mandatory locking and changes no group. */
        target->set_id =
            (status.st_mode & S_ISUID) || (status.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP);
        target->capabilities = fgetxattr(target->fd, "security.capability", NULL, 0) > 0;

        char interpreter[PATH_MAX];
        if (target->elf.kind != ELF_NOT || !script_interpreter(target->fd, interpreter)) {
            target->refusal = target->elf.kind == ELF_NOT ? TARGET_FITS : judge(target);
            return 0;
        }
        if (target->script_count == TARGET_SCRIPTS)
            return -ELOOP;
        strlcpy(target->scripts[target->script_count++], target->binary, PATH_MAX);
        strlcpy(target->binary, interpreter, PATH_MAX);
        rc = executable(interpreter);
    }
    return rc;
}

const char *target_refusal_words(const struct target *target)
{
    static char words[128];
    switch (target->refusal) {
    case TARGET_FITS:
        return NULL;
    case TARGET_UNREADABLE:
        return "may not be read";
    case TARGET_DAMAGED:
        return "is a damaged ELF file";
    case TARGET_FOREIGN:
        snprintf(words, sizeof(words), "is for %s %s, the library for %s %s",
                 elf_class_name(target->elf.class), elf_machine_name(target->elf.machine),
                 elf_class_name(elf_own_class()), elf_machine_name(elf_own_machine()));
        return words;
    case TARGET_STATIC:
        return "is statically linked, so no library can be preloaded";
    case TARGET_OTHER_LOADER:
        return "uses the loader of another C library";
    case TARGET_SET_ID:
        return "is set-user-id or set-group-id, so the loader ignores what is preloaded";
    case TARGET_CAPABILITIES:
        return "has file capabilities, so the loader ignores what is preloaded";
    }
    return NULL;
}

void target_close(struct target *target)
{
    if (target->fd >= 0)
        close(target->fd);
    target->fd = -1;
}
