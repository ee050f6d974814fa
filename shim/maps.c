#include "maps.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "files.h"
#include "sys.h"

/* Linux 6.11, include/uapi/linux/fs.h; not in the headers of Debian 12. */
struct procmap_query {
    uint64_t size, query_flags, query_addr;
    uint64_t vma_start, vma_end, vma_flags, vma_page_size, vma_offset;
    uint64_t inode;
    uint32_t dev_major, dev_minor;
    uint32_t vma_name_size, build_id_size;
    uint64_t vma_name_addr, build_id_addr;
};
#define PROCMAP_QUERY _IOWR('f', 17, struct procmap_query)
#define PROCMAP_WRITABLE 0x02
#define PROCMAP_SHARED 0x08
#define PROCMAP_OR_NEXT 0x10
#define PROCMAP_FILE_BACKED 0x20

/* One mapping, from either source. */
struct mapping {
    uintptr_t start, end;
    bool writable, shared;
    ino_t inode;
    const char *name;
};

/* Static, so that a start needs little stack: the program may be a coroutine on a small one. */
static char text[16384];
static char end_path[MAPS_ENDS][PATH_MAX];
static char name_room[PATH_MAX];
static struct {
    bool known;
    ino_t inode;
    char path[PATH_MAX];
} program_file;

static void read_link(const char *link, char *path, size_t size)
{
    ssize_t n = XFER_SYS(SYS_readlinkat, AT_FDCWD, link, path, size - 1);
    path[n > 0 ? n : 0] = '\0';
}

/* The kernel lets nobody truncate the file of a running program (ETXTBSY), so its private data is as good as
 * anonymous memory; static buffers of small programs lie there. Libraries have no such protection.
 */
static bool is_program_file(const struct mapping *m)
{
    if (!program_file.known) {
        struct stat st;
        program_file.known = true;
        if (XFER_SYS(SYS_newfstatat, AT_FDCWD, "/proc/self/exe", &st, 0) == 0) {
            program_file.inode = st.st_ino;
            read_link("/proc/self/exe", program_file.path, sizeof(program_file.path));
        }
    }
    return m->inode == program_file.inode && program_file.path[0] && !strcmp(m->name, program_file.path);
}

static bool provable(const struct mapping *m)
{
    return m->writable && !m->shared && (m->inode == 0 || is_program_file(m));
}

/* Widens the range of each buffer by a mapping that holds it, or that goes on where the range ends. */
static void note_buffers(struct maps_query *query, struct xfer_range *found, const struct mapping *m)
{
    for (int i = 0; i < MAPS_BUFFERS; i++) {
        uintptr_t address = query->buffer[i].start;
        bool holds = address >= m->start && address < m->end;
        bool continues = found[i].end != 0 && found[i].end == m->start;
        if ((holds || continues) && provable(m)) {
            if (holds)
                found[i].start = m->start;
            found[i].end = m->end;
        }
    }
}

static enum refusal judge(const struct maps_query *query, const struct mapping *m)
{
    if (m->writable && m->shared)
        return REFUSAL_SHARED_MAPPING;
    if (m->inode == 0)
        return REFUSAL_NONE;
    for (int i = 0; i < MAPS_ENDS; i++) {
        if (m->inode == query->inode[i])
            return REFUSAL_MAPPED_END;
        if (query->by_path[i] >= 0 && !strcmp(m->name, end_path[i]))
            return REFUSAL_MAPPED_END;
    }
    return REFUSAL_NONE;
}

static int query_mapping(int fd, uintptr_t address, uint64_t flags, bool named, struct mapping *m)
{
    struct procmap_query q = {.size = sizeof(q), .query_addr = address, .query_flags = flags};
    name_room[0] = '\0';
    if (named) {
        q.vma_name_addr = (uintptr_t)name_room;
        q.vma_name_size = sizeof(name_room);
    }
    int rc = (int)XFER_SYS(SYS_ioctl, fd, PROCMAP_QUERY, &q);
    *m = (struct mapping){
        .start = q.vma_start,
        .end = q.vma_end,
        .writable = q.vma_flags & PROCMAP_WRITABLE,
        .shared = q.vma_flags & PROCMAP_SHARED,
        .inode = q.inode,
        .name = name_room,
    };
    return rc;
}

/* The memory around `address` and as far on as it goes without a gap. */
static struct xfer_range query_memory(int fd, uintptr_t address)
{
    struct xfer_range found = {0};
    struct mapping m;
    uintptr_t next = address;
    for (int i = 0; i < 4 && query_mapping(fd, next, 0, false, &m) == 0; i++) {
        if (m.inode && m.writable && !m.shared)
            query_mapping(fd, next, 0, true, &m);
        if (!provable(&m))
            break;
        if (!found.end)
            found.start = m.start;
        found.end = next = m.end;
    }
    return found;
}

