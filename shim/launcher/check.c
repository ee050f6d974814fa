#include "launcher/check.h"

#include "launcher/needed.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *const hooked[] = {
#define XFERSHIM_SYMBOL(type, name, parameters) #name,
#include "symbols.def"
#undef XFERSHIM_SYMBOL
};
enum { HOOKED = sizeof(hooked) / sizeof(hooked[0]) };

struct imports {
    bool hooked[HOOKED];
    bool reads;
    bool writes;
    bool copies; /* has calls that copy in the kernel already */
    bool threads;
};

static void note(const char *name, void *context)
{
    struct imports *imports = context;
    for (size_t i = 0; i < HOOKED; i++) {
        if (strcmp(name, hooked[i]) != 0)
            continue;
        imports->hooked[i] = true;
        imports->reads = imports->reads || strstr(name, "read");
        imports->writes = imports->writes || strstr(name, "write") || strstr(name, "send");
    }
    if (strcmp(name, "copy_file_range") == 0 || strcmp(name, "sendfile") == 0 ||
        strcmp(name, "sendfile64") == 0 || strcmp(name, "splice") == 0)
        imports->copies = true;
    if (strcmp(name, "pthread_create") == 0)
        imports->threads = true;
}

static void print_row(const char *what, const char *value)
{
    printf("  %-18s %s\n", what, value);
}

static void print_imports(const char *what, const struct imports *imports)
{
    bool any = false;
    for (size_t i = 0; i < HOOKED; i++) {
        if (!imports->hooked[i])
            continue;
        if (any)
            printf(" %s", hooked[i]);
        else
            printf("  %-18s %s", what, hooked[i]);
        any = true;
    }
    if (any)
        printf("\n");
}

static void join(struct imports *all, const struct imports *more)
{
    for (size_t i = 0; i < HOOKED; i++)
        all->hooked[i] = all->hooked[i] || more->hooked[i];
    all->reads = all->reads || more->reads;
    all->writes = all->writes || more->writes;
    all->threads = all->threads || more->threads;
}

/* The C library and the loader are what is asked, not who asks. */
static bool is_libc(const char *name)
{
    return strncmp(name, "libc.so.", 8) == 0 || strncmp(name, "ld-linux", 8) == 0;
}

static struct imports look_at_imports(const struct target *target)
{
    struct imports all = {0};
    size_t at = 0;
    char name[ELF_NAME];
    if (elf_imports(&target->elf, note, &all) < 0)
        print_row("imports", "cannot be read");
    print_imports("imports", &all);

    while (elf_next_string(&target->elf, DT_NEEDED, &at, name) > 0) {
        struct imports imports = {0};
        struct elf_file file;
        char path[PATH_MAX];
        if (is_libc(name))
            continue;
        int fd = needed_open(name, &target->elf, target->binary, path, &file);
        if (fd < 0) {
            print_row(name, "not found in the standard directories");
            continue;
        }
        if (elf_imports(&file, note, &imports) < 0)
            print_row(name, "cannot be read");
        close(fd);
        print_imports(name, &imports);
        join(&all, &imports);
    }
    return all;
}

static bool verdict(bool helped, const char *words)
{
    printf("%s: %s\n", helped ? "yes" : "no", words);
    return helped;
}

bool check_print(const struct target *target)
{
    const struct elf_file *elf = &target->elf;
    printf("%s\n", target->path);
    for (size_t i = 0; i < target->script_count; i++)
        print_row("runs", i + 1 < target->script_count ? target->scripts[i + 1] : target->binary);

    const char *words = target_refusal_words(target);
    if (target->refusal == TARGET_UNREADABLE || target->refusal == TARGET_DAMAGED)
        return verdict(false, words);
    if (elf->kind == ELF_NOT)
        return verdict(false, "is neither a binary nor a script with an interpreter line");

    char class[64];
    snprintf(class, sizeof(class), "%s %s%s", elf_class_name(elf->class), elf_machine_name(elf->machine),
             elf->kind == ELF_FOREIGN ? ", not as the library" : ", as the library");
    print_row("class", class);
    if (elf->kind != ELF_FOREIGN)
        print_row("dynamic", elf->kind == ELF_DYNAMIC ? "yes" : "no");
    print_row("set-user-id", target->set_id ? "yes" : "no");
    print_row("capabilities", target->capabilities ? "yes" : "no");
    if (elf->go)
        print_row("go", "yes");
    if (words)
        return verdict(false, words);
    if (elf->go)
        return verdict(false, "is a Go program, which makes its system calls itself and not through libc");

    struct imports imports = look_at_imports(target);
    if (imports.copies)
        print_row("note", "can copy in the kernel by itself; such copies are left alone");
    if (imports.threads)
        print_row("note", "can start threads; nothing is done while there is more than one");
    if (!imports.reads || !imports.writes)
        return verdict(false,
                       "takes no pair of reading and writing calls from libc that the library watches");
    return verdict(true, "can be helped where it copies by these calls");
}
