#include "loop.h"

#include <err.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { page = 4096 };
enum { static_size = (4 << 20) + 2 * page };

char *loop_align(void *start, size_t offset)
{
    uintptr_t boundary = ((uintptr_t)start + page - 1) & ~(uintptr_t)(page - 1);
    return (char *)start + (boundary - (uintptr_t)start) + offset;
}

char *loop_buffer(const char *place, size_t chunk, size_t offset)
{
    static char fixed[static_size];
    size_t length = chunk + LOOP_SPARE;
    void *start;

    if (strcmp(place, "heap") == 0) {
        start = malloc(length);
    } else if (strcmp(place, "mmap") == 0) {
        start = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        start = start == MAP_FAILED ? NULL : start;
    } else if (strcmp(place, "static") == 0) {
        if (length > static_size)
            errx(2, "a chunk of %zu bytes is too large for the static buffer", chunk);
        start = fixed;
    } else {
        errx(2, "place %s: not stack, heap, static or mmap", place);
    }
    if (!start)
        err(1, "a buffer of %zu bytes", chunk);
    return loop_align(start, offset);
}
