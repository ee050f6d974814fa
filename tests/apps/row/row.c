#include "row.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- inputs ------------------------------------------------------------------------------- */

enum {
    SRC_SIZE = (64 << 20) + 1234, /* the tail fits no block size */
    MID_SIZE = (6 << 20) + 321,
    TEXT_SIZE = 3 << 20,
    TREE_FILES = 2000,
    TREE_FOLDERS = 40,
    TREE_LINKS = 40,
    SEED = 2026,
};

static uint64_t number(uint64_t what, uint64_t limit)
{
    uint64_t word;
    fill_random(&word, sizeof word, SEED, what * sizeof word);
    return word % limit;
}

static void make_lines(const char *path)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz 0123456789";
    char *bytes = malloc(TEXT_SIZE);
    cr_assert(bytes, "no memory");
    fill_random(bytes, TEXT_SIZE, SEED + 1, 0);
    for (size_t i = 0; i < TEXT_SIZE; i++) {
        unsigned char byte = (unsigned char)bytes[i];
        bytes[i] = byte < 5 ? '\n' : letters[byte % (sizeof letters - 1)];
    }
    bytes[TEXT_SIZE - 1] = '\n';
    make_file(path, bytes, TEXT_SIZE);
    free(bytes);
}

/* Mostly source-code sizes, one in ten larger than a pipe, some empty. */
static size_t tree_file_size(unsigned i)
{
    switch (number(10 * i, 10)) {
    case 0:
        return 0;
    case 1:
        return 16384 + number(10 * i + 1, 32768);
    case 2:
        return 4096 * number(10 * i + 1, 4);
    default:
        return number(10 * i + 1, 9000);
    }
}

/* Whole seconds: archive formats keep no more. */
static void set_time(const char *path, unsigned i)
{
    struct timespec times[2] = {{.tv_sec = 1600000000 + i}, {.tv_sec = 1600000000 + i}};
    cr_assert(utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW) == 0, "%s: %s", path, strerror(errno));
}

static void make_tree(const char *root)
{
    static const mode_t modes[] = {0644, 0600, 0755, 0444, 0640, 0664};
    static char bytes[1 << 16];
    cr_assert(mkdir(root, 0755) == 0, "%s: %s", root, strerror(errno));
    for (unsigned i = 0; i < TREE_FOLDERS; i++)
        cr_assert(mkdir(text("%s/folder %u", root, i), 0755) == 0, "mkdir: %s", strerror(errno));
    for (unsigned i = 0; i < TREE_FILES; i++) {
        /* The last folder stays empty. */
        char *path = text("%s/folder %" PRIu64 "/file-%u", root, number(10 * i + 2, TREE_FOLDERS - 1), i);
        size_t size = tree_file_size(i);
        fill_random(bytes, size, SEED + 2 + i, 0);
        make_file(path, bytes, size);
        cr_assert(chmod(path, modes[number(10 * i + 3, 6)]) == 0, "chmod: %s", strerror(errno));
        set_time(path, i);
        if (i < TREE_LINKS) {
            char *link_path = text("%s/folder %u/link-%u", root, i % (TREE_FOLDERS - 1), i);
            cr_assert((i % 2 ? symlink(text("../file-%u", i), link_path) : link(path, link_path)) == 0,
                      "link: %s", strerror(errno));
            set_time(link_path, i);
        }
        free(path);
    }
    for (unsigned i = 0; i < TREE_FOLDERS; i++)
        set_time(text("%s/folder %u", root, i), i);
    set_time(root, 0);
}

/* Once for all tests of a run: whoever comes first makes them, the others wait. */
static const char *inputs(void)
{
    static char *folder;
    if (folder)
        return folder;
    const char *parent = getenv("TEST_SCRATCH") ?: build_path("tests/tmp");
    mkdir(parent, 0777);
    char *place = text("%s/input", parent);
    mkdir(place, 0777);
    int lock = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    cr_assert(lock >= 0 && flock(lock, LOCK_EX) == 0, "%s: %s", place, strerror(errno));
    char *done = text("%s/done", place);
    if (!file_exists(done)) {
        remove_tree(text("%s/TREE", place));
        make_random(text("%s/SRC", place), SEED, SRC_SIZE);
        make_random(text("%s/MID", place), SEED + 3, MID_SIZE);
        make_lines(text("%s/TEXT", place));
        make_tree(text("%s/TREE", place));
        make_text(done, "");
    }
    close(lock);
    return folder = place;
}

