/* xfer: moves bytes between descriptors, and between descriptors and memory, by the cheapest way that the
 * kernel has for the two ends. See xfer(3).
 *
 * Every function may be called by any thread; none touches errno, and none is a cancellation point. They
 * return 0, or -errno: what read(2) or write(2) says at the byte that was reached. Errors that only a
 * special way of copying has (EXDEV, EOPNOTSUPP, ...) are never returned: the copy goes on by read and write.
 */
#ifndef XFER_H
#define XFER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define XFER_PUBLIC __attribute__((visibility("default")))

/* The ways to move bytes. A set of them is a sum of XFER_WAY(way). */
enum xfer_way {
    XFER_PLAIN,    /* read and write; always allowed */
    XFER_CLONE,    /* FICLONERANGE: the destination shares the source's blocks */
    XFER_RANGE,    /* copy_file_range */
    XFER_SPLICE,   /* splice through a pipe of the library's own */
    XFER_SENDFILE, /* sendfile: to a pipe or socket, with XFER_BY_REFERENCE only */
    XFER_MAPPED,   /* write from a mapping of the source: for comparisons, only when it is asked for */
    XFER_WAYS
};

#define XFER_WAY(way) (1U << (way))
#define XFER_WAYS_DEFAULT                                                                                    \
    (XFER_WAY(XFER_CLONE) | XFER_WAY(XFER_RANGE) | XFER_WAY(XFER_SPLICE) | XFER_WAY(XFER_SENDFILE))

enum xfer_side { XFER_SIDE_NONE, XFER_SIDE_SOURCE, XFER_SIDE_DESTINATION, XFER_SIDE_PROGRESS };

/* A pipe or socket may be given the source's pages instead of copies. Its reader then sees what is stored to
 * the file between the call and the reading. */
#define XFER_BY_REFERENCE 1U
/* Special ways for file systems that the library does not know to do them right. */
#define XFER_ANY_FILE_SYSTEM 2U

/* All zeros is the default. */
struct xfer_policy {
    unsigned ways; /* a set of ways, 0 for XFER_WAYS_DEFAULT; XFER_WAY(XFER_PLAIN) alone for read and write */
    unsigned flags; /* XFER_BY_REFERENCE, XFER_ANY_FILE_SYSTEM */
    size_t window;  /* bytes of the buffer of read and write, 0 for 256 KiB */
    /* Called after every step with the bytes moved so far, at most 1 GiB apart. Not 0 stops the transfer
     * with -ECANCELED. NULL: not called. */
    int (*progress)(void *argument, uint64_t bytes);
    void *argument;
};

/* What a transfer did. Valid on success and on errors. */
struct xfer_result {
    uint64_t bytes;         /* that arrived */
    uint64_t by[XFER_WAYS]; /* of these, by each way */
    uint64_t steps;         /* system calls that moved them, pairs of read and write as one */
    uint64_t lost;       /* taken from a source that has no offset to set back, when the destination failed */
    enum xfer_side side; /* where the error comes from */
};

/* For `count`: up to the source's end. */
#define XFER_TO_END UINT64_MAX

/* Copies `count` bytes, or up to the source's end, which is no error when it comes earlier.
 *
 * `in_offset`, `out_offset`: where in the files, in bytes from the start; they move on and the descriptors'
 * own offsets stay. NULL: at the descriptor's own offset, which moves on. After an error both offsets stand
 * behind the bytes that arrived. `policy` and `result` may be NULL.
 *
 * A destination that does not take bytes now (O_NONBLOCK) gives -EAGAIN, a signal handler -EINTR; call again.
 * Bytes of a pipe, socket or terminal that were taken and cannot be given back are waited for before these
 * two are returned; with O_NONBLOCK that is at most 4096.
 */
XFER_PUBLIC int xfer_copy(int in, off_t *in_offset, int out, off_t *out_offset, uint64_t count,
                          const struct xfer_policy *policy, struct xfer_result *result);

/* Writes all of the `count` bytes at the descriptor's own offset, from where they lie. */
XFER_PUBLIC int xfer_write_all(int out, const void *bytes, size_t count, const struct xfer_policy *policy,
                               struct xfer_result *result);

/* Reads at the descriptor's own offset until `size` bytes are there or the end; `result` tells how many. */
XFER_PUBLIC int xfer_read_all(int in, void *buffer, size_t size, const struct xfer_policy *policy,
                              struct xfer_result *result);

#ifdef __cplusplus
}
#endif

#endif
