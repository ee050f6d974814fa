#include "overhead.h"

#include <err.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

/* One byte from /dev/zero and to /dev/null: the cheapest calls there are, so the part of the shim in
 * them is the largest. */
static void take(int source)
{
    char byte;
    if (read(source, &byte, 1) != 1)
        err(2, "/dev/zero");
}

static void give(int sink)
{
    char byte = 0;
    if (write(sink, &byte, 1) != 1)
        err(2, "/dev/null");
}

static void reads(const int sources[], const int sinks[], unsigned round)
{
    (void)sinks, (void)round;
    take(sources[0]);
}

static void writes(const int sources[], const int sinks[], unsigned round)
{
    (void)sources, (void)round;
    give(sinks[0]);
}

static void interleaved(const int sources[], const int sinks[], unsigned round)
{
    take(sources[round % ENDS]);
    give(sinks[(round + round / ENDS) % ENDS]);
}

static void devices(const int sources[], const int sinks[], unsigned round)
{
    (void)round;
    take(sources[0]);
    give(sinks[0]);
}

const struct pattern patterns[] = {
    {"read", 1, reads},
    {"write", 1, writes},
    {"read and write, 4 sources and 4 sinks", 2, interleaved},
    {"read and write loop between devices", 2, devices},
};
const size_t pattern_count = sizeof(patterns) / sizeof(*patterns);

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e9 + time.tv_nsec;
}

static int end(const char *path, int flags)
{
    int descriptor = open(path, flags | O_CLOEXEC);
    if (descriptor < 0)
        err(2, "%s", path);
    return descriptor;
}

double pattern_time(const struct pattern *pattern)
{
    /* A stretch is short enough that many are not interrupted by a 250 Hz clock or another process. */
    static const unsigned stretches = 60, turns = 2000;
    int sources[ENDS], sinks[ENDS];
    double least = 0;

    for (int i = 0; i < ENDS; i++) {
        sources[i] = end("/dev/zero", O_RDONLY);
        sinks[i] = end("/dev/null", O_WRONLY);
    }
    for (unsigned stretch = 0; stretch < stretches; stretch++) {
        double start = now();
        for (unsigned i = 0; i < turns; i++)
            pattern->turn(sources, sinks, i);
        double time = (now() - start) / (turns * pattern->calls);
        if (stretch == 0 || time < least)
            least = time;
    }
    return least;
}
