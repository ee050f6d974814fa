/* Copy loops, the thing that is under test. The operation after a copy may run in the middle of it. */
#include "player.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum shape {
    SHAPE_PLAIN,  /* read, write all of it in pieces */
    SHAPE_LAG,    /* a header and data go through blocks, as in an archive */
    SHAPE_TWO,    /* read, read, write, write */
    SHAPE_PART,   /* only the first part of each read is written */
    SHAPE_TWICE,  /* everything is written twice */
    SHAPE_WALK,   /* the buffer is walked through */
    SHAPE_TEE,    /* to two destinations */
    SHAPE_SIDE,   /* every write's bytes are copied elsewhere first */
    SHAPE_MOVING, /* some writes' bytes are copied first, to a new place each time */
    SHAPE_QUEUE,  /* only half of what is read is written at once, the rest later */
    SHAPES,
};
enum transform { TRANSFORM_NONE, TRANSFORM_ONE, TRANSFORM_ALL, TRANSFORM_AFTER, TRANSFORMS };
enum place { PLACE_NEVER, PLACE_AFTER_READ, PLACE_AFTER_WRITE, PLACE_BETWEEN_PIECES };

/* Bytes: a loop may read what it has written. */
#define COPY_MOST 600000
/* One copy's writes: each may wait for a disk. */
#define WRITES_MOST 1500
/* Copies within copies. */
#define DEEPEST 8
#define QUEUE_SIZE (1 << 19)
#define OFFSET_MOST 64
#define HEADER 76
#define EVERY 5 /* one chunk in so many is changed */

struct copy {
    int in, out, other;
    size_t read_size, write_size;
    int pairs, shape, transform, place, at, index, next;
    int by; /* how calls are made: 0 libc, 1 syscall(), 2 the instruction, 3 libc's other names */
    unsigned char *from, *to;
    int reads, writes;
    long got, put, last;
    uint64_t seen;
    bool done; /* the operation in the middle */
    bool over;
};

sigjmp_buf *volatile jump_to;

static long instruction(long number, long a, long b, long c)
{
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    if (result < 0) {
        errno = (int)-result;
        return -1;
    }
    return result;
}

/* What programs call that were compiled with _FORTIFY_SOURCE, and a name that libc has for itself. */
ssize_t __read_chk(int fd, void *buffer, size_t count, size_t room);
ssize_t __write(int fd, const void *buffer, size_t count);

static long call_read(const struct copy *c, void *buffer, size_t count)
{
    if (c->by == 1)
        return syscall(SYS_read, c->in, buffer, count);
    if (c->by == 2)
        return instruction(SYS_read, c->in, (long)buffer, (long)count);
    if (c->by == 3)
        return __read_chk(c->in, buffer, count, count);
    return read(c->in, buffer, count);
}

static long call_write(const struct copy *c, int fd, const void *buffer, size_t count)
{
    if (c->by == 1)
        return syscall(SYS_write, fd, buffer, count);
    if (c->by == 2)
        return instruction(SYS_write, fd, (long)buffer, (long)count);
    if (c->by == 3)
        return __write(fd, buffer, count);
    return write(fd, buffer, count);
}

static void middle(struct copy *c, enum place here)
{
    if (c->done || c->place != (int)here || c->reads < c->at || c->next >= program_length)
        return;
    c->done = true;
    int saved = errno;
    say("\n  in the middle ");
    c->next = run_op(c->next);
    errno = saved;
}

static void saw(struct copy *c, long result, const void *bytes)
{
    long what[2] = {result, result < 0 ? errno : 0};
    c->seen = digest(c->seen, what, sizeof(what));
    if (bytes && result > 0)
        c->seen = digest(c->seen, bytes, (size_t)result);
    if (result >= 0 && errno != ERRNO_UNTOUCHED)
        c->seen = digest(c->seen, "errno", 5);
    if (result <= 0)
        c->over = true;
    c->last = result;
}

static size_t next_read(struct copy *c, unsigned char *buffer)
{
    long n = call_read(c, buffer, c->read_size);
    saw(c, n, buffer);
    c->reads++;
    if (n > 0)
        c->got += n;
    middle(c, PLACE_AFTER_READ);
    return n > 0 ? (size_t)n : 0;
}

