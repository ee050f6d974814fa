/* The mappings: by the kernel's query and by its text the same answers. The parser is static, so its file is
 * part of this one. */
#define text maps_text
#include "../../shim/maps.c"
#undef text

#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 16 };

static char in_program_file[3 * PAGE] = {1}; /* in .data: private pages of the program's own file */

static struct maps_query query_for(const void *a, const void *b, const void *c)
{
    return (struct maps_query){
        .inode = {(ino_t)-1, (ino_t)-1},
        .by_path = {-1, -1},
        .buffer = {{(uintptr_t)a, 0}, {(uintptr_t)b, 0}, {(uintptr_t)c, 0}},
    };
}

/* Asks both ways; the verdict and, where there is none, the ranges must agree. */
static enum refusal ask(struct maps_query *query)
{
    struct maps_query by_query = *query, by_text = *query;
    enum refusal verdict = REFUSAL_NONE, text_verdict;
    int fd = open("/proc/self/maps", O_RDONLY);
    text_verdict = examine_by_text(fd, &by_text);
    int rc = examine_by_query(fd, &by_query, &verdict);
    close(fd);
    if (rc == 0) {
        cr_expect(verdict == text_verdict, "by query %d, by text %d", verdict, text_verdict);
        for (int i = 0; i < MAPS_BUFFERS && verdict == REFUSAL_NONE; i++)
            cr_expect(by_query.buffer[i].start == by_text.buffer[i].start &&
                          by_query.buffer[i].end == by_text.buffer[i].end,
                      "buffer %d: by query %lx-%lx, by text %lx-%lx", i, by_query.buffer[i].start,
                      by_query.buffer[i].end, by_text.buffer[i].start, by_text.buffer[i].end);
    } else {
        cr_expect(rc == -ENOTTY, "%d", rc);
    }
    *query = by_text;
    return text_verdict;
}

