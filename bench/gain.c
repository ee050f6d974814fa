#include "gain.h"

#include <bsd/stdlib.h>
#include <err.h>
#include <fnmatch.h>
#include <getopt.h>
#include <string.h>
#include <unistd.h>

#include <bsd/libutil.h>

static const uint64_t default_size = UINT64_C(256) << 20;
static const size_t default_pairs = 7;
static const double default_budget = 60;
static const long long budget_max = 86400;
static const long long pairs_max = 10000;
/* How often the asked number of pairs may be measured until a verdict is out of the noise. */
static const size_t patience = 3;

enum { sheets_max = 3 };

struct options {
    struct setting setting;
    unsigned suites;
    const char *only; /* pattern for names of rows */
    const char *scratch_parent, *library;
    const char *csv, *markdown;
    bool strict;
    struct row own; /* the command on the line */
};

struct output {
    const struct sheet *sheet;
    FILE *file;
};

static _Noreturn void usage(int status)
{
    fputs("usage: gain [options] --suite main|still|demo|xfs|btrfs ...\n"
          "       gain [options] [--] command [argument ...]   with {in} and {out} for the paths\n"
          "Runs commands plain and under the shim in turn, compares what they wrote, tells the gain.\n"
          "  --pairs N         pairs of runs, at least (7)\n"
          "  --most N          pairs of runs, when a verdict hangs in the noise (3 times --pairs)\n"
          "  --budget SECONDS  of runs, after which a row gets no new pair (60)\n"
          "  --size SIZE       of the file that is copied (256M)\n"
          "  --warm            read the source before each pair; suites always do\n"
          "  --only PATTERN    only the rows of the suites whose names match\n"
          "  --library FILE    the shim (libxfershim.so of the build)\n"
          "  --scratch FOLDER  where to make and copy files (beside this program)\n"
          "  --python FILE     the interpreter (/usr/bin/python3)\n"
          "  --in FILE         a source of your own for the command\n"
          "  --archive         the command's output is expected to be that of a plain run, not the source\n"
          "  --stdin FILE, --stdout FILE   for the command; {in}, {out}\n"
          "  --csv FILE, --markdown FILE   each pair, and the table\n"
          "  --strict          exit with 1 when a bar is missed\n"
          "Exit status 2: a command failed, or bytes differ.\n",
          status ? stderr : stdout);
    exit(status);
}

static long long number(const char *text, long long most, const char *what)
{
    const char *trouble;
    long long value = strtonum(text, 1, most, &trouble);
    if (trouble)
        errx(2, "%s %s: %s", what, text, trouble);
    return value;
}

static uint64_t file_size(const char *text)
{
    uint64_t value;
    if (expand_number(text, &value) < 0 || value == 0)
        errx(2, "size %s: not a size", text);
    return value;
}

static unsigned suite_option(const char *name)
{
    unsigned suite = suite_named(name);
    if (!suite)
        errx(2, "suite %s: not main, still, demo, xfs or btrfs", name);
    return suite;
}

static void take_command(struct options *options, int count, char **words)
{
    if (count >= ARGUMENTS_MAX)
        errx(2, "a command of more than %d words", ARGUMENTS_MAX - 1);
    options->own.name = words[0];
    options->own.brief = words[0];
    options->own.material = options->setting.given ? MATERIAL_GIVEN : MATERIAL_FILE;
    for (int i = 0; i < count; i++)
        options->own.argv[i] = words[i];
}

static void parse(struct options *options, int argc, char **argv)
{
    static const struct option names[] = {
        {"archive", no_argument, NULL, 'a'},
        {"budget", required_argument, NULL, 'b'},
        {"csv", required_argument, NULL, 'c'},
        {"help", no_argument, NULL, 'h'},
        {"in", required_argument, NULL, 'i'},
        {"library", required_argument, NULL, 'l'},
        {"markdown", required_argument, NULL, 'm'},
        {"most", required_argument, NULL, 'x'},
        {"only", required_argument, NULL, 'o'},
        {"pairs", required_argument, NULL, 'p'},
        {"python", required_argument, NULL, 'y'},
        {"scratch", required_argument, NULL, 'd'},
        {"size", required_argument, NULL, 's'},
        {"stdin", required_argument, NULL, '0'},
        {"stdout", required_argument, NULL, '1'},
        {"strict", no_argument, NULL, 'e'},
        {"suite", required_argument, NULL, 'u'},
        {"warm", no_argument, NULL, 'w'},
        {0},
    };
    struct setting *setting = &options->setting;
    int option;

    /* The first word that is no option begins the command, whose options are its own. */
    while ((option = getopt_long(argc, argv, "+", names, NULL)) != -1) {
        switch (option) {
        case 'a':
            options->own.expected = EXPECT_PLAIN;
            break;
        case 'b':
            setting->budget = number(optarg, budget_max, "budget");
            break;
        case 'c':
            options->csv = optarg;
            break;
        case 'h':
            usage(0);
        case 'i':
            setting->given = optarg;
            break;
        case 'l':
            options->library = optarg;
            break;
        case 'm':
            options->markdown = optarg;
            break;
        case 'x':
            setting->most = number(optarg, pairs_max, "pairs");
            break;
        case 'o':
            options->only = optarg;
            break;
        case 'p':
            setting->pairs = number(optarg, pairs_max, "pairs");
            break;
        case 'y':
            setting->python = optarg;
            break;
        case 'd':
            options->scratch_parent = optarg;
            break;
        case 's':
            setting->size = file_size(optarg);
            break;
        case '0':
            options->own.stdin_path = optarg;
            break;
        case '1':
            options->own.stdout_path = optarg;
            break;
        case 'e':
            options->strict = true;
            break;
        case 'u':
            options->suites |= suite_option(optarg);
            break;
        case 'w':
            setting->warm = true;
            break;
        default:
            usage(2);
        }
    }
    if ((optind == argc) == (options->suites == 0))
        usage(2);
    if (optind < argc)
        take_command(options, argc - optind, argv + optind);
}

