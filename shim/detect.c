#include "detect.h"

/* After a session that did not pay, the next one waits until this much has been copied, four times more after
 * each further one. The cost of a start is about that of copying 16 KiB in small pieces, so the first wait
 * bounds it to a few percent.
 */
#define FAILED_WAIT ((uint64_t)256 << 10)
#define FAILED_FACTOR 4
/* 256 KiB * 4^11 is beyond any file: the site is left alone. */
#define FAILED_MANY 11

/* A file that was too small may grow (or say nothing of its size, as those of /proc): asked again after this
 * much. */
#define GROWN ((uint64_t)256 << 10)

/* Lasting refusals are asked again after this much, twice as much each time. */
#define REFUSED_WAIT_FIRST ((uint64_t)256 << 10)
#define REFUSED_WAIT_EAGER ((uint64_t)4 << 10)
#define REFUSED_WAIT_LAST ((uint64_t)256 << 20)

void detect_read(struct detect *d, int fd, const void *buffer, size_t asked, ssize_t got)
{
    if (fd == d->in && got >= 0 && (size_t)got < asked)
        d->file_ended = true;
    if (got <= 0)
        return;
    if (fd != d->in) {
        d->in = fd;
        d->out = -1;
        d->pairs = 0;
    }
    d->read_buffer = buffer;
    d->read_asked = asked;
    d->read_got = (size_t)got;
    d->read_seen = true;
}

static struct detect_site *find_site(struct detect *d, const void *address, uint64_t threshold)
{
    struct detect_site *least = &d->site[0];
    for (int i = 0; i < DETECT_SITES; i++) {
        struct detect_site *site = &d->site[i];
        if (site->address == address)
            return site;
        if (site->moved < least->moved)
            least = site;
    }
    *least =
        (struct detect_site){.address = address, .ask_at = threshold, .refused_in = -1, .refused_out = -1};
    return least;
}

bool detect_write(struct detect *d, int fd, const void *buffer, ssize_t got, const void *address,
                  uint64_t threshold, bool eager)
{
    if (got <= 0 || d->in < 0)
        return false;
    if (fd == d->in) {
        d->in = -1;
        return false;
    }
    if (fd != d->out) {
        d->out = fd;
        d->pairs = 0;
    }
    d->write_buffer = buffer;
    d->write_size = (size_t)got;
    struct detect_site *site = d->current;
    if (!site || site->address != address)
        site = d->current = find_site(d, address, threshold);
    site->moved += (uint64_t)got;
    if (!d->read_seen)
        return false;
    d->read_seen = false;
    d->pairs++;
    bool refused = site->refused_in == d->in && site->refused_out == d->out;
    if (eager)
        return site->moved >= (refused ? site->ask_at : threshold);
    if (d->file_ended) {
        d->file_ended = false;
        d->pairs = 1;
        if (site->small_file)
            site->ask_at = site->moved;
        return false;
    }
    if (site->moved < site->ask_at)
        return site->refused_in >= 0 && !refused && d->pairs == 2;
    return true;
}

void detect_too_small(struct detect *d, uint64_t left)
{
    struct detect_site *site = d->current;
    site->small_file = true;
    site->refused_in = -1;
    site->ask_at = site->moved + (left < GROWN ? GROWN : left);
}

void detect_refused(struct detect *d, bool eager)
{
    struct detect_site *site = d->current;
    bool again = site->refused_in == d->in && site->refused_out == d->out;
    uint64_t wait = again ? 2 * site->refused_wait : eager ? REFUSED_WAIT_EAGER : REFUSED_WAIT_FIRST;
    site->refused_wait = wait < REFUSED_WAIT_LAST ? wait : REFUSED_WAIT_LAST;
    site->refused_in = d->in;
    site->refused_out = d->out;
    site->ask_at = site->moved + site->refused_wait;
}

void detect_session_over(struct detect *d, bool paid)
{
    struct detect_site *site = d->current;
    d->pairs = 0;
    d->read_seen = false;
    site->moved = 0;
    site->refused_in = -1;
    site->small_file = false;
    if (paid) {
        site->failures /= 2;
        site->run_least = 0;
        site->ask_at = 0;
        return;
    }
    site->failures++;
    if (site->failures >= FAILED_MANY)
        site->run_least = UINT64_MAX;
    else
        site->run_least = site->run_least ? site->run_least * FAILED_FACTOR : FAILED_WAIT;
    site->ask_at = site->run_least;
}

void detect_not_yet(struct detect *d)
{
    d->current->ask_at = d->current->moved + FAILED_WAIT;
}
