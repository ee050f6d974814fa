/* Why a loop is left alone: one code for each start check, with the word that the report shows. */
#ifndef SHIM_REFUSAL_H
#define SHIM_REFUSAL_H

#define REFUSALS(X)                                                                                          \
    X(REFUSAL_NONE, "none")                                                                                  \
    X(REFUSAL_SMALL_GAIN, "too-small-gain") /* what is left would not pay for a start */                     \
    X(REFUSAL_BACKOFF, "backoff")           /* sessions of this call site have not paid */                   \
    X(REFUSAL_CHUNK_LARGE, "chunk-large")   /* nothing is gained at this size */                             \
    X(REFUSAL_THREADS, "threads")           /* memory shared with a thread or a CLONE_VM process */          \
    X(REFUSAL_SIGSYS_TAKEN, "sigsys-taken") /* the program has its own disposition for SIGSYS */             \
    X(REFUSAL_SIGSYS_BLOCKED, "sigsys-blocked")                                                              \
    X(REFUSAL_HANDLER_MASK, "handler-mask") /* a handler runs with SIGSYS blocked */                         \
    X(REFUSAL_ALT_STACK, "alt-stack")       /* too small, or in use */                                       \
    X(REFUSAL_SHARED_MAPPING,                                                                                \
      "shared-mapping")                 /* writable shared memory: progress could be told through it */      \
    X(REFUSAL_MAPPED_END, "mapped-end") /* source or destination is mapped */                                \
    X(REFUSAL_NO_MAPS, "no-maps")       /* the mappings cannot be read */                                    \
    X(REFUSAL_NO_DESCRIPTOR, "no-descriptor") /* none free to read them */                                   \
    X(REFUSAL_VALGRIND, "valgrind")                                                                          \
    X(REFUSAL_SANDBOXED, "sandboxed") /* the program sandboxed itself */                                     \
    X(REFUSAL_SECCOMP, "seccomp")     /* an inherited filter kills for a call of ours */                     \
    X(REFUSAL_SOURCE_KIND, "source-kind")                                                                    \
    X(REFUSAL_SOURCE_FS, "source-fs")                                                                        \
    X(REFUSAL_SOURCE_FLAGS, "source-flags")                                                                  \
    X(REFUSAL_DEST_KIND, "dest-kind")                                                                        \
    X(REFUSAL_DEST_FS, "dest-fs")                                                                            \
    X(REFUSAL_DEST_FLAGS, "dest-flags")                                                                      \
    X(REFUSAL_SAME_FILE, "same-file")                                                                        \
    X(REFUSAL_DEST_SPACE, "dest-space")       /* the destination's file system is nearly full */             \
    X(REFUSAL_DEST_LIMIT, "dest-limit")       /* RLIMIT_FSIZE is near */                                     \
    X(REFUSAL_SHARED_OFFSET, "shared-offset") /* parent or child has the same open file description */       \
    X(REFUSAL_BUFFER_MEMORY, "buffer-memory") /* a buffer not in private anonymous memory */                 \
    X(REFUSAL_NO_GUARD, "no-guard")           /* no Syscall User Dispatch */                                 \
    X(REFUSAL_SOURCE_DIRTY, "source-dirty") /* its blocks would have to be written before they are shared */ \
    X(REFUSAL_MISALIGNED, "misaligned")     /* the offsets do not lie alike within a block */                \
    X(REFUSAL_NO_LEASE, "no-lease")         /* its blocks cannot be shared: not ours, or open for writing */ \
    X(REFUSAL_ENGINE_OFF, "engine-off")     /* not in XFERSHIM_ENGINES */

#define REFUSAL_ENUM(name, word) name,
enum refusal { REFUSALS(REFUSAL_ENUM) REFUSAL_COUNT };
#undef REFUSAL_ENUM

#endif
