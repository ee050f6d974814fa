#include "text.h"

static void put(struct text *text, char c)
{
    if (text->length < text->size)
        text->bytes[text->length++] = c;
}

void text_put(struct text *text, const char *string)
{
    while (*string)
        put(text, *string++);
}

void text_number(struct text *text, uint64_t number)
{
    char digits[24], *d = digits + sizeof(digits) - 1;
    *d = '\0';
    do
        *--d = (char)('0' + number % 10);
    while (number /= 10);
    text_put(text, d);
}

void text_quoted(struct text *text, const char *string)
{
    static const char hex[] = "0123456789abcdef";
    put(text, '"');
    for (const unsigned char *c = (const unsigned char *)string; *c; c++) {
        if (*c == '"' || *c == '\\')
            put(text, '\\');
        if (*c >= ' ') {
            put(text, (char)*c);
        } else {
            text_put(text, "\\u00");
            put(text, hex[*c >> 4]);
            put(text, hex[*c & 15]);
        }
    }
    put(text, '"');
}
