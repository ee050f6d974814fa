/* xfershim(1) from outside. What it preloads is an empty library of the test's own wherever only the start is
 * tested. */
#include "support.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OURS = 125, CANNOT_RUN = 126, NOT_FOUND = 127, HELPLESS = 1 };

#define LAUNCH(...) run(&(struct run){.args = ARGS(build_path("xfershim"), __VA_ARGS__), .cwd = scratch()})

/* Compile a program or library into the scratch directory. */
static char *compile(const char *name, const char *source, const char *flag1, const char *flag2)
{
    char *output = scratch_path("%s", name);
    char *input = scratch_path("%s.c", name);
    make_text(input, source);
    struct outcome made =
        run(&(struct run){.args = ARGS("gcc", flag1, flag2, "-o", output, input), .cwd = scratch()});
    cr_assert(exit_code(made.status) == 0, "%s: %s", name, made.err);
    return output;
}

static char *program(const char *name, const char *flag1, const char *flag2)
{
    return compile(name, "#include <unistd.h>\nint main(void) { return write(1, \"ran\\n\", 4) != 4; }\n",
                   flag1, flag2);
}

static char *empty_library(void)
{
    return compile("empty.so", "", "-shared", "-fPIC");
}

static char *script(const char *name, const char *contents)
{
    char *path = scratch_path("%s", name);
    make_text(path, contents);
    cr_assert(chmod(path, 0755) == 0);
    return path;
}

#define assert_exit(outcome, code)                                                                           \
    cr_assert(exit_code((outcome).status) == (code), "exit %d, not %d; it said: %s%s",                       \
              exit_code((outcome).status), (code), (outcome).out, (outcome).err)
#define assert_says(string, words) cr_assert(strstr(string, words), "no '%s' in: %s", words, string)
#define assert_output(outcome, expected) cr_assert_str_eq((outcome).out, expected)

/* ---- becoming the program ------------------------------------------------------------------ */

Test(launcher, becomes_the_program)
{
    struct running running = run_start(&(struct run){
        .args = ARGS(build_path("xfershim"), "--library", empty_library(), "sh", "-c", "echo $$; exit 42")});
    char *pid = text("%d\n", running.pid);
    struct outcome outcome = run_finish(&running);
    assert_exit(outcome, 42);
    assert_output(outcome, pid);
    cr_assert_str_empty(outcome.err);
}

Test(launcher, a_signal_is_the_programs_own)
{
    struct outcome outcome = LAUNCH("--library", empty_library(), "sh", "-c", "kill -TERM $$");
    cr_assert(WIFSIGNALED(outcome.status) && WTERMSIG(outcome.status) == SIGTERM);
}

Test(launcher, leaves_the_programs_options_alone)
{
    struct outcome outcome = LAUNCH("--library", empty_library(), "printf", "%s|", "--off", "--", "-x");
    assert_exit(outcome, 0);
    assert_output(outcome, "--off|--|-x|");
    outcome = LAUNCH("--library", empty_library(), "--", "printf", "%s|", "--help");
    assert_output(outcome, "--help|");
}

Test(launcher, the_program_has_no_descriptor_more)
{
    const char *list[] = {"sh", "-c", "cd /proc/self/fd && echo *"};
    struct outcome plain = run(&(struct run){.args = ARGS(list[0], list[1], list[2])});
    struct outcome launched = LAUNCH("--library", empty_library(), list[0], list[1], list[2]);
    assert_exit(launched, 0);
    cr_assert_str_eq(launched.out, plain.out);
}

