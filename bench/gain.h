/* gain: what the shim is worth, measured in pairs of a plain run and one under the shim. */
#ifndef BENCH_GAIN_H
#define BENCH_GAIN_H

#include "common.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* What a row reads. Made once, in the scratch folder, on the file system that is measured. */
enum material {
    MATERIAL_FILE,     /* random bytes, of the size asked for */
    MATERIAL_NAMES,    /* a list with the path of that file, as cpio wants it */
    MATERIAL_SMALL,    /* a folder of 10 000 files of 4 to 64 KiB */
    MATERIAL_MIDDLE,   /* a folder of 2000 files of 64 to 256 KiB */
    MATERIAL_MEBIBYTE, /* a folder of 300 files of 1 MiB */
    MATERIAL_PROJECT,  /* the sources of this project */
    MATERIAL_GIVEN,    /* the user's own */
    MATERIALS
};

/* What its output must be, byte for byte. */
enum expected {
    EXPECT_INPUT,
    EXPECT_PLAIN, /* what a plain run makes */
};

enum bar_kind {
    BAR_NONE,
    BAR_FASTER,     /* wall plain / wall shim is at least the value */
    BAR_NOT_SLOWER, /* CPU shim / CPU plain is at most the value */
};

struct bar {
    enum bar_kind kind;
    double value;
};

enum suite {
    SUITE_MAIN = 1,
    SUITE_STILL = 2,
    SUITE_DEMO = 4,
    SUITE_XFS = 8, /* where blocks are shared: --scratch on such a file system */
    SUITE_BTRFS = 16,
};

enum { ARGUMENTS_MAX = 16 };

/* In all strings {in}, {out} and the other names of struct places stand for paths. */
struct row {
    const char *name;
    const char *brief; /* how the demonstration calls it */
    unsigned suites;
    enum material material;
    enum expected expected;
    struct bar bar;
    const char *stdin_path, *stdout_path;
    const char *prepare[ARGUMENTS_MAX]; /* run before each run, outside of the timing */
    const char *argv[ARGUMENTS_MAX];
};

extern const struct row rows[];
extern const size_t row_count;

/* Suite bits for a name, 0 when there is no such suite. */
unsigned suite_named(const char *name);

struct setting {
    const char *library;
    const char *python;
    const char *given; /* MATERIAL_GIVEN, or NULL */
    char scratch[PATH_MAX];
    uint64_t size; /* of MATERIAL_FILE, bytes */
    size_t pairs;  /* at least so many */
    size_t most;   /* more, up to so many, while a verdict hangs in the noise */
    double budget; /* seconds after which a row gets no new pair */
    bool warm;     /* read the source before each pair */
};

struct pair {
    struct cost plain, shim;
    bool shim_first;
};

enum outcome {
    OUTCOME_MEASURED,
    OUTCOME_ABSENT, /* the program is not installed */
    OUTCOME_FAILED, /* the program failed, or the bytes differ; said on stderr */
    OUTCOME_STOPPED,
};

/* What the shim says it did in a run; of the loops that it took over only. */
struct acted {
    unsigned long long sessions, calls_before, calls_after;
    bool reported;
};

struct result {
    const struct row *row;
    struct acted acted;
    struct pair *pairs;
    size_t count;
    struct spread plain_wall, shim_wall, plain_cpu, shim_cpu; /* seconds */
    struct spread wall, cpu;                                  /* plain / shim of each pair */
    struct spread measured;                                   /* in the sense of the bar */
    bool reached;
};

/* Measures a row. result->pairs has room for setting->most pairs. */
enum outcome row_measure(const struct row *row, const struct setting *setting, struct result *result);

/* Between these two the programs that are run report to a file of ours. Never in a run that is timed. */
void acted_begin(const struct setting *setting);
struct acted acted_end(const struct setting *setting);

/* "1.0M -> 2.1k" for the system calls before and after, "-" where the shim stayed out, "?" when it did
 * not report. In a static buffer. */
const char *acted_text(const struct acted *acted);

/* Figures and verdict from the pairs. Returns whether more pairs could change the verdict. */
bool result_judge(struct result *result);

/* The path of a material, made if it was not there. Does not return on trouble. */
const char *material_path(enum material material, const struct setting *setting);

/* Reads a file, or the files of a folder, so that they are in the page cache. */
void material_warm(const char *path);

/* What the placeholders stand for. */
struct places {
    const char *in, *out, *loop, *python, *folder, *base;
};

/* NULL stays NULL. The caller frees. */
char *places_expand(const struct places *places, const char *text);

/* True when two files have the same bytes, or two folders the same names with the same bytes.
 * Otherwise the first difference is said on stderr. */
bool same(const char *left, const char *right);

/* A new folder for files that a run makes; removed at exit, however that comes. */
void scratch_open(struct setting *setting, const char *parent);
void scratch_path(char path[PATH_MAX], const struct setting *setting, const char *name);

/* Removes a file or a folder with all in it. What is not there is fine. */
void tree_remove(const char *path);

/* Takes the output of a run out of the way and gives its blocks back, but removes it only at exit: ext4
 * without a journal does not use an inode again for a minute or more (recently_deleted() in its ialloc.c),
 * and each new file then costs a search among those that were removed, up to ten times what copying it does.
 * What is not there is fine. */
void tree_retire(const char *path);

/* Set by an interrupt: end the measuring and clean up. */
bool interrupted(void);

/* The terminal's table, the demonstration's, Markdown, and one line of CSV for each pair. */
struct sheet {
    void (*head)(FILE *file, const struct setting *setting);
    void (*row)(FILE *file, const struct result *result);
};
extern const struct sheet sheet_text, sheet_demo, sheet_markdown, sheet_csv;

/* "bar 2.8x, measured 3.3x (3.2..3.4), reached"; empty without a bar. In a static buffer. */
const char *verdict_text(const struct result *result);

#endif
