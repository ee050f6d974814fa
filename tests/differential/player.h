/* The player: a plain program that does what a seed says, a list of operations on descriptors, and writes
 * down what it saw. It knows nothing of any library around it. An operation is one entry of a table; the
 * tables are in the ops_*.c files, and a new one is added to `tables` in program.c.
 *
 * What was seen is kept in private memory and written when a process ends: a system call in between would
 * change what is being tested. Everything here is for one thread; say() may be called from synchronous signal
 * handlers only.
 */
#ifndef PLAYER_H
#define PLAYER_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define ARGUMENTS 16
#define OPS_MOST 48
#define LABEL_SIZE 64

/* errno before each operation, no real error: it must still be there after a success. */
#define ERRNO_UNTOUCHED 4242

struct op {
    const struct operation *kind;
    bool skipped; /* the shrinker has taken it away; all others keep their index and arguments */
    int a[ARGUMENTS];
};

struct draw {
    uint64_t state;
};

struct operation {
    const char *name;
    unsigned weight;
    const char *shows; /* printf format for the arguments, in their order, all int */
    void (*generate)(struct draw *draw, int *a);
    /* Does it and returns the index of the operation to go on with. */
    int (*execute)(int index, const int *a);
};

struct table {
    const struct operation *operations;
    size_t count;
};
extern const struct table ops_copy, ops_descriptor, ops_memory, ops_outside, ops_process, ops_race,
    ops_signal, ops_stdio, ops_thread;

/* program.c: a program is a pure function of its seed. */
extern struct op program[OPS_MOST];
extern int program_length;
void program_make(uint64_t seed);
void program_print(void);

int draw_below(struct draw *draw, int n);
int draw_between(struct draw *draw, int low, int high);
bool draw_chance(struct draw *draw, int percent);
/* A size as programs use them: often a power of two, often one off, often anything from 1 to `most`. */
int draw_size(struct draw *draw, int most);
int draw_source(struct draw *draw);
int draw_destination(struct draw *draw);
int draw_slot(struct draw *draw);
/* For file contents. */
void draw_fill(uint64_t seed, unsigned char *bytes, size_t count);

/* player.c: running. */
int run_op(int index);
void run_until(int end);
/* A child goes on with the program up to the operation `end` and ends there. `name` is added to its label. */
void become_child(int name, int end);
/* In the parent: when it reaches `end`, it lets the child go by closing `gate` and waits for it. */
void child_is_due(int end, pid_t child, int gate);
/* Whether there may be one more. */
bool fork_allowed(void);
/* Waits for all children. */
void settle(void);
void run_exec(int next) __attribute__((noreturn));
void transcript_write(void);
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void say_result(const char *what, long result);
uint64_t digest(uint64_t start, const void *bytes, size_t count);

/* The descriptors that operations talk about: numbers of slots, each a descriptor or -1. Programs copy mostly
 * from the first four to the next four.
 */
#define SLOTS 12
#define SLOT_DESTINATIONS 4
#define SLOT_PIPES 8
/* So many are opened first. */
#define OPENED 8
extern int slot[SLOTS];

/* The files of a program, in its working directory. "tiny" and "tight" are small file systems, if there are
 * any. */
#define FILES 10
extern const char *const file_names[FILES];
#define FILE_DESTINATIONS 4

/* ops_memory.c: kinds of memory for buffers; each holds BUFFER_SIZE bytes, the stack's is the caller's to
 * give. */
#define BUFFER_SIZE (1 << 16)
enum buffer_kind {
    BUFFER_STATIC,
    BUFFER_HEAP,
    BUFFER_STACK,
    BUFFER_ANONYMOUS,
    BUFFER_GUARDED, /* its last byte is the last of its page, and nothing follows */
    BUFFER_OTHER,   /* a second static one */
    BUFFER_FILE,    /* a private mapping of a file */
    BUFFER_SHARED,  /* a shared anonymous mapping */
    BUFFER_KINDS,
};
unsigned char *buffer_get(int kind, unsigned char *stack);
/* Gives shared mappings back, because their existence would keep all later copies from being interesting. */
void buffer_release(int kind);
int draw_buffer(struct draw *draw);
void memory_catch_faults(void);

/* ops_descriptor.c: RLIMIT_NOFILE is so low that the dynamic linker could not load what the environment asks
 * for. */
extern bool few_descriptors;

/* ops_copy.c: `pairs` reads and writes with nothing said, for what comes right before a death or an exec. */
void copy_quietly(int in, int out, size_t chunk, int pairs);
/* Where a handler that jumps goes to: the innermost copy that allows it. */
extern sigjmp_buf *volatile jump_to;

/* Before an end that runs no destructors: a library that counts what it runs writes its counts (see
 * coverage).
 */
void count_now(void);

/* ops_process.c */
int look_and_exit(int fd);
void ending(struct draw *draw) __attribute__((noreturn));

/* ops_signal.c */
void signals_start(void);
/* What a timer's handler has to do is done once, at the latest here. */
void timer_finish(void);
bool timer_is_set(void);
/* In a child, which has no timers. */
void timer_forget(void);

#endif
