#include "gain.h"

#include <dirent.h>
#include <err.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { piece = 1 << 20 };

static const struct tree {
    int count;
    size_t smallest, largest; /* bytes */
} trees[MATERIALS] = {
    [MATERIAL_SMALL] = {10000, 4 << 10, 64 << 10},
    [MATERIAL_MIDDLE] = {2000, 64 << 10, 256 << 10},
    [MATERIAL_MEBIBYTE] = {300, 1 << 20, 1 << 20},
};

static const char *const names[MATERIALS] = {
    [MATERIAL_FILE] = "file",     [MATERIAL_NAMES] = "names",       [MATERIAL_SMALL] = "small",
    [MATERIAL_MIDDLE] = "middle", [MATERIAL_MEBIBYTE] = "mebibyte", [MATERIAL_PROJECT] = "project",
};

/* xorshift64* (Vigna 2014): the same bytes in each run, and no compression or sharing of blocks makes
 * them fewer. */
static uint64_t random_next(void)
{
    static uint64_t state = UINT64_C(0x9e3779b97f4a7c15);
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return state * UINT64_C(0x2545f4914f6cdd1d);
}

static void write_random(const char *path, uint64_t size)
{
    static uint64_t words[piece / sizeof(uint64_t)];
    int out = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (out < 0)
        err(2, "%s", path);
    while (size > 0) {
        ssize_t length = size < piece ? size : piece;
        for (size_t i = 0; i * sizeof(*words) < (size_t)length; i++)
            words[i] = random_next();
        if (write(out, words, length) != length)
            err(2, "%s", path);
        size -= length;
    }
    close(out);
}

static void write_tree(const char *path, const struct tree *tree)
{
    if (mkdir(path, 0777) < 0)
        err(2, "%s", path);
    for (int i = 0; i < tree->count; i++) {
        char file[PATH_MAX];
        if (snprintf(file, PATH_MAX, "%s/%05d", path, i) >= PATH_MAX)
            errx(2, "%s: the name is too long", path);
        write_random(file, tree->smallest + random_next() % (tree->largest - tree->smallest + 1));
    }
}

static void write_names(const char *path, const char *name)
{
    FILE *file = fopen(path, "wxe");
    if (!file || fprintf(file, "%s\n", name) < 0 || fclose(file) != 0)
        err(2, "%s", path);
}

/* The sources as they are now, so that all runs compile the same ones whoever edits them. */
static void copy_project(const char *path)
{
    char top[PATH_MAX];
    beside_self(top, "../..");
    char *const argv[] = {
        "sh",
        "-c",
        "mkdir \"$1\" && cd \"$0\" && cp -r Makefile .ci core shim tests bench man \"$1\"",
        top,
        (char *)path,
        NULL,
    };
    struct cost cost;
    if (command_run(&(struct command){.argv = argv}, &cost) != 0)
        errx(2, "%s: the sources could not be copied", path);
}

/* Dirty pages of a source would be written back while something is measured. */
static void settle(const char *path)
{
    int folder = open(path, O_RDONLY | O_CLOEXEC);
    if (folder < 0 || syncfs(folder) < 0)
        err(2, "%s", path);
    close(folder);
}

static void make(enum material material, const struct setting *setting, const char *path)
{
    if (material == MATERIAL_FILE)
        write_random(path, setting->size);
    else if (material == MATERIAL_NAMES)
        write_names(path, material_path(MATERIAL_FILE, setting));
    else if (material == MATERIAL_PROJECT)
        copy_project(path);
    else
        write_tree(path, &trees[material]);
    settle(path);
}

const char *material_path(enum material material, const struct setting *setting)
{
    static char paths[MATERIALS][PATH_MAX];
    char *path = paths[material];
    if (material == MATERIAL_GIVEN)
        return setting->given;
    if (!*path) {
        scratch_path(path, setting, names[material]);
        make(material, setting, path);
    }
    return path;
}

static void warm_file(const char *path)
{
    static char buffer[piece];
    int in = open(path, O_RDONLY | O_CLOEXEC);
    while (in >= 0 && read(in, buffer, sizeof(buffer)) > 0)
        ;
    if (in >= 0)
        close(in);
}

void material_warm(const char *path)
{
    DIR *folder = opendir(path);
    if (!folder) {
        warm_file(path);
        return;
    }
    const struct dirent *entry;
    while ((entry = readdir(folder))) {
        char file[PATH_MAX];
        if (entry->d_type == DT_REG && snprintf(file, PATH_MAX, "%s/%s", path, entry->d_name) < PATH_MAX)
            warm_file(file);
    }
    closedir(folder);
}
