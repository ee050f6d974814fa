#include "files.h"

#include <errno.h>
#include <fcntl.h>

#include "sys.h"
#include "text.h"

int files_above_standard(int fd)
{
    if (fd < 0 || fd > 2)
        return fd;
    int above = (int)XFER_SYS(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 3);
    sys_close(fd);
    return above;
}

int files_open(const char *path)
{
    return files_above_standard((int)XFER_SYS(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NOCTTY));
}

ssize_t files_read(const char *path, char *text, size_t size)
{
    int fd = files_open(path);
    if (fd < 0)
        return fd;
    size_t length = 0;
    ssize_t n;
    while (length < size - 1 && (n = sys_read(fd, text + length, size - 1 - length)) != 0) {
        if (n < 0) {
            sys_close(fd);
            return n;
        }
        length += (size_t)n;
    }
    text[length] = '\0';
    sys_close(fd);
    return (ssize_t)length;
}

void files_path(char *path, const char *before, long number, const char *after)
{
    struct text text = {path, FILES_PATH_SIZE - 1, 0};
    text_put(&text, before);
    text_number(&text, (uint64_t)number);
    text_put(&text, after);
    path[text.length] = '\0';
}

int files_own_pid(void)
{
    char stat[32];
    int pid = 0;
    if (files_read("/proc/self/stat", stat, sizeof(stat)) < 0)
        return 0;
    for (const char *s = stat; *s >= '0' && *s <= '9'; s++)
        pid = pid * 10 + (*s - '0');
    return pid;
}
