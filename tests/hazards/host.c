/*
 * D1, D2, D5 to D10: the program is not disturbed, however it was built, started, limited and equipped.
 */
#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MIB = 1 << 20 };

static const char *source;

static void source_of(uint64_t size)
{
    source = scratch_path("source");
    make_random(source, 30, size);
}

static void link_source(const char *directory, void *unused)
{
    (void)unused;
    cr_assert(symlink(source, text("%s/in", directory)) == 0, "symlink");
}

static struct outcome both_with(struct run what)
{
    struct outcome outcome = run_both(&what, link_source, NULL);
    cr_assert(outcome.status == 0, "exit %d, %s", exit_code(outcome.status), outcome.err);
    return outcome;
}

static struct outcome both(const char *const *args)
{
    return both_with((struct run){.args = args});
}

static void whole(const char *name)
{
    char *difference = file_difference(scratch_path("shim/%s", name), source);
    cr_assert(!difference, "%s", difference);
}

Test(hazard_d, D1_errno_is_left_alone)
{
    source_of(2 * MIB);
    struct outcome outcome = both(ARGS(victim("d1_errno"), "in", "out"));
    whole("out");
    assert_sessions(outcome);
    cr_assert_str_eq(outcome.out, "errno 0 at main, changed 0 times\n");
}

static const char *const stages[] = {"preinit", "constructor", "main", "atexit", "destructor", "last"};

Test(hazard_d, D2_before_every_constructor_and_after_every_destructor)
{
    source_of(MIB);
    struct outcome outcome = both(ARGS(victim("d2_early_and_late"), "in", "."));
    for (int i = 0; i < 6; i++)
        whole(stages[i]);
    assert_sessions(outcome);
    cr_assert(strstr(outcome.out, "last") && strstr(outcome.out, "flushed at exit"), "%s", outcome.out);
}

/* Allocators open and read files from their constructors, and call from inside malloc. */
static void with_allocator(const char *const *library_names)
{
    const char *library = NULL;
    for (int i = 0; library_names[i] && !library; i++) {
        struct run attempt = {.args = ARGS("/bin/true"),
                              .env = ARGS(text("LD_PRELOAD=%s", library_names[i]))};
        struct outcome outcome = run(&attempt);
        if (outcome.status == 0 && !*outcome.err)
            library = library_names[i];
    }
    if (!library)
        cr_skip_test("%s is not installed", library_names[0]);
    source_of(MIB);
    for (int i = 0; i < 2; i++) {
        const char *first = i ? shim_library() : library, *second = i ? library : shim_library();
        for (int j = 0; j < 3; j++) {
            const char *directory = scratch_dir("shim");
            struct run what = {
                .args = j == 0   ? ARGS(victim("d2_early_and_late"), source, ".")
                        : j == 1 ? ARGS(victim("d1_errno"), source, "out")
                                 : ARGS(victim("d9_cancel"), source, "out"),
                .env = ARGS(text("LD_PRELOAD=%s %s", first, second)),
                .cwd = directory,
                .shim = true,
            };
            struct outcome outcome = run(&what);
            cr_assert(outcome.status == 0 && !*outcome.err, "%s before %s: exit %d; %s", first, second,
                      exit_code(outcome.status), outcome.err);
            cr_assert(j != 1 || strstr(outcome.out, "changed 0 times"), "%s", outcome.out);
            cr_assert(j != 2 || strstr(outcome.out, "reader cancelled\nwriter cancelled"), "%s", outcome.out);
            for (int k = 0; j == 0 && k < 6; k++)
                whole(stages[k]);
            if (j)
                whole("out");
            assert_sessions(outcome);
        }
    }
}

Test(hazard_d, D2_jemalloc_in_either_order)
{
    with_allocator(ARGS("libjemalloc.so.2"));
}

Test(hazard_d, D2_tcmalloc_in_either_order)
{
    with_allocator(ARGS("libtcmalloc.so.4", "libtcmalloc_minimal.so.4"));
}

Test(hazard_d, D2_mimalloc_in_either_order)
{
    with_allocator(ARGS("libmimalloc.so.2.0", "libmimalloc.so.2", "libmimalloc.so.3"));
}

static long stack_depth(const char *mode, bool shim, int64_t *sessions)
{
    /* Passing through is what a call does that nobody considers for a session. */
    const char *setting = strcmp(mode, "pass") == 0 ? "XFERSHIM_THRESHOLD" : "XFERSHIM_THRESHOLD=1";
    struct run what = {
        .args = ARGS(victim("d5_stack_use"), source, "out", mode),
        .env = ARGS(setting),
        .cwd = scratch_dir(shim ? "shim" : "plain"),
        .shim = shim,
    };
    struct outcome outcome = run(&what);
    cr_assert(outcome.status == 0, "exit %d; %s", exit_code(outcome.status), outcome.err);
    *sessions = outcome.report.sessions;
    return strtol(outcome.out, NULL, 10);
}

