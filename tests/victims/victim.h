/*
 * What the small programs here share. Each does one thing a real program might do in the middle of a
 * copy loop, and keeps a transcript of everything it was told; the tests compare the transcript of a
 * plain run with that of a run under the shim. The transcript stays in memory until say(), because a
 * system call made to write it down would end the very situation that is looked at.
 */
#ifndef VICTIM_H
#define VICTIM_H

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static char victim_notes[4 << 20];
static size_t victim_used;

/* A line of the transcript. Formatting to memory makes no system call. */
static inline void __attribute__((format(printf, 1, 2))) note(const char *format, ...)
{
    int saved = errno;
    va_list arguments;
    va_start(arguments, format);
    size_t room = sizeof victim_notes - victim_used;
    int length = vsnprintf(victim_notes + victim_used, room, format, arguments);
    va_end(arguments);
    if (length > 0 && (size_t)length < room)
        victim_used += (size_t)length;
    errno = saved;
}

/* Writes the transcript to standard output. */
static inline void say(void)
{
    for (size_t done = 0; done < victim_used;) {
        ssize_t n = write(1, victim_notes + done, victim_used - done);
        if (n <= 0)
            _exit(98);
        done += (size_t)n;
    }
    victim_used = 0;
}

/* For what has to work: the result, or exit 99 with a message. */
static inline long must(long result, const char *what)
{
    if (result < 0) {
        dprintf(2, "%s: %s\n", what, strerror(errno));
        _exit(99);
    }
    return result;
}

/* A system call that no list of interposed functions can see. */
static inline long bare(long number, long a, long b, long c)
{
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return result;
}

static inline uint32_t sum(const void *bytes, size_t size)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ ((const unsigned char *)bytes)[i]) * 16777619u;
    return hash;
}

/* Result and error of a call. */
static inline void told(const char *what, long result)
{
    if (result < 0)
        note("%s: %ld %s\n", what, result, strerrorname_np(errno));
    else
        note("%s: %ld\n", what, result);
}

/* Where both offsets are and how long the destination is, for the kernel. */
static inline void where(const char *what, int in, int out)
{
    struct stat status = {0};
    bare(SYS_fstat, out, (long)&status, 0);
    note("%s: in at %ld, out at %ld of %ld\n", what, bare(SYS_lseek, in, 0, SEEK_CUR),
         bare(SYS_lseek, out, 0, SEEK_CUR), (long)status.st_size);
}

/* PAIRS turns of the loop (or to the end, -1); returns the bytes of the last read, so 0 at the end. */
static inline ssize_t copy_pairs(int in, int out, char *buffer, size_t chunk, long pairs)
{
    ssize_t n = 1;
    while (pairs-- != 0) {
        n = read(in, buffer, chunk);
        if (n <= 0)
            return n;
        for (ssize_t done = 0; done < n;) {
            ssize_t written = write(out, buffer + done, (size_t)(n - done));
            if (written <= 0) {
                told("write", written);
                return -1;
            }
            done += written;
        }
    }
    return n;
}

static inline size_t size_argument(const char *argument)
{
    return (size_t)strtoull(argument, NULL, 10);
}

#endif
