#include "loop.h"

#include <alloca.h>
#include <bsd/stdlib.h>
#include <err.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <bsd/libutil.h>

static const size_t default_chunk = 4096;
static const uint64_t chunk_max = UINT64_C(1) << 30;
static const size_t stack_max = 4 << 20; /* half of the default limit */
static const size_t offset_max = 4095;   /* within a page */
static const int mappings_max = 60000;   /* below the default vm.max_map_count of 65530 */

static _Noreturn void usage(void)
{
    fputs("usage: loop [-txT] [-c chunk] [-o stack|heap|static|mmap] [-a offset] [-m mappings]\n"
          "            source destination\n"
          "Copies by plain read and write calls.\n"
          "  -c  bytes for each read (4K)\n"
          "  -o  where the buffer is (heap)\n"
          "  -a  bytes from a page boundary to the buffer (0)\n"
          "  -t  change a byte of each buffer before it is written\n"
          "  -x  ask for the source's offset in each turn\n"
          "  -m  map this many ranges of memory first (0)\n"
          "  -T  copy the files of a directory into a new directory\n",
          stderr);
    exit(2);
}

static long long number(const char *text, long long max, const char *what)
{
    const char *trouble = NULL;
    long long value = strtonum(text, 0, max, &trouble);
    if (trouble)
        errx(2, "%s %s: %s", what, text, trouble);
    return value;
}

static size_t size(const char *text)
{
    uint64_t value;
    if (expand_number(text, &value) < 0 || value == 0 || value > chunk_max)
        errx(2, "chunk %s: not a size from 1 to 1G", text);
    return value;
}

int main(int argc, char **argv)
{
    struct loop loop = {.chunk = default_chunk};
    const char *place = "heap";
    size_t offset = 0;
    int mappings = 0;
    bool tree = false;
    int option;

    while ((option = getopt(argc, argv, "a:c:m:o:tTx")) != -1) {
        switch (option) {
        case 'a':
            offset = number(optarg, offset_max, "offset");
            break;
        case 'c':
            loop.chunk = size(optarg);
            break;
        case 'm':
            mappings = number(optarg, mappings_max, "mappings");
            break;
        case 'o':
            place = optarg;
            break;
        case 't':
            loop.transform = true;
            break;
        case 'T':
            tree = true;
            break;
        case 'x':
            loop.third = true;
            break;
        default:
            usage();
        }
    }
    if (argc - optind != 2)
        usage();

    loop_mappings(mappings);
    if (strcmp(place, "stack") != 0)
        loop.buffer = loop_buffer(place, loop.chunk, offset);
    else if (loop.chunk <= stack_max)
        // cppcheck-suppress allocaCalled ; as the programs do that this stands for
        loop.buffer = loop_align(alloca(loop.chunk + LOOP_SPARE), offset);
    else
        errx(2, "a chunk of %zu bytes is too large for the stack", loop.chunk);
    (tree ? loop_tree : loop_file)(&loop, argv[optind], argv[optind + 1]);
    return 0;
}
