#include "support.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

#define must(condition, ...) cr_assert(condition, __VA_ARGS__)

/* ---- text and places ---------------------------------------------------------------------- */

char *text(const char *format, ...)
{
    va_list arguments;
    char *result;
    va_start(arguments, format);
    int length = vasprintf(&result, format, arguments);
    va_end(arguments);
    must(length >= 0, "no memory");
    return result;
}

static void cut_last_name(char *path)
{
    char *slash = strrchr(path, '/');
    if (slash)
        *slash = 0;
}

char *build_path(const char *relative)
{
    static char own[PATH_MAX];
    const char *build = getenv("TEST_BUILD");
    if (!build) {
        ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
        must(length > 0, "readlink /proc/self/exe: %s", strerror(errno));
        own[length] = 0;
        /* The test programs are build/tests/FOLDER/NAME. */
        for (int up = 0; up < 3; up++)
            cut_last_name(own);
        build = own;
    }
    return text("%s/%s", build, relative);
}

char *victim(const char *name)
{
    char *path = build_path(text("tests/victims/%s", name));
    must(access(path, X_OK) == 0, "%s: %s", path, strerror(errno));
    return path;
}

const char *shim_library(void)
{
    const char *path = getenv("TEST_SHIM");
    if (!path)
        path = build_path("libxfershim.so");
    must(access(path, R_OK) == 0, "%s: %s", path, strerror(errno));
    return path;
}

char *find_program(const char *name)
{
    if (strchr(name, '/'))
        return access(name, X_OK) == 0 ? text("%s", name) : NULL;
    char *path = text("%s:/usr/sbin:/sbin", getenv("PATH") ?: "/usr/bin:/bin");
    for (char *rest = path, *folder; (folder = strsep(&rest, ":"));) {
        char *candidate = text("%s/%s", folder, name);
        if (access(candidate, X_OK) == 0)
            return candidate;
        free(candidate);
    }
    free(path);
    return NULL;
}

/* ---- scratch space and files -------------------------------------------------------------- */

enum { MOUNTS = 16 };

static char *scratch_root;
static pid_t scratch_owner;
static char *mounts[MOUNTS];
static int mount_count;

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)status, (void)kind, (void)where;
    return remove(path);
}

