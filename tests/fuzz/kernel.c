#include "kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "clock.h"
#include "sys.h"

#ifndef SYS_cachestat
#define SYS_cachestat 451
#endif

struct kernel kernel;
unsigned char *kernel_bad;
size_t kernel_bad_size;

void broken(const char *what, ...)
{
    va_list arguments;
    va_start(arguments, what);
    fputs("broken: ", stderr);
    vfprintf(stderr, what, arguments);
    fputc('\n', stderr);
    abort();
}

uint64_t xfer_clock_ms(void)
{
    return kernel.now;
}

void kernel_reset(void)
{
    static unsigned char *in, *out, *told;
    static off_t *told_at;
    static struct version version[VERSIONS];
    if (!in) {
        in = malloc(SOURCE_MOST);
        out = malloc(OUT_MOST);
        told = malloc(OUT_MOST);
        told_at = malloc(OUT_MOST * sizeof(*told_at));
        for (int i = 0; i < VERSIONS; i++)
            version[i].bytes = malloc(SOURCE_MOST);
    }
    kernel = (struct kernel){.now = 1000000, .in = in, .out = out, .told = told, .told_at = told_at};
    memcpy(kernel.version, version, sizeof(version));
    kernel.out_cap = NO_CAP;
    kernel.out_cap_error = ENOSPC;
}

void kernel_bytes(unsigned char *to, size_t count, size_t at, uint64_t seed, unsigned period)
{
    enum { TABLE = 1 << 16, STEP = 4093 };
    static unsigned char table[TABLE];
    if (!table[0])
        for (uint64_t i = 0, x = 1; i < TABLE; i++) {
            x = x * 6364136223846793005u + 1442695040888963407u;
            table[i] = (unsigned char)(x >> 56) | !i;
        }
    size_t from = seed % TABLE * STEP;
    for (size_t i = 0; i < count && period; i++)
        to[i] = table[(from + (at + i) % period) % TABLE];
    /* The table again and again, each time shifted. */
    for (size_t done = 0; done < count && !period;) {
        size_t place = at + done, start = (from + place + place / TABLE * 31) % TABLE;
        size_t n = TABLE - start < TABLE - place % TABLE ? TABLE - start : TABLE - place % TABLE;
        n = n < count - done ? n : count - done;
        memcpy(to + done, table + start, n);
        done += n;
    }
}

void kernel_change(size_t at, size_t count, size_t size, uint64_t seed)
{
    struct version *old = &kernel.version[kernel.versions++ % VERSIONS];
    memcpy(old->bytes, kernel.in, kernel.in_size);
    old->size = kernel.in_size;
    old->until = kernel.now;
    if (size > kernel.in_size)
        kernel_bytes(kernel.in + kernel.in_size, size - kernel.in_size, kernel.in_size, seed, 0);
    kernel.in_size = size;
    if (at < size)
        kernel_bytes(kernel.in + at, count < size - at ? count : size - at, at, seed, 0);
}

/* ---- what a kill would leave ------------------------------------------------------------------ */

static size_t arrived(void)
{
    return (size_t)kernel.out_offset - kernel.out_start;
}

/* The next process reads from where plain would have it, or further on: never again what has been written. */
static void check_kill(void)
{
    size_t there = arrived();
    if (kernel.foreign)
        return;
    MUST(kernel.in_offset <= kernel.program, "C4: the source's offset %ld is ahead of the program's %ld",
         (long)kernel.in_offset, (long)kernel.program);
    if (there <= kernel.kill_from)
        return;
    off_t least = there > kernel.told_size ? kernel.program : kernel.told_at[there - 1];
    MUST(kernel.in_offset >= least,
         "C4: byte %zu is written, the source's offset %ld is before the %ld of the program when it wrote",
         there - 1, (long)kernel.in_offset, (long)least);
}

static void check_bytes(const unsigned char *bytes, size_t count)
{
    size_t at = arrived();
    MUST(at + count <= kernel.told_size + kernel.writing_size, "C1: %zu bytes more than were written",
         at + count - kernel.told_size - kernel.writing_size);
    if (at + count <= kernel.told_size && memcmp(bytes, kernel.told + at, count) == 0)
        return;
    for (size_t i = 0; i < count; i++) {
        unsigned char want =
            at + i < kernel.told_size ? kernel.told[at + i] : kernel.writing[at + i - kernel.told_size];
        MUST(bytes[i] == want, "C1: byte %zu of the destination is 0x%02x, 0x%02x was written", at + i,
             bytes[i], want);
    }
}

