#include "launcher/elf.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The linker puts the start of this very program's ELF header here. */
extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

#if __SIZEOF_POINTER__ == 8
#define SYMBOL_OF(info) ELF64_R_SYM(info)
#else
#define SYMBOL_OF(info) ELF32_R_SYM(info)
#endif

enum {
    IMPORT_RELOCATIONS = 4 << 20, /* the largest libraries have some 100 000 with a name */
    NOTE_LIMIT = 64 << 10,        /* bytes of one note segment that are looked through */
    SECTION_LIMIT = 4096,
    GO_BUILD_ID = 4, /* note type, owner "Go" */
};

unsigned elf_own_class(void)
{
    return __ehdr_start.e_ident[EI_CLASS];
}

unsigned elf_own_machine(void)
{
    return __ehdr_start.e_machine;
}

const char *elf_class_name(unsigned class)
{
    return class == ELFCLASS64 ? "64-bit" : class == ELFCLASS32 ? "32-bit" : "unknown class";
}

const char *elf_machine_name(unsigned machine)
{
    switch (machine) {
    case EM_X86_64:
        return "x86-64";
    case EM_386:
        return "x86";
    case EM_AARCH64:
        return "AArch64";
    case EM_ARM:
        return "ARM";
    case EM_RISCV:
        return "RISC-V";
    case EM_PPC64:
        return "POWER";
    case EM_S390:
        return "S/390";
    default:
        return "another machine";
    }
}