void remove_tree(const char *path)
{
    nftw(path, remove_one, 32, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

static void scratch_remove(void)
{
    /* A forked child that calls exit() must not take the directory away. */
    if (getpid() != scratch_owner)
        return;
    while (mount_count > 0)
        umount2(mounts[--mount_count], MNT_DETACH);
    if (!getenv("TEST_KEEP"))
        remove_tree(scratch_root);
}

const char *scratch(void)
{
    if (scratch_root && scratch_owner == getpid())
        return scratch_root;
    const char *parent = getenv("TEST_SCRATCH");
    if (!parent) {
        parent = build_path("tests/tmp");
        mkdir(parent, 0777);
    }
    scratch_root = text("%s/XXXXXX", parent);
    must(mkdtemp(scratch_root), "%s: %s", scratch_root, strerror(errno));
    scratch_owner = getpid();
    atexit(scratch_remove);
    return scratch_root;
}

char *scratch_path(const char *format, ...)
{
    va_list arguments;
    char *name;
    va_start(arguments, format);
    int length = vasprintf(&name, format, arguments);
    va_end(arguments);
    must(length >= 0, "no memory");
    return text("%s/%s", scratch(), name);
}

char *scratch_dir(const char *format, ...)
{
    va_list arguments;
    char *name;
    va_start(arguments, format);
    int length = vasprintf(&name, format, arguments);
    va_end(arguments);
    must(length >= 0, "no memory");
    char *path = text("%s/%s", scratch(), name);
    remove_tree(path);
    must(mkdir(path, 0777) == 0, "%s: %s", path, strerror(errno));
    return path;
}

/* splitmix64: every 8-byte word is a function of the seed and its place alone. */
static uint64_t random_word(uint64_t seed, uint64_t index)
{
    uint64_t z = seed * 0xd1342543de82ef95u + (index + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

void fill_random(void *buffer, size_t size, uint64_t seed, uint64_t offset)
{
    unsigned char *bytes = buffer;
    for (size_t i = 0; i < size;) {
        uint64_t word = random_word(seed, (offset + i) / 8);
        size_t skip = (offset + i) % 8;
        size_t part = 8 - skip < size - i ? 8 - skip : size - i;
        memcpy(bytes + i, (unsigned char *)&word + skip, part);
        i += part;
    }
}

static int open_or_fail(const char *path, int flags)
{
    int fd = open(path, flags | O_CLOEXEC, 0666);
    must(fd >= 0, "%s: %s", path, strerror(errno));
    return fd;
}

static void write_all(int fd, const char *path, const void *bytes, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t n = write(fd, (const char *)bytes + done, size - done);
        must(n > 0, "write %s: %s", path, strerror(errno));
        done += (size_t)n;
    }
}

enum { BLOCK = 1 << 16 };

void make_random(const char *path, uint64_t seed, uint64_t size)
{
    char block[BLOCK];
    int fd = open_or_fail(path, O_WRONLY | O_CREAT | O_TRUNC);
    for (uint64_t done = 0; done < size;) {
        size_t part = size - done < sizeof block ? (size_t)(size - done) : sizeof block;
        fill_random(block, part, seed, done);
        write_all(fd, path, block, part);
        done += part;
    }
    if (getenv("TEST_ON_DISK"))
        fsync(fd);
    close(fd);
}

void make_file(const char *path, const void *bytes, size_t size)
{
    int fd = open_or_fail(path, O_WRONLY | O_CREAT | O_TRUNC);
    write_all(fd, path, bytes, size);
    close(fd);
}

void make_text(const char *path, const char *string)
{
    make_file(path, string, strlen(string));
}

void make_sparse(const char *path, uint64_t seed, uint64_t size, unsigned islands, size_t island_size)
{
    must(island_size < size, "an island larger than the file");
    char *island = malloc(island_size);
    must(island, "no memory");
    int fd = open_or_fail(path, O_WRONLY | O_CREAT | O_TRUNC);
    must(ftruncate(fd, (off_t)size) == 0, "%s: %s", path, strerror(errno));
    for (unsigned i = 0; i < islands; i++) {
        uint64_t at = random_word(seed, i) % (size - island_size);
        fill_random(island, island_size, seed, at);
        must(pwrite(fd, island, island_size, (off_t)at) == (ssize_t)island_size, "%s: %s", path,
             strerror(errno));
    }
    close(fd);
    free(island);
}

bool file_exists(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0;
}

int64_t file_size(const char *path)
{
    struct stat status;
    must(stat(path, &status) == 0, "%s: %s", path, strerror(errno));
    return status.st_size;
}

/* As many bytes as there are, up to SIZE. */
static size_t read_up_to(int fd, const char *path, void *buffer, size_t size)
{
    size_t done = 0;
    while (done < size) {
        ssize_t n = read(fd, (char *)buffer + done, size - done);
        must(n >= 0, "read %s: %s", path, strerror(errno));
        if (n == 0)
            break;
        done += (size_t)n;
    }
    return done;
}

static char *read_to_end(int fd, const char *path, size_t *size)
{
    size_t room = BLOCK, used = 0;
    char *bytes = malloc(room);
    for (;;) {
        must(bytes, "no memory");
        size_t n = read_up_to(fd, path, bytes + used, room - used - 1);
        used += n;
        if (used < room - 1)
            break;
        room *= 2;
        bytes = realloc(bytes, room);
    }
    bytes[used] = 0;
    if (size)
        *size = used;
    return bytes;
}

char *file_read(const char *path, size_t *size)
{
    int fd = open_or_fail(path, O_RDONLY);
    char *bytes = read_to_end(fd, path, size);
    close(fd);
    return bytes;
}

uint64_t file_digest(const char *path)
{
    uint64_t block[BLOCK / 8], digest = 0x9e3779b97f4a7c15u;
    int fd = open_or_fail(path, O_RDONLY);
    for (;;) {
        size_t n = read_up_to(fd, path, block, sizeof block);
        memset((char *)block + n, 0, sizeof block - n);
        for (size_t i = 0; i < (n + 7) / 8; i++)
            digest = (digest ^ block[i]) * 0xff51afd7ed558ccdu ^ (digest >> 29);
        digest = (digest ^ n) * 0xc4ceb9fe1a85ec53u;
        if (n < sizeof block)
            break;
    }
    close(fd);
    return digest;
}

static char *bytes_difference(const char *a, const char *b, int64_t limit)
{
    static char block_a[BLOCK], block_b[BLOCK];
    char *difference = NULL;
    int fd_a = open_or_fail(a, O_RDONLY), fd_b = open_or_fail(b, O_RDONLY);
    for (int64_t at = 0; !difference && at < limit;) {
        /* Where both have a hole there is nothing to compare. */
        off_t data_a = lseek(fd_a, at, SEEK_DATA), data_b = lseek(fd_b, at, SEEK_DATA);
        if (data_a < 0)
            data_a = errno == ENXIO ? limit : at;
        if (data_b < 0)
            data_b = errno == ENXIO ? limit : at;
        int64_t next = data_a < data_b ? data_a : data_b;
        if (next > at) {
            at = next;
            continue;
        }
        size_t want = limit - at < BLOCK ? (size_t)(limit - at) : BLOCK;
        ssize_t n_a = pread(fd_a, block_a, want, at), n_b = pread(fd_b, block_b, want, at);
        must(n_a == (ssize_t)want && n_b == (ssize_t)want, "%s or %s shrank", a, b);
        if (memcmp(block_a, block_b, want) != 0) {
            size_t i = 0;
            while (block_a[i] == block_b[i])
                i++;
            difference = text("%s and %s differ at offset %" PRId64 ": %02x, %02x", a, b, at + (int64_t)i,
                              (unsigned char)block_a[i], (unsigned char)block_b[i]);
        }
        at += (int64_t)want;
    }
    close(fd_a);
    close(fd_b);
    return difference;
}

char *file_difference(const char *a, const char *b)
{
    int64_t size_a = file_size(a), size_b = file_size(b);
    char *difference = bytes_difference(a, b, size_a < size_b ? size_a : size_b);
    if (!difference && size_a != size_b)
        difference = text("%s has %" PRId64 " bytes, %s has %" PRId64, a, size_a, b, size_b);
    return difference;
}

char *prefix_difference(const char *prefix, const char *whole)
{
    int64_t size = file_size(prefix);
    if (size > file_size(whole))
        return text("%s has %" PRId64 " bytes, %s only %" PRId64, prefix, size, whole, file_size(whole));
    return bytes_difference(prefix, whole, size);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int no_dots(const struct dirent *entry)
{
    return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

static char *link_difference(const char *a, const char *b)
{
    char target_a[PATH_MAX], target_b[PATH_MAX];
    ssize_t n_a = readlink(a, target_a, sizeof target_a), n_b = readlink(b, target_b, sizeof target_b);
    if (n_a != n_b || n_a < 0 || memcmp(target_a, target_b, (size_t)n_a) != 0)
        return text("links %s and %s differ", a, b);
    return NULL;
}

static char *directory_difference(const char *a, const char *b)
{
    struct dirent **in_a, **in_b;
    int count_a = scandir(a, &in_a, no_dots, by_name), count_b = scandir(b, &in_b, no_dots, by_name);
    must(count_a >= 0 && count_b >= 0, "scandir %s, %s: %s", a, b, strerror(errno));
    for (int i = 0; i < count_a || i < count_b; i++) {
        int order = i >= count_a ? 1 : i >= count_b ? -1 : strcmp(in_a[i]->d_name, in_b[i]->d_name);
        if (order < 0)
            return text("%s is in %s only", in_a[i]->d_name, a);
        if (order > 0)
            return text("%s is in %s only", in_b[i]->d_name, b);
        char *child_a = text("%s/%s", a, in_a[i]->d_name), *child_b = text("%s/%s", b, in_b[i]->d_name);
        char *difference = tree_difference(child_a, child_b);
        if (difference)
            return difference;
        free(child_a), free(child_b), free(in_a[i]), free(in_b[i]);
    }
    free(in_a), free(in_b);
    return NULL;
}

char *tree_difference(const char *a, const char *b)
{
    struct stat status_a, status_b;
    must(lstat(a, &status_a) == 0, "%s: %s", a, strerror(errno));
    must(lstat(b, &status_b) == 0, "%s: %s", b, strerror(errno));
    if (status_a.st_mode != status_b.st_mode)
        return text("%s has mode %o, %s has mode %o", a, status_a.st_mode, b, status_b.st_mode);
    if (S_ISDIR(status_a.st_mode))
        return directory_difference(a, b);
    if (S_ISLNK(status_a.st_mode))
        return link_difference(a, b);
    if (S_ISREG(status_a.st_mode))
        return file_difference(a, b);
    return NULL;
}

/* ---- running programs --------------------------------------------------------------------- */

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int exit_code(int status)
{
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static bool named(const char *setting, const char *name, size_t length)
{
    return strncmp(setting, name, length) == 0 && (setting[length] == '=' || setting[length] == 0);
}

/* Drops every setting of that name, then appends SETTING if it has a value. */
static void change_setting(char **environment, const char *setting)
{
    size_t length = strcspn(setting, "=");
    char **to = environment;
    for (char **from = environment; *from; from++)
        if (!named(*from, setting, length))
            *to++ = *from;
    if (setting[length] == '=')
        *to++ = (char *)setting;
    *to = NULL;
}

/* The test runner's own settings are no business of the program's. */
static bool is_ours(const char *setting)
{
    static const char *const prefixes[] = {"XFERSHIM", "LD_PRELOAD=", "BXFI_", "CRITERION_", "TEST_"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (strncmp(setting, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

static char **make_environment(const struct run *what, const char *report_path)
{
    size_t count = 8;
    for (char **setting = environ; *setting; setting++)
        count++;
    for (const char *const *setting = what->env; setting && *setting; setting++)
        count++;
    char **environment = calloc(count, sizeof *environment), **to = environment;
    must(environment, "no memory");
    for (char **setting = environ; *setting; setting++)
        if (!is_ours(*setting))
            *to++ = *setting;
    if (what->shim) {
        change_setting(environment, "XFERSHIM_THRESHOLD=1");
        change_setting(environment, text("XFERSHIM_REPORT=%s", report_path));
        change_setting(environment, text("LD_PRELOAD=%s", shim_library()));
    }
    for (const char *const *setting = what->env; setting && *setting; setting++)
        change_setting(environment, *setting);
    return environment;
}

/* In the child, where a failed assertion would be lost: say it where the parent captures it. */
static void __attribute__((noreturn)) child_fails(int errors, const char *what)
{
    dprintf(errors, "support: %s: %s\n", what, strerror(errno));
    _exit(126);
}

static void put_descriptor(int errors, int fd, int number, const char *what)
{
    if (fd < 0 || dup2(fd, number) < 0)
        child_fails(errors, what);
}

static void __attribute__((noreturn))
become(const struct run *what, const char *program, char **environment, int out, int err)
{
    /* Above the numbers that tests give to their own descriptors. */
    int errors = fcntl(err, F_DUPFD_CLOEXEC, 200);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setpgid(0, 0);
    signal(SIGPIPE, SIG_DFL);
    if (what->cwd && chdir(what->cwd) != 0)
        child_fails(errors, what->cwd);
    const char *input = what->input ?: "/dev/null";
    put_descriptor(errors, open(input, O_RDONLY | O_CLOEXEC), 0, input);
    if (what->output) {
        int flags = O_WRONLY | O_CREAT | O_CLOEXEC | (what->append ? O_APPEND : O_TRUNC);
        out = open(what->output, flags, 0666);
    }
    put_descriptor(errors, out, 1, "stdout");
    if (what->errors)
        err = open(what->errors, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    put_descriptor(errors, err, 2, "stderr");
    /* Whatever else the test runner has open would make descriptor numbers depend on it. */
    for (int fd = 3; fd < 200; fd++)
        fcntl(fd, F_SETFD, FD_CLOEXEC);
    if (what->child)
        what->child(what->argument);
    execve(program, (char *const *)what->args, environment);
    child_fails(errors, program);
}

struct running run_start(const struct run *what)
{
    static int serial;
    struct running running = {.started = now()};
    running.deadline = running.started + (what->timeout > 0 ? what->timeout : 60);
    running.report_path = scratch_path("report-%d.json", serial++);
    char *program = find_program(what->args[0]);
    must(program, "%s: not found", what->args[0]);
    char **environment = make_environment(what, running.report_path);
    int out[2], err[2];
    must(pipe2(out, O_CLOEXEC) == 0 && pipe2(err, O_CLOEXEC) == 0, "pipe2: %s", strerror(errno));
    running.pid = fork();
    must(running.pid >= 0, "fork: %s", strerror(errno));
    if (running.pid == 0)
        become(what, program, environment, out[1], err[1]);
    setpgid(running.pid, running.pid);
    close(out[1]), close(err[1]);
    running.out = out[0], running.err = err[0];
    free(environment);
    return running;
}

struct capture {
    char *bytes;
    size_t used, room;
};

/* False at the end. */
static bool capture_more(struct capture *capture, int fd)
{
    if (capture->room - capture->used < 4097) {
        capture->room = capture->room * 2 + 8192;
        capture->bytes = realloc(capture->bytes, capture->room);
        must(capture->bytes, "no memory");
    }
    ssize_t n = read(fd, capture->bytes + capture->used, capture->room - capture->used - 1);
    if (n > 0)
        capture->used += (size_t)n;
    capture->bytes[capture->used] = 0;
    return n > 0 || (n < 0 && errno == EINTR);
}

static void capture_all(struct running *running, struct outcome *outcome)
{
    struct capture captures[2] = {{0}};
    struct pollfd polls[2] = {{.fd = running->out, .events = POLLIN}, {.fd = running->err, .events = POLLIN}};
    while (polls[0].fd >= 0 || polls[1].fd >= 0) {
        double left = running->deadline - now();
        if (left <= 0) {
            outcome->timed_out = true;
            kill(-running->pid, SIGKILL);
            break;
        }
        poll(polls, 2, (int)(left * 1000) + 1);
        for (int i = 0; i < 2; i++)
            if (polls[i].fd >= 0 && polls[i].revents && !capture_more(&captures[i], polls[i].fd))
                polls[i].fd = -1;
    }
    close(running->out), close(running->err);
    outcome->out = captures[0].bytes ?: text("%s", "");
    outcome->err = captures[1].bytes ?: text("%s", "");
    outcome->out_size = captures[0].used, outcome->err_size = captures[1].used;
}

static int64_t number_after(const char *bytes, const char *key)
{
    const char *found = bytes ? strstr(bytes, key) : NULL;
    return found ? strtoll(found + strlen(key), NULL, 10) : -1;
}

/* The zombie still has its counters, its children's added to them. */
static void count_calls(pid_t pid, struct outcome *outcome)
{
    char bytes[1024] = "";
    int fd = open(text("/proc/%d/io", pid), O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        ssize_t n = read(fd, bytes, sizeof bytes - 1);
        bytes[n > 0 ? n : 0] = 0;
        close(fd);
    }
    outcome->reads = number_after(bytes, "syscr: ");
    outcome->writes = number_after(bytes, "syscw: ");
}

/* Both pipes are closed, but the program may go on. */
static void wait_until_dead(struct running *running, struct outcome *outcome)
{
    siginfo_t info = {0};
    while (waitid(P_PID, (id_t)running->pid, &info, WEXITED | WNOWAIT | WNOHANG) == 0 && info.si_pid == 0) {
        if (!outcome->timed_out && now() > running->deadline) {
            outcome->timed_out = true;
            kill(-running->pid, SIGKILL);
        }
        usleep(500);
    }
}

struct outcome run_finish(struct running *running)
{
    struct outcome outcome = {0};
    capture_all(running, &outcome);
    wait_until_dead(running, &outcome);
    count_calls(running->pid, &outcome);
    must(wait4(running->pid, &outcome.status, 0, &outcome.usage) == running->pid, "wait4: %s",
         strerror(errno));
    outcome.seconds = now() - running->started;
    outcome.report = report_load(running->report_path);
    return outcome;
}

struct outcome run(const struct run *what)
{
    struct running running = run_start(what);
    return run_finish(&running);
}

static char *command_line(const struct run *what)
{
    char *line = text("%s", what->args[0]);
    for (const char *const *argument = what->args + 1; *argument; argument++)
        line = text("%s %s", line, *argument);
    for (const char *const *setting = what->env; setting && *setting; setting++)
        line = text("%s %s", *setting, line);
    return line;
}

static char *first_difference(const char *name, const char *a, size_t size_a, const char *b, size_t size_b)
{
    if (size_a == size_b && memcmp(a, b, size_a) == 0)
        return NULL;
    size_t i = 0, line = 0;
    for (; i < size_a && i < size_b && a[i] == b[i]; i++)
        if (a[i] == '\n')
            line = i + 1;
    return text("%s differs at byte %zu; plain: \"%.*s\", shim: \"%.*s\"", name, i,
                (int)strcspn(a + line, "\n"), a + line, (int)strcspn(b + line, "\n"), b + line);
}

static struct outcome last_plain;

const struct outcome *plain_outcome(void)
{
    return &last_plain;
}

static const char *last_base;

char *plain_path(const char *name)
{
    return text("%s/plain/%s", last_base ?: scratch(), name);
}

char *shim_path(const char *name)
{
    return text("%s/shim/%s", last_base ?: scratch(), name);
}

struct outcome run_both(const struct run *what, void (*prepare)(const char *, void *), void *argument)
{
    struct outcome outcomes[2];
    char *directories[2];
    last_base = what->base;
    for (int i = 0; i < 2; i++) {
        struct run one = *what;
        one.cwd = directories[i] = i ? shim_path("") : plain_path("");
        remove_tree(one.cwd);
        must(mkdir(one.cwd, 0777) == 0, "%s: %s", one.cwd, strerror(errno));
        one.shim = i;
        if (prepare)
            prepare(one.cwd, argument);
        outcomes[i] = run(&one);
    }
    struct outcome *plain = &outcomes[0], *shim = &outcomes[1];
    last_plain = *plain;
    char *line = command_line(what);
    must(!plain->timed_out && !shim->timed_out, "%s: timed out %s", line,
         plain->timed_out ? "plain" : "under the shim");
    char *difference =
        first_difference("stdout", plain->out, plain->out_size, shim->out, shim->out_size)
            ?: first_difference("stderr", plain->err, plain->err_size, shim->err, shim->err_size);
    must(plain->status == shim->status, "%s: exit %d plain, %d under the shim; %s; stderr: %s", line,
         exit_code(plain->status), exit_code(shim->status), difference ?: "", shim->err);
    difference = difference ?: tree_difference(directories[0], directories[1]);
    must(!difference, "%s: %s", line, difference);
    must(shim->report.malformed == 0, "%s: malformed report: %s", line, shim->report.raw);
    return *shim;
}

/* ---- reports ------------------------------------------------------------------------------ */

/*
 * Just enough JSON: one pass over a line that calls a function for each scalar with its key, its
 * depth and the key of the array or object that holds it.
 */
enum { JSON_DEPTH = 8, JSON_TEXT = 4096 };

struct json {
    const char *at;
    int depth;
    char keys[JSON_DEPTH][REPORT_WORD]; /* keys[d] is the latest key at depth d */
    char value[JSON_TEXT];
    struct report *report;
};

static bool json_string(struct json *json, char *to, size_t room)
{
    size_t used = 0;
    for (json->at++; *json->at && *json->at != '"'; json->at++) {
        if (*json->at == '\\' && json->at[1])
            json->at++;
        if (used + 1 < room)
            to[used++] = *json->at;
    }
    to[used] = 0;
    return *json->at++ == '"';
}

static void json_loop_value(struct json *json, const char *key)
{
    struct report *report = json->report;
    if (report->loop_count == 0 || report->loop_count > REPORT_LOOPS)
        return;
    __typeof__(*report->loops) *loop = &report->loops[report->loop_count - 1];
    int64_t number = strtoll(json->value, NULL, 10);
    if (strcmp(key, "chunk") == 0)
        loop->chunk = number;
    else if (strcmp(key, "bytes") == 0)
        loop->bytes = number;
    else if (strcmp(key, "calls_before") == 0)
        loop->calls_before = number;
    else if (strcmp(key, "calls_after") == 0)
        loop->calls_after = number;
    else if (strcmp(key, "sessions") == 0)
        loop->sessions = number;
    else if (strcmp(key, "ended") == 0)
        snprintf(loop->ended, sizeof loop->ended, "%.39s", json->value);
    else if (strcmp(key, "engine") == 0)
        snprintf(loop->engine, sizeof loop->engine, "%.39s", json->value);
}

static void json_refusal_value(struct json *json, const char *key)
{
    struct report *report = json->report;
    static int current;
    if (strcmp(key, "reason") == 0) {
        for (current = 0; current < report->reason_count; current++)
            if (strcmp(report->reasons[current].word, json->value) == 0)
                return;
        if (current < REPORT_REASONS) {
            snprintf(report->reasons[current].word, REPORT_WORD, "%.39s", json->value);
            report->reason_count++;
        }
    } else if (strcmp(key, "count") == 0 && current < report->reason_count) {
        report->reasons[current].count += strtoll(json->value, NULL, 10);
    }
}

static void json_scalar(struct json *json)
{
    const char *key = json->keys[json->depth], *holder = json->keys[1];
    if (json->depth == 1 && strcmp(key, "sessions") == 0)
        json->report->sessions += strtoll(json->value, NULL, 10);
    else if (json->depth == 3 && strcmp(holder, "loops") == 0)
        json_loop_value(json, key);
    else if (json->depth == 3 && strcmp(holder, "refusals") == 0)
        json_refusal_value(json, key);
}

static bool json_open(struct json *json)
{
    json->at++;
    if (++json->depth >= JSON_DEPTH)
        return false;
    json->keys[json->depth][0] = 0;
    if (json->depth == 3 && strcmp(json->keys[1], "loops") == 0 && json->report->loop_count < REPORT_LOOPS)
        json->report->loop_count++;
    return true;
}

/* One object on one line. Returns whether it was whole. */
static bool json_line(struct json *json)
{
    do {
        json->at += strspn(json->at, " \t\r,");
        if (*json->at == '{' || *json->at == '[') {
            if (!json_open(json))
                return false;
        } else if (*json->at == '}' || *json->at == ']') {
            json->at++;
            json->depth--;
        } else if (*json->at == '"') {
            if (!json_string(json, json->value, sizeof json->value))
                return false;
            json->at += strspn(json->at, " \t");
            if (*json->at == ':') {
                json->at++;
                snprintf(json->keys[json->depth], REPORT_WORD, "%.39s", json->value);
            } else {
                json_scalar(json);
            }
        } else {
            size_t length = strcspn(json->at, ",}] \t\r");
            if (length == 0 || length >= sizeof json->value)
                return false;
            memcpy(json->value, json->at, length);
            json->value[length] = 0;
            json->at += length;
            json_scalar(json);
        }
    } while (json->depth > 0);
    return json->at[strspn(json->at, " \t\r")] == 0;
}

struct report report_load(const char *path)
{
    struct report report = {0};
    report.raw = file_exists(path) ? file_read(path, NULL) : text("%s", "");
    char *copy = text("%s", report.raw);
    for (char *rest = copy, *line; (line = strsep(&rest, "\n"));) {
        if (!*line)
            continue;
        struct json json = {.at = line, .report = &report};
        report.processes++;
        if (*line != '{' || !json_line(&json))
            report.malformed++;
    }
    free(copy);
    return report;
}

int64_t report_reason(const struct report *report, const char *word)
{
    for (int i = 0; i < report->reason_count; i++)
        if (strcmp(report->reasons[i].word, word) == 0)
            return report->reasons[i].count;
    return 0;
}

char *report_words(const struct report *report)
{
    char *words = text("%s", report->reason_count ? "" : "no reason");
    for (int i = 0; i < report->reason_count; i++)
        words =
            text("%s%s%s %" PRId64, words, i ? ", " : "", report->reasons[i].word, report->reasons[i].count);
    return words;
}

/* ---- file systems ------------------------------------------------------------------------- */

const char *mount_reason(const char *kind)
{
    if (geteuid() != 0)
        return "mounting needs root";
    if (strcmp(kind, "tmpfs") == 0 || strcmp(kind, "overlay") == 0)
        return NULL;
    if (!find_program(text("mkfs.%s", kind)))
        return text("mkfs.%s is not installed", kind);
    if (access("/dev/loop-control", F_OK) != 0)
        return "no loop devices here";
    char *kinds = file_read("/proc/filesystems", NULL);
    if (!strstr(kinds, text("\t%s\n", kind)) && access(text("/sys/module/%s", kind), F_OK) != 0)
        return text("the kernel has no %s", kind);
    return NULL;
}

/* NULL, or why the test has to be skipped. */
static const char *enter_namespace(void)
{
    static bool done;
    if (done)
        return NULL;
    if (unshare(CLONE_NEWNS) != 0)
        return text("unshare: %s", strerror(errno));
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        return text("mount --make-rprivate: %s", strerror(errno));
    done = true;
    return NULL;
}

static char *make_image(const char *kind, uint64_t size, int serial)
{
    /* What mkfs.xfs 6.1, mkfs.btrfs 6.2 and mkfs.ext4 1.47 take without options, with some air. */
    uint64_t least = strcmp(kind, "xfs") == 0     ? 320u << 20
                     : strcmp(kind, "btrfs") == 0 ? 160u << 20
                                                  : 32u << 20;
    char *image = scratch_path("image-%d", serial);
    int fd = open_or_fail(image, O_WRONLY | O_CREAT | O_TRUNC);
    must(ftruncate(fd, (off_t)(size > least ? size : least)) == 0, "%s: %s", image, strerror(errno));
    close(fd);
    struct run mkfs = {.args = strcmp(kind, "xfs") == 0
                                   ? ARGS("mkfs.xfs", "-q", "-f", "-m", "reflink=1", image)
                                   : ARGS(text("mkfs.%s", kind), "-q", image)};
    struct outcome outcome = run(&mkfs);
    must(outcome.status == 0, "mkfs.%s: %s", kind, outcome.err);
    return image;
}

static char *mount_overlay(char *point, uint64_t size)
{
    char *below = mount_fresh("tmpfs", size);
    static const char *const folders[] = {"lower", "upper", "work"};
    for (int i = 0; i < 3; i++)
        must(mkdir(text("%s/%s", below, folders[i]), 0777) == 0, "mkdir: %s", strerror(errno));
    char *options = text("lowerdir=%s/lower,upperdir=%s/upper,workdir=%s/work", below, below, below);
    if (mount("overlay", point, "overlay", 0, options) != 0)
        cr_skip_test("mount overlay: %s", strerror(errno));
    mounts[mount_count++] = point;
    return point;
}

char *mount_fresh(const char *kind, uint64_t size)
{
    const char *reason = mount_reason(kind) ?: enter_namespace();
    if (reason)
        cr_skip_test("%s", reason);
    must(mount_count < MOUNTS, "more than %d mounts in one test", MOUNTS);
    static int serial;
    serial++;
    char *point = scratch_dir("mount-%d", serial);
    if (strcmp(kind, "tmpfs") == 0) {
        char *options = size ? text("size=%" PRIu64, size) : text("%s", "");
        if (mount("tmpfs", point, "tmpfs", 0, options) != 0)
            cr_skip_test("mount tmpfs: %s", strerror(errno));
        mounts[mount_count++] = point;
        return point;
    }
    if (strcmp(kind, "overlay") == 0)
        return mount_overlay(point, size);
    char *image = make_image(kind, size, serial);
    struct run mount_image = {.args = ARGS("mount", "-o", "loop", "-t", kind, image, point)};
    struct outcome outcome = run(&mount_image);
    if (outcome.status != 0)
        cr_skip_test("mount %s: %.*s", kind, (int)strcspn(outcome.err, "\n"), outcome.err);
    mounts[mount_count++] = point;
    return point;
}

char *output_of(const char *const *args)
{
    if (!find_program(args[0]))
        cr_skip_test("%s is not installed", args[0]);
    struct run what = {.args = args};
    struct outcome outcome = run(&what);
    cr_assert(outcome.status == 0, "%s: %s", args[0], outcome.err);
    return outcome.out;
}