void kernel_check(size_t owed, const char *when)
{
    size_t there = arrived();
    MUST(there + owed == kernel.told_size, "%s: %zu are there, %zu are owed, %zu were told", when, there,
         owed, kernel.told_size);
    if (kernel.checked > there)
        kernel.checked = there;
    MUST(memcmp(kernel.out + kernel.out_start + kernel.checked, kernel.told + kernel.checked,
                there - kernel.checked) == 0,
         "%s: C1: other bytes behind %zu", when, kernel.checked);
    kernel.checked = there;
}

enum { STOLEN = 1 << 17 };

/* ---- the calls --------------------------------------------------------------------------------- */

/* Bytes of [memory, memory + count) before the first bad one. */
static size_t reachable(const void *memory, size_t count)
{
    uintptr_t from = (uintptr_t)memory, bad = (uintptr_t)kernel_bad;
    if (from >= bad)
        return from - bad < kernel_bad_size ? 0 : count;
    return count > bad - from ? bad - from : count;
}

static long take(long count, const void *memory)
{
    size_t good = reachable(memory, (size_t)count);
    return good == 0 && count > 0 ? -EFAULT : (long)good;
}

static long read_at(void *to, size_t count, off_t at, size_t most)
{
    size_t n = at < 0 || (size_t)at >= kernel.in_size ? 0 : kernel.in_size - (size_t)at;
    n = n < count ? n : count;
    n = n < most ? n : most;
    long good = take((long)n, to);
    if (good > 0)
        memcpy(to, kernel.in + at, (size_t)good);
    return good;
}

static long grow(size_t count, size_t most)
{
    size_t room = (size_t)kernel.out_offset < kernel.out_cap ? kernel.out_cap - (size_t)kernel.out_offset : 0;
    if (room == 0 && count > 0)
        return -kernel.out_cap_error;
    count = count < room ? count : room;
    return (long)(count < most ? count : most);
}

static void arrive(const unsigned char *bytes, size_t count)
{
    memcpy(kernel.out + kernel.out_offset, bytes, count);
    kernel.out_offset += (off_t)count;
    if ((size_t)kernel.out_offset > kernel.out_size)
        kernel.out_size = (size_t)kernel.out_offset;
}

static long write_out(const unsigned char *bytes, size_t count, size_t most)
{
    long n = grow(count, most);
    n = n > 0 ? take(n, bytes) : n;
    if (n <= 0)
        return n;
    check_bytes(bytes, (size_t)n);
    arrive(bytes, (size_t)n);
    check_kill();
    return n;
}

static long seek(int fd, off_t offset, int whence)
{
    off_t *at = fd == KERNEL_IN ? &kernel.in_offset : &kernel.out_offset;
    MUST(whence == SEEK_CUR ? offset == 0 : whence == SEEK_SET, "a strange lseek");
    if (whence == SEEK_SET && fd == KERNEL_IN) {
        MUST(!kernel.foreign, "the source's offset is somebody else's and was set");
        MUST(offset == kernel.program, "C4: the source's offset is set to %ld, the program is at %ld",
             (long)offset, (long)kernel.program);
    }
    if (whence == SEEK_SET && fd == KERNEL_OUT)
        MUST(offset <= *at && (size_t)offset >= kernel.out_start, "the destination's offset is set to %ld",
             (long)offset);
    if (whence == SEEK_SET)
        *at = offset;
    return *at;
}

/* The source's bytes of this moment become the destination's. */
static long share(long *in_offset, size_t count, size_t most)
{
    size_t from = (size_t)*in_offset;
    if (kernel.no_sharing)
        return -EOPNOTSUPP;
    long n =
        grow(from < kernel.in_size ? count < kernel.in_size - from ? count : kernel.in_size - from : 0, most);
    if (n <= 0)
        return n;
    if (!kernel.lease_breaks) {
        MUST(kernel.leased, "blocks shared without a lease");
        check_bytes(kernel.in + from, (size_t)n);
    }
    arrive(kernel.in + from, (size_t)n);
    if (!kernel.lease_breaks)
        check_kill();
    return n;
}

