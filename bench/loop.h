/* loop: the read/write loop of a program that nobody can rebuild. */
#ifndef BENCH_LOOP_H
#define BENCH_LOOP_H

#include <stdbool.h>
#include <stddef.h>

struct loop {
    char *buffer;
    size_t chunk;   /* bytes asked for by each read */
    bool transform; /* change one byte of each buffer, so that it is no copy */
    bool third;     /* one more system call in each turn, as a progress display makes */
};

/* What an allocation needs beyond the chunk: a page to align the start, a page for the offset. */
#define LOOP_SPARE (2 * (size_t)4096)

/* The first address in an allocation that is offset bytes (below 4096) after a page boundary. */
char *loop_align(void *start, size_t offset);

/* A buffer of chunk bytes at such an address, in the named part of the address space: heap, static
 * or mmap. Does not return on an unknown name or when there is no memory. */
char *loop_buffer(const char *place, size_t chunk, size_t offset);

/* Gives the process count more mappings than it has; they stay until it exits. */
void loop_mappings(int count);

/* Copies one file, or every regular file directly in a directory. Errors end the process. */
void loop_file(const struct loop *loop, const char *source, const char *destination);
void loop_tree(const struct loop *loop, const char *source, const char *destination);

#endif