Test(launcher, exit_codes_as_env)
{
    struct outcome outcome = LAUNCH("no-such-program-anywhere");
    assert_exit(outcome, NOT_FOUND);
    outcome = LAUNCH("./nor-here");
    assert_exit(outcome, NOT_FOUND);
    outcome = LAUNCH("/etc/passwd");
    assert_exit(outcome, CANNOT_RUN);
    outcome = LAUNCH("/tmp");
    assert_exit(outcome, CANNOT_RUN);
    outcome = LAUNCH(script("lost", "#!/no/such/interpreter\n"));
    assert_exit(outcome, NOT_FOUND);
    assert_says(outcome.err, "/no/such/interpreter");
    outcome = LAUNCH("--no-such-option", "true");
    assert_exit(outcome, OURS);
    outcome = run(&(struct run){.args = ARGS(build_path("xfershim"))});
    assert_exit(outcome, OURS);
    outcome = LAUNCH("--library", "/no/such/library", "true");
    assert_exit(outcome, OURS);
}

Test(launcher, a_file_that_is_neither_is_run_by_the_shell_as_execvp_does)
{
    struct outcome outcome = LAUNCH("--library", empty_library(), script("bare", "echo shell\n"));
    assert_exit(outcome, 0);
    assert_output(outcome, "shell\n");
}

/* ---- LD_PRELOAD ---------------------------------------------------------------------------- */

static char *preload_after(const char *before, const char *library, const char *launched)
{
    struct outcome outcome = run(&(struct run){
        .args = ARGS(build_path("xfershim"), "--library", library, launched, "LD_PRELOAD"),
        .env = before ? ARGS(text("LD_PRELOAD=%s", before)) : ARGS("LD_PRELOAD"),
        .cwd = scratch(),
    });
    assert_exit(outcome, 0);
    outcome.out[strcspn(outcome.out, "\n")] = '\0';
    return outcome.out;
}

Test(launcher, puts_the_library_behind_what_is_preloaded_already)
{
    char *library = empty_library();
    char *other = compile("other.so", "", "-shared", "-fPIC");
    cr_assert_str_eq(preload_after(NULL, library, "printenv"), library);
    cr_assert_str_eq(preload_after("", library, "printenv"), library);
    cr_assert_str_eq(preload_after(other, library, "printenv"), text("%s:%s", other, library));
    cr_assert_str_eq(preload_after(text("%s libm.so.6", other), library, "printenv"),
                     text("%s libm.so.6:%s", other, library));
}

Test(launcher, names_the_library_once_when_launchers_nest)
{
    char *library = empty_library();
    cr_assert_str_eq(preload_after(library, library, "printenv"), library);
    char *both = text("libm.so.6:%s", library);
    cr_assert_str_eq(preload_after(both, library, "printenv"), both);
    cr_assert_str_eq(preload_after(text("%s.not", library), library, "printenv"),
                     text("%s.not:%s", library, library));
}

static const char print_preload[] = "#include <stdio.h>\n#include <stdlib.h>\n"
                                    "int main(void) { puts(getenv(\"LD_PRELOAD\")); return 0; }\n";

Test(hazard_d, D8_gcc_asan_runtime_comes_first)
{
    char *library = empty_library();
    char *sanitized = compile("sanitized", print_preload, "-fsanitize=address", "-O1");
    struct outcome wrong =
        run(&(struct run){.args = ARGS(sanitized), .env = ARGS(text("LD_PRELOAD=%s", library))});
    cr_assert(exit_code(wrong.status) != 0, "the runtime does not mind its place any more");

    char *preload = preload_after(NULL, library, sanitized);
    assert_says(preload, "libasan.so");
    cr_assert(strstr(preload, "libasan.so") < strstr(preload, library), "%s", preload);
    preload = preload_after("libm.so.6", library, sanitized);
    cr_assert(strstr(preload, "libasan.so") < strstr(preload, "libm.so.6"), "%s", preload);
    cr_assert(strstr(preload, "libm.so.6") < strstr(preload, library), "%s", preload);

    /* Started from within such a program, the runtime is there already. */
    char *again = preload_after(preload, library, sanitized);
    cr_assert_str_eq(again, preload);
}

