/* A byte string drives a program's loop over a fused stream, and everything around it that may go wrong or
 * otherwise. What the program and the files see must be what a plain loop could have seen; kernel.h holds the
 * half of that which is asked at each system call, this file the half which is asked at each call of the
 * program.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "fuzz.h"
#include "kernel.h"
#include "stream.h"
#include "sys.h"

enum {
    ARENA = 1 << 20,
    SLOT = 1 << 16,
    BAD = 1 << 16,
    HELD_MOST = 1 << 17,
    HEADER = 512,
    SHARED_LARGEST = 1 << 17,
    STEPS_MOST = 200
};

static struct input {
    const uint8_t *at, *end;
} input;

static struct xfer_stream stream;
static unsigned char *arena, *memory;

/* What the program has read and not written yet, and how it reads and writes. */
static unsigned char held[HELD_MOST]; /* from `gone` on */
static size_t gone, have, read_size, write_size;
static unsigned period;
static uint64_t seed;

static bool
    limit_known;      /* the destination's limit is where the stream was told, and nobody else takes space */
static bool straight; /* everything written since the opening was read before, in this order, and all of it */
static bool still;    /* the source has not been changed since the opening */
static struct fuzz_stats stats;

static unsigned byte(void)
{
    return input.at < input.end ? *input.at++ : 0;
}

static unsigned word(void)
{
    unsigned low = byte();
    return low | byte() << 8;
}

static size_t size(void)
{
    static const size_t usual[] = {1,    7,    100,  511,   512,   1000,  4095,
                                   4096, 4097, 8192, 10240, 16384, 32768, 65535};
    unsigned what = byte();
    return what < 192 ? usual[what % 14] : 1 + word() % 20000;
}

/* ---- the session, as the shim drives it ------------------------------------------------------- */

static bool was_met(long error)
{
    return kernel.errors_seen[error / 64] >> error % 64 & 1;
}

static void told_error(long rc, const char *who)
{
    MUST(rc < 0 && rc > -150 && was_met(-rc), "C3: %s returned %ld, which no write has met", who, rc);
}

static void close_stream(void)
{
    if (!xfer_stream_is_open(&stream))
        return;
    int rc = xfer_stream_close(&stream);
    stats.shared += stream.stats.shared;
    MUST((rc == 0) == (xfer_stream_owes(&stream) == 0), "C3: close returned %d, owes %zu", rc,
         xfer_stream_owes(&stream));
    if (rc)
        told_error(rc, "close");
    MUST(!kernel.leased, "C5: a lease is left");
    MUST(kernel.foreign || kernel.in_offset == kernel.program,
         "C2: closed, the source is at %ld, the program at %ld", (long)kernel.in_offset,
         (long)kernel.program);
    if (kernel.foreign)
        kernel.kill_from = kernel.told_size;
    kernel.program = kernel.in_offset;
    kernel.foreign = kernel.foreign_move = false;
    kernel.steal_after = 0;
    kernel_check(xfer_stream_owes(&stream), "closed");
}

static bool settle(void)
{
    close_stream();
    if (xfer_stream_owes(&stream)) {
        int rc = xfer_stream_retry(&stream);
        MUST((rc == 0) == (xfer_stream_owes(&stream) == 0), "retry returned %d", rc);
        if (rc)
            told_error(rc, "retry");
    }
    return xfer_stream_owes(&stream) == 0;
}

static ssize_t program_read(unsigned char *buffer, size_t count)
{
    if (xfer_stream_serve(&stream, buffer, count)) {
        stats.served++;
        return (ssize_t)count;
    }
    if (xfer_stream_is_open(&stream)) {
        ssize_t n = xfer_stream_read(&stream, buffer, count);
        if (stream.ended != XFER_END_NONE) {
            stats.ends[stream.ended]++;
            if (n >= 0 && !kernel.read_made)
                kernel.program += n;
            close_stream();
            if (n >= 0 && !kernel.read_made)
                kernel.program -= n;
        }
        if (n != XFER_STREAM_END)
            return n;
    }
    return XFER_SYS(SYS_read, KERNEL_IN, buffer, count);
}

static ssize_t program_write(const unsigned char *buffer, size_t count)
{
    if (xfer_stream_accept(&stream, buffer, count)) {
        stats.accepted++;
        return (ssize_t)count;
    }
    if (xfer_stream_is_open(&stream)) {
        ssize_t n = xfer_stream_write(&stream, buffer, count);
        if (n != XFER_STREAM_END)
            return n;
        MUST(stream.ended != XFER_END_NONE, "refused a write without an end");
        stats.ends[stream.ended]++;
        close_stream();
    }
    if (xfer_stream_owes(&stream)) {
        int rc = xfer_stream_retry(&stream);
        if (rc < 0)
            return rc;
    }
    return XFER_SYS(SYS_write, KERNEL_OUT, buffer, count);
}

