/* Text without libc, small files of /proc, names of system calls. */
#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "calls.h"
#include "files.h"
#include "text.h"

static char room[256];

static struct text empty(size_t size)
{
    memset(room, '~', sizeof(room));
    return (struct text){room, size, 0};
}

static const char *said(const struct text *text)
{
    cr_assert(text->length <= text->size);
    cr_assert(room[text->size] == '~', "a byte behind the end was touched");
    room[text->length] = '\0';
    return room;
}

Test(text, strings_and_numbers_follow_each_other)
{
    struct text text = empty(100);
    text_put(&text, "a ");
    text_number(&text, 0);
    text_put(&text, "");
    text_put(&text, " ");
    text_number(&text, UINT64_MAX);
    text_number(&text, 1000);
    cr_expect_str_eq(said(&text), "a 0 184467440737095516151000");
}

Test(text, what_does_not_fit_is_dropped_at_every_size)
{
    const char *whole = "ab12345\"\\u0001\\\\\"";
    for (size_t size = 0; size <= strlen(whole) + 1; size++) {
        struct text text = empty(size);
        text_put(&text, "ab");
        text_number(&text, 12345);
        text_quoted(&text, "\001\\");
        size_t fits = size < strlen(whole) ? size : strlen(whole);
        cr_expect(text.length == fits && memcmp(room, whole, fits) == 0, "size %zu: %s", size, said(&text));
        cr_expect(room[size] == '\0' || room[size] == '~');
    }
}

Test(text, quotes_escape_what_JSON_forbids_and_nothing_else)
{
    struct text text = empty(200);
    text_quoted(&text, "a\"b\\c/\n\t\r\001\037\177\xc3\xa9 ");
    cr_expect_str_eq(said(&text), "\"a\\\"b\\\\c/\\u000a\\u0009\\u000d\\u0001\\u001f\177\xc3\xa9 \"");
    text = empty(200);
    text_quoted(&text, "");
    cr_expect_str_eq(said(&text), "\"\"");
}

static const char *call_name(long number)
{
    struct text text = empty(100);
    calls_name(&text, number);
    return said(&text);
}

Test(calls, usual_names_and_plain_numbers)
{
    cr_expect_str_eq(call_name(SYS_read), "read");
    cr_expect_str_eq(call_name(SYS_close), "close");
    cr_expect_str_eq(call_name(SYS_exit_group), "exit_group");
    cr_expect_str_eq(call_name(SYS_utimensat), "utimensat");
    cr_expect_str_eq(call_name(SYS_copy_file_range), "copy_file_range");
    cr_expect_str_eq(call_name(9999), "9999");
}

Test(files, path_with_a_number_in_it)
{
    char path[FILES_PATH_SIZE];
    files_path(path, "/proc/self/fd/", 17, "");
    cr_expect_str_eq(path, "/proc/self/fd/17");
    files_path(path, "/proc/", 2147483647, "/status");
    cr_expect_str_eq(path, "/proc/2147483647/status");
    files_path(path, "/proc/", 0, "/a-name-that-is-longer-than-the-room-there-is-for-it-by-a-few-bytes");
    cr_expect(strlen(path) == FILES_PATH_SIZE - 1);
}

Test(files, reading_stops_at_the_size_and_ends_with_a_zero)
{
    char bytes[9] = "~~~~~~~~";
    make_text(scratch_path("file"), "0123456789");
    cr_expect(files_read(scratch_path("file"), bytes, 8) == 7);
    cr_expect_str_eq(bytes, "0123456");
    cr_expect(files_read(scratch_path("file"), bytes, 1) == 0 && bytes[0] == '\0');
    char all[100];
    cr_expect(files_read(scratch_path("file"), all, 100) == 10);
    cr_expect_str_eq(all, "0123456789");
}

static int lowest_free(void)
{
    int fd = open("/dev/null", O_RDONLY);
    close(fd);
    return fd;
}

Test(files, C5_nothing_stays_open_in_any_case)
{
    char bytes[100];
    int before = lowest_free();
    files_read(scratch_path("none"), bytes, sizeof(bytes));
    cr_expect(lowest_free() == before);
    cr_expect(files_read(scratch(), bytes, sizeof(bytes)) == -EISDIR);
    cr_expect(lowest_free() == before);
    cr_expect(files_read("/proc/self/status", bytes, sizeof(bytes)) == 99);
    cr_expect(lowest_free() == before);
    cr_expect(files_read(scratch_path("none"), bytes, sizeof(bytes)) == -ENOENT);
}

Test(files, C5_what_is_open_for_a_moment_does_not_survive_an_exec)
{
    int fd = files_open("/dev/null");
    cr_assert(fd > 2);
    cr_expect(fcntl(fd, F_GETFD) & FD_CLOEXEC);
}

Test(files, B11_with_0_to_2_closed_nothing_of_ours_takes_their_numbers)
{
    int kept[3];
    for (int i = 0; i < 3; i++)
        kept[i] = fcntl(i, F_DUPFD, 10);
    for (int i = 0; i < 3; i++)
        close(i);
    int fd = files_open("/dev/null");
    int flags = fcntl(fd, F_GETFD), lowest = lowest_free(),
        second = files_above_standard(open("/dev/null", O_RDONLY));
    close(second);
    int closed = files_above_standard(-EMFILE);
    for (int i = 0; i < 3; i++)
        dup2(kept[i], i);
    cr_expect(fd > 2);
    cr_expect(flags & FD_CLOEXEC);
    cr_expect(lowest == 0);
    cr_expect(second > 2);
    cr_expect(closed == -EMFILE);
}

Test(files, B11_no_descriptor_free_is_told_and_the_one_taken_is_given_back)
{
    struct rlimit limit = {3, 3};
    int kept = fcntl(0, F_DUPFD, 10);
    close(0);
    cr_assert(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    int fd = files_open("/dev/null"), lowest = lowest_free();
    limit.rlim_cur = limit.rlim_max = 3;
    cr_expect(fd == -EMFILE || fd == -EINVAL, "%d", fd);
    cr_expect(lowest == 0, "descriptor 0 was not given back");
    close(kept);
}