/* -ENOTTY: this kernel has no such query. */
static int examine_by_query(int fd, struct maps_query *query, enum refusal *verdict)
{
    struct mapping m;
    bool named = query->by_path[0] >= 0 || query->by_path[1] >= 0;
    int rc = query_mapping(fd, 0, PROCMAP_OR_NEXT | PROCMAP_WRITABLE | PROCMAP_SHARED, false, &m);
    if (rc == 0) {
        *verdict = REFUSAL_SHARED_MAPPING;
        return 0;
    }
    if (rc != -ENOENT)
        return rc;
    uintptr_t next = 0;
    while ((rc = query_mapping(fd, next, PROCMAP_OR_NEXT | PROCMAP_FILE_BACKED, named, &m)) == 0) {
        *verdict = judge(query, &m);
        if (*verdict != REFUSAL_NONE)
            return 0;
        next = m.end;
        query->count++;
    }
    if (rc != -ENOENT)
        return rc;
    for (int i = 0; i < MAPS_BUFFERS; i++)
        query->buffer[i] = query_memory(fd, query->buffer[i].start);
    return 0;
}

static const char *parse_hex(const char *s, uintptr_t *value)
{
    *value = 0;
    for (;; s++) {
        if (*s >= '0' && *s <= '9')
            *value = *value << 4 | (uintptr_t)(*s - '0');
        else if (*s >= 'a' && *s <= 'f')
            *value = *value << 4 | (uintptr_t)(*s - 'a' + 10);
        else
            return s;
    }
}

/* "start-end rwxp offset major:minor inode   name" */
static bool parse_line(const char *line, struct mapping *m)
{
    line = parse_hex(line, &m->start);
    if (*line != '-')
        return false;
    line = parse_hex(line + 1, &m->end);
    if (*line != ' ')
        return false;
    m->writable = line[2] == 'w';
    m->shared = line[4] == 's';
    line += 6;
    for (int field = 0; field < 2; field++) { /* offset, device */
        line = strchr(line, ' ');
        if (!line)
            return false;
        line++;
    }
    m->inode = 0;
    for (; *line >= '0' && *line <= '9'; line++)
        m->inode = m->inode * 10 + (ino_t)(*line - '0');
    while (*line == ' ')
        line++;
    m->name = line;
    return true;
}

/* Calls `line` for each whole line of the text; a verdict other than REFUSAL_NONE ends it. */
static enum refusal for_each_line(int fd, struct maps_query *query, struct xfer_range *found)
{
    size_t have = 0;
    for (;;) {
        ssize_t n = sys_read(fd, text + have, sizeof(text) - 1 - have);
        if (n < 0 || (n == 0 && have > 0))
            return REFUSAL_NO_MAPS;
        if (n == 0)
            return REFUSAL_NONE;
        have += (size_t)n;
        text[have] = '\0';
        char *line = text, *end;
        while ((end = memchr(line, '\n', (size_t)(text + have - line)))) {
            struct mapping m;
            *end = '\0';
            if (!parse_line(line, &m))
                return REFUSAL_NO_MAPS;
            note_buffers(query, found, &m);
            query->count++;
            enum refusal verdict = judge(query, &m);
            if (verdict != REFUSAL_NONE)
                return verdict;
            line = end + 1;
        }
        have = (size_t)(text + have - line);
        memmove(text, line, have);
        if (have == sizeof(text) - 1)
            return REFUSAL_NO_MAPS;
    }
}

static enum refusal examine_by_text(int fd, struct maps_query *query)
{
    struct xfer_range found[MAPS_BUFFERS] = {0};
    enum refusal verdict = for_each_line(fd, query, found);
    memcpy(query->buffer, found, sizeof(found));
    return verdict;
}

enum refusal maps_examine(struct maps_query *query)
{
    char link[FILES_PATH_SIZE];
    for (int i = 0; i < MAPS_ENDS; i++) {
        if (query->by_path[i] >= 0) {
            files_path(link, "/proc/self/fd/", query->by_path[i], "");
            read_link(link, end_path[i], sizeof(end_path[i]));
        }
    }
    int fd = files_open("/proc/self/maps");
    if (fd < 0)
        return fd == -EMFILE || fd == -ENFILE ? REFUSAL_NO_DESCRIPTOR : REFUSAL_NO_MAPS;
    enum refusal verdict = REFUSAL_NONE;
    if (examine_by_query(fd, query, &verdict) < 0)
        verdict = examine_by_text(fd, query);
    sys_close(fd);
    return verdict;
}

struct xfer_range maps_memory(uintptr_t address)
{
    struct maps_query query = {
        .inode = {(ino_t)-1, (ino_t)-1}, .by_path = {-1, -1}, .buffer = {{address, 0}}};
    return maps_examine(&query) == REFUSAL_NONE ? query.buffer[0] : (struct xfer_range){0};
}
