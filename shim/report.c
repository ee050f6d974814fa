#include "report.h"

#include <bsd/string.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "calls.h"
#include "config.h"
#include "files.h"
#include "payoff.h"
#include "sandbox.h"
#include "stats.h"
#include "sys.h"
#include "text.h"

/* Different loops kept apart; what comes later is added to the last one, which is called "(others)". */
#define LOOPS 64
#define PATH_SIZE 512

/* The whole report: LOOPS lines of two paths and under 400 bytes of names and numbers, every path byte
 * escaped. */
#define REPORT_SIZE (LOOPS * (12 * PATH_SIZE + 400) + 8192)

struct record {
    char in[PATH_SIZE], out[PATH_SIZE];
    uint64_t chunk, sessions;
    enum payoff_kind kind;
    struct xfer_stats stats;
    enum xfer_stream_end ended;
    enum xfer_unshared why_not;
    long call;
};

static struct record records[LOOPS];
static unsigned used;
static struct record *current;
static uint64_t refusals[REFUSAL_COUNT];
static uint64_t sessions;
static struct {
    int in, out;
    struct record *record;
} observed = {-1, -1, NULL};

/* Arrays, not pointers: no relocation when the library is loaded. */
static const char refusal_words[][16] = {
#define REFUSAL_WORD(name, word) [name] = word,
    REFUSALS(REFUSAL_WORD)
#undef REFUSAL_WORD
};

static const char end_words[][16] = {
    [XFER_END_NONE] = "running",
    [XFER_END_OF_FILE] = "end-of-file",
    [XFER_END_CHANGED] = "changed-bytes",
    [XFER_END_MEMORY] = "buffer-memory",
    [XFER_END_SIZE] = "large-read",
    [XFER_END_READ_ERROR] = "read-error",
    [XFER_END_WRITE_ERROR] = "write-error",
    [XFER_END_SPACE] = "dest-space",
    [XFER_END_LIMIT] = "dest-limit",
    [XFER_END_UNSHARED] = "unshared",
    [XFER_END_LEASE] = "lease-broken",
    [XFER_END_FOREIGN] = "shared-offset",
    [XFER_END_CALL] = "other-call",
    [XFER_END_SIGNAL] = "sigsys",
    [XFER_END_EXIT] = "exit",
};

static const char unshared_words[][16] = {
    [XFER_SHARED] = "shared",
    [XFER_UNSHARED_FILE_SYSTEM] = "file-system",
    [XFER_UNSHARED_SETTING] = "setting",
    [XFER_UNSHARED_FLAGS] = "flags",
    [XFER_UNSHARED_NOT_OWNER] = "not-owner",
    [XFER_UNSHARED_WRITER] = "open-to-write",
    [XFER_UNSHARED_LEASE] = "no-lease",
    [XFER_UNSHARED_DIRTY] = "dirty",
    [XFER_UNSHARED_POSITION] = "misaligned",
    [XFER_UNSHARED_REFUSED] = "refused",
};

bool report_wanted(void)
{
    return config.report && config.mode != CONFIG_OFF;
}

static void path_of(int fd, char *path)
{
    char link[FILES_PATH_SIZE];
    files_path(link, "/proc/self/fd/", fd, "");
    ssize_t n = XFER_SYS(SYS_readlinkat, AT_FDCWD, link, path, PATH_SIZE - 1);
    path[n > 0 ? n : 0] = '\0';
}

/* A child of fork begins with its parent's figures, which are not its own; the kernel wipes this page for it.
 * A child that shares our memory changes nothing.
 */
static volatile char wiped_on_fork[4096] __attribute__((aligned(4096)));
static bool marked;

static void mark_process(void)
{
    wiped_on_fork[0] = 1;
    marked = XFER_SYS(SYS_madvise, wiped_on_fork, sizeof(wiped_on_fork), MADV_WIPEONFORK) == 0;
}

static void forget_parent(void)
{
    if (!marked || wiped_on_fork[0])
        return;
    memset(records, 0, sizeof(records));
    memset(refusals, 0, sizeof(refusals));
    used = 0;
    sessions = 0;
    current = observed.record = NULL;
    marked = false;
}

