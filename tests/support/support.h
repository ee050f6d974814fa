/*
 * What every test here uses: run a program plain or under the shim, compare what came of it.
 *
 * Everything a helper cannot do (no memory, no scratch space, a program that is not there) fails the
 * running Criterion test at once; no helper returns an error for such a thing. Strings handed out live
 * until the test's process ends. For tests only: not thread-safe.
 */
#ifndef TESTS_SUPPORT_H
#define TESTS_SUPPORT_H

#include <criterion/criterion.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

/* ---- text and places ---------------------------------------------------------------------- */

char *text(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A path in the build directory: $TEST_BUILD where set, else found from the test program's own place. */
char *build_path(const char *relative);

/* The program made from tests/victims/NAME.c. */
char *victim(const char *name);

/* The library under test: $TEST_SHIM where set, else build/libxfershim.so. Fails the test if missing. */
const char *shim_library(void);

/* Is this program in $PATH? Returns its path or NULL. */
char *find_program(const char *name);

/* ---- scratch space and files -------------------------------------------------------------- */

/* The running test's own directory, on the file system of the build tree; removed when the test ends. */
const char *scratch(void);

/* A path in scratch(). Nothing is created. */
char *scratch_path(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A new empty directory in scratch(); whatever had that name is removed first. Returns its path. */
char *scratch_dir(const char *format, ...) __attribute__((format(printf, 1, 2)));

void remove_tree(const char *path);

/* Deterministic bytes: the same seed gives the same stream; a longer file begins like a shorter one. */
void fill_random(void *buffer, size_t size, uint64_t seed, uint64_t offset);
/* With TEST_ON_DISK in the environment it is written out: only then its blocks can be shared. */
void make_random(const char *path, uint64_t seed, uint64_t size);
void make_file(const char *path, const void *bytes, size_t size);
void make_text(const char *path, const char *string);
/* A sparse file of SIZE bytes with ISLANDS pieces of ISLAND_SIZE random bytes at odd places. */
void make_sparse(const char *path, uint64_t seed, uint64_t size, unsigned islands, size_t island_size);

bool file_exists(const char *path);
int64_t file_size(const char *path);
/* The whole file, with a zero byte behind it; *SIZE may be NULL. */
char *file_read(const char *path, size_t *size);
/* 64 bits over all bytes; only to be compared with digests of the same run. Holes are read as zeros. */
uint64_t file_digest(const char *path);
/* NULL when both hold the same bytes, else what differs, where first. Quick over holes. */
char *file_difference(const char *a, const char *b);
/* The same over whole trees: names, types, modes, sizes, contents, link targets. Not times. */
char *tree_difference(const char *a, const char *b);
/* NULL when PREFIX's bytes are the first bytes of WHOLE. */
char *prefix_difference(const char *prefix, const char *whole);

/* ---- running programs --------------------------------------------------------------------- */

#define ARGS(...) ((const char *const[]){__VA_ARGS__, NULL})

struct run {
    const char *const *args; /* args[0] is a path or a name in $PATH */
    /* NAME=value sets, NAME alone unsets. Both plain and under the shim. */
    const char *const *env;
    const char *cwd;    /* NULL: the test's */
    const char *input;  /* a path in cwd for descriptor 0; NULL: /dev/null */
    const char *output; /* a path in cwd for descriptor 1, created or truncated; NULL: captured */
    const char *errors; /* the same for descriptor 2 */
    bool append;        /* open output with O_APPEND and without truncating it */
    bool shim;          /* preload the library; XFERSHIM_THRESHOLD=1 unless env says otherwise */
    /* Called in the child just before exec: limits, filters, masks, other descriptors. */
    void (*child)(void *argument);
    void *argument;
    const char *base; /* where run_both() makes its two directories; NULL: scratch() */
    double timeout;   /* seconds; 0: 60. Then the process group is killed and timed_out is set. */
};

enum { REPORT_REASONS = 48, REPORT_WORD = 40, REPORT_LOOPS = 256 };

struct report {
    int processes; /* that wrote one */
    int malformed; /* lines that are no whole JSON object */
    int64_t sessions;
    int reason_count;
    struct {
        char word[REPORT_WORD];
        int64_t count;
    } reasons[REPORT_REASONS];
    int loop_count; /* stops at REPORT_LOOPS */
    struct {
        char ended[REPORT_WORD];
        char engine[REPORT_WORD];
        int64_t chunk, bytes, calls_before, calls_after, sessions;
    } loops[REPORT_LOOPS];
    char *raw; /* the file as it is, "" when there is none */
};

struct outcome {
    int status; /* as from wait() */
    bool timed_out;
    char *out; /* captured, with a zero byte behind */
    size_t out_size;
    char *err;
    size_t err_size;
    struct rusage usage;
    double seconds; /* wall clock */
    /*
     * read- and write-like system calls of the program and the children it waited for, from
     * /proc/PID/io: works for killed programs that wrote no report. -1: not known, as always without
     * CAP_SYS_PTRACE.
     */
    int64_t reads, writes;
    struct report report;
};

/* Exit code, or 128 + signal as a shell says it, of a wait status. */
int exit_code(int status);

struct outcome run(const struct run *what);

/* What a tool printed that must succeed; skips the test where it is not installed. */
char *output_of(const char *const *args);

/* The two halves of run(), for tests that do something to the program meanwhile. */
struct running {
    pid_t pid; /* leads its own process group */
    int out, err;
    double started, deadline;
    char *report_path;
};
struct running run_start(const struct run *what);
struct outcome run_finish(struct running *running);

/*
 * Run WHAT plain in one directory and under the shim in another, each filled by PREPARE(directory,
 * argument) first, and fail the test where status, stdout, stderr or the files left behind differ.
 * WHAT's cwd, shim, input and output are relative to those directories. Returns the shim's outcome;
 * plain_outcome() is that of the plain run of the last such pair, and plain_path() and shim_path() are
 * paths in their directories.
 */
struct outcome run_both(const struct run *what, void (*prepare)(const char *directory, void *argument),
                        void *argument);
const struct outcome *plain_outcome(void);
char *plain_path(const char *name);
char *shim_path(const char *name);

/* ---- reports ------------------------------------------------------------------------------ */

/* XFERSHIM_REPORT's JSON lines; a missing file is an empty report. */
struct report report_load(const char *path);
int64_t report_reason(const struct report *report, const char *word);
/* "backoff 3, shared-offset 1" for messages. */
char *report_words(const struct report *report);

/* A session ran, or none ran and the reason was given. */
#define assert_sessions(outcome)                                                                             \
    cr_assert((outcome).report.sessions > 0, "no session ran: refused for %s; report: %s",                   \
              report_words(&(outcome).report), (outcome).report.raw)
#define assert_stays_out(outcome, word)                                                                      \
    do {                                                                                                     \
        cr_assert((outcome).report.processes > 0, "no report was written");                                  \
        cr_assert((outcome).report.sessions == 0, "%ld sessions ran where none may; report: %s",             \
                  (long)(outcome).report.sessions, (outcome).report.raw);                                    \
        cr_assert(report_reason(&(outcome).report, word) > 0, "refused for %s, not for %s; report: %s",      \
                  report_words(&(outcome).report), word, (outcome).report.raw);                              \
    } while (0)

/* ---- file systems ------------------------------------------------------------------------- */

/*
 * A fresh file system of KIND ("ext4", "xfs", "btrfs": in a loop-mounted image in the scratch
 * directory; "tmpfs"; "overlay": over two folders of a tmpfs) and SIZE bytes (0: the smallest that its mkfs
 * takes), in a mount namespace of the test's own, so that nothing is left when it ends. Returns the mount
 * point; skips the test with the reason where that is not possible here. mount_reason() tells beforehand:
 * NULL or why not.
 */
char *mount_fresh(const char *kind, uint64_t size);
const char *mount_reason(const char *kind);

#endif