static void one_write(struct copy *c, int fd, const unsigned char *bytes, size_t count)
{
    if (c->shape == SHAPE_SIDE) {
        memcpy(c->to, bytes, count);
        bytes = c->to;
    } else if (c->shape == SHAPE_MOVING && c->writes % 3 == 2) {
        unsigned char *moved = c->to + (size_t)c->writes * 997 % (BUFFER_SIZE - count);
        memcpy(moved, bytes, count);
        bytes = moved;
    }
    long n = call_write(c, fd, bytes, count);
    saw(c, n, NULL);
    c->writes++;
    if (n > 0)
        c->put += n;
    if (n != (long)count || c->writes >= WRITES_MOST)
        c->over = true;
}

static void write_pieces(struct copy *c, int fd, unsigned char *bytes, size_t count)
{
    for (size_t at = 0; at < count && !c->over; at += c->write_size) {
        size_t piece = count - at < c->write_size ? count - at : c->write_size;
        one_write(c, fd, bytes + at, piece);
        middle(c, PLACE_BETWEEN_PIECES);
    }
    middle(c, PLACE_AFTER_WRITE);
}

static void change(const struct copy *c, unsigned char *bytes, size_t count)
{
    if (count == 0)
        return;
    if (c->transform == TRANSFORM_ONE && c->reads % EVERY == 0)
        bytes[(size_t)c->reads * 31 % count] ^= 0x55;
    else if (c->transform == TRANSFORM_ALL)
        for (size_t i = 0; i < count; i++)
            bytes[i] ^= 0x20;
}

/* Data goes into blocks of the write's size behind a header; the last block is written as far as it is full.
 */
static void turn_lag(struct copy *c, size_t *used)
{
    size_t n = next_read(c, c->from);
    change(c, c->from, n);
    for (size_t at = 0; at < n && !c->over;) {
        size_t piece = n - at < c->write_size - *used ? n - at : c->write_size - *used;
        memcpy(c->to + *used, c->from + at, piece);
        at += piece;
        *used += piece;
        if (*used == c->write_size) {
            *used = 0;
            one_write(c, c->out, c->to, c->write_size);
            middle(c, PLACE_BETWEEN_PIECES);
        }
    }
    middle(c, PLACE_AFTER_WRITE);
}

static void turn(struct copy *c)
{
    unsigned char *at = c->from;
    if (c->shape == SHAPE_WALK)
        at += (size_t)c->reads * c->read_size % (BUFFER_SIZE - 2 * c->read_size - OFFSET_MOST);
    size_t n = next_read(c, at);
    if (c->shape == SHAPE_TWO && !c->over)
        n += next_read(c, at + n);
    if (n == 0)
        return;
    bool over = c->over;
    c->over = false;
    change(c, at, n);
    if (c->shape == SHAPE_PART)
        n = n / 2 + 1;
    write_pieces(c, c->out, at, n);
    if (c->shape == SHAPE_TWICE && !c->over)
        write_pieces(c, c->out, at, n);
    if (c->shape == SHAPE_TEE && !c->over)
        write_pieces(c, c->other, at, n);
    if (c->transform == TRANSFORM_AFTER)
        memset(at, c->reads, n);
    c->over |= over;
}

static void turn_queue(struct copy *c, size_t *head, size_t *tail)
{
    static unsigned char queue[QUEUE_SIZE];
    if (*tail + c->read_size > QUEUE_SIZE) {
        c->over = true;
    } else {
        size_t n = next_read(c, queue + *tail);
        change(c, queue + *tail, n);
        *tail += n;
    }
    size_t count = c->over ? *tail - *head : (*tail - *head) / 2 + 1;
    bool over = c->over;
    c->over = false;
    if (*head < *tail)
        write_pieces(c, c->out, queue + *head, count);
    *head += count;
    c->over |= over;
}

static void loop(struct copy *c)
{
    size_t head = 0, tail = 0;
    size_t used = 0;
    if (c->shape == SHAPE_LAG) {
        used = HEADER < c->write_size ? HEADER : c->write_size - 1;
        memset(c->to, 'h', used);
    }
    while (c->pairs-- > 0 && !c->over && c->got < COPY_MOST) {
        if (c->shape == SHAPE_LAG)
            turn_lag(c, &used);
        else if (c->shape == SHAPE_QUEUE)
            turn_queue(c, &head, &tail);
        else
            turn(c);
    }
    if (c->shape == SHAPE_LAG && used > 0)
        one_write(c, c->out, c->to, used);
}

