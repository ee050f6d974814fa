/*
 * D3: the library as a file. Core and shim are optimized as one at link time, which may move, clone and
 * inline code: whatever the design relies on is looked up in the result, not in the sources.
 */
#include "support.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned long address_of(const char *symbol)
{
    char *table = output_of(ARGS("nm", shim_library()));
    for (char *line; (line = strsep(&table, "\n"));) {
        char name[100];
        unsigned long address;
        if (sscanf(line, "%lx %*c %99s", &address, name) == 2 && strcmp(name, symbol) == 0)
            return address;
    }
    cr_skip_test("the library is stripped: no %s", symbol);
}

/* Every one of them: what is outside the gate traps under the guard, also when it is ours. */
Test(hazard_d, D3_system_call_instructions_are_in_the_gate_alone)
{
    unsigned long start = address_of("xfer_gate_start"), end = address_of("xfer_gate_end");
    char *code = output_of(ARGS("objdump", "--disassemble", "--no-show-raw-insn", "--wide", shim_library()));
    int seen = 0, lines = 0;
    for (char *line; (line = strsep(&code, "\n"));) {
        char word[20] = "", operand[40] = "";
        unsigned long address;
        if (sscanf(line, " %lx: %19s %39s", &address, word, operand) < 2)
            continue;
        lines++;
        if (strcmp(word, "syscall") != 0 && strcmp(word, "sysenter") != 0 && strcmp(word, "int") != 0)
            continue;
        seen++;
        /* The kernel looks at the address behind the two bytes of the instruction. */
        cr_assert(address >= start && address + 2 < end, "outside of the gate: %s", line);
    }
    cr_assert(lines > 1000 && seen > 0, "%d lines of code, %d system calls", lines, seen);
}

Test(hazard_d, D3_gate_is_small_and_whole)
{
    unsigned long start = address_of("xfer_gate_start"), end = address_of("xfer_gate_end");
    static const char *const parts[] = {"xfer_gate_call", "xfer_gate_call_from", "xfer_gate_resume",
                                        "xfer_gate_sigreturn"};
    cr_assert(start % 64 == 0 && end > start && end - start < 128, "%lx to %lx", start, end);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        cr_assert(address_of(parts[i]) >= start && address_of(parts[i]) < end, "%s was moved", parts[i]);
}

/* Debian 12 has 2.36. An older one is better: 2.34 is where dlsym went into libc.so.6. */
Test(hazard_d, D3_floor_of_the_libc_version)
{
    enum { MOST = 36 };
    char *undefined = output_of(ARGS("nm", "--dynamic", "--undefined-only", shim_library()));
    int seen = 0;
    for (char *line; (line = strsep(&undefined, "\n"));) {
        char *at = strstr(line, "@GLIBC_");
        int major, minor;
        if (!at)
            continue;
        cr_assert(sscanf(at, "@GLIBC_%d.%d", &major, &minor) == 2, "%s", line);
        cr_assert(major == 2 && minor <= MOST, "%s", line);
        seen++;
    }
    cr_assert(seen > 5, "%d versions", seen);
}

static bool only(const char *list, const char *const *allowed, char **stranger)
{
    char *rest = text("%s", list);
    for (char *word; (word = strsep(&rest, "\n"));) {
        bool known = !*word;
        for (int i = 0; allowed[i] && !known; i++)
            known = strcmp(word, allowed[i]) == 0;
        if (!known) {
            *stranger = word;
            return false;
        }
    }
    return true;
}

/* The list the other way round: not what is forbidden, but what is needed, with the reason. A new one is
 * either safe in a signal handler, before constructors and after destructors, or has to go. */