char *input(const char *name)
{
    return text("%s/%s", inputs(), name);
}

/* ---- comparing ---------------------------------------------------------------------------- */

static const char *times_a, *times_b;
static char *times_found;

static int compare_times(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)kind;
    struct stat other;
    /* The directories that the runs happen in have no time of their own. */
    if (where->level == 0)
        return 0;
    char *other_path = text("%s%s", times_b, path + strlen(times_a));
    cr_assert(lstat(other_path, &other) == 0, "%s: %s", other_path, strerror(errno));
    if (status->st_mtim.tv_sec != other.st_mtim.tv_sec || status->st_mtim.tv_nsec != other.st_mtim.tv_nsec)
        times_found = text("%s was modified at %ld.%09ld, %s at %ld.%09ld", path, status->st_mtim.tv_sec,
                           status->st_mtim.tv_nsec, other_path, other.st_mtim.tv_sec, other.st_mtim.tv_nsec);
    free(other_path);
    return times_found != NULL;
}

/* For trees that are equal but for their times. */
static char *times_difference(const char *a, const char *b)
{
    times_a = a, times_b = b, times_found = NULL;
    nftw(a, compare_times, 32, FTW_PHYS);
    return times_found;
}

static char *stream_difference(const char *name, const char *a, size_t size_a, const char *b, size_t size_b)
{
    if (size_a == size_b && memcmp(a, b, size_a) == 0)
        return NULL;
    return text("%s differs; plain (%zu bytes): %.300s; shim (%zu bytes): %.300s", name, size_a, a, size_b,
                b);
}

/* ---- reports of one program --------------------------------------------------------------- */

static bool line_is_of(const char *line, const char *program)
{
    static const char key[] = "\"program\":\"";
    const char *path = strstr(line, key);
    if (!path)
        return false;
    path += sizeof key - 1;
    size_t length = strcspn(path, "\"");
    const char *slash = memrchr(path, '/', length);
    if (slash)
        length -= (size_t)(slash + 1 - path), path = slash + 1;
    return length == strlen(program) && strncmp(path, program, length) == 0;
}

struct seen {
    int reports;
    int64_t sessions;
    bool refused; /* for the reason asked for */
};

static struct seen look(const struct report *report, const char *program, const char *reason)
{
    struct seen seen = {0};
    static const char key[] = "\"sessions\":";
    char *copy = text("%s", report->raw);
    for (char *rest = copy, *line; (line = strsep(&rest, "\n"));) {
        if (!line_is_of(line, program))
            continue;
        seen.reports++;
        char *sessions = strstr(line, key);
        seen.sessions += sessions ? strtoll(sessions + sizeof key - 1, NULL, 10) : 0;
        seen.refused |= reason && strstr(line, text("\"reason\":\"%s\"", reason));
    }
    free(copy);
    return seen;
}

static void expect_sessions(const char *programs, const char *reason, bool busy, const char *how,
                            const struct report *report)
{
    char *copy = text("%s", programs ?: "");
    for (char *rest = copy, *program; (program = strsep(&rest, " "));) {
        if (!*program)
            continue;
        struct seen seen = look(report, program, reason);
        cr_expect(seen.reports > 0, "%s: no report by %s: %s", how, program, report->raw);
        if (busy)
            cr_expect(seen.sessions > 0, "%s: no session in %s: %s", how, program, report->raw);
        else
            cr_expect(seen.sessions == 0, "%s: %" PRId64 " sessions in %s: %s", how, seen.sessions, program,
                      report->raw);
        cr_expect(!reason || seen.refused, "%s: %s was not refused for %s: %s", how, program, reason,
                  report->raw);
    }
    free(copy);
}