/* All of SIZE bytes at OFFSET, or an error. */
static int read_at(const struct elf_file *file, uint64_t offset, void *buffer, size_t size)
{
    if (offset > file->size || size > file->size - offset)
        return -ENOEXEC;

    char *to = buffer;
    while (size > 0) {
        ssize_t n = pread(file->fd, to, size, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -ENOEXEC;
        to += n;
        offset += (uint64_t)n;
        size -= (size_t)n;
    }
    return 0;
}

/* The string at OFFSET, which must end within LIMIT bytes, in the file, and within NAME. */
static int read_string(const struct elf_file *file, uint64_t offset, uint64_t limit, char *name, size_t size)
{
    if (offset >= file->size)
        return -ENOEXEC;
    uint64_t room = file->size - offset;
    if (room > limit)
        room = limit;
    if (room > size)
        room = size;
    int rc = read_at(file, offset, name, room);
    if (rc < 0)
        return rc;
    return memchr(name, '\0', room) ? 0 : -ENOEXEC;
}

/* Where in the file the byte lies that is mapped at ADDRESS, and how many follow it there. */
static int offset_of(const struct elf_file *file, uint64_t address, uint64_t *offset, uint64_t *room)
{
    for (size_t i = 0; i < file->segment_count; i++) {
        const ElfW(Phdr) *segment = &file->segments[i];
        if (segment->p_type != PT_LOAD || address < segment->p_vaddr ||
            address - segment->p_vaddr >= segment->p_filesz)
            continue;
        uint64_t within = address - segment->p_vaddr;
        if (segment->p_offset > file->size || within > file->size - segment->p_offset)
            return -ENOEXEC;
        *offset = segment->p_offset + within;
        *room = segment->p_filesz - within;
        return 0;
    }
    return -ENOEXEC;
}

static bool dynamic_value(const struct elf_file *file, ElfW(Sxword) tag, uint64_t *value)
{
    for (size_t i = 0; i < file->dynamic_count; i++) {
        if (file->dynamic[i].d_tag == tag) {
            *value = file->dynamic[i].d_un.d_val;
            return true;
        }
    }
    return false;
}

static int dynamic_string(const struct elf_file *file, uint64_t index, char name[ELF_NAME])
{
    uint64_t table;
    uint64_t size;
    uint64_t offset;
    uint64_t room;
    if (!dynamic_value(file, DT_STRTAB, &table) || !dynamic_value(file, DT_STRSZ, &size))
        return -ENOEXEC;
    int rc = offset_of(file, table, &offset, &room);
    if (rc < 0)
        return rc;
    if (size > room)
        size = room;
    if (index >= size)
        return -ENOEXEC;
    return read_string(file, offset + index, size - index, name, ELF_NAME);
}

int elf_next_string(const struct elf_file *file, ElfW(Sxword) tag, size_t *at, char name[ELF_NAME])
{
    while (*at < file->dynamic_count) {
        const ElfW(Dyn) *entry = &file->dynamic[(*at)++];
        if (entry->d_tag == tag) {
            int rc = dynamic_string(file, entry->d_un.d_val, name);
            return rc < 0 ? rc : 1;
        }
    }
    return 0;
}

/* The symbols are found through the relocations that use them: the dynamic symbol table does not tell its
 * own length, and section headers may be stripped.
 */
static int imports_of_table(const struct elf_file *file, ElfW(Sxword) table_tag, ElfW(Sxword) size_tag,
                            void (*seen)(const char *name, void *context), void *context)
{
    uint64_t table;
    uint64_t size;
    uint64_t symbols;
    uint64_t offset;
    uint64_t symbols_offset;
    uint64_t room;
    uint64_t symbols_room;
    if (!dynamic_value(file, table_tag, &table) || !dynamic_value(file, size_tag, &size) || size == 0)
        return 0;
    if (!dynamic_value(file, DT_SYMTAB, &symbols))
        return -ENOEXEC;
    int rc = offset_of(file, table, &offset, &room);
    if (rc < 0)
        return rc;
    rc = offset_of(file, symbols, &symbols_offset, &symbols_room);
    if (rc < 0)
        return rc;

    uint64_t count = (size < room ? size : room) / sizeof(ElfW(Rela));
    if (count > IMPORT_RELOCATIONS)
        return -ENOEXEC;
    ElfW(Rela) batch[256];
    for (uint64_t done = 0; done < count;) {
        size_t now = count - done < 256 ? (size_t)(count - done) : 256;
        rc = read_at(file, offset + done * sizeof(batch[0]), batch, now * sizeof(batch[0]));
        if (rc < 0)
            return rc;
        done += now;
        for (size_t i = 0; i < now; i++) {
            uint64_t index = SYMBOL_OF(batch[i].r_info);
            ElfW(Sym) symbol;
            char name[ELF_NAME];
            if (index == 0)
                continue;
            if (index >= symbols_room / sizeof(symbol))
                return -ENOEXEC;
            rc = read_at(file, symbols_offset + index * sizeof(symbol), &symbol, sizeof(symbol));
            if (rc < 0)
                return rc;
            rc = dynamic_string(file, symbol.st_name, name);
            if (rc == -ENOEXEC)
                continue; /* a C++ name longer than any of ours */
            if (rc < 0)
                return rc;
            seen(name, context);
        }
    }
    return 0;
}

int elf_imports(const struct elf_file *file, void (*seen)(const char *name, void *context), void *context)
{
    uint64_t kind;
    int rc = imports_of_table(file, DT_RELA, DT_RELASZ, seen, context);
    if (rc < 0)
        return rc;
    if (dynamic_value(file, DT_PLTREL, &kind) && kind != DT_RELA)
        return -ENOEXEC;
    return imports_of_table(file, DT_JMPREL, DT_PLTRELSZ, seen, context);
}

static bool has_go_note(const struct elf_file *file, const ElfW(Phdr) * segment)
{
    ElfW(Nhdr) note;
    char owner[4];
    uint64_t end = segment->p_filesz < NOTE_LIMIT ? segment->p_filesz : NOTE_LIMIT;
    for (uint64_t at = 0; at + sizeof(note) + sizeof(owner) <= end;) {
        if (read_at(file, segment->p_offset + at, &note, sizeof(note)) < 0 ||
            read_at(file, segment->p_offset + at + sizeof(note), owner, sizeof(owner)) < 0)
            return false;
        if (note.n_type == GO_BUILD_ID && note.n_namesz == sizeof(owner) && memcmp(owner, "Go\0", 4) == 0)
            return true;
        at +=
            sizeof(note) + (((uint64_t)note.n_namesz + 3) & ~3ULL) + (((uint64_t)note.n_descsz + 3) & ~3ULL);
    }
    return false;
}

/* Go's linker can be told to leave the note out; the section stays. */
static bool has_go_section(const struct elf_file *file, const ElfW(Ehdr) * header)
{
    ElfW(Shdr) section;
    ElfW(Shdr) names;
    if (header->e_shentsize != sizeof(section) || header->e_shnum > SECTION_LIMIT ||
        header->e_shstrndx >= header->e_shnum ||
        read_at(file, header->e_shoff + (uint64_t)header->e_shstrndx * sizeof(names), &names, sizeof(names)) <
            0)
        return false;
    for (unsigned i = 0; i < header->e_shnum; i++) {
        char name[sizeof(".go.buildinfo")];
        if (read_at(file, header->e_shoff + (uint64_t)i * sizeof(section), &section, sizeof(section)) < 0)
            return false;
        if (section.sh_name < names.sh_size &&
            read_string(file, names.sh_offset + section.sh_name, names.sh_size - section.sh_name, name,
                        sizeof(name)) == 0 &&
            strcmp(name, ".go.buildinfo") == 0)
            return true;
    }
    return false;
}

static int read_segments(struct elf_file *file, const ElfW(Ehdr) * header)
{
    if (header->e_phentsize != sizeof(file->segments[0]) || header->e_phnum > ELF_PROGRAM_HEADERS)
        return -ENOEXEC;
    int rc = read_at(file, header->e_phoff, file->segments, header->e_phnum * sizeof(file->segments[0]));
    if (rc < 0)
        return rc;
    file->segment_count = header->e_phnum;

    for (size_t i = 0; i < file->segment_count; i++) {
        const ElfW(Phdr) *segment = &file->segments[i];
        if (segment->p_type == PT_INTERP) {
            rc = read_string(file, segment->p_offset, segment->p_filesz, file->loader, sizeof(file->loader));
            if (rc < 0)
                return rc;
        } else if (segment->p_type == PT_DYNAMIC) {
            size_t count = segment->p_filesz / sizeof(file->dynamic[0]);
            if (count > ELF_DYNAMIC_ENTRIES)
                return -ENOEXEC;
            rc = read_at(file, segment->p_offset, file->dynamic, count * sizeof(file->dynamic[0]));
            if (rc < 0)
                return rc;
            while (file->dynamic_count < count && file->dynamic[file->dynamic_count].d_tag != DT_NULL)
                file->dynamic_count++;
        } else if (segment->p_type == PT_NOTE) {
            file->go = file->go || has_go_note(file, segment);
        }
    }
    return 0;
}

int elf_read(int fd, struct elf_file *file)
{
    struct stat status;
    ElfW(Ehdr) header;
    memset(file, 0, sizeof(*file));
    file->fd = fd;
    file->kind = ELF_NOT;
    if (fstat(fd, &status) < 0)
        return -errno;
    file->size = (uint64_t)status.st_size;

    /* The machine stands at the same place in the shorter header of the 32-bit class. */
    size_t common = offsetof(ElfW(Ehdr), e_version);
    if (file->size < common)
        return 0;
    int rc = read_at(file, 0, &header, common);
    if (rc < 0)
        return rc;
    if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
        return 0;
    file->class = header.e_ident[EI_CLASS];
    file->machine = header.e_machine;
    if (file->class != elf_own_class() || header.e_ident[EI_DATA] != __ehdr_start.e_ident[EI_DATA] ||
        file->machine != elf_own_machine()) {
        file->kind = ELF_FOREIGN;
        return 0;
    }
    rc = read_at(file, 0, &header, sizeof(header));
    if (rc < 0)
        return rc;
    rc = read_segments(file, &header);
    if (rc < 0)
        return rc;
    file->go = file->go || has_go_section(file, &header);
    file->kind = file->loader[0] ? ELF_DYNAMIC : ELF_STATIC;
    return 0;
}
