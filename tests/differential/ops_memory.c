/* Buffers of all kinds, bad ones too, and mappings of the files that are copied. */
#include "player.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGE 4096
#define MAPPINGS 3

static unsigned char static_buffer[BUFFER_SIZE], other_buffer[BUFFER_SIZE];
static unsigned char *made[BUFFER_KINDS];
static const unsigned char constant[PAGE] = "read-only";

static unsigned char *map(size_t size, int flags, int fd)
{
    void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, fd, 0);
    if (at == MAP_FAILED)
        abort();
    return at;
}

static unsigned char *make_file_backed(void)
{
    int fd = open("mapped", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, BUFFER_SIZE) < 0)
        return map(BUFFER_SIZE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    unsigned char *at = map(BUFFER_SIZE, MAP_PRIVATE, fd);
    close(fd);
    return at;
}

static unsigned char *make_guarded(void)
{
    unsigned char *at = map(BUFFER_SIZE + PAGE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    if (mprotect(at + BUFFER_SIZE, PAGE, PROT_NONE) < 0)
        abort();
    return at;
}

static unsigned char *make(int kind)
{
    switch (kind) {
    case BUFFER_HEAP:
        return malloc(BUFFER_SIZE);
    case BUFFER_ANONYMOUS:
        return map(BUFFER_SIZE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    case BUFFER_GUARDED:
        return make_guarded();
    case BUFFER_FILE:
        return make_file_backed();
    case BUFFER_SHARED:
        return map(BUFFER_SIZE, MAP_SHARED | MAP_ANONYMOUS, -1);
    case BUFFER_OTHER:
        return other_buffer;
    default:
        return static_buffer;
    }
}

unsigned char *buffer_get(int kind, unsigned char *stack)
{
    if (kind == BUFFER_STACK)
        return stack;
    if (!made[kind])
        made[kind] = make(kind);
    return made[kind];
}

void buffer_release(int kind)
{
    if (kind == BUFFER_SHARED && made[kind]) {
        munmap(made[kind], BUFFER_SIZE);
        made[kind] = NULL;
    }
}

int draw_buffer(struct draw *draw)
{
    return draw_chance(draw, 95) ? draw_below(draw, BUFFER_FILE) : draw_below(draw, BUFFER_KINDS);
}

static sigjmp_buf fault_jump;
static volatile sig_atomic_t fault_expected;

static void on_bus(int number)
{
    if (fault_expected)
        siglongjmp(fault_jump, number);
    signal(number, SIG_DFL);
}

void memory_catch_faults(void)
{
    struct sigaction action = {.sa_handler = on_bus, .sa_flags = SA_NODEFER};
    sigaction(SIGBUS, &action, NULL);
}

static struct {
    unsigned char *at;
    size_t size;
    bool writable;
} mapping[MAPPINGS];

static void generate_map(struct draw *draw, int *a)
{
    a[0] = draw_below(draw, MAPPINGS);
    a[1] = draw_chance(draw, 50) ? draw_source(draw) : draw_destination(draw);
    a[2] = draw_chance(draw, 50) ? MAP_SHARED : MAP_PRIVATE;
    a[3] = draw_chance(draw, 50) ? PROT_READ : PROT_READ | PROT_WRITE;
}

static int execute_map(int index, const int *a)
{
    struct stat st = {0};
    if (mapping[a[0]].at)
        munmap(mapping[a[0]].at, mapping[a[0]].size);
    mapping[a[0]].at = NULL;
    if (fstat(slot[a[1]], &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
        errno = ERRNO_UNTOUCHED;
        void *at = mmap(NULL, (size_t)st.st_size, a[3], a[2], slot[a[1]], 0);
        say_result("mapped", at == MAP_FAILED ? -1 : 0);
        if (at != MAP_FAILED) {
            mapping[a[0]].at = at;
            mapping[a[0]].size = (size_t)st.st_size;
            mapping[a[0]].writable = a[3] & PROT_WRITE;
        }
    }
    say("\n");
    return index + 1;
}

static void generate_peek(struct draw *draw, int *a)
{
    a[0] = draw_below(draw, MAPPINGS);
    a[1] = draw_below(draw, 1000);
    a[2] = draw_size(draw, 60000);
    a[3] = draw_chance(draw, 50);
}

/* No system call: the mapping has to show the file as it is. */
static int execute_peek(int index, const int *a)
{
    size_t size = mapping[a[0]].size, at = size * (size_t)a[1] / 1000;
    size_t count = (size_t)a[2] < size - at ? (size_t)a[2] : size - at;
    if (!mapping[a[0]].at) {
        say(" none\n");
        return index + 1;
    }
    if (sigsetjmp(fault_jump, 0) == 0) {
        fault_expected = 1;
        if (a[3] && mapping[a[0]].writable)
            memset(mapping[a[0]].at + at, a[1], count);
        say(" %016llx\n", (unsigned long long)digest(1, mapping[a[0]].at + at, count));
    } else {
        say(" bus error\n");
    }
    fault_expected = 0;
    return index + 1;
}

static int execute_unmap(int index, const int *a)
{
    if (mapping[a[0]].at)
        munmap(mapping[a[0]].at, mapping[a[0]].size);
    mapping[a[0]].at = NULL;
    say("\n");
    return index + 1;
}

/* Addresses that the kernel refuses, or takes only a part of. */
static unsigned char *bad_address(int kind, int count)
{
    static unsigned char *pages;
    if (!pages) {
        pages = map(5 * PAGE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
        memset(pages, 'b', 2 * PAGE);
        mprotect(pages + 2 * PAGE, PAGE, PROT_NONE);
        mprotect(pages + 3 * PAGE, PAGE, PROT_READ);
        mprotect(pages + 4 * PAGE, PAGE, PROT_NONE);
    }
    switch (kind) {
    case 0:
        return NULL;
    case 1:
        return pages + 2 * PAGE;
    case 2:
        return pages + 3 * PAGE;
    case 3:
        return (unsigned char *)constant;
    case 4:
        return (unsigned char *)-4096L;
    default: /* the end of it is bad */
        return pages + 2 * PAGE - (count < PAGE ? (count + 1) / 2 : PAGE);
    }
}

static void generate_bad(struct draw *draw, int *a)
{
    a[0] = draw_chance(draw, 50) ? draw_source(draw) : draw_destination(draw);
    a[1] = draw_below(draw, 7);
    a[2] = draw_chance(draw, 10) ? 0 : draw_size(draw, 6000);
    a[3] = draw_chance(draw, 50);
}

static int execute_bad(int index, const int *a)
{
    unsigned char *at = bad_address(a[1], a[2]);
    size_t count = (size_t)a[2];
    if (at == constant && count > sizeof(constant))
        count = sizeof(constant);
    errno = ERRNO_UNTOUCHED;
    say_result(a[3] ? "read" : "write", a[3] ? read(slot[a[0]], at, count) : write(slot[a[0]], at, count));
    say("\n");
    return index + 1;
}

static void generate_protect(struct draw *draw, int *a)
{
    a[0] = draw_below(draw, BUFFER_FILE);
    a[1] = draw_below(draw, 8);
    a[2] = draw_source(draw);
    a[3] = draw_destination(draw);
    a[4] = draw_size(draw, 4000);
}

/* A page of a buffer that copies use is taken away for one read and one write. */
static int execute_protect(int index, const int *a)
{
    if (a[0] != BUFFER_ANONYMOUS && a[0] != BUFFER_GUARDED) {
        say(" none\n");
        return index + 1;
    }
    unsigned char *at = buffer_get(a[0], NULL);
    mprotect(at + a[1] * PAGE, PAGE, a[1] & 1 ? PROT_NONE : PROT_READ);
    errno = ERRNO_UNTOUCHED;
    say_result("read", read(slot[a[2]], at + a[1] * PAGE, (size_t)a[4]));
    errno = ERRNO_UNTOUCHED;
    say_result("write", write(slot[a[3]], at + a[1] * PAGE, (size_t)a[4]));
    mprotect(at + a[1] * PAGE, PAGE, PROT_READ | PROT_WRITE);
    say(" %016llx\n", (unsigned long long)digest(1, at, BUFFER_SIZE));
    return index + 1;
}

static const struct operation operations[] = {
    {"map", 15, "mapping %d of %d flags %d prot %d", generate_map, execute_map},
    {"peek", 20, "mapping %d at %d/1000 count %d store %d", generate_peek, execute_peek},
    {"unmap", 25, "mapping %d", generate_peek, execute_unmap},
    {"bad", 25, "slot %d address %d count %d read %d", generate_bad, execute_bad},
    {"protect", 6, "buffer %d page %d read %d write %d count %d", generate_protect, execute_protect},
};

const struct table ops_memory = {operations, sizeof(operations) / sizeof(operations[0])};
