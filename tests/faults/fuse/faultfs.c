/* A file system in user space over a folder, whose calls fail, fall short or do nothing when told so.
 *
 * faultfs FOLDER MOUNTPOINT [libfuse's options]
 *
 * Every read and write of a program arrives here as it was made (direct I/O). What is written to the file
 * /.fault is a command, "OPERATION INDEX COUNT ANSWER": from the INDEX'th call of that operation on (1 is the
 * first after the command), COUNT calls (0: all) get ANSWER: -errno; for reads and writes also the bytes that
 * are moved at most, 0, or "less": all but one. Reading the file tells how many calls have been answered so.
 */
#define FUSE_USE_VERSION 31

#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CONTROL "/.fault"
#define LESS (1L << 40)
#define UNTOUCHED (1L << 50)

static int folder; /* descriptor */

static struct {
    char operation[16];
    long index, count, answer, seen, hits;
} fault;

/* The answer for this call, or UNTOUCHED. Only one thread serves (-s). */
static long fault_for(const char *operation)
{
    if (strcmp(operation, fault.operation) != 0)
        return UNTOUCHED;
    long at = ++fault.seen - fault.index;
    if (at < 0 || (fault.count != 0 && at >= fault.count))
        return UNTOUCHED;
    fault.hits++;
    return fault.answer;
}

static int command(const char *bytes, size_t size)
{
    char line[64], answer[16];
    if (size >= sizeof line)
        return -EINVAL;
    memcpy(line, bytes, size);
    line[size] = 0;
    memset(&fault, 0, sizeof fault);
    if (sscanf(line, "%15s %ld %ld %15s", fault.operation, &fault.index, &fault.count, answer) != 4)
        return -EINVAL;
    fault.answer = strcmp(answer, "less") == 0 ? LESS : atol(answer);
    return (int)size;
}

static int or_errno(long result)
{
    return result < 0 ? -errno : (int)result;
}

static int is_control(const char *path)
{
    return strcmp(path, CONTROL) == 0;
}

static const char *below(const char *path)
{
    return path[1] ? path + 1 : ".";
}

static int fs_getattr(const char *path, struct stat *status, struct fuse_file_info *info)
{
    (void)info;
    if (is_control(path)) {
        *status = (struct stat){.st_mode = S_IFREG | 0600, .st_nlink = 1};
        return 0;
    }
    return or_errno(fstatat(folder, below(path), status, AT_SYMLINK_NOFOLLOW));
}

static int open_as(const char *path, int flags, mode_t mode, struct fuse_file_info *info)
{
    info->direct_io = 1;
    if (is_control(path))
        return 0;
    long answer = fault_for("open");
    int fd = answer < 0 ? (int)answer
                        : or_errno(openat(folder, below(path), (flags & ~O_APPEND) | O_CLOEXEC, mode));
    if (fd < 0)
        return fd;
    info->fh = (uint64_t)fd;
    return 0;
}

static int fs_open(const char *path, struct fuse_file_info *info)
{
    return open_as(path, info->flags, 0, info);
}

static int fs_create(const char *path, mode_t mode, struct fuse_file_info *info)
{
    return open_as(path, info->flags | O_CREAT, mode, info);
}

/* How much of a request is carried out, or -errno. */
static long share_of(const char *operation, size_t size)
{
    long answer = fault_for(operation);
    if (answer == UNTOUCHED || answer < 0)
        return answer < 0 ? answer : (long)size;
    if (answer == LESS)
        return size > 1 ? (long)size - 1 : (long)size;
    return answer < (long)size ? answer : (long)size;
}

static int fs_read(const char *path, char *bytes, size_t size, off_t offset, struct fuse_file_info *info)
{
    if (is_control(path))
        return offset > 0 ? 0 : snprintf(bytes, size, "%ld\n", fault.hits);
    long share = share_of("read", size);
    return share < 0 ? (int)share : or_errno(pread((int)info->fh, bytes, (size_t)share, offset));
}

static int fs_write(const char *path, const char *bytes, size_t size, off_t offset,
                    struct fuse_file_info *info)
{
    if (is_control(path))
        return command(bytes, size);
    long share = share_of("write", size);
    return share < 0 ? (int)share : or_errno(pwrite((int)info->fh, bytes, (size_t)share, offset));
}

/* The answer of a call that moves nothing. */
static int plain_fault(const char *path, const char *operation)
{
    long answer = is_control(path) ? UNTOUCHED : fault_for(operation);
    return answer < 0 ? (int)answer : 0;
}

static int fs_flush(const char *path, struct fuse_file_info *info)
{
    (void)info;
    return plain_fault(path, "flush");
}

static int fs_fsync(const char *path, int data_only, struct fuse_file_info *info)
{
    (void)data_only, (void)info;
    return plain_fault(path, "fsync");
}

static int fs_release(const char *path, struct fuse_file_info *info)
{
    int rc = plain_fault(path, "release");
    if (!is_control(path))
        close((int)info->fh);
    return rc;
}

static int fs_truncate(const char *path, off_t size, struct fuse_file_info *info)
{
    if (is_control(path))
        return 0;
    int fd = info ? (int)info->fh : openat(folder, below(path), O_WRONLY | O_CLOEXEC);
    int rc = or_errno(ftruncate(fd, size));
    if (!info)
        close(fd);
    return rc;
}

static int fs_unlink(const char *path)
{
    return or_errno(unlinkat(folder, below(path), 0));
}

static int fs_statfs(const char *path, struct statvfs *status)
{
    (void)path;
    return or_errno(fstatvfs(folder, status));
}

static const struct fuse_operations operations = {
    .getattr = fs_getattr,
    .open = fs_open,
    .create = fs_create,
    .read = fs_read,
    .write = fs_write,
    .flush = fs_flush,
    .fsync = fs_fsync,
    .release = fs_release,
    .truncate = fs_truncate,
    .unlink = fs_unlink,
    .statfs = fs_statfs,
};

int main(int count, char **arguments)
{
    if (count < 3)
        return 2;
    folder = open(arguments[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) {
        perror(arguments[1]);
        return 1;
    }
    arguments[1] = arguments[0];
    return fuse_main(count - 1, arguments + 1, &operations, NULL);
}