static long control(long command, long argument)
{
    switch (command) {
    case F_GETLEASE:
        return kernel.leased && !kernel.lease_breaks ? F_RDLCK : F_UNLCK;
    case F_SETLEASE:
        kernel.leased = argument == F_RDLCK;
        kernel.lease_breaks = false;
        return 0;
    case F_SETSIG:
    case F_SETOWN:
        return 0;
    default:
        broken("fcntl %ld", command);
    }
}

static long stat_of(int fd, struct stat *st)
{
    *st = (struct stat){.st_mode = S_IFREG | 0644, .st_ino = (ino_t)fd};
    st->st_size = (off_t)(fd == KERNEL_IN ? kernel.in_size : kernel.out_size);
    return 0;
}

static long space(struct statfs *fs)
{
    size_t used = (size_t)kernel.out_offset < kernel.out_cap ? (size_t)kernel.out_offset : kernel.out_cap;
    *fs = (struct statfs){.f_type = EXT4_SUPER_MAGIC, .f_bsize = 1};
    fs->f_bavail = fs->f_bfree = kernel.out_cap_error == ENOSPC ? kernel.out_cap - used : (size_t)1 << 40;
    return 0;
}

static void foreign_events(long number, const long *a)
{
    bool own_move = number == SYS_lseek && a[0] == KERNEL_IN && a[2] == SEEK_SET;
    if (kernel.foreign_move && !own_move) {
        kernel.foreign_move = false;
        kernel.foreign = true;
        kernel.in_offset = kernel.foreign_to;
    }
    if (kernel.steal_after && --kernel.steal_after == 0 && kernel.leased) {
        size_t before = kernel.in_offset > STOLEN ? (size_t)kernel.in_offset - STOLEN : 0; /* the promise */
        kernel.lease_breaks = true;
        kernel_change(before, STOLEN, kernel.in_size, kernel.now + 7);
    }
}

long xfer_gate_call(long number, long a0, long a1, long a2, long a3, long a4, long a5)
{
    const long a[6] = {a0, a1, a2, a3, a4, a5};
    long result = -ENOSYS;
    size_t most = SIZE_MAX;
    kernel.calls++;
    foreign_events(number, a);
    bool may_fail = number == SYS_read || number == SYS_write || number == SYS_pread64 ||
                    number == SYS_fstatfs || number == SYS_copy_file_range;
    if (may_fail && kernel.fault.times > 0 && kernel.fault.after-- <= 0) {
        kernel.fault.times--;
        if (kernel.fault.error)
            result = -kernel.fault.error;
        most = kernel.fault.error ? 0 : kernel.fault.most;
    }
    if (most == 0 && number != SYS_read && number != SYS_write)
        return result;
    switch (number) {
    case SYS_read:
        if (most)
            result = read_at((void *)a1, (size_t)a2, kernel.in_offset, most);
        kernel.read_made = true;
        kernel.read_result = result;
        if (result > 0)
            kernel.in_offset += result;
        if (result > 0 && !kernel.foreign)
            kernel.program = kernel.in_offset;
        return result;
    case SYS_write:
        MUST(a0 == KERNEL_OUT, "a write to %ld", a0);
        if (most)
            result = write_out((const unsigned char *)a1, (size_t)a2, most);
        if (result < 0)
            kernel.errors_seen[-result / 64] |= (uint64_t)1 << -result % 64;
        return result;
    case SYS_pread64:
        return read_at((void *)a1, (size_t)a2, (off_t)a3, most);
    case SYS_lseek:
        return seek((int)a0, (off_t)a1, (int)a2);
    case SYS_fstat:
        return stat_of((int)a0, (struct stat *)a1);
    case SYS_fstatfs:
        return space((struct statfs *)a1);
    case SYS_fcntl:
        return control(a1, a2);
    case SYS_copy_file_range:
        return share((long *)a1, (size_t)a4, most);
    case SYS_cachestat:
        ((uint64_t *)a2)[1] = kernel.dirty;
        return 0;
    default:
        broken("system call %ld", number);
    }
}