/* A python3 of a version manager may be a script that starts in tenths of a second. */
static const char *system_python(void)
{
    static const char system[] = "/usr/bin/python3";
    return access(system, X_OK) == 0 ? system : "python3";
}

static void complete(struct options *options)
{
    static char library[PATH_MAX], self[PATH_MAX];
    struct setting *setting = &options->setting;
    beside_self(self, "");
    library_find(library, options->library);
    setting->library = library;
    if (!setting->python)
        setting->python = system_python();
    if (setting->most < setting->pairs)
        setting->most = setting->pairs * (options->suites == SUITE_DEMO ? 1 : patience);
    setting->warm |= options->suites != 0;
    scratch_open(setting, options->scratch_parent ? options->scratch_parent : self);
}

static FILE *create(const char *path)
{
    FILE *file = fopen(path, "we");
    if (!file)
        err(2, "%s", path);
    return file;
}

static size_t open_outputs(const struct options *options, struct output outputs[sheets_max])
{
    size_t count = 0;
    outputs[count++] = (struct output){options->suites == SUITE_DEMO ? &sheet_demo : &sheet_text, stdout};
    if (options->csv)
        outputs[count++] = (struct output){&sheet_csv, create(options->csv)};
    if (options->markdown)
        outputs[count++] = (struct output){&sheet_markdown, create(options->markdown)};
    for (size_t i = 0; i < count; i++)
        outputs[i].sheet->head(outputs[i].file, &options->setting);
    return count;
}

static bool wanted(const struct options *options, const struct row *row)
{
    return (row->suites & options->suites) && (!options->only || fnmatch(options->only, row->name, 0) == 0);
}

/* On a terminal only, where it is wiped out by the row itself. */
static void progress(const char *name)
{
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r\033[K%s%s", name, *name ? " ..." : "");
}

struct tally {
    size_t measured, missed, failed;
    bool stopped;
};

static void do_row(const struct options *options, const struct row *row, const struct output *outputs,
                   size_t output_count, struct tally *tally)
{
    struct result result = {.pairs = calloc(options->setting.most, sizeof(*result.pairs))};
    if (!result.pairs)
        err(2, "pairs");
    progress(row->name);
    enum outcome outcome = row_measure(row, &options->setting, &result);
    progress("");

    if (outcome == OUTCOME_MEASURED) {
        tally->measured++;
        tally->missed += row->bar.kind != BAR_NONE && !result.reached;
        for (size_t i = 0; i < output_count; i++)
            outputs[i].sheet->row(outputs[i].file, &result);
    } else if (outcome == OUTCOME_ABSENT) {
        printf("  %s: not installed\n", row->argv[0]);
    } else if (outcome == OUTCOME_FAILED) {
        printf("  %s: FAILED\n", row->name);
        tally->failed++;
    } else {
        tally->stopped = true;
    }
    free(result.pairs);
}

int main(int argc, char **argv)
{
    struct options options = {
        .setting = {.size = default_size, .pairs = default_pairs, .budget = default_budget}};
    struct output outputs[sheets_max];
    struct tally tally = {0};

    parse(&options, argc, argv);
    complete(&options);
    size_t output_count = open_outputs(&options, outputs);
    if (!options.suites)
        do_row(&options, &options.own, outputs, output_count, &tally);
    for (size_t i = 0; i < row_count && !tally.stopped; i++)
        if (wanted(&options, &rows[i]))
            do_row(&options, &rows[i], outputs, output_count, &tally);

    for (size_t i = 0; i < output_count; i++)
        if (fclose(outputs[i].file) != 0)
            err(2, "output");
    if (tally.failed || tally.stopped || tally.measured == 0)
        return 2;
    return options.strict && tally.missed ? 1 : 0;
}
