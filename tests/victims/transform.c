/* transform HOW CHUNK: a loop that writes something else, or from elsewhere, than it read. */
#include "victim.h"

#include <ctype.h>

static char buffer[1 << 16], elsewhere[1 << 17];

static size_t upper(size_t n, long turn)
{
    (void)turn;
    for (size_t i = 0; i < n; i++)
        buffer[i] = (char)toupper((unsigned char)buffer[i]);
    return n;
}

static size_t invert(size_t n, long turn)
{
    (void)turn;
    for (size_t i = 0; i < n; i++)
        buffer[i] = (char)~buffer[i];
    return n;
}

static size_t swap(size_t n, long turn)
{
    (void)turn;
    for (size_t i = 0; i + 1 < n; i += 2) {
        char kept = buffer[i];
        buffer[i] = buffer[i + 1];
        buffer[i + 1] = kept;
    }
    return n;
}

static size_t first_byte(size_t n, long turn)
{
    (void)turn;
    buffer[0] ^= 1;
    return n;
}

static size_t last_byte(size_t n, long turn)
{
    (void)turn;
    buffer[n - 1] ^= 1;
    return n;
}

static size_t one_in_a_thousand(size_t n, long turn)
{
    if (turn % 1000 == 777)
        buffer[(size_t)turn % n] ^= 0x40;
    return n;
}

static size_t one_in_ten(size_t n, long turn)
{
    if (turn % 10 == 7)
        buffer[(size_t)turn % n] ^= 0x40;
    return n;
}

static size_t line_ends(size_t n, long turn)
{
    (void)turn;
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        if (buffer[i] == '\n')
            elsewhere[used++] = '\r';
        elsewhere[used++] = buffer[i];
    }
    memcpy(buffer, elsewhere, used < sizeof buffer ? used : sizeof buffer);
    return used < sizeof buffer ? used : sizeof buffer;
}

static size_t drop_zeros(size_t n, long turn)
{
    (void)turn;
    size_t used = 0;
    for (size_t i = 0; i < n; i++)
        if (buffer[i] & 15)
            buffer[used++] = buffer[i];
    return used;
}

static size_t same(size_t n, long turn)
{
    (void)turn;
    return n;
}

static const struct {
    const char *name;
    size_t (*change)(size_t, long);
} ways[] = {
    {"upper", upper},
    {"invert", invert},
    {"swap", swap},
    {"first-byte", first_byte},
    {"last-byte", last_byte},
    {"one-in-a-thousand", one_in_a_thousand},
    {"one-in-ten", one_in_ten},
    {"line-ends", line_ends},
    {"drop", drop_zeros},
    {"moved", same},
    {"one-behind", same},
};

int main(int count, char **arguments)
{
    if (count != 3)
        return 99;
    const char *name = arguments[1];
    size_t chunk = size_argument(arguments[2]);
    size_t (*change)(size_t, long) = NULL;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (strcmp(ways[i].name, name) == 0)
            change = ways[i].change;
    if (!change)
        return 99;
    bool moved = strcmp(name, "moved") == 0, behind = strcmp(name, "one-behind") == 0;
    int in = (int)must(open("in", O_RDONLY), "in");
    int out = (int)must(open("out", O_WRONLY | O_CREAT | O_TRUNC, 0666), "out");
    uint32_t passed = 2166136261u;
    size_t kept = 0;
    long turn = 0;
    for (ssize_t n; (n = read(in, buffer, chunk)) > 0; turn++) {
        size_t size = change((size_t)n, turn);
        char *from = buffer;
        /* Java and Python hand over another buffer than they read into. */
        if (moved)
            from = memcpy(elsewhere + turn % 1000, buffer, size);
        if (behind) {
            /* A double buffer: the piece before this one is written now. */
            static char last[1 << 16];
            size_t now = kept;
            memcpy(elsewhere, last, now);
            memcpy(last, buffer, size);
            kept = size;
            from = elsewhere, size = now;
        }
        for (size_t i = 0; i < size; i++)
            passed = (passed ^ (unsigned char)from[i]) * 16777619u;
        ssize_t written = write(out, from, size);
        if (written != (ssize_t)size)
            told("write", written);
    }
    where("end", in, out);
    note("%ld turns, passed to write: %08x\n", turn, passed);
    say();
    return 0;
}