/* ---- what the program does -------------------------------------------------------------------- */

static unsigned char *place(unsigned where, size_t count)
{
    if (where == 255)
        return kernel_bad - count / 2; /* its end is bad; all of it if it is one byte */
    if (where >= 248)
        return arena + where % 4 * SLOT; /* never named, so never proven */
    unsigned char *named = arena + ARENA / 2;
    return where < 128 ? named : where < 200 ? named + where % 7 * SLOT : named + where * 64;
}

/* A byte may be as old as a window may be. */
static bool could_be(size_t at, unsigned char byte_read)
{
    if (at < kernel.in_size && kernel.in[at] == byte_read)
        return true;
    unsigned first = kernel.versions > VERSIONS ? kernel.versions - VERSIONS : 0;
    for (unsigned i = first; i < kernel.versions; i++) {
        const struct version *old = &kernel.version[i % VERSIONS];
        if (old->until + XFER_STREAM_OLDEST_MS >= kernel.now && at < old->size && old->bytes[at] == byte_read)
            return true;
    }
    return false;
}

static void check_read(const unsigned char *buffer, size_t count, size_t from)
{
    if (from + count <= kernel.in_size && memcmp(buffer, kernel.in + from, count) == 0)
        return;
    for (size_t i = 0; i < count; i++)
        MUST(could_be(from + i, buffer[i]), "A8: read of %zu at %zu gave 0x%02x at %zu", count, from,
             buffer[i], i);
}

static void step_read(unsigned where, size_t count)
{
    unsigned char *buffer = place(where, count);
    off_t from = kernel.program;
    if (have + count > HELD_MOST)
        return;
    if (gone + have + count > HELD_MOST) {
        memmove(held, held + gone, have);
        gone = 0;
    }
    kernel.read_made = false;
    if (!xfer_stream_is_open(&stream))
        kernel.versions = 0;
    ssize_t n = program_read(buffer, count);
    if (kernel.read_made) {
        MUST(n == kernel.read_result, "read of %zu gave %zd, the kernel %ld", count, n, kernel.read_result);
        from = kernel.in_offset - (n > 0 ? n : 0);
        check_read(buffer, (size_t)(n > 0 ? n : 0), (size_t)from);
    } else {
        MUST(n == (ssize_t)count, "A17: read of %zu at %ld gave %zd", count, (long)from, n);
        check_read(buffer, (size_t)n, (size_t)from);
        if (xfer_stream_is_open(&stream) || !kernel.foreign)
            kernel.program = from + n;
    }
    if (n > 0) {
        memcpy(held + gone + have, buffer, (size_t)n);
        have += (size_t)n;
    }
}

/* Nothing is deferred where the destination could not take it, or when nothing may follow that could tell of
 * it. */
static void check_promise(size_t owed)
{
    if (!xfer_stream_is_open(&stream))
        return;
    MUST(!limit_known || owed == 0 || (size_t)kernel.out_offset + owed <= kernel.out_cap,
         "C3: %zu bytes are promised, there is room for %zu", owed,
         kernel.out_cap - (size_t)kernel.out_offset);
    /* Bytes that repeat have more places than one, so that a lag may be seen where none is. */
    if (period == 0 && straight && still && !kernel.foreign && have == 0 && stream.started &&
        (size_t)kernel.program + stream.read_last > kernel.in_size)
        MUST(owed == 0, "C3: %zu bytes are promised, the source ends before the next read", owed);
}

static void step_write(unsigned where, size_t count, unsigned change)
{
    unsigned char header[HEADER];
    if (change == 2)
        kernel_bytes(header, count = count < HEADER ? count : HEADER, 0, kernel.now, 0);
    else if (count > have)
        count = have;
    if (count == 0 || kernel.told_size + count > OUT_MOST - kernel.out_start)
        return;
    unsigned char *buffer = place(where, count);
    size_t good = buffer + count > kernel_bad ? (size_t)(kernel_bad - buffer) : count;
    memcpy(buffer, change == 2 ? header : held + gone, good);
    if (change == 1 && good)
        buffer[word() % good] ^= 1 + byte() % 255;
    straight = straight && !change;
    kernel.writing = buffer;
    kernel.writing_size = count;
    ssize_t n = program_write(buffer, count);
    kernel.writing_size = 0;
    if (n < 0) {
        told_error(n, "write");
        n = 0;
    }
    MUST(n <= (ssize_t)count, "write of %zu gave %zd", count, n);
    memcpy(kernel.told + kernel.told_size, buffer, (size_t)n);
    for (ssize_t i = 0; i < n; i++)
        kernel.told_at[kernel.told_size + (size_t)i] = kernel.program;
    kernel.told_size += (size_t)n;
    if (change != 2) {
        have -= (size_t)n;
        gone += (size_t)n;
    }
    if (xfer_stream_is_open(&stream) && stream.ended != XFER_END_NONE) {
        stats.ends[stream.ended]++;
        close_stream();
    }
    check_promise(xfer_stream_owes(&stream));
}

