/* Plays programs plain and under the library, each time in new files, and compares all that can be seen
 * afterwards. A program that differs is made smaller until every operation left is needed, and is printed
 * with the line that replays it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kernels.h"

#define SEEN_SIZE (1 << 20)
#define OPS_MOST 48
#define SKIPS_SIZE 256
/* A program takes milliseconds; on a machine with much else to do, more. */
#define PATIENCE_MS 20000
/* The shrinker's tries for each of its questions: a difference that needs a timer does not show every time.
 */
#define TRIES 4
#define FAILURES_MOST 8

/* The sizes that the library's margins are about: one far below 64 MiB, one just above, for tmpfs. */
static const struct {
    const char *name, *options;
} small_systems[] = {{"tiny", "size=128k"}, {"tight", "size=65560k,nr_inodes=50"}};
#define SMALL_SYSTEMS 2

static struct {
    uint64_t first, count;
    int jobs, seconds;
    char *library, *player;
    const char *place, *skips;
    bool replay, only_shim, strict;
    int least_percent;
} options = {.first = 1, .count = 2000, .jobs = 2, .skips = "", .least_percent = 50};

struct seen {
    size_t length;
    char text[SEEN_SIZE];
};

static struct seen plain_seen, shim_seen;
static char base[PATH_MAX];
static bool can_mount;

static void die(const char *what)
{
    perror(what);
    exit(2);
}

static char *path(const char *a, const char *b)
{
    static char room[8][2 * PATH_MAX];
    static int next;
    char *p = room[next++ % 8];
    snprintf(p, 2 * PATH_MAX, "%s/%s%s%s", base, a, b ? "/" : "", b ? b : "");
    return p;
}

__attribute__((format(printf, 2, 3))) static void add(struct seen *seen, const char *format, ...)
{
    va_list list;
    size_t room = sizeof(seen->text) - seen->length;
    va_start(list, format);
    int n = vsnprintf(seen->text + seen->length, room, format, list);
    va_end(list);
    if (n > 0 && (size_t)n < room)
        seen->length += (size_t)n;
}

static void empty(const char *folder)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;
    if (!dir)
        return;
    while ((entry = readdir(dir)))
        if (entry->d_name[0] != '.')
            unlinkat(dirfd(dir), entry->d_name, 0);
    closedir(dir);
}

static uint64_t digest_file(int fd)
{
    static unsigned char bytes[1 << 18];
    uint64_t h = 14695981039346656037u;
    ssize_t n;
    while ((n = read(fd, bytes, sizeof(bytes))) > 0) {
        for (ssize_t i = 0; i + 8 <= n; i += 8) {
            uint64_t word;
            memcpy(&word, bytes + i, 8);
            h = (h ^ word) * 0x9e3779b97f4a7c15;
            h ^= h >> 31;
        }
        for (ssize_t i = n & ~(ssize_t)7; i < n; i++)
            h = (h ^ bytes[i]) * 1099511628211u;
    }
    return h;
}

static void add_file(struct seen *seen, int folder, const char *name)
{
    struct stat st;
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW);
    if (fd < 0 || fstat(fd, &st) < 0)
        return;
    if (S_ISREG(st.st_mode))
        add(seen, "file %s size %ld mode %o links %d %016llx\n", name, (long)st.st_size, st.st_mode,
            (int)st.st_nlink, (unsigned long long)digest_file(fd));
    close(fd);
}

static void add_text(struct seen *seen, int folder, const char *name)
{
    int fd = openat(folder, name, O_RDONLY);
    size_t room = sizeof(seen->text) - seen->length;
    add(seen, "-- %s\n", name);
    ssize_t n = fd < 0 ? 0 : read(fd, seen->text + seen->length, room - 1);
    if (n > 0)
        seen->length += (size_t)n;
    if (fd >= 0)
        close(fd);
}

static void for_each_name(struct seen *seen, const char *folder,
                          void (*what)(struct seen *, int, const char *))
{
    struct dirent **names;
    int n = scandir(folder, &names, NULL, alphasort);
    int fd = open(folder, O_RDONLY | O_DIRECTORY);
    for (int i = 0; i < n; i++) {
        if (names[i]->d_name[0] != '.')
            what(seen, fd, names[i]->d_name);
        free(names[i]);
    }
    if (n >= 0)
        free(names);
    close(fd);
}