/* ---- the three runs ----------------------------------------------------------------------- */

static void skip_without(const char *programs)
{
    char *copy = text("%s", programs ?: "");
    for (char *rest = copy, *program; (program = strsep(&rest, " "));)
        if (*program && !find_program(program))
            cr_skip_test("%s is not installed", program);
}

/* The directory is always called "here" while the command runs, so that paths in its output are equal. */
static struct outcome run_here(const struct row *row, bool shim, bool eager, const char *name)
{
    char *here = scratch_dir("here");
    const char *const env[] = {
        text("SRC=%s", input("SRC")),
        text("MID=%s", input("MID")),
        text("TEXT=%s", input("TEXT")),
        text("TREE=%s", input("TREE")),
        text("HOME=%s", scratch()),
        "PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
        "LC_ALL=C.UTF-8",
        "TZ=UTC",
        "GIT_CONFIG_NOSYSTEM=1",
        "GIT_AUTHOR_NAME=A",
        "GIT_AUTHOR_EMAIL=a@example.org",
        "GIT_AUTHOR_DATE=1600000000 +0000",
        "GIT_COMMITTER_NAME=A",
        "GIT_COMMITTER_EMAIL=a@example.org",
        "GIT_COMMITTER_DATE=1600000000 +0000",
        "PYTHONDONTWRITEBYTECODE=1",
        eager ? "XFERSHIM_THRESHOLD=1" : "XFERSHIM_THRESHOLD",
        NULL,
    };
    struct run what = {
        .args = ARGS("sh", "-ec", row->command), .env = env, .cwd = here, .shim = shim, .timeout = 40};
    struct outcome outcome = run(&what);
    cr_assert(rename(here, scratch_path("%s", name)) == 0, "rename: %s", strerror(errno));
    cr_assert(!outcome.timed_out, "%s: timed out; stderr: %s", name, outcome.err);
    return outcome;
}

static void compare(const struct row *row, const struct outcome *plain, const struct outcome *shim,
                    const char *how)
{
    char *errors = stream_difference("stderr", plain->err, plain->err_size, shim->err, shim->err_size);
    cr_assert(plain->status == shim->status, "%s: exit status %d, plain %d; %s", how, exit_code(shim->status),
              exit_code(plain->status), errors ?: "");
    cr_assert(!errors, "%s: %s", how, errors);
    char *difference = stream_difference("stdout", plain->out, plain->out_size, shim->out, shim->out_size)
                           ?: tree_difference(scratch_path("plain"), scratch_path("%s", how));
    if (!difference && row->times)
        difference = times_difference(scratch_path("plain"), scratch_path("%s", how));
    cr_assert(!difference, "%s: %s", how, difference);
    cr_assert(shim->report.malformed == 0, "%s: malformed report: %s", how, shim->report.raw);
}

void row_check(const struct row *row)
{
    skip_without(row->needs);
    /* With TEST_PLAIN, plain against plain: are the rows themselves deterministic? */
    bool shim = !getenv("TEST_PLAIN");
    struct outcome plain = run_here(row, false, false, "plain");
    if (getenv("TEST_VERBOSE"))
        cr_log_warn("%.1f s, exit %d\n%s%s", plain.seconds, exit_code(plain.status), plain.out, plain.err);
    cr_assert(exit_code(plain.status) == row->exit, "plain: exit status %d; stderr: %s",
              exit_code(plain.status), plain.err);
    for (int eager = 1; eager >= (row->quick ? 1 : 0); eager--) {
        const char *how = eager ? "eager" : "default";
        struct outcome outcome = run_here(row, shim, eager, how);
        compare(row, &plain, &outcome, how);
        remove_tree(scratch_path("%s", how));
        if (!shim)
            continue;
        expect_sessions(row->busy, NULL, true, how, &outcome.report);
        if (eager)
            expect_sessions(row->eager, NULL, true, how, &outcome.report);
        expect_sessions(row->idle, row->idle_because, false, how, &outcome.report);
    }
}
