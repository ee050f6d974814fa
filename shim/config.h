/* Configuration: the XFERSHIM environment variables, read once by the constructor. */
#ifndef SHIM_CONFIG_H
#define SHIM_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum config_mode { CONFIG_OFF, CONFIG_ON, CONFIG_OBSERVE };

/* The windows are static memory of this size; XFERSHIM_BUFFER_MAX is at most this. */
#define CONFIG_BUFFER_LIMIT ((size_t)1 << 20)
/* Pairs from this size on are left alone: a write of 64 KiB gains nothing from being larger on any file
 * system measured. */
#define CONFIG_CHUNK_LARGE ((size_t)64 << 10)

struct config {
    enum config_mode mode;
    size_t buffer, buffer_max; /* first and largest window, bytes */
    uint64_t threshold;        /* bytes that a loop moves before a session */
    bool threshold_given;      /* then neither pay-off rule nor back-off apply */
    bool engine_write;
    const char *report;    /* path, or NULL */
    const char *malformed; /* name of the last variable whose value was not understood, or NULL */
};

extern struct config config;

/* Reads the environment. Makes no system call, allocates nothing, leaves errno alone. `program` is matched
 * against XFERSHIM_ONLY and XFERSHIM_SKIP.
 */
void config_read(const char *program);

#endif
