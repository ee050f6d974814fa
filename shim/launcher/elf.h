/* The launcher: `xfershim program` starts a program under the library; this file reads what the program is.
 *
 * The files are whatever the user names, so nothing in them is believed: every offset, size and index is
 * checked against the file, every table has a limit, and the file is read, never mapped (a mapping would
 * fault when somebody truncates it). Not thread-safe, allocates nothing.
 */
#ifndef XFERSHIM_LAUNCHER_ELF_H
#define XFERSHIM_LAUNCHER_ELF_H

#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ELF_PROGRAM_HEADERS = 128, /* the linkers write about a dozen */
    ELF_DYNAMIC_ENTRIES = 1024,
    ELF_NAME = 512, /* longest library or symbol name that is looked at, with its zero byte */
};

enum elf_kind {
    ELF_NOT,     /* no ELF file: a script, or something for binfmt_misc */
    ELF_FOREIGN, /* another class, byte order or machine than the launcher itself and so the library */
    ELF_STATIC,  /* asks for no loader, so nothing is preloaded */
    ELF_DYNAMIC,
};

struct elf_file {
    int fd;
    uint64_t size; /* bytes in the file */
    enum elf_kind kind;
    bool go;               /* made by the Go compiler */
    unsigned class;        /* ELFCLASS32 or ELFCLASS64, of any ELF file */
    unsigned machine;      /* EM_X86_64 and so on, of any ELF file */
    char loader[PATH_MAX]; /* "" when it asks for none */
    size_t segment_count;
    ElfW(Phdr) segments[ELF_PROGRAM_HEADERS];
    size_t dynamic_count;
    ElfW(Dyn) dynamic[ELF_DYNAMIC_ENTRIES];
};

/* Read what FD, open for reading on a regular file, holds. 0, or -errno: -ENOEXEC for an ELF file that is
 * damaged. FD stays the caller's, and open as long as FILE is used.
 */
int elf_read(int fd, struct elf_file *file);

/* The next string of the dynamic entries with TAG (DT_NEEDED, DT_RUNPATH, ...), from index *AT on, which is
 * moved past it. 1 with the string in NAME, 0 when there are no more, -errno.
 */
int elf_next_string(const struct elf_file *file, ElfW(Sxword) tag, size_t *at, char name[ELF_NAME]);

/* Call SEEN once or more for each symbol whose place FILE leaves to the loader; a preloaded library may take
 * each of them, even one that FILE defines itself. 0 or -errno.
 */
int elf_imports(const struct elf_file *file, void (*seen)(const char *name, void *context), void *context);

/* The launcher's own header: what the library beside it was built for. */
unsigned elf_own_class(void);
unsigned elf_own_machine(void);

/* "64-bit x86-64" */
const char *elf_class_name(unsigned class);
const char *elf_machine_name(unsigned machine);

#endif
