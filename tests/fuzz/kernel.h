/* The fuzzer's kernel: one source and one destination in memory, behind the library's system call gate, and a
 * clock. It is exact about what it does (offsets, ends of files, limits, leases, bad addresses) and can be
 * told to fail. It holds every write against what the program has written so far: bytes (C1), order (C2) and
 * the state that a kill at this very moment would leave (C4).
 */
#ifndef TESTS_FUZZ_KERNEL_H
#define TESTS_FUZZ_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { KERNEL_IN = 3, KERNEL_OUT = 4, KERNEL_BLOCK = 4096 };
/* Bytes; the destination's memory ends where the program stops writing, its file system where NO_CAP says. */
enum { SOURCE_MOST = 1 << 18, OUT_MOST = 1 << 20, NO_CAP = 1 << 30, VERSIONS = 12 };

/* What the source was until `until`, ms. */
struct version {
    unsigned char *bytes;
    size_t size;
    uint64_t until;
};

struct fault {
    int after;   /* calls of the gate before it */
    int times;   /* calls that meet it; 0: none */
    int error;   /* errno, or 0: a short count of `most` */
    size_t most; /* bytes */
};

struct kernel {
    uint64_t now; /* ms */
    unsigned char *in;
    size_t in_size;
    off_t in_offset;
    struct version version[VERSIONS];
    unsigned versions;

    unsigned char *out;
    size_t out_size, out_start; /* bytes: of the file, and where the program began in it */
    off_t out_offset;
    size_t out_cap;    /* bytes: the destination cannot grow beyond */
    int out_cap_error; /* and says so by this errno */
    bool dirty, no_sharing;

    bool leased, lease_breaks; /* breaks: a foreign writer waits, or has waited long enough */
    int steal_after;           /* calls before a lease is lost and its file changed; 0: never */

    struct fault fault;
    uint64_t errors_seen[3]; /* bit e: errno e was met by a write */
    long calls;

    /* The program: what it has been told is written, and the write that is going on. */
    unsigned char *told;
    off_t *told_at; /* where the program was in the source when it wrote the byte */
    size_t told_size;
    const unsigned char *writing;
    size_t writing_size;
    off_t program;    /* where the program is in the source */
    size_t kill_from; /* of the told bytes, those before its source's offset was last set by the program or
                         others */
    size_t checked;   /* of the told bytes, those seen in the destination */

    bool foreign;      /* somebody else has moved the source's offset */
    bool foreign_move; /* is to do so before the next call that is not the stream's own move */
    off_t foreign_to;
    bool read_made; /* a read(2) of the source, and what it returned */
    long read_result;
};

extern struct kernel kernel;

/* Memory at which the kernel says EFAULT; a touch in user space is a crash. */
extern unsigned char *kernel_bad;
extern size_t kernel_bad_size;

void kernel_reset(void);

/* The source becomes another: `at`, `count` bytes changed, then `size` bytes long. What it was is remembered.
 */
void kernel_change(size_t at, size_t count, size_t size, uint64_t seed);

/* Fills as seeded; with a period the bytes repeat. */
void kernel_bytes(unsigned char *to, size_t count, size_t at, uint64_t seed, unsigned period);

/* All that has been told is in the destination and nothing else has been changed there; `owed` bytes are not
 * yet. */
void kernel_check(size_t owed, const char *when);

/* Says what is wrong and how to see it again, and ends. */
void broken(const char *what, ...) __attribute__((format(printf, 1, 2), noreturn));

#define MUST(condition, ...)                                                                                 \
    do {                                                                                                     \
        if (!(condition))                                                                                    \
            broken(__VA_ARGS__);                                                                             \
    } while (0)

#endif
