/* The tables: what is copied, and where. A new engine is a row of places[]. */
#include "kill.h"

#include <stdlib.h>

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)
#define WINDOW (512 * KIB)      /* XFERSHIM_BUFFER_MAX */
#define SHARED_WINDOW (4 * MIB) /* the same where blocks are shared */
#define OLD_BEYOND 70001        /* longer than any page, and ends within one */

/* From here on a loop is left alone unless it can share blocks. */
#define CHUNK_LARGE (64 * KIB)
#define BLOCK_SIZE 4096

const struct shape shapes[] = {
    {.name = "1 B", .chunk = 1, .block = 1, .size = 768 * KIB},
    {.name = "7 B", .chunk = 7, .block = 7, .size = 2 * MIB},
    {.name = "512 B", .chunk = 512, .block = 512, .size = 8 * MIB},
    {.name = "1000 B", .chunk = 1000, .block = 1000, .size = 8 * MIB + 333},
    {.name = "4096 B", .chunk = 4096, .block = 4096, .size = 12 * MIB},
    {.name = "4097 B", .chunk = 4097, .block = 4097, .size = 12 * MIB},
    {.name = "10240 B", .chunk = 10240, .block = 10240, .size = 12 * MIB},
    {.name = "16 KiB", .chunk = 16384, .block = 16384, .size = 16 * MIB},
    {.name = "65535 B", .chunk = 65535, .block = 65535, .size = 16 * MIB},
    {.name = "64 KiB", .chunk = 65536, .block = 65536, .size = 16 * MIB},
    {.name = "cpio's blocks", .chunk = 512, .block = 512, .head = 110, .size = 6 * MIB},
    {.name = "lag, 1000 B to 4096 B", .chunk = 1000, .block = 4096, .head = 333, .size = 6 * MIB},
    {.name = "append, 512 B", .chunk = 512, .block = 512, .size = 4 * MIB, .append = true},
    {.name = "append, 4097 B", .chunk = 4097, .block = 4097, .size = 8 * MIB, .append = true},
    {.name = "over old content, 1000 B", .chunk = 1000, .block = 1000, .size = 3 * MIB, .old = true},
    {.name = "over old content, 16 KiB", .chunk = 16384, .block = 16384, .size = 6 * MIB, .old = true},
    {.name = "survivor, 1 B", .chunk = 1, .block = 1, .size = 512 * KIB, .survivor = true},
    {.name = "survivor, 512 B", .chunk = 512, .block = 512, .size = 4 * MIB, .survivor = true},
    {.name = "survivor, 4097 B", .chunk = 4097, .block = 4097, .size = 8 * MIB, .survivor = true},
    {.name = "other calls, 512 B", .chunk = 512, .block = 512, .size = 2 * MIB, .breaks = 1021},
    {.name = "other calls, 4096 B", .chunk = 4096, .block = 4096, .size = 4 * MIB, .breaks = 199},
};
const int shape_count = sizeof shapes / sizeof *shapes;

const struct place places[] = {
    {.name = "here", .share = "lease", .promise = WINDOW},
    {.name = "tmpfs", .kind = "tmpfs", .share = "lease", .promise = WINDOW},
    {.name = "xfs", .kind = "xfs", .share = "lease", .promise = SHARED_WINDOW, .shares = true},
    {.name = "xfs, unaligned", .share = "lease", .ahead = 100, .promise = SHARED_WINDOW, .same = "xfs"},
    {.name = "xfs, by write", .share = "never", .promise = WINDOW, .same = "xfs"},
    {.name = "btrfs", .kind = "btrfs", .share = "lease", .promise = SHARED_WINDOW, .shares = true},
    {.name = "btrfs, by write", .share = "never", .ahead = 4096, .promise = WINDOW, .same = "btrfs"},
};
const int place_count = sizeof places / sizeof *places;

bool must_act(const struct shape *shape, const struct place *place)
{
    if (shape->chunk < CHUNK_LARGE)
        return true;
    return place->shares && !shape->append && (place->ahead + shape->head) % BLOCK_SIZE == 0;
}

const unsigned char *source_bytes(void)
{
    static unsigned char *bytes;
    const size_t most = 16 * MIB;
    if (bytes)
        return bytes;
    bytes = malloc(most);
    if (!bytes)
        die("memory");
    uint64_t state = 88172645463325252u; /* xorshift64, Marsaglia 2003 */
    for (size_t at = 0; at < most; at++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes[at] = (unsigned char)(state >> 32);
    }
    return bytes;
}

size_t expected_size(const struct shape *shape)
{
    return shape->head + shape->size;
}

unsigned char expected_byte(const struct shape *shape, size_t at)
{
    return at < shape->head ? 'h' : source_bytes()[at - shape->head];
}

unsigned char old_byte(size_t at)
{
    return (unsigned char)(at * 131 + at / 4096);
}

size_t old_size(const struct shape *shape, const struct place *place)
{
    return place->ahead + (shape->old ? expected_size(shape) + OLD_BEYOND : 0);
}
