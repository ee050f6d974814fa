/* The detector: pure logic, no system calls. It sees read and write calls and says when a loop looks like a
 * bulk copy, and it remembers, for each call site, whether sessions have paid. All of it is a hint and never
 * trusted: descriptors may have been closed and reopened between two calls.
 *
 * One detector for each thread. A signal handler may interrupt and re-enter it; it can then only lose a hint.
 */
#ifndef SHIM_DETECT_H
#define SHIM_DETECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Call sites remembered at a time; more than a copying program has. */
#define DETECT_SITES 8

/* One place that writes, named by its return address. */
struct detect_site {
    const void *address;
    uint64_t moved;     /* bytes written since the last session, refusal of lasting kind or failure */
    uint64_t ask_at;    /* value of `moved` at which to ask next */
    uint64_t run_least; /* bytes that source and destination must both be into their files: raised by each
                           failure */
    unsigned failures;  /* sessions that cost more than they saved */
    bool small_file;    /* the last file was not worth a session; the next may be */
    int refused_in, refused_out; /* the pair of the last lasting refusal, -1: none */
    uint64_t refused_wait;       /* bytes to the next question about it */
};

struct detect {
    int in, out; /* the pair, -1: none */
    const void *read_buffer, *write_buffer;
    size_t read_asked, read_got, write_size; /* sizes of the last calls, bytes */
    unsigned pairs;                          /* of this pair of descriptors */
    bool file_ended; /* the last read was short: the next one may be of another file */
    bool read_seen;  /* since the last write */
    struct detect_site site[DETECT_SITES];
    struct detect_site *current;
};

/* A read has returned `got`. */
void detect_read(struct detect *d, int fd, const void *buffer, size_t asked, ssize_t got);

/* A write has returned `got`; `site` is where it returns to. True when it is time to ask whether a session
 * can start; `threshold` is the number of bytes that a loop moves first. `eager` asks at every pair past the
 * threshold, whatever the sessions have gained; only lasting refusals are remembered.
 */
bool detect_write(struct detect *d, int fd, const void *buffer, ssize_t got, const void *site,
                  uint64_t threshold, bool eager);

/* The same, inline, for the usual calls, because every call of every program comes through here. False: it is
 * not one of those, and nothing is noted. A write to another descriptor than the last one is not counted:
 * with nothing but such writes there is no loop between two descriptors.
 */
static inline bool detect_usual_read(struct detect *d, int fd, const void *buffer, size_t asked, ssize_t got)
{
    if (got <= 0 || (size_t)got != asked)
        return false;
    if (fd != d->in) {
        d->in = fd;
        d->out = -1;
        d->pairs = 0;
    }
    d->read_buffer = buffer;
    d->read_asked = d->read_got = asked;
    d->read_seen = true;
    return true;
}

static inline bool detect_usual_write(struct detect *d, int fd, const void *buffer, ssize_t got,
                                      const void *address)
{
    struct detect_site *site = d->current;
    if (got <= 0 || fd == d->in)
        return false;
    if (fd != d->out) {
        d->out = fd;
        d->pairs = 0;
        d->read_seen = false;
        return true;
    }
    if (d->in < 0)
        return true;
    if (d->file_ended || !site || site->address != address)
        return false;
    if (!d->read_seen) { /* another part of what was read */
        site->moved += (uint64_t)got;
        return true;
    }
    if (site->refused_in >= 0 && (site->refused_in != d->in || site->refused_out != fd))
        return false;
    if (site->moved + (uint64_t)got >= site->ask_at)
        return false;
    site->moved += (uint64_t)got;
    d->write_buffer = buffer;
    d->write_size = (size_t)got;
    d->read_seen = false;
    d->pairs++;
    return true;
}

/* The answers to that question, for d->current. */

/* What is left of the source, `left` bytes, is not worth a session. The question costs half a microsecond, so
 * it is asked in each file of a tree, at its second pair. */
void detect_too_small(struct detect *d, uint64_t left);

/* The pair cannot have a session; nothing about that changes soon. `eager` shortens the time to the next
 * question. */
void detect_refused(struct detect *d, bool eager);

/* A session has ended. `paid` is whether it saved more than it cost. */
void detect_session_over(struct detect *d, bool paid);

/* The site is not far enough into its files, given how its sessions have failed. */
void detect_not_yet(struct detect *d);

#endif