/* Some programs run with small windows, so that the middle of a copy sees many fills and flushes. */
static void set_environment(uint64_t seed)
{
    char size[16];
    setenv("LD_PRELOAD", options.library, 1);
    setenv("XFERSHIM_REPORT", path("report.json", NULL), 1);
    if (seed % 32 == 31) /* the rule for when a session pays, which few programs here meet */
        return;
    setenv("XFERSHIM_THRESHOLD", "1", 1);
    if (seed % 64 == 1)
        setenv("XFERSHIM", "observe", 1);
    if (seed % 4 < 2)
        return;
    setenv("XFERSHIM_BUFFER", "4K", 1);
    snprintf(size, sizeof(size), "%dK", seed % 4 == 2 ? 4 : seed % 8 == 3 ? 1024 : (int)(seed / 8 % 61) + 4);
    setenv("XFERSHIM_BUFFER_MAX", size, 1);
}

static void become_player(uint64_t seed, const char *skips, bool shim)
{
    char number[24];
    struct rlimit none = {0, 0};
    snprintf(number, sizeof(number), "%llu", (unsigned long long)seed);
    setpgid(0, 0);
    setrlimit(RLIMIT_CORE, &none);
    int output = open(path("seen", "output"), O_WRONLY | O_CREAT | O_APPEND, 0600);
    int input = open("/dev/null", O_RDONLY);
    if (output < 0 || input < 0 || chdir(path("work", NULL)) < 0)
        _exit(99);
    dup2(input, 0);
    dup2(output, 1);
    dup2(output, 2);
    close(input);
    close(output);
    if (geteuid() == 0)
        kernel_choose(seed);
    if (shim)
        set_environment(seed);
    execl(options.player, "player", number, path("seen", NULL), skips, (char *)NULL);
    _exit(99);
}

/* Plays it once; `seen` is everything that can be seen afterwards. */
static void play(uint64_t seed, const char *skips, bool shim, struct seen *seen)
{
    int status = 0;
    seen->length = 0;
    empty(path("work", NULL));
    empty(path("seen", NULL));
    for (int i = 0; can_mount && i < SMALL_SYSTEMS; i++) {
        empty(path(small_systems[i].name, NULL));
        if (symlink(path(small_systems[i].name, NULL), path("work", small_systems[i].name)) < 0)
            die("symlink");
    }
    pid_t pid = fork();
    if (pid == 0)
        become_player(seed, skips, shim);
    struct pollfd end = {.fd = pidfd_open(pid, 0), .events = POLLIN};
    if (poll(&end, 1, PATIENCE_MS) == 0) {
        add(seen, "hangs\n");
        kill(-pid, SIGKILL);
    }
    close(end.fd);
    waitpid(pid, &status, 0);
    if (kill(-pid, SIGKILL) == 0)
        add(seen, "left a process behind\n");
    add(seen, "status %#x\n", (unsigned)status);
    for_each_name(seen, path("seen", NULL), add_text);
    for_each_name(seen, path("work", NULL), add_file);
    for (int i = 0; can_mount && i < SMALL_SYSTEMS; i++)
        for_each_name(seen, path(small_systems[i].name, NULL), add_file);
    seen->text[seen->length] = '\0';
}

static bool same(const struct seen *a, const struct seen *b)
{
    return a->length == b->length && !memcmp(a->text, b->text, a->length);
}

static bool differs_once(uint64_t seed, const char *skips)
{
    play(seed, skips, false, &plain_seen);
    play(seed, skips, true, &shim_seen);
    return !same(&plain_seen, &shim_seen);
}

static bool differs(uint64_t seed, const char *skips, int tries)
{
    while (tries-- > 0)
        if (differs_once(seed, skips))
            return true;
    return false;
}

/* Processes that end without exit() report nothing. */
static bool had_session(bool *reported)
{
    static char text[1 << 16];
    int fd = open(path("report.json", NULL), O_RDONLY);
    ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
    bool had = false;
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    *reported = n > 0;
    for (char *at = text; !had && (at = strstr(at, "\"sessions\":")); at++)
        had = at[11] != '0';
    unlink(path("report.json", NULL));
    return had;
}

static void write_skips(const bool *gone, char *skips)
{
    char *at = skips;
    *at = '\0';
    for (int i = 0; i < OPS_MOST; i++) {
        int from = i;
        while (i < OPS_MOST && gone[i])
            i++;
        if (i > from)
            at += sprintf(at, "%s%d-%d", at == skips ? "" : ",", from, i - 1);
    }
}

