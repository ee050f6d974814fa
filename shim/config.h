/* Configuration: the XFERSHIM environment variables, read once by the constructor. */
#ifndef SHIM_CONFIG_H
#define SHIM_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum config_mode { CONFIG_OFF, CONFIG_ON, CONFIG_OBSERVE };

/* XFERSHIM_BUFFER_MAX is at most this. */
#define CONFIG_BUFFER_LIMIT ((size_t)4 << 20)
/* Pairs from this size on are left alone: a write of 64 KiB gains nothing from being larger on any file
 * system measured. */
#define CONFIG_CHUNK_LARGE ((size_t)64 << 10)
/* The same for pairs that can share blocks. */
#define CONFIG_CHUNK_LARGEST ((size_t)2 << 20)

/* Whether the destination may share the source's blocks. */
enum config_share {
    CONFIG_SHARE_LEASE, /* where a read lease makes sure that the source does not change */
    CONFIG_SHARE_NEVER,
    CONFIG_SHARE_ALWAYS, /* whoever set it knows that nobody writes to sources */
};

struct config {
    enum config_mode mode;
    size_t buffer, buffer_max; /* first and largest window, bytes */
    size_t share_max;          /* largest window of a pair that shares blocks, bytes */
    enum config_share share;
    uint64_t threshold;   /* bytes that a loop moves before a session */
    bool threshold_given; /* then neither pay-off rule nor back-off apply */
    bool engine_write, engine_range;
    const char *report;    /* path, or NULL */
    const char *malformed; /* name of the last variable whose value was not understood, or NULL */
};

extern struct config config;

/* Reads the environment. Makes no system call, allocates nothing, leaves errno alone. `program` is matched
 * against XFERSHIM_ONLY and XFERSHIM_SKIP.
 */
void config_read(const char *program);

#endif