Test(hazard_d, D10_a_path_that_preloading_would_split_is_refused)
{
    static const char *const places[] = {"with space", "with:colon", "with$dollar"};
    char *library = empty_library();
    for (size_t i = 0; i < 3; i++) {
        char *moved = text("%s/empty.so", scratch_dir("%s", places[i]));
        cr_assert(link(library, moved) == 0);
        struct outcome outcome = LAUNCH("--library", moved, "true");
        assert_exit(outcome, OURS);
        assert_says(outcome.err, "cannot be preloaded");
    }
}

/* ---- finding the library ------------------------------------------------------------------- */

static void copy_program(const char *from, const char *to)
{
    size_t size;
    char *bytes = file_read(from, &size);
    make_file(to, bytes, size);
    cr_assert(chmod(to, 0755) == 0);
}

static char *triplet(void)
{
    struct outcome outcome = run(&(struct run){.args = ARGS("gcc", "-print-multiarch")});
    outcome.out[strcspn(outcome.out, "\n")] = '\0';
    return outcome.out;
}

Test(launcher, finds_the_installed_library_wherever_the_tree_was_moved)
{
    scratch_dir("opt");
    char *launcher = text("%s/xfershim", scratch_dir("opt/bin"));
    scratch_dir("opt/lib");
    scratch_dir("opt/lib/%s", triplet());
    char *library = text("%s/libxfershim.so", scratch_dir("opt/lib/%s/xfershim", triplet()));
    copy_program(build_path("xfershim"), launcher);
    copy_program(empty_library(), library);

    struct outcome outcome =
        run(&(struct run){.args = ARGS(launcher, "printenv", "LD_PRELOAD"), .env = ARGS("LD_PRELOAD")});
    assert_exit(outcome, 0);
    cr_assert_str_eq(outcome.out, text("%s\n", library));

    char *shortcut = scratch_path("shortcut");
    cr_assert(symlink(launcher, shortcut) == 0);
    outcome = run(&(struct run){.args = ARGS(shortcut, "printenv", "LD_PRELOAD"), .env = ARGS("LD_PRELOAD")});
    cr_assert_str_eq(outcome.out, text("%s\n", library));
}

Test(launcher, finds_the_built_library_beside_it)
{
    struct outcome outcome = run(&(struct run){.args = ARGS(build_path("xfershim"), "printenv", "LD_PRELOAD"),
                                               .env = ARGS("LD_PRELOAD")});
    assert_exit(outcome, 0);
    cr_assert_str_eq(outcome.out, text("%s\n", shim_library()));
}

Test(launcher, says_so_when_there_is_no_library)
{
    char *launcher = text("%s/xfershim", scratch_dir("alone"));
    copy_program(build_path("xfershim"), launcher);
    struct outcome outcome = run(&(struct run){.args = ARGS(launcher, "true")});
    assert_exit(outcome, OURS);
    assert_says(outcome.err, "libxfershim.so");
}

/* ---- what cannot work ---------------------------------------------------------------------- */

static void assert_refused(const char *path, const char *words)
{
    struct outcome outcome = LAUNCH("--library", empty_library(), path);
    assert_exit(outcome, CANNOT_RUN);
    assert_says(outcome.err, words);
    assert_says(outcome.err, path);
    cr_assert_str_empty(outcome.out, "the program ran");

    outcome = LAUNCH("--check", path);
    assert_exit(outcome, HELPLESS);
    assert_says(outcome.out, words);
}

Test(launcher, refuses_static_programs)
{
    assert_refused(program("static", "-static", "-O1"), "statically linked");
    assert_refused(program("static-pie", "-static-pie", "-O1"), "statically linked");
}