/* Takes away runs of operations, long ones first, as long as the difference stays. */
static void shrink(uint64_t seed, char *skips)
{
    bool gone[OPS_MOST] = {false};
    for (int size = OPS_MOST / 2; size >= 1; size /= 2) {
        for (int at = OPS_MOST - size; at >= 0; at -= size) {
            bool before[OPS_MOST], any = false;
            char shorter[SKIPS_SIZE];
            memcpy(before, gone, sizeof(gone));
            for (int i = at; i < at + size; i++) {
                any |= !gone[i];
                gone[i] = true;
            }
            write_skips(gone, shorter);
            if (any && !differs(seed, shorter, TRIES))
                memcpy(gone, before, sizeof(gone));
        }
    }
    write_skips(gone, skips);
}

static void print_lines_that_differ(void)
{
    const char *a = plain_seen.text, *b = shim_seen.text;
    for (int shown = 0; (*a || *b) && shown < 12;) {
        size_t m = strcspn(a, "\n"), n = strcspn(b, "\n");
        if (m != n || memcmp(a, b, m)) {
            printf("    plain: %.*s\n    shim:  %.*s\n", (int)m, a, (int)n, b);
            shown++;
        }
        a += m + (a[m] == '\n');
        b += n + (b[n] == '\n');
    }
}

static void print_program(uint64_t seed, const char *skips)
{
    char command[3 * PATH_MAX];
    snprintf(command, sizeof(command), "'%s' %llu - '%s' | sed 's/^/    /'", options.player,
             (unsigned long long)seed, skips);
    fflush(stdout);
    if (system(command) != 0)
        printf("    (no listing)\n");
}

/* True if the difference came again, and two plain runs are the same: programs with timers and helpers that
 * act unasked do not always meet at the same place.
 */
static bool report(uint64_t seed)
{
    char skips[SKIPS_SIZE];
    int again = 0;
    printf("program %llu, as first seen:\n", (unsigned long long)seed);
    print_lines_that_differ();
    snprintf(skips, sizeof(skips), "%s", options.skips);
    for (int i = 0; i < TRIES; i++)
        again += differs_once(seed, options.skips);
    play(seed, options.skips, false, &plain_seen);
    play(seed, options.skips, false, &shim_seen);
    bool unsteady = !same(&plain_seen, &shim_seen);
    if (again > 0 && !unsteady)
        shrink(seed, skips);
    differs(seed, skips, 3 * TRIES);
    printf("DIFFERS: program %llu (%d of %d more times%s)\n  replay: make check-differential "
           "DIFFERENTIAL=\"-r %llu -x '%s'\"\n",
           (unsigned long long)seed, again, TRIES, unsteady ? "; two plain runs differ too" : "",
           (unsigned long long)seed, skips);
    print_program(seed, skips);
    print_lines_that_differ();
    fflush(stdout);
    unlink(path("report.json", NULL));
    return again > 0 && !unsteady;
}

static void make_base(int job)
{
    snprintf(base, sizeof(base), "%s/xfershim-differential.%d.%d", options.place, (int)getppid(), job);
    mkdir(base, 0700);
    mkdir(path("work", NULL), 0700);
    mkdir(path("seen", NULL), 0700);
    /* In a mount namespace of this process: nothing is left mounted, whatever happens. */
    can_mount = unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
    for (int i = 0; i < SMALL_SYSTEMS; i++) {
        const char *folder = path(small_systems[i].name, NULL);
        mkdir(folder, 0700);
        can_mount = can_mount && mount("xfershim", folder, "tmpfs", 0, small_systems[i].options) == 0;
    }
}

static void remove_base(void)
{
    for (int i = 0; i < SMALL_SYSTEMS; i++) {
        umount2(path(small_systems[i].name, NULL), MNT_DETACH);
        rmdir(path(small_systems[i].name, NULL));
    }
    empty(path("work", NULL));
    empty(path("seen", NULL));
    unlink(path("report.json", NULL));
    rmdir(path("work", NULL));
    rmdir(path("seen", NULL));
    rmdir(base);
}

struct tally {
    uint64_t programs, differ, once, reported, with_session, without_small;
};

static volatile sig_atomic_t stop;

static void on_stop(int number)
{
    stop = number;
}

