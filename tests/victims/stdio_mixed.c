/*
 * stdio_mixed ACTION CHUNK: loops by fread/fwrite and by read/write over the same descriptors, with ACTION
 * in between; "any-SEED" picks the actions. A FILE's buffer is the program's own business: nothing may
 * be read, written or moved that plain would not.
 */
#include "victim.h"

#include <stdio_ext.h>

static FILE *source, *sink;
static int in, out;
static char buffer[1 << 16];
static size_t chunk;
static unsigned turn;

static size_t copy_streams(long pairs)
{
    size_t n = 0;
    while (pairs-- > 0 && (n = fread(buffer, 1, chunk, source)) > 0)
        if (fwrite(buffer, 1, n, sink) != n)
            note("fwrite: %d\n", ferror(sink));
    return n;
}

static void by_descriptor(void)
{
    told("descriptor loop", copy_pairs(in, out, buffer, chunk, 9));
}
static void by_descriptor_flushed(void)
{
    told("fflush", fflush(sink));
    told("descriptor loop", copy_pairs(in, out, buffer, chunk, 9));
    told("fseek", fseek(source, 0, SEEK_CUR));
}
static void read_and_fwrite(void)
{
    for (int i = 0; i < 9; i++) {
        ssize_t n = read(in, buffer, chunk);
        if (n > 0)
            note("fwrite %zu\n", fwrite(buffer, 1, (size_t)n, sink));
    }
}
static void fread_and_write(void)
{
    for (int i = 0; i < 9; i++) {
        size_t n = fread(buffer, 1, chunk, source);
        if (n > 0)
            told("write", write(out, buffer, n));
    }
}
static void one_character(void)
{
    int c = fgetc(source);
    note("fgetc %d, fputc %d\n", c, c == EOF ? EOF : fputc(c, sink));
}
static void push_back(void)
{
    note("ungetc %d\n", ungetc('u', source));
}
static void push_back_what_came(void)
{
    int c = fgetc(source);
    if (c != EOF)
        note("ungetc %d\n", ungetc(c, source) == c);
}
static void tell(void)
{
    note("ftell %ld %ld\n", ftell(source), ftell(sink));
}
static void seek_source(void)
{
    note("fseek %d\n", fseek(source, -100, SEEK_CUR));
}
static void seek_sink(void)
{
    note("fseek %d\n", fseek(sink, -50, SEEK_CUR));
}
static void seek_sink_end(void)
{
    note("fseek %d\n", fseek(sink, 0, SEEK_END));
}
static void seek_by_descriptor(void)
{
    told("lseek", lseek(in, -(off_t)chunk, SEEK_CUR));
}
static void rewind_source(void)
{
    if (turn < 4)
        rewind(source);
}
static void print(void)
{
    note("fprintf %d\n", fprintf(sink, "<%u>", turn));
}
static void a_line(void)
{
    char line[200];
    note("fgets %d\n", fgets(line, sizeof line, source) ? (int)(sum(line, strlen(line)) & 0xffff) : -1);
}
static void flush_sink(void)
{
    note("fflush %d\n", fflush(sink));
}
static void flush_source(void)
{
    note("fflush %d\n", fflush(source));
}
static void flush_all(void)
{
    note("fflush %d\n", fflush(NULL));
}
static void flags(void)
{
    note("feof %d, ferror %d\n", feof(source), ferror(sink));
    clearerr(source);
}
static void pending(void)
{
    note("pending %zu\n", __fpending(sink));
}
static void purge(void)
{
    __fpurge(sink);
}
static void reopen_source(void)
{
    if (turn < 4)
        note("freopen %d\n", freopen("in", "r", source) != NULL);
    in = fileno(source);
}
static void reopen_sink(void)
{
    note("freopen %d\n", freopen("out", "r+", sink) != NULL);
    out = fileno(sink);
    note("fseek %d\n", fseek(sink, 0, SEEK_END));
}
static void buffer_none(void)
{
    fflush(sink);
    note("setvbuf %d\n", setvbuf(sink, NULL, _IONBF, 0));
}
static void buffer_own(void)
{
    static char room[3000];
    fflush(sink);
    note("setvbuf %d\n", setvbuf(sink, room, _IOFBF, sizeof room));
}
static void size_by_stat(void)
{
    struct stat status = {0};
    fstat(out, &status);
    note("size %ld\n", (long)status.st_size);
}
static void second_stream(void)
{
    FILE *second = fopen("out", "r");
    size_t n = fread(buffer, 1, sizeof buffer, second);
    note("other sees %zu, sum %08x\n", n, sum(buffer, n));
    fclose(second);
}
static void run_system(void)
{
    note("%d\n", system("wc -c < out"));
}

static const struct {
    const char *name;
    void (*act)(void);
} actions[] = {
#define ACTION(name)                                                                                         \
    {                                                                                                        \
#name, name                                                                                          \
    }
    ACTION(by_descriptor),
    ACTION(by_descriptor_flushed),
    ACTION(read_and_fwrite),
    ACTION(fread_and_write),
    ACTION(one_character),
    ACTION(push_back),
    ACTION(push_back_what_came),
    ACTION(tell),
    ACTION(seek_source),
    ACTION(seek_sink),
    ACTION(seek_sink_end),
    ACTION(seek_by_descriptor),
    ACTION(rewind_source),
    ACTION(print),
    ACTION(a_line),
    ACTION(flush_sink),
    ACTION(flush_source),
    ACTION(flush_all),
    ACTION(flags),
    ACTION(pending),
    ACTION(purge),
    ACTION(reopen_source),
    ACTION(reopen_sink),
    ACTION(buffer_none),
    ACTION(buffer_own),
    ACTION(size_by_stat),
    ACTION(second_stream),
    ACTION(run_system),
#undef ACTION
};
enum { ACTIONS = sizeof actions / sizeof *actions };

int main(int count, char **arguments)
{
    if (count != 3)
        return 99;
    bool any = strncmp(arguments[1], "any-", 4) == 0;
    srandom(any ? (unsigned)atoi(arguments[1] + 4) : 0);
    int action = -1;
    for (int i = 0; i < ACTIONS; i++)
        if (strcmp(actions[i].name, arguments[1]) == 0)
            action = i;
    if (action < 0 && !any)
        return 99;
    chunk = size_argument(arguments[2]);
    source = fopen("in", "r");
    sink = fopen("out", "w+");
    if (!source || !sink)
        must(-1, "fopen");
    in = fileno(source), out = fileno(sink);
    /* A pure descriptor loop first, on streams that have done nothing yet. */
    told("first loop", copy_pairs(in, out, buffer, chunk, 20));
    for (; turn < (any ? 60 : 12); turn++) {
        size_t n = copy_streams(any ? 1 + random() % 20 : 3 << turn);
        if (any)
            action = (int)(random() % ACTIONS);
        note("turn %u, last %zu, %s\n", turn, n, actions[action].name);
        actions[action].act();
        where("then", in, out);
        copy_pairs(in, out, buffer, chunk, random() % 5);
    }
    copy_streams(1000000);
    told("fclose", fclose(source));
    told("fclose", fclose(sink));
    say();
    return 0;
}
