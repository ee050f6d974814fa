#include "overhead.h"

#include <bsd/stdlib.h>
#include <err.h>
#include <getopt.h>
#include <stdio.h>

static const double call_bar = 20;  /* nanoseconds a call */
static const double start_bar = 20; /* microseconds a start */
static const size_t default_call_pairs = 40, default_start_pairs = 2000;
static const long long pairs_max = 1000000;

static _Noreturn void usage(int status)
{
    fputs("usage: overhead [--pairs N] [--starts N] [--library FILE] [--empty FILE] [--strict]\n"
          "What the shim costs where it cannot help: a call, and the start of a program.\n"
          "  --pairs N       processes of each kind that make calls (40)\n"
          "  --starts N      starts of each kind (2000)\n"
          "  --library FILE  the shim (libxfershim.so of the build)\n"
          "  --empty FILE    the library with nothing in it (empty.so beside this program)\n"
          "  --strict        exit with 1 when a bar is missed\n",
          status ? stderr : stdout);
    exit(status);
}

static size_t number(const char *text)
{
    const char *trouble;
    long long value = strtonum(text, 0, pairs_max, &trouble);
    if (trouble)
        errx(2, "%s: %s", text, trouble);
    return value;
}

/* What a process of ours does that makes the calls. */
static _Noreturn void run_pattern(const char *text)
{
    size_t pattern = number(text);
    if (pattern >= pattern_count)
        errx(2, "pattern %s: there is none", text);
    printf("%f\n", pattern_time(&patterns[pattern]));
    exit(0);
}

static bool line(const char *name, struct spread plain, struct spread shim, struct spread more, double bar)
{
    bool reached = more.median <= bar;
    printf("%-40s %8.1f %8.1f   ", name, plain.median, shim.median);
    printf("bar +%.0f, measured %+.1f (%+.1f..%+.1f), %s\n", bar, more.median, more.low, more.high,
           reached ? "reached" : "MISSED");
    fflush(stdout);
    return reached;
}

static bool report_calls(const char *library, size_t pairs)
{
    bool reached = true;
    printf("%-40s %8s %8s   difference of each of %zu pairs, its median and middle half\n",
           "nanoseconds a call that is no copy", "plain", "shim", pairs);
    for (size_t i = 0; i < pattern_count; i++) {
        struct calls_result result = calls_measure(i, library, pairs);
        reached &= line(patterns[i].name, result.plain, result.shim, result.more, call_bar);
    }
    return reached;
}

static bool report_start(const char *empty, const char *library, size_t pairs)
{
    struct start_result result = start_measure(empty, library, pairs);
    printf("\n%-40s %8s %8s   difference of each of %zu pairs, its median and middle half\n",
           "microseconds to start and await true", "empty", "shim", pairs);
    bool reached = line("wall", result.empty_wall, result.shim_wall, result.more_wall, start_bar);
    return line("CPU", result.empty_cpu, result.shim_cpu, result.more_cpu, start_bar) && reached;
}

int main(int argc, char **argv)
{
    static const struct option names[] = {
        {"empty", required_argument, NULL, 'e'},   {"help", no_argument, NULL, 'h'},
        {"library", required_argument, NULL, 'l'}, {"pairs", required_argument, NULL, 'p'},
        {"pattern", required_argument, NULL, 't'}, {"starts", required_argument, NULL, 's'},
        {"strict", no_argument, NULL, 'c'},        {0},
    };
    char library[PATH_MAX], empty[PATH_MAX], built[PATH_MAX];
    const char *asked_library = NULL, *asked_empty = built;
    size_t pairs = default_call_pairs, starts = default_start_pairs;
    bool strict = false, reached = true;
    int option;

    beside_self(built, "empty.so");
    while ((option = getopt_long(argc, argv, "", names, NULL)) != -1) {
        switch (option) {
        case 'c':
            strict = true;
            break;
        case 'e':
            asked_empty = optarg;
            break;
        case 'h':
            usage(0);
        case 'l':
            asked_library = optarg;
            break;
        case 'p':
            pairs = number(optarg);
            break;
        case 's':
            starts = number(optarg);
            break;
        case 't':
            run_pattern(optarg);
        default:
            usage(2);
        }
    }
    if (optind < argc)
        usage(2);
    library_find(library, asked_library);
    library_find(empty, asked_empty);

    struct machine machine = machine_describe(library);
    printf("%s, %s, load %.1f\n%s\n", machine.processor, machine.kernel, machine.load,
           machine_caution(&machine));
    if (pairs)
        reached = report_calls(library, pairs);
    if (starts)
        reached &= report_start(empty, library, starts);
    return strict && !reached ? 1 : 0;
}