static void work(int job, struct tally *tally)
{
    time_t start = time(NULL);
    make_base(job);
    for (uint64_t i = (uint64_t)job; i < options.count && !stop; i += (uint64_t)options.jobs) {
        if (options.seconds && time(NULL) - start >= options.seconds)
            break;
        bool reported, bad = false;
        if (options.only_shim)
            play(options.first + i, options.skips, true, &shim_seen);
        else
            bad = differs_once(options.first + i, options.skips);
        tally->programs++;
        tally->without_small += !can_mount;
        tally->with_session += had_session(&reported);
        tally->reported += reported;
        if (!bad)
            continue;
        bool steady = report(options.first + i);
        tally->once += !steady;
        tally->differ += steady || options.strict;
        if (tally->differ == FAILURES_MOST)
            break;
    }
    remove_base();
}

static int replay(void)
{
    make_base(0);
    bool bad = false;
    for (int i = 0; i < 5 * TRIES && !bad; i++)
        bad = differs_once(options.first, options.skips);
    print_program(options.first, options.skips);
    printf("== plain\n%s== shim\n%s%s\n", plain_seen.text, shim_seen.text, bad ? "DIFFERS" : "no difference");
    remove_base();
    return bad;
}

static void usage(void)
{
    fprintf(stderr, "usage: driver [-n COUNT] [-s FIRST] [-j JOBS] [-t SECONDS] [-d FOLDER] [-l PERCENT] -L "
                    "LIBRARY -P PLAYER\n"
                    "  -e  a difference that does not come again is a failure too\n"
                    "  -c  plays under the library only and compares nothing\n"
                    "       driver -r SEED [-x SKIPS] -L LIBRARY -P PLAYER: replays one program\n"
                    "  -d  where the files are made, on a file system of interest (default /dev/shm)\n"
                    "  -l  least part of the programs that must have had a session (default 50)\n"
                    "  -x  leaves operations away: 3,9-20; +race: leaves all but these away\n");
    exit(2);
}

static void parse(int argc, char **argv)
{
    int option;
    options.place = "/dev/shm";
    while ((option = getopt(argc, argv, "ecn:s:j:t:d:l:L:P:r:x:")) >= 0) {
        switch (option) {
        case 'c':
            options.only_shim = true;
            break;
        case 'e':
            options.strict = true;
            break;
        case 'n':
            options.count = strtoull(optarg, NULL, 10);
            break;
        case 'r':
            options.replay = true;
            options.first = strtoull(optarg, NULL, 10);
            break;
        case 's':
            options.first = strtoull(optarg, NULL, 10);
            break;
        case 'j':
            options.jobs = atoi(optarg);
            break;
        case 't':
            options.seconds = atoi(optarg);
            break;
        case 'l':
            options.least_percent = atoi(optarg);
            break;
        case 'd':
            options.place = optarg;
            break;
        case 'x':
            options.skips = optarg;
            break;
        case 'L':
            options.library = realpath(optarg, NULL);
            break;
        case 'P':
            options.player = realpath(optarg, NULL);
            break;
        default:
            usage();
        }
    }
    if (!options.library || !options.player || options.jobs < 1)
        usage();
}

int main(int argc, char **argv)
{
    struct tally all = {0};
    int results[2];
    parse(argc, argv);
    struct sigaction action = {.sa_handler = on_stop};
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    if (options.replay)
        return replay();
    if (pipe2(results, O_CLOEXEC) < 0)
        die("pipe");
    for (int job = 0; job < options.jobs; job++) {
        if (fork() == 0) {
            struct tally tally = {0};
            prctl(PR_SET_PDEATHSIG, SIGTERM);
            work(job, &tally);
            _exit(write(results[1], &tally, sizeof(tally)) != sizeof(tally));
        }
    }
    close(results[1]);
    struct tally one;
    while (read(results[0], &one, sizeof(one)) == sizeof(one) || (errno == EINTR && stop)) {
        if (errno == EINTR) {
            errno = 0;
            continue;
        }
        all.programs += one.programs;
        all.differ += one.differ;
        all.once += one.once;
        all.reported += one.reported;
        all.with_session += one.with_session;
        all.without_small += one.without_small;
    }
    printf(
        "%llu programs, %llu differ, %llu did once and not again, %llu of %llu that reported had a session\n",
        (unsigned long long)all.programs, (unsigned long long)all.differ, (unsigned long long)all.once,
        (unsigned long long)all.with_session, (unsigned long long)all.reported);
    if (all.without_small)
        printf("skipped: no full file systems in %llu programs, because nothing can be mounted\n",
               (unsigned long long)all.without_small);
    if (all.with_session * 100 < all.reported * (uint64_t)options.least_percent) {
        printf("too few had a session: nothing is proven\n");
        return 1;
    }
    return all.differ > 0;
}