/* The record of a loop between these files; a new one if it was never seen. */
static struct record *find(int in, int out, uint64_t chunk)
{
    static char in_path[PATH_SIZE], out_path[PATH_SIZE];
    forget_parent();
    mark_process();
    path_of(in, in_path);
    path_of(out, out_path);
    for (unsigned i = 0; i < used; i++) {
        struct record *r = &records[i];
        if (!strcmp(r->in, in_path) && !strcmp(r->out, out_path) && (!r->chunk || r->chunk == chunk))
            return r;
    }
    if (used == LOOPS) {
        struct record *last = &records[LOOPS - 1];
        strlcpy(last->in, "(others)", sizeof(last->in));
        strlcpy(last->out, "(others)", sizeof(last->out));
        return last;
    }
    struct record *r = &records[used++];
    strlcpy(r->in, in_path, sizeof(r->in));
    strlcpy(r->out, out_path, sizeof(r->out));
    return r;
}

void report_start(int in, int out, size_t chunk)
{
    current = report_wanted() ? find(in, out, chunk) : NULL;
}

void report_end(const struct xfer_stream *stream, size_t chunk, enum payoff_kind kind, long call)
{
    sessions++;
    if (!current)
        return;
    current->chunk = chunk;
    current->kind = kind;
    current->sessions++;
    current->ended = stream->ended;
    current->why_not = stream->share.why_not;
    current->call = call;
    xfer_stats_add(&current->stats, &stream->stats);
}

void report_refusal(enum refusal why)
{
    forget_parent();
    refusals[why]++;
}

void report_would_start(int in, int out, size_t chunk)
{
    sessions++;
    if (!report_wanted())
        return;
    observed.in = in;
    observed.out = out;
    observed.record = find(in, out, chunk);
    observed.record->chunk = chunk;
    observed.record->sessions++;
}

/* A window moves with five calls: read ahead, a look at the free space, two at the source's offset, one
 * write. The first pair and the end of a session take a few more.
 */
#define CALLS_OF_WINDOW 5
#define CALLS_OF_ENDS 8

/* The calls that a session would make for so many bytes: windows grow from the first to the largest. */
static uint64_t calls_for(uint64_t bytes)
{
    uint64_t windows = 1, size = config.buffer;
    for (; bytes > size && size < config.buffer_max; windows++) {
        bytes -= size;
        size = XFER_STREAM_GROWTH * size < config.buffer_max ? XFER_STREAM_GROWTH * size : config.buffer_max;
    }
    return (windows + bytes / size) * CALLS_OF_WINDOW + CALLS_OF_ENDS;
}

void report_observed(int in, int out, size_t bytes)
{
    if (!observed.record || observed.in != in || observed.out != out)
        return;
    struct xfer_stats *stats = &observed.record->stats;
    stats->reads++;
    stats->writes++;
    stats->bytes += bytes;
    stats->calls = calls_for(stats->bytes);
}

static uint64_t saved_us(const struct record *r)
{
    uint64_t pairs = r->stats.reads < r->stats.writes ? r->stats.reads : r->stats.writes;
    uint64_t gain = pairs * payoff_saving(r->chunk, r->kind), cost = r->sessions * payoff_cost();
    return gain > cost ? (gain - cost) / 1000 : 0;
}

static const char *mode_word(void)
{
    return config.mode == CONFIG_OBSERVE ? "observe" : "on";
}

static void put_end(struct text *text, const struct record *r)
{
    text_put(text, config.mode == CONFIG_OBSERVE ? "observed" : end_words[r->ended]);
    if (r->ended == XFER_END_CALL && r->call >= 0) {
        text_put(text, ":");
        calls_name(text, r->call);
    }
}

static const char *engine_word(const struct record *r)
{
    return r->stats.shared ? "range" : "write";
}

static void put_field(struct text *text, const char *name, uint64_t number)
{
    text_put(text, ",\"");
    text_put(text, name);
    text_put(text, "\":");
    text_number(text, number);
}

static void put_json_loop(struct text *text, const struct record *r)
{
    text_put(text, "{\"in\":");
    text_quoted(text, r->in);
    text_put(text, ",\"out\":");
    text_quoted(text, r->out);
    put_field(text, "chunk", r->chunk);
    put_field(text, "bytes", r->stats.bytes);
    put_field(text, "calls_before", r->stats.reads + r->stats.writes);
    put_field(text, "calls_after", r->stats.calls);
    put_field(text, "saved_us", saved_us(r));
    put_field(text, "sessions", r->sessions);
    put_field(text, "shared", r->stats.shared);
    if (r->why_not != XFER_SHARED) {
        text_put(text, ",\"not_shared\":");
        text_quoted(text, unshared_words[r->why_not]);
    }
    text_put(text, ",\"engine\":\"");
    text_put(text, engine_word(r));
    text_put(text, "\",\"ended\":\"");
    put_end(text, r);
    text_put(text, "\"}");
}

