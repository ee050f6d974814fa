/* Which memory of the program a real system call has proven good, so that user space may touch it.
 *
 * A proof holds as long as no mapping can change, that is, as long as no system call of the program runs;
 * whoever watches for that forgets the proofs when one does. Only private anonymous memory can be proven:
 * file-backed memory is taken away by another process's truncate, without a call of ours.
 */
#ifndef XFER_PROOF_H
#define XFER_PROOF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Loops rotate over a few buffers; with more than this many separate ones the oldest proof is given up. */
#define XFER_PROOF_RANGES 8

/* The last read buffer, the last write buffer, the stack: what a session looks up when it starts. */
#define XFER_PROOF_MEMORIES 4

struct xfer_range {
    uintptr_t start, end; /* bytes [start, end) */
};

struct xfer_proven {
    struct xfer_range range[XFER_PROOF_RANGES];
    unsigned used, next;
};

struct xfer_proof {
    struct xfer_range memory[XFER_PROOF_MEMORIES]; /* private anonymous writable mappings */
    unsigned memories;
    struct xfer_proven writable, readable;
    bool keys;       /* the CPU has protection keys switched on */
    uint32_t rights; /* their access rights at the time of the proofs */
};

/* Forgets everything and notes the protection keys' state. Any context. */
void xfer_proof_clear(struct xfer_proof *proof);

/* Names [start, end) as private anonymous memory. Adding more than XFER_PROOF_MEMORIES is ignored: the memory
 * is then never proven.
 */
void xfer_proof_allow(struct xfer_proof *proof, uintptr_t start, uintptr_t end);

/* True if the `count` bytes at `buffer` lie in memory that was named. */
bool xfer_proof_possible(const struct xfer_proof *proof, const void *buffer, size_t count);

/* The kernel has just written (wrote true) or read all `count` bytes at `buffer`. */
void xfer_proof_add(struct xfer_proof *proof, const void *buffer, size_t count, bool wrote);

/* True if user space may write (write true) or read the `count` bytes at `buffer`. What the kernel could
 * write is readable too on the architectures here.
 */
bool xfer_proof_holds(const struct xfer_proof *proof, const void *buffer, size_t count, bool write);

#endif