Test(launcher, refuses_set_id_programs)
{
    char *path = program("ids", "-O1", "-g");
    cr_assert(chmod(path, 04755) == 0);
    assert_refused(path, "set-user-id");
    cr_assert(chmod(path, 02755) == 0);
    assert_refused(path, "set-group-id");

    /* Without group execution the bit meant mandatory locking. */
    cr_assert(chmod(path, 02745) == 0);
    struct outcome outcome = LAUNCH("--library", empty_library(), path);
    assert_exit(outcome, 0);
    assert_output(outcome, "ran\n");
}

Test(launcher, refuses_programs_with_file_capabilities)
{
    char *path = program("capable", "-O1", "-g");
    if (geteuid() != 0)
        cr_skip_test("only root gives a file capabilities");
    struct outcome set = run(&(struct run){.args = ARGS("setcap", "cap_net_raw+ep", path),
                                           .env = ARGS("PATH=/usr/sbin:/sbin:/usr/bin")});
    if (exit_code(set.status) != 0)
        cr_skip_test("the file system takes no capabilities");
    assert_refused(path, "file capabilities");
}

Test(launcher, refuses_another_class)
{
    /* A 32-bit x86 program, whole: one segment, exit(0). */
    static const unsigned char small[] = {
        0x7f, 'E', 'L', 'F', 1,    1,    1,    0, 0,    0,  0, 0,  0, 0,    0,    0,    2,    0, 3,
        0,    1,   0,   0,   0,    0x54, 0x80, 4, 8,    52, 0, 0,  0, 0,    0,    0,    0,    0, 0,
        0,    0,   52,  0,   32,   0,    1,    0, 0,    0,  0, 0,  0, 0,    1,    0,    0,    0, 0,
        0,    0,   0,   0,   0x80, 4,    8,    0, 0x80, 4,  8, 93, 0, 0,    0,    93,   0,    0, 0,
        5,    0,   0,   0,   0,    0x10, 0,    0, 0xb8, 1,  0, 0,  0, 0x31, 0xdb, 0xcd, 0x80,
    };
    char *path = scratch_path("small");
    make_file(path, small, sizeof(small));
    cr_assert(chmod(path, 0755) == 0);
    assert_refused(path, "32-bit");
}

Test(launcher, refuses_the_loader_of_another_c_library)
{
    char *path = program("musl", "-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1", "-O1");
    assert_refused(path, "another C library");
}

Test(launcher, refuses_a_damaged_program)
{
    char *path = program("damaged", "-O1", "-g");
    cr_assert(truncate(path, 100) == 0);
    assert_refused(path, "damaged");
}

Test(launcher, judges_a_script_by_its_interpreter)
{
    char *interpreter = program("interpreter", "-static", "-O1");
    char *path = script("script", text("#! %s -x\n", interpreter));
    struct outcome outcome = LAUNCH("--library", empty_library(), path);
    assert_exit(outcome, CANNOT_RUN);
    assert_says(outcome.err, interpreter);

    path = script("nested", text("#!%s\n", path));
    outcome = LAUNCH("--check", path);
    assert_exit(outcome, HELPLESS);
    assert_says(outcome.out, interpreter);
}

Test(launcher, looks_through_env_in_a_script)
{
    struct outcome outcome = LAUNCH("--check", script("env", "#!/usr/bin/env perl\n"));
    assert_exit(outcome, 0);
    assert_says(outcome.out, "/perl");
    outcome = LAUNCH("--check", script("env-split", "#!/usr/bin/env -S LC_ALL=C perl -w\n"));
    assert_exit(outcome, 0);
    assert_says(outcome.out, "/perl");
}

Test(launcher, gives_up_on_a_script_that_is_its_own_interpreter)
{
    char *path = scratch_path("circle");
    script("circle", text("#!%s\n", path));
    struct outcome outcome = LAUNCH(path);
    assert_exit(outcome, CANNOT_RUN);
}

/* ---- --check ------------------------------------------------------------------------------- */

Test(launcher, check_names_the_calls_a_program_imports)
{
    struct outcome outcome = LAUNCH("--check", "dd");
    assert_exit(outcome, 0);
    assert_says(outcome.out, "read write");
    assert_says(outcome.out, "yes:");
}

