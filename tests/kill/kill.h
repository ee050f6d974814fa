/*
 * The kill tester: copy loops that die at any instant, and what they leave behind.
 *
 * A kill is one run of the copier under the library, ended by a signal after a random time or at a random
 * system call. Everything about kill number K is a function of the seed and K, so one line replays it.
 */
#ifndef KILL_H
#define KILL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What the loop does. One row of shapes[] is one; any row goes with any place. */
struct shape {
    const char *name;
    size_t chunk;    /* bytes of a read */
    size_t block;    /* bytes of a write; another size than `chunk` makes a lag, as cpio's blocks do */
    size_t head;     /* bytes that the copier writes before those of the source */
    size_t size;     /* of the source, bytes: some milliseconds under the library */
    bool append;     /* the destination is opened with O_APPEND */
    bool old;        /* the destination has longer old content */
    bool survivor;   /* another process holds both descriptions and goes on where the copier died */
    unsigned breaks; /* another system call after so many reads; 0: none */
};

/* Where the files are, and how bytes get from one to the other there. One row of places[] is one. */
struct place {
    const char *name;
    const char *kind;  /* of a file system of our own; NULL: that of the build */
    const char *share; /* XFERSHIM_SHARE */
    size_t ahead;      /* bytes in the destination before the copier's: how it lies in its blocks */
    size_t promise;    /* the largest window there, bytes */
    bool shares;       /* the engine is copy_file_range */
    const char *same;  /* the place whose file system it uses, NULL: its own */
};

extern const struct shape shapes[];
extern const int shape_count;
extern const struct place places[];
extern const int place_count;

/* True where the library must not leave this loop alone. */
bool must_act(const struct shape *shape, const struct place *place);

/* What plain writes: `head` bytes and then the source's. The source is the same for every shape, as far as it
 * goes. */
const unsigned char *source_bytes(void);
size_t expected_size(const struct shape *shape);
unsigned char expected_byte(const struct shape *shape, size_t at);
unsigned char old_byte(size_t at);
size_t old_size(const struct shape *shape, const struct place *place);

/* Makes the file systems that are possible here; those that are not have a reason afterwards. */
void places_open(const char *scratch, const bool *wanted);
void places_close(void);
const char *place_reason(int place);
const char *place_folder(int place);

/* Where a copier was cut. */
enum call { CALL_LSEEK, CALL_PREAD, CALL_READ, CALL_WRITE, CALL_RANGE, CALL_PRCTL, CALL_OTHER, CALLS };
extern const char *const call_names[CALLS];

struct cut {
    bool timed;
    double after; /* timed: seconds from the loop's begin */
    int stop;     /* else: so many stops at the entry or exit of a system call from the loop's begin */
    int signal;
};

struct ends {
    int in, out; /* numbers of ours, far from the copier's 3 and 4 */
    pid_t survivor;
    int survivor_go;
};

enum { MOVES = 4096 };

struct death {
    int status;      /* as from wait() */
    bool active;     /* a session was, when it died */
    bool acted;      /* with its calls seen: something was read ahead */
    bool found;      /* cut at a system call: it came to that one */
    bool flushing;   /* between the setting of the source's offset and the end of the write after it */
    enum call call;  /* at which it died */
    bool leaving;    /* the call had been made */
    int stops;       /* in all, if it was never cut */
    int moves;       /* how many of them are at calls that move bytes or offsets ... */
    int move[MOVES]; /* ... and the number of each */
    double seconds;  /* from the loop's begin to its end */
    off_t in, out;   /* offsets of both descriptions */
    off_t size;      /* of the destination */
    off_t beyond;    /* bytes of the copy behind the destination's offset, where they may be: judge() */
};

struct tools {
    const char *library, *copier;
};
extern struct tools tools;

/* Opens the ends in `folder`, fresh. */
void ends_open(struct ends *ends, const char *folder, const struct shape *shape, const struct place *place);
void ends_close(struct ends *ends);

/* Runs the copier; CUT may be NULL: to its end, with its stops counted if `trace`. */
void copy_run(struct death *death, const struct ends *ends, const struct shape *shape,
              const struct place *place, const struct cut *cut, bool shim, bool trace);

/* Tells the survivor to go on and waits until it has. */
bool survivor_goes_on(struct ends *ends);

/* NULL, or what is wrong with what the copier left. */
const char *judge(struct death *death, const struct ends *ends, const struct shape *shape,
                  const struct place *place, const struct cut *cut);
/* The same for what the survivor made of it. */
const char *judge_survivor(const struct death *death, const struct ends *ends, const struct shape *shape,
                           const struct place *place);

/* Bytes of the source that are in the descriptions' offsets and not in the destination. */
off_t gap(const struct death *death, const struct shape *shape, const struct place *place);
/* Bytes that the copier itself may hold, with or without the library. */
off_t own(const struct shape *shape);

#define PLACES_MOST 32

/* What has happened so far. All workers count in the same memory. */
struct tally {
    long timed, at_call, finished, sessions, expected, in_flush, beyond, survivors, skipped, failures;
    long place_kills[PLACES_MOST], place_expected[PLACES_MOST], place_sessions[PLACES_MOST];
    long sigkill;
    long stops[CALLS][2];
    long range_expected;
};
extern struct tally *tally;

void tally_open(void);
void tally_count(long *counter);
void tally_death(const struct death *death, int shape, int place, const struct cut *cut);
/* Says what is wrong with the run as a whole, and counts it as a failure. */
void tally_complain(const char *what);
/* A run that kills nothing at work proves nothing. */
void tally_judge(void);
void tally_summarize(void);

void die(const char *what) __attribute__((noreturn));

#endif
