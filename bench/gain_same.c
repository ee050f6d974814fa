#include "gain.h"

#include <bsd/string.h>
#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { piece = 256 << 10 }; /* bytes compared at a time; both fit in a second-level cache */

static bool differ(const char *left, const char *right, const char *how)
{
    warnx("%s and %s: %s", left, right, how);
    return false;
}

static bool same_bytes(FILE *left, FILE *right, unsigned long long *where)
{
    static char a[piece], b[piece];
    size_t got;
    *where = 0;
    do {
        got = fread(a, 1, piece, left);
        if (fread(b, 1, piece, right) != got || memcmp(a, b, got) != 0)
            return false;
        *where += got;
    } while (got == piece);
    return !ferror(left) && !ferror(right);
}

static bool same_file(const char *left, const char *right)
{
    unsigned long long where;
    char how[64];
    FILE *a = fopen(left, "re"), *b = fopen(right, "re");
    if (!a || !b)
        err(2, "%s", a ? right : left);
    /* The pieces go straight into the arrays. */
    setvbuf(a, NULL, _IONBF, 0);
    setvbuf(b, NULL, _IONBF, 0);
    bool equal = same_bytes(a, b, &where);
    fclose(a);
    fclose(b);
    snprintf(how, sizeof(how), "differ in or after the %d bytes from %llu", piece, where);
    return equal || differ(left, right, how);
}

static bool same_link(const char *left, const char *right)
{
    char a[PATH_MAX], b[PATH_MAX];
    ssize_t length = readlink(left, a, sizeof(a));
    return (length >= 0 && length == readlink(right, b, sizeof(b)) && memcmp(a, b, length) == 0) ||
           differ(left, right, "point to different places");
}

static bool same_entry(const char *left, const char *right, const char *name)
{
    char a[PATH_MAX], b[PATH_MAX];
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return true;
    if (snprintf(a, PATH_MAX, "%s/%s", left, name) >= PATH_MAX ||
        snprintf(b, PATH_MAX, "%s/%s", right, name) >= PATH_MAX)
        errx(2, "%s/%s: the name is too long", left, name);
    return same(a, b);
}

static void free_names(struct dirent **names, int count)
{
    for (int i = 0; i < count; i++)
        free(names[i]);
    free(names);
}

static bool same_folder(const char *left, const char *right)
{
    struct dirent **a, **b;
    int count = scandir(left, &a, NULL, alphasort);
    if (count < 0)
        err(2, "%s", left);
    int other = scandir(right, &b, NULL, alphasort);
    if (other < 0)
        err(2, "%s", right);

    bool equal = count == other || differ(left, right, "have different numbers of entries");
    for (int i = 0; equal && i < count; i++) {
        if (strcmp(a[i]->d_name, b[i]->d_name) != 0)
            equal = differ(left, right, "have different names in them");
        else
            equal = same_entry(left, right, a[i]->d_name);
    }
    free_names(a, count);
    free_names(b, other);
    return equal;
}

bool same(const char *left, const char *right)
{
    struct stat a, b;
    if (lstat(left, &a) < 0 || lstat(right, &b) < 0)
        return differ(left, right, strerror(errno));
    if ((a.st_mode & S_IFMT) != (b.st_mode & S_IFMT))
        return differ(left, right, "are of different kinds");
    if (S_ISDIR(a.st_mode))
        return same_folder(left, right);
    if (S_ISLNK(a.st_mode))
        return same_link(left, right);
    if (a.st_size != b.st_size)
        return differ(left, right, "have different sizes");
    return same_file(left, right);
}
