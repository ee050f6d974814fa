#include "launcher/options.h"

#include "config.h"
#include "launcher/exit_code.h"

#include <ctype.h>
#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bsd/stdlib.h>
#include <bsd/libutil.h>

/* Each process writes its own, in the directory the launcher was started in. */
static const char default_report[] = "xfershim.%p.txt";

static const char usage[] =
    "usage: xfershim [option]... [--] program [argument]...\n"
    "       xfershim --check program\n"
    "\n"
    "Run a program with its loops of small reads and writes made fast.\n"
    "\n"
    "  --report[=FILE]    write at exit what was done to FILE, %p in it being the process id;\n"
    "                     as JSON if it ends in .json (./xfershim.%p.txt)\n"
    "  --observe          change nothing, only find what could be gained\n"
    "  --off              load the library but let it do nothing\n"
    "  --only LIST        act only in programs with these names: commas between, * and ? as in the shell\n"
    "  --skip LIST        do nothing in programs with these names\n"
    "  --buffer SIZE      bytes read at once at first (16K)\n"
    "  --buffer-max SIZE  bytes read at once at most (512K, or 4M where blocks are shared)\n"
    "  --threshold SIZE   start after so many bytes, whether it pays or not (64K, and where it pays)\n"
    "  --engines LIST     ways to move bytes that may be used (write,range)\n"
    "  --share HOW        share blocks on XFS and btrfs: lease, never, always (lease: where it is exact)\n"
    "  --library FILE     preload this library\n"
    "  --check PROGRAM    say whether a program can be helped: exit 0 if so, 1 if not\n"
    "  --version, --help\n"
    "\n"
    "Sizes may end in K, M or G. Exit codes: the program's, or 125 if xfershim failed, 126 if the program\n"
    "was found but cannot run under it, 127 if it was not found.\n";

enum option_id {
    OPTION_REPORT = CHAR_MAX + 1,
    OPTION_OBSERVE,
    OPTION_OFF,
    OPTION_ONLY,
    OPTION_SKIP,
    OPTION_BUFFER,
    OPTION_BUFFER_MAX,
    OPTION_THRESHOLD,
    OPTION_ENGINES,
    OPTION_SHARE,
    OPTION_LIBRARY,
    OPTION_CHECK,
    OPTION_VERSION,
    OPTION_HELP,
};

static const struct option long_options[] = {
    {"report", optional_argument, NULL, OPTION_REPORT},
    {"observe", no_argument, NULL, OPTION_OBSERVE},
    {"off", no_argument, NULL, OPTION_OFF},
    {"only", required_argument, NULL, OPTION_ONLY},
    {"skip", required_argument, NULL, OPTION_SKIP},
    {"buffer", required_argument, NULL, OPTION_BUFFER},
    {"buffer-max", required_argument, NULL, OPTION_BUFFER_MAX},
    {"threshold", required_argument, NULL, OPTION_THRESHOLD},
    {"engines", required_argument, NULL, OPTION_ENGINES},
    {"share", required_argument, NULL, OPTION_SHARE},
    {"library", required_argument, NULL, OPTION_LIBRARY},
    {"check", required_argument, NULL, OPTION_CHECK},
    {"version", no_argument, NULL, OPTION_VERSION},
    {"help", no_argument, NULL, OPTION_HELP},
    {NULL, 0, NULL, 0},
};

static _Noreturn void answer(const char *text)
{
    if (fputs(text, stdout) == EOF || fflush(stdout) == EOF)
        err(EXIT_OURS, "standard output");
    exit(EXIT_SUCCESS);
}

static void set(const char *variable, const char *value)
{
    if (setenv(variable, value, 1) < 0)
        err(EXIT_OURS, "%s", variable);
}

static void set_list(const char *option, const char *variable, const char *value)
{
    if (*value == '\0')
        errx(EXIT_OURS, "--%s: the list is empty", option);
    set(variable, value);
}

