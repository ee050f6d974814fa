#include "player.h"

#include <stdio.h>
#include <string.h>

struct op program[OPS_MOST];
int program_length;

static const struct table *const tables[] = {&ops_copy,    &ops_descriptor, &ops_memory,
                                             &ops_outside, &ops_process,    &ops_race,
                                             &ops_signal,  &ops_stdio,      &ops_thread};
#define TABLES (sizeof(tables) / sizeof(tables[0]))

/* splitmix64 */
static uint64_t next(struct draw *draw)
{
    uint64_t z = draw->state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

int draw_below(struct draw *draw, int n)
{
    return (int)(next(draw) % (uint64_t)n);
}

int draw_between(struct draw *draw, int low, int high)
{
    return low + draw_below(draw, high - low + 1);
}

bool draw_chance(struct draw *draw, int percent)
{
    return draw_below(draw, 100) < percent;
}

int draw_size(struct draw *draw, int most)
{
    int size;
    switch (draw_below(draw, 4)) {
    case 0:
        size = 1 << draw_below(draw, 16);
        break;
    case 1:
        size = (1 << draw_between(draw, 4, 15)) + draw_between(draw, -3, 3);
        break;
    case 2:
        size = draw_between(draw, 1, 600);
        break;
    default:
        size = draw_between(draw, 1, most);
        break;
    }
    return size > most ? draw_between(draw, 1, most) : size;
}

int draw_slot(struct draw *draw)
{
    return draw_below(draw, SLOTS);
}

int draw_source(struct draw *draw)
{
    if (draw_chance(draw, 5))
        return draw_slot(draw);
    return draw_chance(draw, 60) ? 0 : draw_below(draw, SLOT_DESTINATIONS);
}

int draw_destination(struct draw *draw)
{
    if (draw_chance(draw, 5))
        return draw_slot(draw);
    return SLOT_DESTINATIONS + (draw_chance(draw, 60) ? 0 : draw_below(draw, SLOT_PIPES - SLOT_DESTINATIONS));
}

void draw_fill(uint64_t seed, unsigned char *bytes, size_t count)
{
    struct draw draw = {seed};
    for (size_t i = 0; i < count; i += sizeof(uint64_t)) {
        uint64_t word = next(&draw);
        memcpy(bytes + i, &word, count - i < sizeof(word) ? count - i : sizeof(word));
    }
}

static const struct operation *find(const char *name)
{
    for (size_t t = 0; t < TABLES; t++)
        for (size_t i = 0; i < tables[t]->count; i++)
            if (!strcmp(tables[t]->operations[i].name, name))
                return &tables[t]->operations[i];
    return NULL;
}

static const struct operation *choose(struct draw *draw)
{
    unsigned sum = 0;
    for (size_t t = 0; t < TABLES; t++)
        for (size_t i = 0; i < tables[t]->count; i++)
            sum += tables[t]->operations[i].weight;
    unsigned at = (unsigned)draw_below(draw, (int)sum);
    for (size_t t = 0; t < TABLES; t++) {
        for (size_t i = 0; i < tables[t]->count; i++) {
            if (at < tables[t]->operations[i].weight)
                return &tables[t]->operations[i];
            at -= tables[t]->operations[i].weight;
        }
    }
    return NULL;
}

/* Programs start with sources and destinations open and a copy; the rest is drawn. Each operation draws from
 * a seed of its own, so that an operation's arguments do not depend on the others.
 */
void program_make(uint64_t seed)
{
    struct draw whole = {seed * 1000003};
    program_length = draw_between(&whole, OPENED + 2, draw_chance(&whole, 20) ? OPS_MOST : OPENED + 18);
    for (int i = 0; i < program_length; i++) {
        struct draw draw = {seed * 1000003 + (uint64_t)(i + 1) * 7919};
        struct op *op = &program[i];
        op->kind = i < OPENED ? find("open") : i == OPENED ? find("copy") : choose(&draw);
        op->kind->generate(&draw, op->a);
        if (i < OPENED) {
            op->a[0] = op->a[1] = i;
            if (i == OPENED - 1 && draw_chance(&draw, 40))
                op->a[1] = FILES - 1;
            if (i < SLOT_DESTINATIONS)
                op->a[2] = 0;
            else if (i < OPENED - 1)
                op->a[2] = draw_between(&draw, 1, 2);
        }
    }
}

void program_print(void)
{
    for (int i = 0; i < program_length; i++) {
        const struct op *op = &program[i];
        const int *a = op->a;
        if (op->skipped)
            continue;
        printf("%3d %s ", i, op->kind->name);
        printf(op->kind->shows, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11],
               a[12], a[13], a[14], a[15]);
        printf("\n");
    }
}
