/* A buffer that text is put into, without allocation or libc's formatting. What does not fit is dropped. */
#ifndef SHIM_TEXT_H
#define SHIM_TEXT_H

#include <stddef.h>
#include <stdint.h>

struct text {
    char *bytes;
    size_t size, length;
};

void text_put(struct text *text, const char *string);
void text_number(struct text *text, uint64_t number);

/* In double quotes, escaped as JSON wants it. */
void text_quoted(struct text *text, const char *string);

#endif
