#include "config.h"

#include <bsd/stdlib.h>
#include <bsd/string.h>
#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* 16 KiB and up: below, nothing is gained (the OpenJDK change 8 -> 16 KiB and its further doublings). */
#define BUFFER_DEFAULT ((size_t)16 << 10)
#define BUFFER_LEAST ((size_t)4 << 10)
/* A 512 B loop within ext4 gains 6.5x with 256 KiB, 8.1x with 512 KiB, 8.2x with 1 MiB: the kernel takes
 * larger folios for larger writes. A promise is at most as large.
 */
#define BUFFER_MAX_DEFAULT ((size_t)512 << 10)
/* Sharing 256 MiB on XFS and btrfs costs the less the larger the ranges; beyond this nothing is gained. */
#define SHARE_MAX_DEFAULT CONFIG_BUFFER_LIMIT
#define THRESHOLD_DEFAULT ((uint64_t)64 << 10)

/* A program's name is compared up to this length; Linux names are shorter (NAME_MAX). */
#define NAME_SIZE 256

struct config config = {
    .mode = CONFIG_OFF,
    .buffer = BUFFER_DEFAULT,
    .buffer_max = BUFFER_MAX_DEFAULT,
    .threshold = THRESHOLD_DEFAULT,
    .share_max = SHARE_MAX_DEFAULT,
    .engine_write = true,
    .engine_range = true,
};

/* The value of a variable, or NULL when it is unset or empty. */
static const char *setting(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

static void read_mode(void)
{
    const char *value = setting("XFERSHIM");
    if (!value || !strcmp(value, "on"))
        config.mode = CONFIG_ON;
    else if (!strcmp(value, "off"))
        config.mode = CONFIG_OFF;
    else if (!strcmp(value, "observe"))
        config.mode = CONFIG_OBSERVE;
    else {
        config.mode = CONFIG_ON;
        config.malformed = "XFERSHIM";
    }
}

/* Digits and at most one suffix; expand_number() alone would take more letters behind it. */
static bool is_size(const char *value)
{
    size_t digits = strspn(value, "0123456789");
    size_t suffix = strspn(value + digits, "kKmMgGtTpPeE");
    return digits > 0 && suffix <= 1 && value[digits + suffix] == '\0';
}

/* True, and `*size` set, when the variable holds a size between `least` and `most`. */
static bool read_size(const char *name, uint64_t least, uint64_t most, uint64_t *size)
{
    const char *value = setting(name);
    uint64_t number;
    if (!value)
        return false;
    if (!is_size(value) || expand_number(value, &number) < 0 || number < least || number > most) {
        config.malformed = name;
        return false;
    }
    *size = number;
    return true;
}

static void read_sizes(void)
{
    uint64_t size;
    if (read_size("XFERSHIM_BUFFER_MAX", BUFFER_LEAST, CONFIG_BUFFER_LIMIT, &size))
        config.buffer_max = config.share_max = size;
    if (read_size("XFERSHIM_BUFFER", BUFFER_LEAST, CONFIG_BUFFER_LIMIT, &size)) {
        config.buffer = size;
        if (config.buffer_max < size && !setting("XFERSHIM_BUFFER_MAX"))
            config.buffer_max = size;
    }
    if (config.buffer > config.buffer_max)
        config.buffer = config.buffer_max;
    config.threshold_given = read_size("XFERSHIM_THRESHOLD", 0, INT64_MAX, &config.threshold);
}

/* Calls `found` for each item of a comma separated list until it returns true. Items are at most NAME_SIZE -
 * 1 bytes. */
static bool any_item(const char *list, bool (*found)(const char *item, const void *with), const void *with)
{
    while (list && *list) {
        size_t length = strcspn(list, ",");
        char item[NAME_SIZE];
        if (length < sizeof(item)) {
            memcpy(item, list, length);
            item[length] = '\0';
            if (found(item, with))
                return true;
        }
        list += length;
        list += *list == ',';
    }
    return false;
}

static bool glob_matches(const char *glob, const void *name)
{
    return fnmatch(glob, name, 0) == 0;
}

static bool is_word(const char *item, const void *word)
{
    return !strcmp(item, word);
}

static bool is_unknown_engine(const char *item, const void *with)
{
    (void)with;
    return strcmp(item, "write") && strcmp(item, "range") && strcmp(item, "sendfile") &&
           strcmp(item, "splice");
}

static void read_share(void)
{
    const char *value = setting("XFERSHIM_SHARE");
    if (!value || !strcmp(value, "lease"))
        config.share = CONFIG_SHARE_LEASE;
    else if (!strcmp(value, "never"))
        config.share = CONFIG_SHARE_NEVER;
    else if (!strcmp(value, "always"))
        config.share = CONFIG_SHARE_ALWAYS;
    else
        config.malformed = "XFERSHIM_SHARE";
}

static void read_engines(void)
{
    const char *list = setting("XFERSHIM_ENGINES");
    if (!list)
        return;
    if (any_item(list, is_unknown_engine, NULL))
        config.malformed = "XFERSHIM_ENGINES";
    else {
        config.engine_write = any_item(list, is_word, "write");
        config.engine_range = any_item(list, is_word, "range");
    }
}

/* Copied, because programs write over their environment (setproctitle, perl's $0). */
static void read_report(void)
{
    static char path[PATH_MAX];
    const char *value = setting("XFERSHIM_REPORT");
    if (!value)
        return;
    if (strlcpy(path, value, sizeof(path)) < sizeof(path))
        config.report = path;
    else
        config.malformed = "XFERSHIM_REPORT";
}

/* True if any of our variables is there. Most programs start without one, and eleven searches take their
 * time. */
static bool any_setting(void)
{
    for (char **variable = environ; variable && *variable; variable++)
        if (!strncmp(*variable, "XFERSHIM", strlen("XFERSHIM")))
            return true;
    return false;
}

void config_read(const char *program)
{
    if (!any_setting()) {
        config.mode = CONFIG_ON;
        return;
    }
    int saved = errno;
    const char *only = setting("XFERSHIM_ONLY"), *skip = setting("XFERSHIM_SKIP");
    read_mode();
    read_sizes();
    read_engines();
    read_share();
    read_report();
    if ((only && !any_item(only, glob_matches, program)) || (skip && any_item(skip, glob_matches, program)))
        config.mode = CONFIG_OFF;
    errno = saved;
}