Test(hazard_d, D5_stack_use)
{
    int64_t sessions;
    source_of(2 * MIB);
    long plain = stack_depth("pass", false, &sessions), pass = stack_depth("pass", true, &sessions);
    cr_assert(plain > 0 && pass - plain < 512, "passing through takes %ld bytes of stack, plain %ld", pass,
              plain);
    plain = stack_depth("session", false, &sessions);
    long deepest = stack_depth("session", true, &sessions);
    cr_assert(sessions > 0, "no session");
    /* The smallest stacks known are 2 KiB; the program needs some of it for itself. */
    cr_assert(deepest - plain < 1536, "a session takes %ld bytes of stack, plain %ld", deepest, plain);
}

Test(hazard_d, D5_stacks_of_two_pages)
{
    source_of(2 * MIB);
    struct outcome outcome = both(ARGS(victim("d5_stack_use"), "in", "out", "clone"));
    whole("out");
    cr_assert_str_eq(outcome.out, "child ended well\n");
}

Test(hazard_d, D6_descriptor_limit_and_high_numbers)
{
    source_of(2 * MIB);
    struct outcome outcome = both(ARGS(victim("d6_many_descriptors"), "in", "out"));
    whole("out");
    assert_sessions(outcome);
    cr_assert(strstr(outcome.out, "memory small"), "%s", outcome.out);
}

Test(hazard_d, D7_everything_closed)
{
    static const char *const modes[] = {"close_range", "unshare", "closefrom", "loop", "daemon"};
    source_of(4 * MIB);
    for (int i = 0; i < 5; i++) {
        struct outcome outcome = both(ARGS(victim("d7_close_everything"), "in", "out", modes[i]));
        whole("out");
        assert_sessions(outcome);
        cr_assert(strstr(outcome.out, text("%d bytes", 4 * MIB)), "%s: %s", modes[i], outcome.out);
    }
}

static void instrumented_with(const char *name, const char *symbol)
{
    if (!find_program("nm"))
        return;
    struct run what = {.args = ARGS("nm", victim(name))};
    cr_assert(strstr(run(&what).out, symbol), "%s has no %s: the victim is not instrumented", name, symbol);
}

Test(hazard_d, D8_undefined_behaviour_sanitizer)
{
    source_of(2 * MIB);
    instrumented_with("d8_undefined_behaviour", "__ubsan_handle");
    struct outcome outcome = both(ARGS(victim("d8_undefined_behaviour"), "in", "out"));
    whole("out");
    assert_sessions(outcome);
}

Test(hazard_d, D8_address_sanitizer_in_the_program)
{
    source_of(2 * MIB);
    instrumented_with("d8_address", "__asan_init");
    struct outcome outcome = both(ARGS(victim("d8_address"), "in", "out"));
    whole("out");
    assert_sessions(outcome);
}

Test(hazard_d, D8_address_sanitizer_in_a_library_that_comes_first)
{
    source_of(2 * MIB);
    instrumented_with("d8_address_shared", "__asan_init");
    struct run ask = {.args = ARGS("gcc", "-print-file-name=libasan.so")};
    if (!find_program("gcc"))
        cr_skip_test("gcc is not installed");
    char *library = run(&ask).out;
    library[strcspn(library, "\n")] = 0;
    struct run what = {
        .args = ARGS(victim("d8_address_shared"), source, "out"),
        .env = ARGS(text("LD_PRELOAD=%s %s", library, shim_library())),
        .cwd = scratch_dir("shim"),
        .shim = true,
    };
    struct outcome outcome = run(&what);
    cr_assert(outcome.status == 0, "exit %d; %s", exit_code(outcome.status), outcome.err);
    whole("out");
}

Test(hazard_d, D8_valgrind_leaves_it_inert)
{
    if (!find_program("valgrind"))
        cr_skip_test("valgrind is not installed");
    source_of(MIB);
    struct outcome outcome =
        both(ARGS("valgrind", "-q", "--error-exitcode=9", victim("d1_errno"), "in", "out"));
    whole("out");
    assert_stays_out(outcome, "valgrind");
    cr_assert_str_eq(outcome.err, "");
}

Test(hazard_d, D9_read_and_write_are_cancellation_points)
{
    source_of(4 * MIB);
    struct outcome outcome = both(ARGS(victim("d9_cancel"), "in", "out"));
    whole("out");
    assert_sessions(outcome);
    cr_assert(strstr(outcome.out, "reader cancelled\nwriter cancelled\ncleaned 2"), "%s", outcome.out);
}

static void empty_environment(void *argument)
{
    const char *const *args = argument;
    char *environment[] = {text("LD_PRELOAD=%s", shim_library()), NULL};
    execve(args[0], (char *const *)args, environment);
}