static void open_stream(void)
{
    if (!settle())
        return;
    unsigned how = byte();
    size_t largest = read_size > write_size ? read_size : write_size;
    struct xfer_stream_setup setup = {
        .in = KERNEL_IN,
        .out = KERNEL_OUT,
        .in_offset = kernel.in_offset,
        .out_limit = kernel.out_cap_error == EFBIG ? (off_t)kernel.out_cap : -1,
        .fill_first = (size_t)4096 << how % 3,
        .fill_largest = (size_t)16384 << how / 4 % 3,
        .read_last = read_size,
        .write_last = write_size,
        .engine = &xfer_engine_write,
    };
    setup.free_least = XFER_STREAM_MARGIN_WINDOWS * (how & 64 ? 1024 : setup.fill_largest);
    if (how & 16) {
        setup.share = (struct xfer_share){.on = true, .leased = true, .block = KERNEL_BLOCK};
        setup.unshared_largest = how & 32 ? 0 : 16384;
        setup.fill_largest = SHARED_LARGEST;
        kernel.leased = true;
        kernel.lease_breaks = false;
    }
    setup.capacity = setup.fill_largest + 4 * largest;
    free(memory);
    setup.memory = memory = malloc(setup.capacity);
    xfer_proof_clear(&stream.proof);
    xfer_proof_allow(&stream.proof, (uintptr_t)arena + ARENA / 2, (uintptr_t)arena + ARENA);
    xfer_stream_open(&stream, &setup);
    straight = still = true;
    have = how & 128 ? 0 : have;
    straight = have == 0;
    limit_known = limit_known && setup.free_least >= XFER_STREAM_MARGIN_WINDOWS * setup.fill_largest;
    stats.opened++;
}

static void change_source(void)
{
    size_t at = word() * 4u % (kernel.in_size + 1), count = word(), to = kernel.in_size;
    unsigned who = byte();
    if (who & 16)
        to = word() * 4u % SOURCE_MOST;
    if (!(who & 3)) { /* the program itself, by a system call */
        close_stream();
        kernel_change(at, count, to, kernel.now + who);
        kernel.versions = 0;
        return;
    }
    if (kernel.leased && (who & 32)) { /* it waits for the lease until the kernel takes that away */
        kernel.steal_after = 1 + who % 8;
        still = false;
        return;
    }
    if (kernel.leased) { /* it waits until the session has ended by the signal */
        stream.ended = XFER_END_LEASE;
        close_stream();
    }
    kernel_change(at, count, to, kernel.now + who);
    still = false;
}

static void set_fault(void)
{
    static const int errors[] = {EIO,   ENOSPC, EDQUOT, EINTR, EAGAIN,    EPIPE,
                                 EFBIG, EPERM,  ENOMEM, EXDEV, EOPNOTSUPP};
    static const size_t counts[] = {1, 7, 4095, 4096, 5000, 36864};
    unsigned what = byte();
    kernel.fault.after = what % 5;
    kernel.fault.times = 1 + (what / 5) % (what & 1 ? 40 : 3);
    what = byte();
    kernel.fault.error = what & 1 ? errors[what / 2 % 11] : 0;
    kernel.fault.most = counts[what / 2 % 6];
}

static void seek_source(void)
{
    settle();
    kernel.kill_from = kernel.told_size;
    kernel.in_offset = kernel.program = word() * 4u % (kernel.in_size + 1);
    have = byte() & 1 ? 0 : have;
}

/* A stretch of the loop that all this is about. */
static void stretch(void)
{
    unsigned from = byte(), to = byte(), turns = 1 + byte() % 32;
    if (!xfer_stream_is_open(&stream) && turns % 4)
        open_stream();
    for (unsigned i = 0; i < turns; i++) {
        step_read(from, read_size);
        for (unsigned writes = 0; have >= write_size && writes < 16; writes++)
            step_write(to, write_size, 0);
    }
}