static void put_json(struct text *text)
{
    const char *comma = "";
    text_put(text, "{\"program\":");
    text_quoted(text, program_invocation_short_name);
    put_field(text, "pid", (uint64_t)files_own_pid());
    text_put(text, ",\"mode\":\"");
    text_put(text, mode_word());
    text_put(text, "\"");
    put_field(text, "sessions", sessions);
    if (config.malformed) {
        text_put(text, ",\"malformed\":");
        text_quoted(text, config.malformed);
    }
    text_put(text, ",\"loops\":[");
    for (unsigned i = 0; i < used; i++) {
        text_put(text, comma);
        put_json_loop(text, &records[i]);
        comma = ",";
    }
    text_put(text, "],\"refusals\":[");
    comma = "";
    for (int i = 0; i < REFUSAL_COUNT; i++) {
        if (!refusals[i])
            continue;
        text_put(text, comma);
        text_put(text, "{\"reason\":");
        text_quoted(text, refusal_words[i]);
        put_field(text, "count", refusals[i]);
        text_put(text, "}");
        comma = ",";
    }
    text_put(text, "]}\n");
}

static void put_line(struct text *text, const char *name, uint64_t number)
{
    text_put(text, name);
    text_number(text, number);
}

static void put_text_loop(struct text *text, const struct record *r)
{
    text_put(text, r->in);
    text_put(text, " -> ");
    text_put(text, r->out);
    put_line(text, "\n  chunk ", r->chunk);
    put_line(text, " B, ", r->stats.bytes);
    put_line(text, " B in all, calls ", r->stats.reads + r->stats.writes);
    put_line(text, config.mode == CONFIG_OBSERVE ? " (would be " : " -> ", r->stats.calls);
    text_put(text, config.mode == CONFIG_OBSERVE ? ")" : "");
    put_line(text, ", about ", saved_us(r));
    put_line(text, " us saved, sessions ", r->sessions);
    if (r->stats.shared)
        put_line(text, ", shared B ", r->stats.shared);
    if (r->why_not > XFER_UNSHARED_SETTING) {
        text_put(text, ", not shared: ");
        text_put(text, unshared_words[r->why_not]);
    }
    text_put(text, ", engine ");
    text_put(text, engine_word(r));
    text_put(text, ", ended by ");
    put_end(text, r);
    text_put(text, "\n");
}

static void put_plain(struct text *text)
{
    text_put(text, "xfershim: ");
    text_put(text, program_invocation_short_name);
    put_line(text, ", pid ", (uint64_t)files_own_pid());
    text_put(text, ", mode ");
    text_put(text, mode_word());
    put_line(text, ", sessions ", sessions);
    text_put(text, "\n");
    if (config.malformed) {
        text_put(text, "not understood, default used: ");
        text_put(text, config.malformed);
        text_put(text, "\n");
    }
    for (unsigned i = 0; i < used; i++)
        put_text_loop(text, &records[i]);
    for (int i = 0; i < REFUSAL_COUNT; i++) {
        if (!refusals[i])
            continue;
        text_put(text, "left alone: ");
        text_put(text, refusal_words[i]);
        put_line(text, ", ", refusals[i]);
        text_put(text, " times\n");
    }
}

/* "%p" in the path becomes the process id. */
static void expand_path(struct text *text, const char *path)
{
    for (; *path; path++) {
        char one[2] = {*path, '\0'};
        if (path[0] == '%' && path[1] == 'p') {
            text_number(text, (uint64_t)files_own_pid());
            path++;
        } else {
            text_put(text, one);
        }
    }
}

/* A write past RLIMIT_FSIZE would send SIGXFSZ to the program. */
static bool fits(int fd, size_t length)
{
    struct rlimit limit;
    struct stat st;
    if (XFER_SYS(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, &limit) < 0 || XFER_SYS(SYS_fstat, fd, &st) < 0)
        return false;
    return limit.rlim_cur >= (rlim_t)st.st_size + length;
}

void report_write(void)
{
    static char room[REPORT_SIZE], path[PATH_MAX];
    struct text text = {room, sizeof(room), 0}, name = {path, sizeof(path) - 1, 0};
    size_t length = strlen(config.report);
    forget_parent();
    expand_path(&name, config.report);
    if (length >= 5 && !strcmp(config.report + length - 5, ".json"))
        put_json(&text);
    else
        put_plain(&text);
    int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY;
    int fd = files_above_standard((int)XFER_SYS(SYS_openat, AT_FDCWD, path, flags, 0666));
    if (fd < 0)
        return;
    bool filtered = sandbox_check() != REFUSAL_NONE; /* then without a call more than is needed */
    if (filtered || fits(fd, text.length))
        sys_write(fd, text.bytes, text.length);
    sys_close(fd);
}
