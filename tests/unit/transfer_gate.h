/* The library over a system call gate that can be told what to answer. To be included once in a test program;
 * the library's own gate is then not linked. Every file system says that it is XFS, and clones are made by
 * reading and writing, under XFS's rules.
 */
#ifndef TESTS_UNIT_TRANSFER_GATE_H
#define TESTS_UNIT_TRANSFER_GATE_H

#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "sys.h"
#include "xfer.h"

enum { FS_BLOCK = 4096, ANSWERS = 32, FULL = 0x7fffffff, ZERO = 0 };

/* What one system call answers, call by call: a count is what the kernel takes at most, a negative one is
 * -errno. Behind the last one, `after`. */
struct script {
    long answer[ANSWERS];
    int answers;
    long after;
    int calls;
    size_t largest; /* count that was asked for */
};

static struct script scripts[512];
static int block_broken; /* clones that break a rule of the kernel */

static dev_t device = 1; /* that every file seems to be on */

static struct script *script_of(long number)
{
    return &scripts[number];
}

static void script_reset(void)
{
    for (int i = 0; i < 512; i++)
        scripts[i] = (struct script){.after = FULL};
}

static void script_fail(long number, int at, long answer, long after)
{
    struct script *s = script_of(number);
    *s = (struct script){.answers = at, .after = after};
    for (int i = 0; i < at; i++)
        s->answer[i] = i == at - 1 ? answer : FULL;
}

static long kernel(long number, const long *a)
{
    long result = syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    return result < 0 ? -errno : result;
}

static int count_argument(long number)
{
    switch (number) {
    case SYS_read:
    case SYS_write:
    case SYS_pread64:
    case SYS_pwrite64:
        return 2;
    case SYS_sendfile:
        return 3;
    case SYS_splice:
    case SYS_copy_file_range:
        return 4;
    default:
        return -1;
    }
}

static long clone_range(int out, const struct file_clone_range *range)
{
    struct stat in_stat, out_stat;
    fstat((int)range->src_fd, &in_stat);
    fstat(out, &out_stat);
    uint64_t size = range->src_length, end = range->src_offset + size, to = range->dest_offset + size;
    bool whole = size % FS_BLOCK == 0;
    if (size == 0 || range->src_offset % FS_BLOCK || range->dest_offset % FS_BLOCK ||
        end > (uint64_t)in_stat.st_size ||
        (!whole && (end != (uint64_t)in_stat.st_size || to < (uint64_t)out_stat.st_size))) {
        block_broken++;
        return -EINVAL;
    }
    char *bytes = malloc(size);
    cr_assert(pread((int)range->src_fd, bytes, size, (off_t)range->src_offset) == (ssize_t)size);
    cr_assert(pwrite(out, bytes, size, (off_t)range->dest_offset) == (ssize_t)size);
    free(bytes);
    return 0;
}

long xfer_gate_call(long number, long a, long b, long c, long d, long e, long f)
{
    long argument[6] = {a, b, c, d, e, f};
    if (number == SYS_fstatfs) {
        long rc = kernel(number, argument);
        ((struct statfs *)b)->f_type = 0x58465342;
        ((struct statfs *)b)->f_bsize = FS_BLOCK;
        return rc;
    }
    if (number == SYS_fstat) {
        long rc = kernel(number, argument);
        ((struct stat *)b)->st_dev = device;
        return rc;
    }
    int count = count_argument(number);
    bool clone = number == SYS_ioctl && (unsigned)b == FICLONERANGE;
    if (count < 0 && !clone)
        return kernel(number, argument);
    struct script *s = script_of(number);
    long answer = s->calls < s->answers ? s->answer[s->calls] : s->after;
    s->calls++;
    size_t asked = clone ? ((struct file_clone_range *)c)->src_length : (size_t)argument[count];
    if (asked > s->largest)
        s->largest = asked;
    if (answer <= 0)
        return answer;
    if (clone)
        return clone_range((int)a, (struct file_clone_range *)c);
    if (answer != FULL && asked > (size_t)answer)
        argument[count] = answer;
    return kernel(number, argument);
}

#endif