/* Anonymous memory with a hole on both sides, so that no other mapping joins it. */
static char *island(size_t pages)
{
    char *memory = mmap(NULL, (pages + 2) * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert(memory != MAP_FAILED);
    munmap(memory, PAGE);
    munmap(memory + (pages + 1) * PAGE, PAGE);
    cr_assert(mprotect(memory + PAGE, pages * PAGE, PROT_READ | PROT_WRITE) == 0);
    return memory + PAGE;
}

static bool is_range(struct xfer_range range, const char *start, size_t size)
{
    return range.start == (uintptr_t)start && range.end == (uintptr_t)start + size;
}

/* Criterion shares memory between its processes; where that is writable and shared no session could start
 * here at all. */
static void unshare_everything(void)
{
    struct maps_query query = query_for(NULL, NULL, NULL);
    for (int i = 0; i < 100 && ask(&query) == REFUSAL_SHARED_MAPPING; i++) {
        FILE *maps = fopen("/proc/self/maps", "r");
        unsigned long start, end;
        char line[8192], rights[5];
        while (fgets(line, sizeof(line), maps))
            if (sscanf(line, "%lx-%lx %4s", &start, &end, rights) == 3 && rights[1] == 'w' &&
                rights[3] == 's')
                break;
        fclose(maps);
        munmap((void *)start, end - start);
        query = query_for(NULL, NULL, NULL);
    }
}

Test(maps, private_anonymous_memory_is_found_from_any_address_in_it)
{
    char *memory = island(PAGES);
    struct maps_query query = query_for(memory, memory + 5 * PAGE + 17, memory + PAGES * PAGE - 1);
    unshare_everything();
    cr_assert(ask(&query) == REFUSAL_NONE);
    for (int i = 0; i < MAPS_BUFFERS; i++)
        cr_expect(is_range(query.buffer[i], memory, PAGES * PAGE), "buffer %d", i);
}

Test(maps, F2_addresses_without_memory_have_an_empty_range)
{
    char *memory = island(PAGES);
    struct maps_query query = query_for(NULL, memory - 1, memory + PAGES * PAGE);
    unshare_everything();
    cr_assert(ask(&query) == REFUSAL_NONE);
    for (int i = 0; i < MAPS_BUFFERS; i++)
        cr_expect(query.buffer[i].start >= query.buffer[i].end, "buffer %d", i);
}

Test(maps, F2_read_only_and_forbidden_memory_is_not_provable)
{
    char *memory = island(PAGES);
    mprotect(memory + 4 * PAGE, PAGE, PROT_READ);
    mprotect(memory + 8 * PAGE, PAGE, PROT_NONE);
    struct maps_query query = query_for(memory + 4 * PAGE, memory + 8 * PAGE, memory);
    unshare_everything();
    cr_assert(ask(&query) == REFUSAL_NONE);
    cr_expect(query.buffer[0].start >= query.buffer[0].end);
    cr_expect(query.buffer[1].start >= query.buffer[1].end);
    cr_expect(is_range(query.buffer[2], memory, 4 * PAGE));
}

Test(maps, mappings_that_follow_without_a_gap_are_one_memory)
{
    char *memory = island(PAGES);
    mprotect(memory + 4 * PAGE, 4 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);
    struct maps_query query = query_for(memory, memory, memory + 4 * PAGE);
    unshare_everything();
    cr_assert(ask(&query) == REFUSAL_NONE);
    cr_expect(is_range(query.buffer[0], memory, PAGES * PAGE));
    cr_expect(is_range(query.buffer[2], memory + 4 * PAGE, (PAGES - 4) * PAGE));
}

static void *map_file(const char *name, int flags, int protection)
{
    make_random(scratch_path(name), 1, PAGES * PAGE);
    int fd = open(scratch_path(name), O_RDWR);
    void *memory = mmap(NULL, PAGES * PAGE, protection, flags, fd, 0);
    cr_assert(memory != MAP_FAILED);
    close(fd);
    return memory;
}

static ino_t inode_of(const char *name)
{
    struct stat st;
    cr_assert(stat(scratch_path(name), &st) == 0);
    return st.st_ino;
}

Test(maps, F7_A21_file_backed_memory_is_not_provable)
{
    char *memory = map_file("file", MAP_PRIVATE, PROT_READ | PROT_WRITE);
    memory[0] = 'x';
    struct maps_query query = query_for(memory, NULL, NULL);
    unshare_everything();
    cr_assert(ask(&query) == REFUSAL_NONE);
    cr_expect(query.buffer[0].start >= query.buffer[0].end);
}

Test(maps, A24_a_mapped_end_is_found_however_it_is_mapped)
{
    unshare_everything();
    for (int end = 0; end < 2; end++)
        for (int way = 0; way < 3; way++) {
            void *memory = map_file("file", way ? MAP_PRIVATE : MAP_SHARED,
                                    way == 2 ? PROT_READ | PROT_WRITE : PROT_READ);
            struct maps_query query = query_for(NULL, NULL, NULL);
            query.inode[end] = inode_of("file");
            cr_expect(ask(&query) == REFUSAL_MAPPED_END, "end %d way %d", end, way);
            munmap(memory, PAGES * PAGE);
            query = query_for(NULL, NULL, NULL);
            query.inode[end] = inode_of("file");
            cr_expect(ask(&query) == REFUSAL_NONE);
        }
}

Test(maps, A24_a_mapped_end_is_found_by_its_path_where_the_inode_lies)
{
    unshare_everything();
    map_file("a name with blanks", MAP_SHARED, PROT_READ);
    struct maps_query query = query_for(NULL, NULL, NULL);
    query.by_path[1] = open(scratch_path("a name with blanks"), O_RDONLY);
    char link[64];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", query.by_path[1]);
    read_link(link, end_path[1], sizeof(end_path[1]));
    cr_expect(ask(&query) == REFUSAL_MAPPED_END);
    query = query_for(NULL, NULL, NULL);
    query.by_path[1] = open(scratch_path("a name with blanks"), O_RDONLY);
    cr_expect(maps_examine(&query) == REFUSAL_MAPPED_END);
}

Test(maps, C2_any_writable_shared_mapping_is_a_refusal_and_a_readable_one_is_not)
{
    unshare_everything();
    struct maps_query query = query_for(NULL, NULL, NULL);
    map_file("read", MAP_SHARED, PROT_READ);
    cr_expect(ask(&query) == REFUSAL_NONE);
    void *memory = map_file("written", MAP_SHARED, PROT_READ | PROT_WRITE);
    query = query_for(NULL, NULL, NULL);
    cr_expect(ask(&query) == REFUSAL_SHARED_MAPPING);
    munmap(memory, PAGES * PAGE);
    memory = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    query = query_for(NULL, NULL, NULL);
    cr_expect(ask(&query) == REFUSAL_SHARED_MAPPING);
    munmap(memory, PAGE);
    query = query_for(NULL, NULL, NULL);
    cr_expect(ask(&query) == REFUSAL_NONE);
}

Test(maps, data_of_the_program_itself_is_provable_heap_and_stack_too)
{
    char on_stack[16], *on_heap = malloc(100);
    struct maps_query query = query_for(in_program_file + PAGE, on_stack, on_heap);
    unshare_everything();
    cr_assert(ask(&query) == REFUSAL_NONE);
    cr_expect(query.buffer[0].start <= (uintptr_t)in_program_file + PAGE);
    cr_expect(query.buffer[0].end >= (uintptr_t)in_program_file + 2 * PAGE);
    cr_expect(query.buffer[1].start <= (uintptr_t)on_stack && query.buffer[1].end > (uintptr_t)on_stack);
    cr_expect(query.buffer[2].start <= (uintptr_t)on_heap && query.buffer[2].end > (uintptr_t)on_heap);
}

Test(maps, text_of_many_reads_is_put_together)
{
    char *memory[600];
    unshare_everything();
    for (int i = 0; i < 600; i++)
        memory[i] = island(1 + (size_t)i % 3);
    for (int i = 0; i < 600; i += 7) {
        struct maps_query query = query_for(memory[i], memory[(i + 300) % 600], NULL);
        cr_assert(ask(&query) == REFUSAL_NONE);
        cr_assert(is_range(query.buffer[0], memory[i], (1 + (size_t)i % 3) * PAGE), "mapping %d", i);
    }
}

Test(maps, lines_as_the_kernel_writes_them)
{
    struct mapping m;
    cr_assert(
        parse_line("7ffd1c000000-7ffd1c021000 rw-p 00000000 00:00 0                          [stack]", &m));
    cr_expect(m.start == 0x7ffd1c000000 && m.end == 0x7ffd1c021000 && m.writable && !m.shared &&
              m.inode == 0);
    cr_expect_str_eq(m.name, "[stack]");
    cr_assert(parse_line("00400000-00401000 r--s 0001f000 fd:01 18446744073709551615 /a b (deleted)", &m));
    cr_expect(m.start == 0x400000 && !m.writable && m.shared && m.inode == (ino_t)-1);
    cr_expect_str_eq(m.name, "/a b (deleted)");
    cr_assert(parse_line("7f0000000000-7f0000001000 ---p 00000000 00:00 0 ", &m));
    cr_expect(!m.writable && !m.shared && m.inode == 0 && m.name[0] == '\0');
}

Test(maps, lines_that_are_none)
{
    static const char *const wrong[] = {"", "x", "1000", "1000-", "1000-2000", "1000 2000 rw-p", "-"};
    struct mapping m;
    for (unsigned i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        char line[64] = "";
        strcpy(line, wrong[i]);
        cr_expect(!parse_line(line, &m), "'%s'", wrong[i]);
    }
}

static enum refusal examine_bytes(const char *bytes)
{
    struct maps_query query = query_for(NULL, NULL, NULL);
    make_text(scratch_path("maps"), bytes);
    int fd = open(scratch_path("maps"), O_RDONLY);
    enum refusal verdict = examine_by_text(fd, &query);
    close(fd);
    return verdict;
}

Test(maps, D10_text_that_stops_in_the_middle_is_no_answer)
{
    cr_expect(examine_bytes("1000-2000 rw-p 00000000 00:00 0 \n") == REFUSAL_NONE);
    cr_expect(examine_bytes("1000-2000 rw-p 00000000 00:00 0 \n3000-4000 rw-p 0") == REFUSAL_NO_MAPS);
    cr_expect(examine_bytes("nonsense\n") == REFUSAL_NO_MAPS);
    char *line = calloc(1, 20000);
    memset(line, 'x', 19999);
    cr_expect(examine_bytes(line) == REFUSAL_NO_MAPS);
}

Test(maps, C5_no_descriptor_stays_open)
{
    int before = dup(0);
    close(before);
    for (int i = 0; i < 10; i++)
        maps_memory((uintptr_t)&before);
    int after = dup(0);
    close(after);
    cr_expect(before == after);
}

Test(maps, D1_errno_is_left_alone)
{
    errno = 4711;
    maps_memory(4096);
    cr_expect(errno == 4711);
}
