/* A bad pointer in the middle of a loop: what read and write answer, and where both offsets are then.
 *
 * f2_bad_pointers SRC DST CHUNK [outside]   outside: a call of another kind precedes each bad one
 */
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "copy.h"

#define PAGE 4096

static int in, out, outside;
static size_t chunk;
static char *good, *none, *read_only, *half, *fresh, *read_only_tail;

static long where(int fd)
{
    return (long)lseek(fd, 0, SEEK_CUR);
}

static void loop(int pairs)
{
    for (int i = 0; i < pairs; i++) {
        ssize_t got = read(in, good, chunk);
        NEED(got == (ssize_t)chunk);
        ssize_t put = write(out, good, (size_t)got);
        /* After a cut write the two offsets differ; that is the program's affair. */
        NEED(put == got);
    }
}

static void say(const char *what, ssize_t result)
{
    int error = errno;
    printf("%s: %zd %s, source %ld, destination %ld\n", what, result, result < 0 ? strerror(error) : "",
           where(in), where(out));
}

static void try_read(const char *what, void *buffer, size_t count)
{
    loop(40);
    if (outside)
        syscall(SYS_getppid);
    say(what, read(in, buffer, count));
}

static void try_write(const char *what, const void *buffer, size_t count)
{
    loop(40);
    ssize_t got = read(in, good, chunk);
    NEED(got == (ssize_t)chunk);
    if (outside)
        syscall(SYS_getppid);
    say(what, write(out, buffer, count));
    NEED(write(out, good, chunk) == (ssize_t)chunk);
}

static char *pages(int protection)
{
    char *map = mmap(NULL, 2 * PAGE, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    NEED(map != MAP_FAILED);
    return map;
}

int main(int argc, char **argv)
{
    char *volatile null = NULL;

    NEED(argc >= 4);
    chunk = strtoul(argv[3], NULL, 10);
    outside = argc > 4;
    NEED(chunk <= PAGE);
    in = open_source(argv[1]);
    out = open_destination(argv[2]);
    good = malloc(PAGE);
    none = pages(PROT_NONE);
    read_only = pages(PROT_READ);
    fresh = pages(PROT_READ | PROT_WRITE);
    half = pages(PROT_READ | PROT_WRITE);
    NEED(mprotect(half + PAGE, PAGE, PROT_NONE) == 0);
    read_only_tail = pages(PROT_READ | PROT_WRITE);
    NEED(mprotect(read_only_tail + PAGE, PAGE, PROT_READ) == 0);

    try_read("read to NULL", null, chunk);
    try_read("read to no access", none, chunk);
    try_read("read to read-only", read_only, chunk);
    try_read("read to kernel", (void *)(uintptr_t)0xffff800000000000, chunk);
    try_read("read to non-canonical", (void *)(uintptr_t)0x8000000000000000, chunk);
    try_read("read to the last byte", (void *)UINTPTR_MAX, chunk);
    try_read("read to half", half + PAGE - chunk / 2, chunk);
    try_read("read to one byte short", half + PAGE - chunk + 1, chunk);
    try_read("read to read-only tail", read_only_tail + PAGE - chunk / 2, chunk);
    try_read("read to fresh memory", fresh, chunk);

    try_write("write from NULL", null, chunk);
    try_write("write from no access", none, chunk);
    try_write("write from kernel", (void *)(uintptr_t)0xffff800000000000, chunk);
    try_write("write from non-canonical", (void *)(uintptr_t)0x8000000000000000, chunk);
    memcpy(half + PAGE - chunk / 2, good, chunk / 2);
    try_write("write from half", half + PAGE - chunk / 2, chunk);
    try_write("write from read-only", read_only, chunk);
    try_write("write from fresh memory", fresh + PAGE, chunk);

    /* A buffer that was good and is taken away, then comes back. */
    loop(20);
    NEED(read(in, half, chunk) == (ssize_t)chunk);
    NEED(write(out, half, chunk) == (ssize_t)chunk);
    NEED(read(in, half, chunk) == (ssize_t)chunk);
    NEED(write(out, half, chunk) == (ssize_t)chunk);
    NEED(mprotect(half, PAGE, PROT_NONE) == 0);
    say("read to a withdrawn buffer", read(in, half, chunk));
    say("write from a withdrawn buffer", write(out, half, chunk));
    NEED(mprotect(half, PAGE, PROT_READ | PROT_WRITE) == 0);
    say("read to a returned buffer", read(in, half, chunk));
    say("write from a returned buffer", write(out, half, chunk));
    NEED(munmap(half, 2 * PAGE) == 0);
    say("read to a gone buffer", read(in, half, chunk));

    printf("end: %ld\n", copy_bytes(in, out, good, chunk, -1));
    return 0;
}
