/* What may be left of a copy that died: what plain could have left a moment earlier (C4). */
#include "kill.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MESSAGE_SIZE 400
#define BLOCK_LEAST 512

static const char *__attribute__((format(printf, 1, 2))) wrong(const char *format, ...)
{
    static char message[MESSAGE_SIZE];
    va_list list;
    va_start(list, format);
    vsnprintf(message, sizeof message, format, list);
    va_end(list);
    return message;
}

/* Bytes of the copier's in the destination. */
static off_t written(const struct death *death, const struct shape *shape, const struct place *place)
{
    off_t ahead = (off_t)place->ahead;
    return (shape->append ? death->size : death->out) - ahead;
}

off_t gap(const struct death *death, const struct shape *shape, const struct place *place)
{
    return death->in + (off_t)shape->head - written(death, shape, place);
}

off_t own(const struct shape *shape)
{
    bool lag = shape->block != shape->chunk || shape->head;
    return (off_t)(shape->chunk + (lag ? shape->block : 0));
}

static unsigned char *read_all(int fd, off_t size)
{
    unsigned char *bytes = malloc((size_t)size + 1);
    if (!bytes || pread(fd, bytes, (size_t)size, 0) != size)
        die("reading what was left");
    return bytes;
}

/* The first place where `bytes` differ from what the destination holds after `count` bytes of the copier's.
 */
static off_t differs(const unsigned char *bytes, off_t size, off_t count, const struct shape *shape,
                     const struct place *place)
{
    off_t ahead = (off_t)place->ahead, head = (off_t)shape->head, at = 0;
    for (; at < ahead && at < size; at++)
        if (bytes[at] != old_byte((size_t)at))
            return at;
    for (; at < ahead + head && at < ahead + count; at++)
        if (bytes[at] != 'h')
            return at;
    off_t end = ahead + count;
    if (at < end && memcmp(bytes + at, source_bytes() + at - ahead - head, (size_t)(end - at)) != 0) {
        while (bytes[at] == source_bytes()[at - ahead - head])
            at++;
        return at;
    }
    for (at = end > at ? end : at; at < size; at++)
        if (bytes[at] != old_byte((size_t)at))
            return at;
    return -1;
}

/* What there is instead: of the copy, of what was there before, or neither. */
static const char *what_is(const unsigned char *bytes, off_t at, off_t size, const struct shape *shape,
                           const struct place *place)
{
    enum { ENOUGH = 16 };
    bool copied = true, kept = true, zero = true;
    for (off_t end = at + ENOUGH < size ? at + ENOUGH : size; at < end; at++) {
        size_t of_copy = (size_t)at - place->ahead; /* far too large before the copy's first */
        copied = copied && of_copy < expected_size(shape) && bytes[at] == expected_byte(shape, of_copy);
        kept = kept && bytes[at] == old_byte((size_t)at);
        zero = zero && bytes[at] == 0;
    }
    if (copied)
        return "what the copy will have there";
    if (kept)
        return "old content";
    return zero ? "zero" : "nonsense";
}

/*
 * XFS and btrfs look for a fatal signal after they have shared an extent and before they count it
 * (xfs_reflink_remap_blocks()), so a copy_file_range that is killed leaves shared blocks
 * behind the offset. Then the destination is a longer prefix than its offset says. Nothing else may.
 */
static bool may_reach_beyond(const struct death *death, const struct shape *shape, const struct place *place,
                             const struct cut *cut)
{
    if (!place->shares || shape->append || death->status == 0)
        return false;
    return cut->timed || (death->call == CALL_RANGE && cut->signal != SIGKILL);
}

/* How far the copy's bytes reach behind the offset, at most to where the source's is. Blocks are shared
 * whole: less than that is old content that happens to be the same. */
static off_t reach(const unsigned char *bytes, const struct death *death, const struct shape *shape,
                   const struct place *place)
{
    off_t ahead = (off_t)place->ahead, at = death->out;
    off_t end = ahead + (off_t)shape->head + death->in;
    while (at < end && at < death->size && bytes[at] == expected_byte(shape, (size_t)(at - ahead)))
        at++;
    return at - death->out < BLOCK_LEAST ? 0 : at - death->out;
}