static const char *const needed[] = {
    /* pure functions over memory */
    "memchr", "memcmp", "memcpy", "memmove", "memset", "memmem", "strchr", "strcmp", "strlen", "strncmp",
    "strspn", "strcspn", "strstr", "stpcpy", "strtoumax", "__ctype_tolower_loc", "fnmatch",
    /* the environment and the program's name, in the constructor */
    "getenv", "environ", "__environ", "__progname", "program_invocation_short_name",
    /* the program's own functions behind ours; errno */
    "dlsym", "__errno_location",
    /* vDSO; its fallback is never made while the guard is armed: the clock is a coarse one */
    "clock_gettime",
    /* libbsd's archive and the fortified twin, which end the process where plain libc would */
    "__chk_fail", "__stack_chk_fail",
    /* weak, from the start-up files */
    "__cxa_finalize", "__gmon_start__", "_ITM_deregisterTMCloneTable", "_ITM_registerTMCloneTable", NULL};

Test(hazard_d, D3_needs_what_is_known_to_be_safe)
{
    char *undefined = output_of(ARGS("nm", "--dynamic", "--undefined-only", shim_library())),
         *names = text("%s", ""), *stranger = NULL;
    for (char *line; (line = strsep(&undefined, "\n"));) {
        char *name = strrchr(line, ' ');
        if (name)
            names = text("%s%.*s\n", names, (int)strcspn(name + 1, "@"), name + 1);
    }
    cr_assert(strstr(names, "dlsym\n"), "%s", names);
    cr_assert(only(names, needed, &stranger), "%s is needed, and no reason is written down", stranger);
}

Test(hazard_d, D3_relocations_do_not_touch_the_code)
{
    static const char *const kinds[] = {"R_X86_64_RELATIVE", "R_X86_64_GLOB_DAT", "R_X86_64_JUMP_SLOT",
                                        "R_X86_64_TPOFF64",  "R_X86_64_64",       NULL};
    char *dynamic = output_of(ARGS("readelf", "--dynamic", "--wide", shim_library()));
    cr_assert(!strstr(dynamic, "TEXTREL"), "%s", dynamic);
    cr_assert(strstr(dynamic, "BIND_NOW"), "bound late: a call could be the first in a handler");
    cr_assert(strstr(dynamic, "STATIC_TLS"), "thread-local storage is not of the initial-exec kind");
    char *relocations = output_of(ARGS("readelf", "--relocs", "--wide", shim_library())),
         *list = text("%s", ""), *stranger = NULL;
    for (char *line; (line = strsep(&relocations, "\n"));) {
        char kind[60];
        if (sscanf(line, "%*x %*x %59s", kind) == 1 && strncmp(kind, "R_", 2) == 0)
            list = text("%s%s\n", list, kind);
    }
    cr_assert(strstr(list, "TPOFF64"), "%s", list);
    cr_assert(only(list, kinds, &stranger), "a relocation of kind %s", stranger);
}

/* The static TLS block that is left for libraries loaded late is 1664 bytes by default (glibc 2.36): ours
 * comes at the start, but a dlopen of the library draws on it. */
Test(hazard_d, D3_thread_local_storage_is_small)
{
    enum { MOST = 1024 };
    char *headers = output_of(ARGS("readelf", "--program-headers", "--wide", shim_library()));
    char *tls = strstr(headers, "\n  TLS ");
    unsigned long in_file, in_memory;
    cr_assert(tls && sscanf(tls, " TLS %*x %*x %*x %lx %lx", &in_file, &in_memory) == 2, "%s", headers);
    cr_assert(in_memory <= MOST, "%lu bytes of thread-local storage", in_memory);
}

static bool in_any(const char *needle)
{
    return strstr(output_of(ARGS("readelf", "--program-headers", "--wide", shim_library())), needle) != NULL;
}

Test(hazard_d, D3_no_executable_stack)
{
    cr_assert(in_any("GNU_STACK") && in_any("GNU_RELRO"), "a header is missing");
    char *headers = output_of(ARGS("readelf", "--program-headers", "--wide", shim_library()));
    char *stack = strstr(headers, "GNU_STACK");
    cr_assert(!strstr(text("%.*s", (int)strcspn(stack, "\n"), stack), "E "), "%s", stack);
}
