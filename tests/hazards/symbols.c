/*
 * D3: what the library needs and what it exports.
 */
#include "support.h"

#include <dlfcn.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

/* What a library that is everywhere must not lean on: it may be interposed, not be there yet, take locks, or
 * end the process. */
static const char *const unwanted[] = {
    "malloc",
    "calloc",
    "realloc",
    "free",
    "posix_memalign",
    "aligned_alloc",
    "memalign",
    "strdup",
    "asprintf",
    "exit",
    "_exit",
    "quick_exit",
    "abort",
    "__assert_fail",
    "err",
    "errx",
    "warn",
    "perror",
    "printf",
    "fprintf",
    "vfprintf",
    "dprintf",
    "puts",
    "fputs",
    "fopen",
    "fclose",
    "fflush",
    "stdout",
    "stderr",
    "syslog",
    "system",
    "popen",
    "pthread_mutex_lock",
    "pthread_mutex_unlock",
    "pthread_create",
    "pthread_atfork",
    "pthread_once",
    "pthread_key_create",
    "atexit",
    "__cxa_atexit",
    "__tls_get_addr",
    "signal",
    "sigaction",
    "setenv",
    "putenv",
    "fork",
    "opendir",
    "readdir",
    "getpwuid",
    "setlocale",
    "gettext",
};
enum { UNWANTED = sizeof unwanted / sizeof *unwanted };

static bool has_line(const char *list, const char *line)
{
    return strstr(text("\n%s", list), text("\n%s\n", line)) != NULL;
}

/* The names in the last column of nm's output, without versions. */
static char *names(char *table)
{
    char *list = text("%s", "");
    for (char *line; (line = strsep(&table, "\n"));) {
        char *name = strrchr(line, ' ');
        if (name)
            list = text("%s%.*s\n", list, (int)strcspn(name + 1, "@"), name + 1);
    }
    return list;
}

Test(hazard_d, D3_needs_libc_alone)
{
    char *dynamic = output_of(ARGS("readelf", "--dynamic", "--wide", shim_library()));
    int needed = 0;
    for (char *line; (line = strsep(&dynamic, "\n"));) {
        if (!strstr(line, "(NEEDED)"))
            continue;
        needed++;
        cr_assert(strstr(line, "[libc.so.6]"), "%s", line);
    }
    cr_assert(needed == 1, "%d needed libraries", needed);
}

Test(hazard_d, D3_leans_on_nothing_that_may_be_missing)
{
    char *undefined = output_of(ARGS("nm", "--dynamic", "--undefined-only", shim_library()));
    cr_assert(strstr(undefined, "GLIBC_2"), "nm shows nothing: %s", undefined);
    cr_assert(!strstr(undefined, "GLIBC_PRIVATE"), "%s", undefined);
    char *list = names(undefined);
    for (int i = 0; i < UNWANTED; i++)
        cr_assert(!has_line(list, unwanted[i]), "%s is needed", unwanted[i]);
    char *relocations = output_of(ARGS("readelf", "--relocs", "--wide", shim_library()));
    cr_assert(!strstr(relocations, "DTPMOD64") && !strstr(relocations, "TLSDESC"),
              "thread-local storage by way of __tls_get_addr");
    cr_assert(!strstr(output_of(ARGS("readelf", "--program-headers", "--wide", shim_library())), " RWE "),
              "memory that is writable and executable");
}

/* The second column of the table that the version script is made from. */
static char *declared(void)
{
    static const char *const places[] = {"../shim/symbols.def", "../../shim/symbols.def"};
    for (int i = 0; i < 2; i++) {
        char *path = build_path(places[i]);
        if (!file_exists(path))
            continue;
        char *table = file_read(path, NULL), *list = text("%s", "");
        for (char *line; (line = strsep(&table, "\n"));) {
            char name[100];
            if (sscanf(line, "XFERSHIM_SYMBOL(%*[^,], %99[A-Za-z0-9_]", name) == 1)
                list = text("%s%s\n", list, name);
        }
        return list;
    }
    cr_skip_test("the sources are not beside the build");
}