static void step(void)
{
    unsigned what = byte();
    if (what < 70) {
        step_read(byte(), what % 10 ? read_size : size());
    } else if (what < 140) {
        step_write(byte(), what % 10 ? write_size : size(), 0);
    } else if (what < 180) {
        stretch();
    } else if (what < 184) {
        step_write(byte(), write_size, 1 + what % 2);
    } else if (what < 200) {
        kernel.now += byte();
    } else if (what < 212) {
        open_stream();
    } else if (what < 216) {
        settle();
    } else if (what < 222) {
        change_source();
    } else if (what < 230) {
        set_fault();
    } else if (what < 234) {
        kernel.foreign_move = xfer_stream_is_open(&stream) && !kernel.foreign;
        kernel.foreign_to = kernel.in_offset + 1 + (off_t)word();
    } else if (what < 238) {
        seek_source();
    } else if (what < 242) {
        straight = false;
        have = 0;
    } else if (what < 248) {
        read_size = size();
        write_size = byte() & 1 ? size() : read_size;
    } else if (what < 250) {
        kernel.dirty = byte() & 1;
        kernel.no_sharing = (byte() & 7) == 7;
    } else if (what < 252) { /* somebody else takes the space, or gives it back */
        limit_known = false;
        kernel.out_cap = byte() & 1 ? NO_CAP : (size_t)kernel.out_offset + word() % 40000;
    } else if (what > 252) { /* a lease that is lost in the middle of the loop, or an offset that moves */
        kernel.steal_after = kernel.leased ? 1 + (int)(byte() % 16) : 0;
        still = still && !kernel.steal_after;
        stretch();
    } else if (what == 252 && xfer_stream_is_open(&stream)) { /* any other call of the program */
        stream.ended = XFER_END_CALL;
        close_stream();
    }
    kernel_check(xfer_stream_owes(&stream), "a step");
}

/* ---- from the beginning to the end ------------------------------------------------------------- */

static void begin(void)
{
    if (!arena) {
        arena = mmap(NULL, ARENA + BAD, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        kernel_bad = arena + ARENA;
        kernel_bad_size = BAD;
        if (arena == MAP_FAILED || mprotect(kernel_bad, BAD, PROT_NONE) != 0)
            abort();
    }
    kernel_reset();
    seed = byte();
    unsigned what = byte();
    period = seed < 160 ? 0 : seed < 192 ? 1 : seed < 224 ? 512 : 3;
    kernel.in_size = (size_t)word() * 4;
    kernel_bytes(kernel.in, kernel.in_size, 0, seed, period);
    kernel.in_offset = kernel.program = what & 1 ? word() % 20000 : 0;
    kernel.out_start = what & 2 ? word() : what & 4 ? 40960 : 0;
    kernel.out_size = what & 8 ? OUT_MOST / 2 : kernel.out_start;
    kernel.out_cap_error = what & 16 ? EFBIG : ENOSPC;
    kernel.out_cap = what & 32 ? kernel.out_start + (size_t)word() * 16 : NO_CAP;
    kernel.out_offset = (off_t)kernel.out_start;
    kernel_bytes(kernel.out, kernel.out_size, 0, 77, 0);
    limit_known = true;
    read_size = size();
    write_size = what & 64 ? size() : read_size;
    have = 0;
    stream = (struct xfer_stream){0};
    open_stream();
}

static void finish(void)
{
    kernel.fault.times = 0;
    kernel.out_cap = NO_CAP;
    MUST(settle(), "nothing fails any more, and yet %zu bytes are owed", xfer_stream_owes(&stream));
    kernel.checked = 0;
    kernel_check(0, "the end");
    unsigned char old[4096];
    for (size_t at = (size_t)kernel.out_offset; at < kernel.out_size && kernel.out_size == OUT_MOST / 2;) {
        size_t n = kernel.out_size - at < sizeof(old) ? kernel.out_size - at : sizeof(old);
        kernel_bytes(old, n, at, 77, 0);
        MUST(memcmp(old, kernel.out + at, n) == 0, "A10: old bytes behind %zu are changed", at);
        at += n;
    }
    free(memory);
    memory = NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t count)
{
    input = (struct input){data, data + count};
    begin();
    for (int steps = 0; input.at < input.end && steps < STEPS_MOST; steps++)
        step();
    finish();
    stats.runs++;
    stats.bytes += kernel.told_size;
    return 0;
}

const struct fuzz_stats *fuzz_stats(void)
{
    return &stats;
}
