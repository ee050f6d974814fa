/*
 * D10: programs of another kind: another word size, another C library, none at all. Nothing can be done for
 * them, and nothing may be done to them.
 */
#include "support.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char copier[] =
    "#include <fcntl.h>\n"
    "#include <unistd.h>\n"
    "int main(void)\n"
    "{\n"
    "    static char room[512];\n"
    "    long got;\n"
    "    int in = open(\"in\", O_RDONLY), out = open(\"out\", O_WRONLY | O_CREAT, 0644);\n"
    "    while ((got = read(in, room, sizeof room)) > 0)\n"
    "        if (write(out, room, got) != got)\n"
    "            return 1;\n"
    "    return got != 0;\n"
    "}\n";

/* Without headers and start-up files of that class, which nobody has; its libc.so.6 is enough. */
static const char copier_32[] =
    "int open(const char *, int, ...), read(int, void *, int), write(int, const void *, int);\n"
    "void _exit(int);\n"
    "static char room[512];\n"
    "void _start(void)\n"
    "{\n"
    "    int got, in = open(\"in\", 0), out = open(\"out\", 0101, 0644);\n"
    "    while ((got = read(in, room, sizeof room)) > 0)\n"
    "        if (write(out, room, got) != got)\n"
    "            _exit(1);\n"
    "    _exit(got != 0);\n"
    "}\n";

static char *compile(const char *const *command, const char *code)
{
    if (!find_program(command[0]))
        cr_skip_test("%s is not installed", command[0]);
    make_text(scratch_path("code.c"), code);
    struct run what = {.args = command, .cwd = scratch()};
    struct outcome outcome = run(&what);
    if (outcome.status != 0)
        cr_skip_test("no such program can be built here: %.*s", (int)strcspn(outcome.err, "\n"), outcome.err);
    return scratch_path("program");
}

static void prepare(const char *directory, void *unused)
{
    (void)unused;
    make_random(text("%s/in", directory), 63, 300001);
}

static struct outcome under_preload(const char *program)
{
    char *directory = scratch_dir("preloaded");
    prepare(directory, NULL);
    struct run what = {.args = ARGS(program), .cwd = directory, .shim = true};
    return run(&what);
}

static void copied(void)
{
    char *difference = file_difference(scratch_path("preloaded/in"), scratch_path("preloaded/out"));
    cr_assert(!difference, "%s", difference);
}

static struct outcome launched(const char *program)
{
    char *directory = scratch_dir("launched");
    prepare(directory, NULL);
    struct run what = {.args = ARGS(build_path("xfershim"), "--library", shim_library(), "--", program),
                       .cwd = directory};
    return run(&what);
}

static void launcher_refuses(const char *program)
{
    struct outcome outcome = launched(program);
    cr_assert(exit_code(outcome.status) == 126, "exit %d, %s", exit_code(outcome.status), outcome.err);
    cr_assert(*outcome.err && !file_exists(scratch_path("launched/out")), "%s", outcome.err);
}

Test(hazard_d, D10_program_of_32_bits)
{
    if (!file_exists("/lib32/libc.so.6") && !file_exists("/usr/lib32/libc.so.6"))
        cr_skip_test("libc6-i386 is not installed");
    char *program = compile(ARGS("gcc", "-m32", "-O1", "-fno-pic", "-no-pie", "-fno-stack-protector",
                                 "-nostdlib", "-Wl,--dynamic-linker=/lib/ld-linux.so.2", "-o", "program",
                                 "code.c", "/usr/lib32/libc.so.6"),
                            copier_32);
    struct outcome outcome = under_preload(program);
    cr_assert(outcome.status == 0, "exit %d, %s", exit_code(outcome.status), outcome.err);
    /* The loader says so and goes on. */
    cr_assert(strstr(outcome.err, "wrong ELF class"), "%s", outcome.err);
    cr_assert(outcome.report.processes == 0, "%s", outcome.report.raw);
    copied();
    launcher_refuses(program);
}

Test(hazard_d, D10_static_program)
{
    char *program = compile(ARGS("gcc", "-static", "-o", "program", "code.c"), copier);
    struct outcome outcome = under_preload(program);
    cr_assert(outcome.status == 0 && !*outcome.err, "exit %d, %s", exit_code(outcome.status), outcome.err);
    cr_assert(outcome.report.processes == 0, "%s", outcome.report.raw);
    copied();
    launcher_refuses(program);
}

/* Set-group-id, which the loader treats the same way: the program is then root's for us as well. */
Test(hazard_d, D10_set_id_program)
{
    enum { NOBODY = 65534 };
    char *program = compile(ARGS("gcc", "-o", "program", "code.c"), copier);
    if (chown(program, (uid_t)-1, NOBODY) != 0 || chmod(program, 02755) != 0)
        cr_skip_test("no set-group-id programs here");
    struct outcome outcome = under_preload(program);
    cr_assert(outcome.status == 0, "exit %d, %s", exit_code(outcome.status), outcome.err);
    cr_assert(outcome.report.processes == 0, "%s", outcome.report.raw);
    copied();
    launcher_refuses(program);
}

/* musl's loader takes a library of glibc's for what it says it is. What it makes of ours is its business:
 * either it refuses and says so, or the program runs as without. It must not run and go wrong. */
Test(hazard_d, D10_program_of_another_c_library)
{
    char *program = compile(ARGS("musl-gcc", "-o", "program", "code.c"), copier);
    struct outcome outcome = under_preload(program);
    cr_assert(!WIFSIGNALED(outcome.status), "killed by signal %d: %s", WTERMSIG(outcome.status), outcome.err);
    if (outcome.status == 0)
        copied();
    else
        cr_assert(*outcome.err && !file_exists(scratch_path("preloaded/out")), "exit %d, %s",
                  exit_code(outcome.status), outcome.err);
    launcher_refuses(program);
}