Test(hazard_d, D3_exports_what_the_table_says)
{
    char *list = declared(),
         *exported = names(output_of(ARGS("nm", "--dynamic", "--defined-only", shim_library())));
    cr_assert(has_line(list, "read") && has_line(list, "write"), "the table was not understood: %s", list);
    for (char *rest = text("%s", exported), *name; (name = strsep(&rest, "\n"));)
        cr_assert(!*name || has_line(list, name), "%s is exported and not in the table", name);
    for (char *rest = text("%s", list), *name; (name = strsep(&rest, "\n"));)
        cr_assert(!*name || has_line(exported, name), "%s is in the table and not exported", name);
}

/* Names of libc that are no twins of ours although they look it, with the reason. */
static const struct {
    const char *name, *reason;
} no_twins[] = {
    {"__prctl", "not in glibc; musl's internal name"},
};

static bool is_no_twin(const char *name)
{
    for (size_t i = 0; i < sizeof no_twins / sizeof *no_twins; i++)
        if (strcmp(no_twins[i].name, name) == 0)
            return true;
    return false;
}

static const char *libc_path(void)
{
    void *handle = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
    struct link_map *map = NULL;
    cr_assert(handle && dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0, "libc.so.6 is not there");
    return text("%s", map->l_name);
}

static void looks_like(const char *list, const char *base, void *libc)
{
    static const char *const patterns[] = {
        "%s",
        "__%s",
        "_%s",
        "%s64",
        "__%s64",
        "%s_unlocked",
        "__%s_unlocked",
        "__%s_chk",
        "__%s_unlocked_chk",
        "__libc_%s",
        "_IO_%s",
        "__%s_2",
        "__%s_cancel",
    };
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        char name[100];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(name, sizeof name, patterns[i], base);
#pragma GCC diagnostic pop
        if (dlsym(libc, name) && !is_no_twin(name))
            cr_assert(has_line(list, name), "libc has %s, a twin of %s, which the table does not name", name,
                      base);
    }
}

Test(hazard_d, D3_every_twin_in_libc_is_exported)
{
    char *list = declared();
    void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
    cr_assert(libc, "libc.so.6 is not there");
    for (char *rest = text("%s", list), *name; (name = strsep(&rest, "\n"));)
        if (*name && strncmp(name, "__", 2) != 0)
            looks_like(list, name, libc);
    /* And those that are the same code under another name, whatever the name. */
    char *all = output_of(ARGS("nm", "--dynamic", "--defined-only", libc_path()));
    for (char *rest = text("%s", all), *line; (line = strsep(&rest, "\n"));) {
        char address[20], other_address[20], name[100], other[100];
        if (sscanf(line, "%19s %*s %99[^@\n]", address, name) != 2 || !has_line(list, name))
            continue;
        for (char *inner = text("%s", all), *second; (second = strsep(&inner, "\n"));)
            if (sscanf(second, "%19s %*s %99[^@\n]", other_address, other) == 2 &&
                strcmp(address, other_address) == 0 && !strstr(second, "GLIBC_PRIVATE") && !is_no_twin(other))
                cr_assert(has_line(list, other), "%s is another name of %s and not in the table", other,
                          name);
    }
}

static void make_source(const char *directory, void *unused)
{
    (void)unused;
    make_random(text("%s/in", directory), 3, 300000);
}

Test(hazard_d, D3_fortified_caller_copies_and_still_aborts)
{
    struct run what = {.args = ARGS(victim("d3_fortified"), "in", "out", "4096")};
    struct outcome outcome = run_both(&what, make_source, NULL);
    cr_assert(outcome.status == 0, "exit %d", exit_code(outcome.status));
    assert_sessions(outcome);
    cr_assert(strstr(output_of(ARGS("nm", "--dynamic", victim("d3_fortified"))), "__read_chk"),
              "the victim is not fortified");
    what.args = ARGS(victim("d3_fortified"), "in", "out", "4097");
    outcome = run_both(&what, make_source, NULL);
    cr_assert(WIFSIGNALED(outcome.status) && WTERMSIG(outcome.status) == SIGABRT, "exit %d",
              exit_code(outcome.status));
    cr_assert(strstr(outcome.err, "buffer overflow detected"), "%s", outcome.err);
}