static void generate_copy(struct draw *draw, int *a)
{
    a[0] = draw_source(draw);
    a[1] = draw_destination(draw);
    a[2] = draw_destination(draw);
    a[3] = draw_size(draw, 20000);
    a[4] = draw_chance(draw, 60) ? 20000 : draw_size(draw, 20000);
    a[5] = draw_chance(draw, 2) ? 3000 : draw_between(draw, 1, draw_chance(draw, 70) ? 25 : 150);
    a[6] = draw_chance(draw, 60) ? SHAPE_PLAIN : draw_below(draw, SHAPES);
    a[7] = draw_chance(draw, 75) ? TRANSFORM_NONE : draw_below(draw, TRANSFORMS);
    a[8] = draw_buffer(draw);
    a[9] = draw_chance(draw, 70) ? 0 : draw_below(draw, OFFSET_MOST);
    a[10] = draw_chance(draw, 40) ? PLACE_NEVER : draw_between(draw, PLACE_AFTER_READ, PLACE_BETWEEN_PIECES);
    a[11] = draw_between(draw, 2, 12);
    a[12] = draw_chance(draw, 92) ? 0 : draw_between(draw, 1, 3);
    a[13] = draw_chance(draw, 30);
    a[14] = draw_buffer(draw);
    if (a[6] == SHAPE_LAG && a[4] == 20000)
        a[4] = draw_size(draw, 10000) + 1;
}

/* True if a handler has jumped out of it. */
static bool loop_or_jump(struct copy *c)
{
    sigjmp_buf here;
    if (sigsetjmp(here, 1))
        return true;
    errno = ERRNO_UNTOUCHED;
    jump_to = &here;
    loop(c);
    return false;
}

static int execute_copy(int index, const int *a)
{
    unsigned char stack[2][BUFFER_SIZE];
    static struct copy copies[DEEPEST]; /* what has been seen must outlive a jump */
    static volatile int depth;
    sigjmp_buf *outer = jump_to;
    if (depth == DEEPEST)
        return index + 1;
    struct copy *c = &copies[depth++];
    int deep = depth;
    *c = (struct copy){
        .in = slot[a[0]],
        .out = slot[a[1]],
        .other = slot[a[2]],
        .read_size = (size_t)a[3],
        .write_size = (size_t)a[4],
        .pairs = a[5],
        .shape = a[6],
        .transform = a[7],
        .place = a[10],
        .at = a[11],
        .by = a[12],
        .next = index + 1,
        .seen = 1,
    };
    c->from = buffer_get(a[8], stack[0]) + a[9];
    if (a[8] == BUFFER_GUARDED && c->shape == SHAPE_PLAIN)
        c->from += BUFFER_SIZE - a[3] - a[9];
    c->to = buffer_get(a[14] == a[8] ? (a[8] + 1) % BUFFER_FILE : a[14], stack[1]);
    errno = ERRNO_UNTOUCHED;
    if (!a[13])
        loop(c);
    else if (loop_or_jump(c)) {
        say(" jumped out");
        c->last = 0;
        errno = ERRNO_UNTOUCHED;
        if (c->done && c->next == index + 1)
            c->next++; /* it did not come back from the operation in the middle */
    }
    jump_to = outer;
    depth = deep - 1;
    say(" reads=%d got=%ld writes=%d put=%ld seen=%016llx", c->reads, c->got, c->writes, c->put,
        (unsigned long long)c->seen);
    say_result("last", c->last);
    say("\n");
    buffer_release(a[8]);
    buffer_release(a[14]);
    return c->next;
}

void copy_quietly(int in, int out, size_t chunk, int pairs)
{
    static unsigned char bytes[1 << 15];
    for (; pairs > 0; pairs--) {
        ssize_t n = read(in, bytes, chunk);
        if (n <= 0 || write(out, bytes, (size_t)n) != n)
            return;
    }
}

static const struct operation operations[] = {
    {"copy", 300,
     "%d -> %d (other %d) read %d write %d pairs %d shape %d transform %d buffer %d+%d middle %d at %d by %d "
     "jump %d "
     "to %d",
     generate_copy, execute_copy},
};

const struct table ops_copy = {operations, sizeof(operations) / sizeof(operations[0])};