static const char *judge_bytes(struct death *death, const struct ends *ends, const struct shape *shape,
                               const struct place *place, const struct cut *cut)
{
    off_t count = written(death, shape, place), old = (off_t)old_size(shape, place);
    if (count < 0 || count > (off_t)expected_size(shape))
        return wrong("the destination's offset is %ld", (long)death->out);
    if (shape->append && count > 0 && death->out != death->size)
        return wrong("the destination has %ld bytes, its offset is %ld: appended behind", (long)death->size,
                     (long)death->out);
    unsigned char *bytes = read_all(ends->out, death->size);
    if (may_reach_beyond(death, shape, place, cut))
        death->beyond = reach(bytes, death, shape, place);
    count += death->beyond;
    off_t end = (off_t)place->ahead + count, expected = end > old ? end : old;
    off_t at = differs(bytes, death->size, count, shape, place);
    const char *trouble = NULL;
    if (death->size != expected)
        trouble =
            wrong("the destination has %ld bytes, its offset is %ld", (long)death->size, (long)death->out);
    else if (at >= 0)
        trouble =
            wrong("byte %ld of %ld, the copier's offset is %ld: %s is not what plain leaves there", (long)at,
                  (long)death->size, (long)death->out, what_is(bytes, at, death->size, shape, place));
    free(bytes);
    return trouble;
}

static const char *judge_offsets(const struct death *death, const struct shape *shape,
                                 const struct place *place, const struct cut *cut)
{
    off_t apart = gap(death, shape, place), count = written(death, shape, place);
    if (death->in % (off_t)shape->chunk != 0 && death->in != (off_t)shape->size)
        return wrong("the source is at %ld, in the middle of a read", (long)death->in);
    if (apart < 0)
        return wrong("the source is %ld bytes behind the destination, which has %ld", (long)-apart,
                     (long)count);
    if (apart > (off_t)place->promise + own(shape))
        return wrong("the source is %ld bytes ahead of the destination, which has %ld: more than a promise",
                     (long)apart, (long)count);
    if (cut->timed || !death->found)
        return NULL;
    if (!death->flushing && apart > own(shape))
        return wrong("the source is %ld bytes ahead of the destination, and nothing is being flushed",
                     (long)apart);
    /* A call is made whole or not at all, so no write of the program is torn. Shared blocks are as if plain's
     * write had been killed between two pages. */
    if (!place->shares && count % (off_t)shape->block != 0 && count != (off_t)expected_size(shape))
        return wrong("the destination has %ld bytes of the copier's: a torn write", (long)count);
    return NULL;
}

static const char *judge_status(const struct death *death, const struct shape *shape, const struct cut *cut)
{
    if (WIFSIGNALED(death->status) && WTERMSIG(death->status) == cut->signal)
        return NULL;
    if (death->status != 0 || death->found)
        return wrong("it ended with status %#x", (unsigned)death->status);
    if (death->in != (off_t)shape->size)
        return wrong("it ended well, with the source at %ld", (long)death->in);
    return NULL;
}

const char *judge(struct death *death, const struct ends *ends, const struct shape *shape,
                  const struct place *place, const struct cut *cut)
{
    const char *trouble = judge_status(death, shape, cut);
    if (!trouble)
        trouble = judge_bytes(death, ends, shape, place, cut);
    if (!trouble)
        trouble = judge_offsets(death, shape, place, cut);
    if (!trouble && death->status == 0 && written(death, shape, place) != (off_t)expected_size(shape))
        trouble = wrong("it ended well, with %ld bytes written", (long)written(death, shape, place));
    return trouble;
}

const char *judge_survivor(const struct death *death, const struct ends *ends, const struct shape *shape,
                           const struct place *place)
{
    off_t end = (off_t)place->ahead + written(death, shape, place);
    off_t rest = (off_t)shape->size - death->in, size = lseek(ends->out, 0, SEEK_CUR);
    if (!death->beyond && lseek(ends->out, 0, SEEK_END) != size)
        return wrong("there are bytes behind those of the survivor, which ended at %ld", (long)size);
    if (size != end + rest)
        return wrong("the survivor came to %ld with %ld bytes to add to %ld", (long)size, (long)rest,
                     (long)end);
    unsigned char *bytes = read_all(ends->out, size);
    off_t at = differs(bytes, end, written(death, shape, place), shape, place);
    bool same = at < 0 && memcmp(bytes + end, source_bytes() + death->in, (size_t)rest) == 0;
    free(bytes);
    return same ? NULL
                : wrong("what the survivor has added to %ld is not the rest from %ld", (long)end,
                        (long)death->in);
}