Test(hazard_d, D10_empty_environment)
{
    source_of(2 * MIB);
    const char *const *args = ARGS(victim("d1_errno"), source, scratch_path("out"));
    /* The child function becomes the program itself, with LD_PRELOAD alone; then without an environment at
     * all. */
    struct run what = {.args = args, .child = empty_environment, .argument = (void *)args};
    struct outcome outcome = run(&what);
    cr_assert(outcome.status == 0, "exit %d; %s", exit_code(outcome.status), outcome.err);
    cr_assert_str_eq(outcome.out, "errno 0 at main, changed 0 times\n");
    char *difference = file_difference(scratch_path("out"), source);
    cr_assert(!difference, "%s", difference);
    /* Plain makes two calls for each 1000 bytes. */
    cr_assert(outcome.writes < 2 * MIB / 1000, "%ld writes: not helped", (long)outcome.writes);
}

Test(hazard_d, D10_environment_thrown_away)
{
    static const char *const modes[] = {"clear", "null", "garbage"};
    source_of(2 * MIB);
    for (int i = 0; i < 3; i++) {
        struct run what = {
            .args = ARGS(victim("d10_no_environment"), source, "out", modes[i]),
            .cwd = scratch_dir("shim"),
            .shim = true,
        };
        struct outcome outcome = run(&what);
        cr_assert(outcome.status == 0 && !*outcome.err, "%s: exit %d; %s", modes[i],
                  exit_code(outcome.status), outcome.err);
        whole("out");
        cr_assert(outcome.writes < 2 * MIB / 2048, "%s: %ld writes: not helped", modes[i],
                  (long)outcome.writes);
    }
}

static void without_proc(void *unused)
{
    (void)unused;
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        _exit(77);
    while (umount2("/proc", MNT_DETACH) == 0)
        ;
    if (access("/proc/self", F_OK) == 0)
        _exit(77);
}

Test(hazard_d, D10_no_proc)
{
    source_of(2 * MIB);
    struct run what = {
        .args = ARGS(victim("d1_errno"), source, "out"),
        .cwd = scratch_dir("shim"),
        .child = without_proc,
        .shim = true,
    };
    struct outcome outcome = run(&what);
    if (WIFEXITED(outcome.status) && WEXITSTATUS(outcome.status) == 77)
        cr_skip_test("/proc cannot be unmounted here");
    cr_assert(outcome.status == 0 && !*outcome.err, "exit %d; %s", exit_code(outcome.status), outcome.err);
    cr_assert_str_eq(outcome.out, "errno 0 at main, changed 0 times\n");
    whole("out");
}

static void read_only_root(void *directory)
{
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        _exit(77);
    if (mount("tmpfs", directory, "tmpfs", 0, "size=256m") != 0 || chdir(directory) != 0)
        _exit(77);
    if (mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) != 0)
        _exit(77);
}

Test(hazard_d, D10_read_only_root)
{
    source_of(2 * MIB);
    char *directory = scratch_dir("shim");
    /* What is written to the private tmpfs is compared in there. */
    struct run what = {
        .args = ARGS("/bin/sh", "-c", "\"$0\" \"$1\" out && cmp out \"$1\"", victim("d1_errno"), source),
        .child = read_only_root,
        .argument = directory,
        .shim = true,
    };
    struct outcome outcome = run(&what);
    if (WIFEXITED(outcome.status) && WEXITSTATUS(outcome.status) == 77)
        cr_skip_test("no read-only root here");
    cr_assert(outcome.status == 0, "exit %d; %s", exit_code(outcome.status), outcome.err);
    /* The report has no place to go to, which is nobody's business. */
    cr_assert_str_eq(outcome.err, "");
    cr_assert_str_eq(outcome.out, "errno 0 at main, changed 0 times\n");
}

Test(hazard_d, D10_strange_names_in_the_preload_list)
{
    source_of(2 * MIB);
    char *copy = scratch_path("another[copy]*%%p$HOME.so"), *link = scratch_path("-rf");
    size_t size;
    char *bytes = file_read(shim_library(), &size);
    make_file(copy, bytes, size);
    cr_assert(symlink(shim_library(), link) == 0);
    const char *lists[] = {
        text("%s:%s", shim_library(), shim_library()),
        text(" : %s : ", shim_library()),
        text("%s %s", link, shim_library()),
        link,
        /* The same library twice, under two names that the linker takes for two libraries. */
        text("%s:%s", shim_library(), copy),
        text("%s:%s", copy, shim_library()),
        copy,
    };
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        struct run what = {
            .args = ARGS(victim("d2_early_and_late"), source, "."),
            .env = ARGS(text("LD_PRELOAD=%s", lists[i])),
            .cwd = scratch_dir("shim"),
            .shim = true,
        };
        struct outcome outcome = run(&what);
        cr_assert(outcome.status == 0, "%s: exit %d; %s", lists[i], exit_code(outcome.status), outcome.err);
        cr_assert(!*outcome.err, "%s: %s", lists[i], outcome.err);
        for (int j = 0; j < 6; j++)
            whole(stages[j]);
        assert_sessions(outcome);
    }
}
