/* The launcher reads files that anybody may have made: no damage to one may lead it astray. */
#include "launcher/elf.h"
#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct seen {
    bool read;
    bool write;
    unsigned count;
};

static void see(const char *name, void *context)
{
    struct seen *seen = context;
    seen->count++;
    seen->read = seen->read || strcmp(name, "read") == 0;
    seen->write = seen->write || strcmp(name, "write") == 0;
}

/* Everything the launcher does with a file. */
static int look(const char *path, struct elf_file *file, struct seen *seen)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    cr_assert(fd >= 0, "%s", path);
    memset(seen, 0, sizeof(*seen));
    int rc = elf_read(fd, file);
    if (rc == 0 && file->kind != ELF_NOT && file->kind != ELF_FOREIGN) {
        char name[ELF_NAME];
        size_t at = 0;
        rc = elf_imports(file, see, seen);
        while (elf_next_string(file, DT_NEEDED, &at, name) > 0)
            cr_assert(strlen(name) < ELF_NAME);
    }
    close(fd);
    return rc;
}

Test(launcher_elf, finds_what_a_program_imports)
{
    struct elf_file file;
    struct seen seen;
    cr_assert(look("/bin/dd", &file, &seen) == 0);
    cr_assert(file.kind == ELF_DYNAMIC);
    cr_assert(seen.read && seen.write, "%u imports seen", seen.count);
    cr_assert(!file.go);
    cr_assert(strncmp(file.loader, "/lib", 4) == 0, "%s", file.loader);
}

Test(launcher_elf, a_file_cut_anywhere_is_damaged_or_no_elf)
{
    size_t size;
    char *whole = file_read("/bin/dd", &size);
    char *path = scratch_path("cut");
    struct elf_file file;
    struct seen seen;
    for (size_t cut = 0; cut < size; cut += cut < 2048 ? 7 : 997) {
        make_file(path, whole, cut);
        int rc = look(path, &file, &seen);
        cr_assert(rc == 0 || rc == -ENOEXEC, "cut at %zu: %d", cut, rc);
        cr_assert(rc != 0 || file.kind != ELF_DYNAMIC || cut > 4096, "cut at %zu was taken for whole", cut);
    }
}

/* Long enough for whatever the tables claim, so that only their own limits can stop them. */
enum { ROOMY = 8 << 20 };

Test(launcher_elf, tables_of_any_length_are_survived)
{
    size_t size;
    struct elf_file file;
    struct seen seen;
    char *path = scratch_path("long");
    char *whole = file_read("/bin/dd", &size);
    char *roomy = calloc(1, ROOMY);
    cr_assert(roomy);
    memcpy(roomy, whole, size);
    make_file(path, roomy, ROOMY);
    cr_assert(look(path, &file, &seen) == 0 && seen.read);

    ElfW(Ehdr) *header = (ElfW(Ehdr) *)roomy;
    header->e_phnum = 60000;
    make_file(path, roomy, ROOMY);
    cr_assert(look(path, &file, &seen) == -ENOEXEC);

    memcpy(roomy, whole, size);
    for (size_t i = 0; i < header->e_phnum; i++) {
        ElfW(Phdr) *segment = (ElfW(Phdr) *)(roomy + header->e_phoff) + i;
        if (segment->p_type == PT_DYNAMIC)
            segment->p_filesz = 4 << 20;
    }
    make_file(path, roomy, ROOMY);
    cr_assert(look(path, &file, &seen) == -ENOEXEC);

    memcpy(roomy, whole, size);
    for (size_t i = 0; i < header->e_phnum; i++) {
        ElfW(Phdr) *segment = (ElfW(Phdr) *)(roomy + header->e_phoff) + i;
        if (segment->p_type == PT_INTERP) {
            memset(roomy + size, '/', ROOMY - size);
            segment->p_offset = size;
            segment->p_filesz = ROOMY - size;
        }
    }
    make_file(path, roomy, ROOMY);
    cr_assert(look(path, &file, &seen) == -ENOEXEC);
    free(roomy);
}

Test(launcher_elf, damaged_tables_are_survived)
{
    size_t size;
    char *whole = file_read("/bin/dd", &size);
    char *path = scratch_path("damaged");
    struct elf_file file;
    struct seen seen;
    uint64_t noise[6];
    cr_assert(look("/bin/dd", &file, &seen) == 0);

    /* Where the tables are: headers, the dynamic section, relocations and symbols near the front. */
    size_t places[] = {0, 64, 0, 1024};
    size_t spans[] = {64, file.segment_count * sizeof(ElfW(Phdr)), 0, 8192};
    for (size_t i = 0; i < file.segment_count; i++) {
        if (file.segments[i].p_type == PT_DYNAMIC) {
            places[2] = file.segments[i].p_offset;
            spans[2] = file.segments[i].p_filesz;
        }
    }
    char *damaged = malloc(size);
    cr_assert(spans[2] > 0 && damaged);
    for (unsigned round = 0; round < 1500; round++) {
        memcpy(damaged, whole, size);
        fill_random(noise, sizeof(noise), 20, round * sizeof(noise));
        for (unsigned hit = 0; hit <= noise[0] % 4; hit++) {
            size_t where = (noise[1] >> (8 * hit)) % 4;
            size_t at = places[where] + noise[2 + hit] % spans[where];
            static const unsigned char values[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
            damaged[at] = noise[0] & 64 ? (char)(noise[2 + hit] >> 32) : (char)values[noise[1] % 5];
        }
        make_file(path, damaged, size);
        int rc = look(path, &file, &seen);
        cr_assert(rc == 0 || rc == -ENOEXEC, "round %u: %d", round, rc);
    }
    free(damaged);
}