Test(launcher, check_finds_nothing_where_nothing_is_imported)
{
    struct outcome outcome =
        LAUNCH("--check", compile("idle", "int main(void) { return 0; }\n", "-O1", "-g"));
    assert_exit(outcome, HELPLESS);
    assert_says(outcome.out, "takes no pair");

    outcome = LAUNCH("--check", program("one-sided", "-O1", "-g"));
    assert_exit(outcome, HELPLESS);
    assert_says(outcome.out, "imports");
}

Test(launcher, check_looks_into_the_libraries_a_program_needs)
{
    scratch_dir("libs");
    compile("libs/libpump.so",
            "#include <unistd.h>\nint pump(void) { char b[9]; return write(1, b, read(0, b, 9)); }\n",
            "-shared", "-fPIC");
    compile("user", "int pump(void);\nint main(void) { return pump(); }\n", "-Wl,-rpath,$ORIGIN/libs",
            text("-Wl,--no-as-needed,-L%s,-l:libpump.so", scratch_path("libs")));
    struct outcome outcome = LAUNCH("--check", scratch_path("user"));
    assert_exit(outcome, 0);
    assert_says(outcome.out, "libpump.so");
    cr_assert(!strstr(outcome.out, "not found"), "%s", outcome.out);

    cr_assert(unlink(scratch_path("libs/libpump.so")) == 0);
    outcome = LAUNCH("--check", scratch_path("user"));
    assert_exit(outcome, HELPLESS);
    assert_says(outcome.out, "not found");
}

Test(launcher, check_searches_as_the_loader_does)
{
    char *needed = text("-Wl,--no-as-needed,-L%s,-l:libpump.so", scratch_dir("libs"));
    compile("libs/libpump.so",
            "#include <unistd.h>\nint pump(void) { char b[9]; return write(1, b, read(0, b, 9)); }\n",
            "-shared", "-fPIC");
    const char *user = "int pump(void);\nint main(void) { return pump(); }\n";

    struct outcome outcome =
        LAUNCH("--check", compile("old", user, "-Wl,--disable-new-dtags,-rpath,${ORIGIN}/libs", needed));
    assert_exit(outcome, 0);

    char *lost = compile("lost", user, "-O1", needed);
    outcome = LAUNCH("--check", lost);
    assert_exit(outcome, HELPLESS);
    outcome = run(&(struct run){.args = ARGS(build_path("xfershim"), "--check", lost),
                                .env = ARGS(text("LD_LIBRARY_PATH=/nowhere:%s", scratch_path("libs")))});
    assert_exit(outcome, 0);
}

static void assert_go(const char *name, const char *mark)
{
    char *path = compile(name,
                         text("#include <unistd.h>\n__attribute__((section(\"%s\"), used, aligned(4)))\n"
                              "static const struct { int sizes[3]; char owner[4], id[4]; } mark = {{4, 4, "
                              "4}, \"Go\", \"id\"};\n"
                              "int main(void) { char b[9]; return write(1, b, read(0, b, 9)); }\n",
                              mark),
                         "-O1", "-g");
    struct outcome outcome = LAUNCH("--check", path);
    assert_exit(outcome, HELPLESS);
    assert_says(outcome.out, "Go program");
}

Test(launcher, check_knows_go)
{
    assert_go("go-note", ".note.go.buildid");
    assert_go("go-section", ".go.buildinfo");
}

Test(launcher, check_runs_nothing)
{
    char *library = compile(
        "libtrap.so", "#include <unistd.h>\n__attribute__((constructor)) void trap(void) { _exit(77); }\n",
        "-shared", "-fPIC");
    compile("trapped", "int main(void) { return 0; }\n", "-Wl,--no-as-needed", library);
    struct outcome outcome = LAUNCH("--check", scratch_path("trapped"));
    assert_exit(outcome, HELPLESS);
    outcome = LAUNCH("--check", "true", "more");
    assert_exit(outcome, OURS);
}

