/* Runs the fuzz target without libFuzzer: the files given, or N random inputs from a seed. With -c writes
 * these inputs to a folder instead, for libFuzzer to begin with.
 *
 *     driver [-n N] [-s SEED] [-c FOLDER] [FILE...]
 *
 * When an input breaks something it is left in $FUZZ_LEFT (default: broken-input), to be given as FILE.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"

enum { INPUT_MOST = 4096 };

static uint8_t input[INPUT_MOST];
static size_t count;

static void leave(int number)
{
    const char *path = getenv("FUZZ_LEFT");
    int fd = open(path ? path : "broken-input", O_WRONLY | O_CREAT | O_TRUNC, 0644);
    ssize_t written = write(fd, input, count);
    (void)written;
    signal(number, SIG_DFL);
    raise(number);
}

/* Numerical Recipes' 64-bit linear congruential generator. */
static uint64_t state;

static uint32_t next(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33);
}

static void random_input(uint64_t seed)
{
    state = seed * 0x9e3779b97f4a7c15u;
    next();
    count = 16 + next() % (next() % 4 ? 200 : 1000);
    for (size_t i = 0; i < count; i++)
        input[i] = (uint8_t)(next() >> 8);
}

static void keep_input(const char *folder, uint64_t seed)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/%lu", folder, seed);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(input, 1, count, file) != count || fclose(file) != 0) {
        perror(path);
        exit(2);
    }
}

static void run_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        exit(2);
    }
    count = fread(input, 1, sizeof(input), file);
    fclose(file);
    LLVMFuzzerTestOneInput(input, count);
}

int main(int argc, char **argv)
{
    uint64_t seed = 1, runs = 0;
    const char *folder = NULL;
    for (int option; (option = getopt(argc, argv, "c:n:s:")) != -1;)
        if (option == 'n')
            runs = strtoull(optarg, NULL, 10);
        else if (option == 'c')
            folder = optarg;
        else if (option == 's')
            seed = strtoull(optarg, NULL, 10);
        else
            return 2;
    signal(SIGABRT, leave);
    signal(SIGSEGV, leave);
    for (int i = optind; i < argc; i++)
        run_file(argv[i]);
    for (uint64_t i = 0; i < runs; i++) {
        random_input(seed + i);
        if (folder)
            keep_input(folder, seed + i);
        else
            LLVMFuzzerTestOneInput(input, count);
    }
    if (folder)
        return 0;
    const struct fuzz_stats *s = fuzz_stats();
    printf("fuzz: %lu inputs, %lu streams, %lu reads served, %lu writes promised, %lu bytes\n", s->runs,
           s->opened, s->served, s->accepted, s->bytes);
    printf("fuzz: %lu bytes shared; ends", s->shared);
    for (int i = 0; i < FUZZ_ENDS; i++)
        if (s->ends[i])
            printf(" %d:%lu", i, s->ends[i]);
    puts("");
    if (runs && (s->served < runs || s->accepted < runs)) {
        puts("fuzz: too little was served for this to say anything");
        return 1;
    }
    return 0;
}
