#include "gain.h"

#include <err.h>
#include <stdlib.h>
#include <string.h>

/* Braces that are no known name stay as they are: programs in Perl are full of them. */
static const char *value_at(const struct places *places, const char *text, size_t *length)
{
    const struct {
        const char *name, *value;
    } known[] = {
        {"{in}", places->in},         {"{out}", places->out},       {"{loop}", places->loop},
        {"{python}", places->python}, {"{folder}", places->folder}, {"{base}", places->base},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
        *length = strlen(known[i].name);
        if (strncmp(text, known[i].name, *length) == 0)
            return known[i].value;
    }
    return NULL;
}

char *places_expand(const struct places *places, const char *text)
{
    char *result = NULL;
    size_t size;
    if (!text)
        return NULL;
    FILE *stream = open_memstream(&result, &size);
    if (!stream)
        err(2, "placeholders");

    while (*text) {
        size_t length;
        const char *value = value_at(places, text, &length);
        if (value) {
            fputs(value, stream);
            text += length;
        } else {
            fputc(*text++, stream);
        }
    }
    if (fclose(stream) != 0)
        err(2, "placeholders");
    return result;
}