/* ---- settings ------------------------------------------------------------------------------ */

/* The value of VARIABLE in a program started with one option. */
static char *setting(const char *option, const char *variable)
{
    struct outcome outcome = run(&(struct run){
        .args = ARGS(build_path("xfershim"), option, "--library", empty_library(), "printenv", variable),
        .env = ARGS(variable),
        .cwd = scratch()});
    assert_exit(outcome, 0);
    outcome.out[strcspn(outcome.out, "\n")] = '\0';
    return outcome.out;
}

Test(launcher, options_become_the_librarys_settings)
{
    cr_assert_str_eq(setting("--observe", "XFERSHIM"), "observe");
    cr_assert_str_eq(setting("--off", "XFERSHIM"), "off");
    cr_assert_str_eq(setting("--only=dd,cp*", "XFERSHIM_ONLY"), "dd,cp*");
    cr_assert_str_eq(setting("--skip=tar", "XFERSHIM_SKIP"), "tar");
    cr_assert_str_eq(setting("--buffer=32K", "XFERSHIM_BUFFER"), "32768");
    cr_assert_str_eq(setting("--buffer-max=1m", "XFERSHIM_BUFFER_MAX"), "1048576");
    cr_assert_str_eq(setting("--threshold=1", "XFERSHIM_THRESHOLD"), "1");
    cr_assert_str_eq(setting("--engines=write", "XFERSHIM_ENGINES"), "write");
    cr_assert_str_eq(setting("--share=never", "XFERSHIM_SHARE"), "never");
    cr_assert_str_eq(setting("--report=/tmp/there.json", "XFERSHIM_REPORT"), "/tmp/there.json");
}

Test(launcher, a_report_stays_where_the_launcher_was_started)
{
    cr_assert_str_eq(setting("--report", "XFERSHIM_REPORT"), text("%s/xfershim.%%p.txt", scratch()));
    cr_assert_str_eq(setting("--report=r", "XFERSHIM_REPORT"), text("%s/r", scratch()));
}

Test(launcher, refuses_settings_the_library_would_not_understand)
{
    static const char *const wrong[] = {
        "--buffer=0",
        "--buffer=-1",
        "--buffer=",
        "--buffer=12X",
        "--buffer=99999999999999999999",
        "--buffer=1T",
        "--only=",
        "--skip=",
        "--engines=",
        "--engines=wirte",
        "--share=",
        "--share=sometimes",
        "--threshold=one",
        "--buffer=-18446744073709535232",
        "--report=",
        "--report=/dev/null",
        "--report=/dev/tty",
        "--report=/tmp",
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct outcome outcome = LAUNCH(wrong[i], "--library", empty_library(), "true");
        assert_exit(outcome, OURS);
        cr_assert(outcome.err_size > 0);
    }
    struct outcome outcome =
        LAUNCH("--buffer=256K", "--buffer-max=64K", "--library", empty_library(), "true");
    assert_exit(outcome, OURS);
    outcome = run(&(struct run){.args = ARGS(build_path("xfershim"), "--library", empty_library(), "true"),
                                .env = ARGS("XFERSHIM=perhaps")});
    assert_exit(outcome, OURS);
    assert_says(outcome.err, "perhaps");
}

Test(launcher, help_and_version)
{
    struct outcome outcome = LAUNCH("--help");
    assert_exit(outcome, 0);
    assert_says(outcome.out, "--buffer-max");
    outcome = LAUNCH("--version");
    assert_exit(outcome, 0);
    assert_says(outcome.out, "xfershim ");
    outcome = run(&(struct run){.args = ARGS(build_path("xfershim"), "--help"), .output = "/dev/full"});
    assert_exit(outcome, OURS);
}
