/* Streams of libc on the same open file descriptions, mixed with what is done to the descriptors. */
#include "player.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STREAMS 4
#define BUFFER_MOST 16384

static struct {
    FILE *file;
    int slot;
    char *buffer;
} stream[STREAMS];

static unsigned char bytes[BUFFER_SIZE];

static int done(int index)
{
    say("\n");
    return index + 1;
}

static void let_go(int which)
{
    if (stream[which].file)
        say_result("closed", fclose(stream[which].file));
    free(stream[which].buffer);
    stream[which].file = NULL;
    stream[which].buffer = NULL;
}

static void generate_fopen(struct draw *draw, int *a)
{
    a[0] = draw_below(draw, STREAMS);
    a[1] = a[0] & 1 ? draw_destination(draw) : draw_source(draw);
    a[2] = draw_below(draw, 4);
    a[3] = draw_size(draw, BUFFER_MOST);
    a[4] = draw_chance(draw, 30);
}

/* On a duplicate: the descriptor stays the slot's own. By name is the file's first byte again. */
static int execute_fopen(int index, const int *a)
{
    const char *mode = a[0] & 1 ? (a[4] ? "r+" : "w") : "r";
    let_go(a[0]);
    errno = ERRNO_UNTOUCHED;
    if (a[2] == 0) {
        stream[a[0]].file = fopen(a[0] & 1 ? "d0" : "s0", mode);
    } else {
        int fd = dup(slot[a[1]]);
        stream[a[0]].file = fd < 0 ? NULL : fdopen(fd, mode);
        if (fd >= 0 && !stream[a[0]].file)
            close(fd);
    }
    say_result("open", stream[a[0]].file ? 0 : -1);
    if (stream[a[0]].file && a[2] == 3) {
        stream[a[0]].buffer = malloc(BUFFER_MOST);
        say_result("buffer",
                   setvbuf(stream[a[0]].file, stream[a[0]].buffer, a[4] ? _IONBF : _IOFBF, (size_t)a[3]));
    }
    return done(index);
}

static void generate_stream(struct draw *draw, int *a)
{
    a[0] = draw_below(draw, STREAMS);
    a[1] = draw_below(draw, STREAMS);
    a[2] = draw_size(draw, 9000);
    a[3] = draw_between(draw, 1, 40);
    a[4] = draw_below(draw, 12);
    a[5] = draw_between(draw, -3000, 9000);
}

static bool have(int which, const int *a)
{
    (void)a;
    if (!stream[which].file)
        say(" none");
    return stream[which].file;
}

/* The loop of a program that copies by streams; every now and then something else is done to one of them. */
static int execute_fcopy(int index, const int *a)
{
    uint64_t seen = 1;
    int in = a[0] & ~1, out = a[1] | 1;
    if (!have(in, a) || !have(out, a))
        return done(index);
    for (int i = 0; i < a[3]; i++) {
        size_t n = fread(bytes, 1, (size_t)a[2], stream[in].file);
        seen = digest(seen, bytes, n);
        if (n == 0)
            break;
        size_t put = fwrite(bytes, 1, n, stream[out].file);
        seen = digest(seen, &put, sizeof(put));
        if (i % 7 == 3 && a[4] == 0)
            fputc('p', stream[out].file);
        if (i % 7 == 3 && a[4] == 1)
            ungetc(bytes[n - 1], stream[in].file);
        if (i % 7 == 3 && a[4] == 2)
            fflush(stream[out].file);
        if (i % 7 == 3 && a[4] == 3)
            say(" at %ld", ftell(stream[out].file));
    }
    say(" seen %016llx eof %d errors %d %d", (unsigned long long)seen, feof(stream[in].file),
        ferror(stream[in].file), ferror(stream[out].file));
    return done(index);
}

static int execute_stream(int index, const int *a)
{
    FILE *file = stream[a[0]].file;
    if (!have(a[0], a))
        return done(index);
    errno = ERRNO_UNTOUCHED;
    switch (a[4]) {
    case 0:
        say(" put %d", fputc(a[3], file));
        break;
    case 1:
        say(" got %d", fgetc(file));
        break;
    case 2:
        say(" ungot %d", ungetc(a[3], file));
        break;
    case 3:
        say(" at %ld", ftell(file));
        break;
    case 4:
        say(" seek %d at %ld", fseek(file, a[5], a[3] % 3), ftell(file));
        break;
    case 5:
        say(" flush %d", fflush(file));
        break;
    case 6:
        rewind(file);
        break;
    case 7:
        memset(bytes, a[3], (size_t)a[2]);
        say(" wrote %zu", fwrite(bytes, 1, (size_t)a[2], file));
        break;
    case 8:
        say(" read %zu", fread(bytes, 1, (size_t)a[2], file));
        break;
    case 9:
        say(" printed %d", fprintf(file, "%0*d", a[2] % 600, a[3]));
        break;
    case 10: /* past the stream */
        say(" write %zd", write(fileno(file), "beside", 6));
        break;
    default:
        let_go(a[0]);
        break;
    }
    if (stream[a[0]].file)
        say(" errors %d", ferror(file));
    return done(index);
}

static const struct operation operations[] = {
    {"fopen", 16, "stream %d slot %d how %d buffer %d other %d", generate_fopen, execute_fopen},
    {"fcopy", 24, "%d -> %d chunk %d times %d beside %d", generate_stream, execute_fcopy},
    {"stream", 24, "%d (%d) count %d value %d does %d by %d", generate_stream, execute_stream},
};

const struct table ops_stdio = {operations, sizeof(operations) / sizeof(operations[0])};