/* In bytes, so that library and launcher cannot differ about what a suffix means. */
static uint64_t set_size(const char *option, const char *variable, const char *value)
{
    uint64_t bytes;
    char digits[24];
    /* expand_number takes "-1" for the largest number there is. */
    if (!isdigit((unsigned char)*value) || expand_number(value, &bytes) < 0 || bytes > INT64_MAX)
        errx(EXIT_OURS, "--%s: '%s' is no size (such as 65536, 64K, 1M)", option, value);
    snprintf(digits, sizeof(digits), "%" PRIu64, bytes);
    set(variable, digits);
    return bytes;
}

/* The program may change its directory before it ends. */
static void set_report(const char *file)
{
    struct stat status;
    char directory[PATH_MAX];
    char *path;
    if (!file)
        file = default_report;
    if (*file == '\0')
        errx(EXIT_OURS, "--report: the name is empty");
    if (stat(file, &status) == 0 && !S_ISREG(status.st_mode))
        errx(EXIT_OURS, "--report: %s is not a regular file", file);
    if (*file == '/') {
        set("XFERSHIM_REPORT", file);
        return;
    }
    if (!getcwd(directory, sizeof(directory)))
        err(EXIT_OURS, "--report: the working directory");
    if (asprintf(&path, "%s/%s", strcmp(directory, "/") ? directory : "", file) < 0)
        err(EXIT_OURS, "--report");
    set("XFERSHIM_REPORT", path);
    free(path);
}

/* The library goes on with its default when it does not understand a value, for it has no place to complain.
 * Here is one, so its own parser is asked; that covers what was in the environment before, too.
 */
static void check_settings(void)
{
    config_read("");
    if (config.malformed)
        errx(EXIT_OURS, "%s: '%s' is not understood or out of range", config.malformed,
             getenv(config.malformed));
}

struct options options_parse(int argc, char **argv)
{
    struct options options = {0};
    uint64_t buffer = 0;
    uint64_t buffer_max = 0;
    int option;

    while ((option = getopt_long(argc, argv, "+", long_options, NULL)) != -1) {
        switch (option) {
        case OPTION_REPORT:
            set_report(optarg);
            break;
        case OPTION_OBSERVE:
            set("XFERSHIM", "observe");
            break;
        case OPTION_OFF:
            set("XFERSHIM", "off");
            break;
        case OPTION_ONLY:
            set_list("only", "XFERSHIM_ONLY", optarg);
            break;
        case OPTION_SKIP:
            set_list("skip", "XFERSHIM_SKIP", optarg);
            break;
        case OPTION_BUFFER:
            buffer = set_size("buffer", "XFERSHIM_BUFFER", optarg);
            break;
        case OPTION_BUFFER_MAX:
            buffer_max = set_size("buffer-max", "XFERSHIM_BUFFER_MAX", optarg);
            break;
        case OPTION_THRESHOLD:
            set_size("threshold", "XFERSHIM_THRESHOLD", optarg);
            break;
        case OPTION_ENGINES:
            set_list("engines", "XFERSHIM_ENGINES", optarg);
            break;
        case OPTION_SHARE:
            set_list("share", "XFERSHIM_SHARE", optarg);
            break;
        case OPTION_LIBRARY:
            options.library = optarg;
            break;
        case OPTION_CHECK:
            options.check = optarg;
            break;
        case OPTION_VERSION:
            answer("xfershim " XFERSHIM_VERSION "\n");
        case OPTION_HELP:
            answer(usage);
        default:
            errx(EXIT_OURS, "'xfershim --help' lists the options");
        }
    }
    if (buffer > 0 && buffer_max > 0 && buffer > buffer_max)
        errx(EXIT_OURS, "--buffer is larger than --buffer-max");
    check_settings();
    options.command = argv + optind;
    if (options.check && optind < argc)
        errx(EXIT_OURS, "--check looks at one program and runs nothing");
    if (!options.check && optind == argc)
        errx(EXIT_OURS, "no program is named; 'xfershim --help' lists the options");
    return options;
}
