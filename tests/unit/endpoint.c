/* Endpoints: what a descriptor is. */
#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "endpoint.h"

Test(endpoint, regular_file_with_size_offset_and_identity)
{
    char *path = scratch_path("file");
    struct xfer_endpoint end;
    struct stat st;
    make_random(path, 1, 5000);
    int fd = open(path, O_RDWR | O_APPEND);
    cr_assert(fstat(fd, &st) == 0);
    lseek(fd, 777, SEEK_SET);
    cr_assert(xfer_endpoint_look(&end, fd) == 0);
    cr_expect(end.fd == fd && end.size == 5000 && end.offset == 777 && S_ISREG(end.mode));
    cr_expect(end.inode == st.st_ino && end.device == st.st_dev);
    cr_expect(lseek(fd, 0, SEEK_CUR) == 777);
    cr_assert(xfer_endpoint_look_closer(&end) == 0);
    cr_expect((end.flags & O_ACCMODE) == O_RDWR && (end.flags & O_APPEND));
}

Test(endpoint, file_system_and_free_space_as_statfs_says)
{
    struct xfer_endpoint end;
    struct statfs fs;
    int fd = open(scratch_path("file"), O_RDWR | O_CREAT, 0644);
    cr_assert(xfer_endpoint_look(&end, fd) == 0 && xfer_endpoint_look_closer(&end) == 0);
    cr_assert(fstatfs(fd, &fs) == 0);
    cr_expect(end.fs_type == (uint64_t)(uint32_t)fs.f_type);
    double expected = (double)fs.f_bavail * (double)fs.f_bsize, got = (double)xfer_endpoint_free_space(fd);
    cr_expect(got > expected * 0.9 - (1 << 26) && got < expected * 1.1 + (1 << 26), "%g, expected %g", got,
              expected);
    cr_expect((double)end.fs_free > expected * 0.9 - (1 << 26) &&
              (double)end.fs_free < expected * 1.1 + (1 << 26));
}

Test(endpoint, C3_free_space_follows_what_is_written)
{
    char *point = mount_fresh("tmpfs", 1 << 20);
    char bytes[65536] = {1};
    int fd = open(text("%s/file", point), O_RDWR | O_CREAT, 0644);
    int64_t before = xfer_endpoint_free_space(fd);
    cr_expect(before == 1 << 20, "%ld", before);
    cr_assert(write(fd, bytes, sizeof(bytes)) == sizeof(bytes));
    cr_expect(xfer_endpoint_free_space(fd) == before - 65536);
}

static int look(int fd)
{
    struct xfer_endpoint end;
    return xfer_endpoint_look(&end, fd);
}

Test(endpoint, A22_what_cannot_be_given_back_is_no_endpoint)
{
    int pair[2], sockets[2];
    cr_assert(pipe(pair) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
    cr_expect(look(pair[0]) == -ESPIPE);
    cr_expect(look(pair[1]) == -ESPIPE);
    cr_expect(look(sockets[0]) == -ESPIPE);
    cr_expect(look(eventfd(0, 0)) == -ESPIPE);
    cr_expect(look(open("/dev/null", O_RDWR)) == -ESPIPE);
    cr_expect(look(open("/dev/zero", O_RDONLY)) == -ESPIPE);
    cr_expect(look(open("/", O_RDONLY)) == -ESPIPE, "a directory");
}

Test(endpoint, D6_descriptors_that_are_not_open)
{
    struct xfer_endpoint end = {.fd = 1 << 29};
    cr_expect(look(-1) == -EBADF);
    cr_expect(look(1 << 29) == -EBADF);
    cr_expect(xfer_endpoint_look_closer(&end) == -EBADF);
    cr_expect(xfer_endpoint_free_space(-1) == -EBADF);
}

Test(endpoint, a_path_descriptor_has_no_offset)
{
    make_text(scratch_path("file"), "text");
    cr_expect(look(open(scratch_path("file"), O_PATH)) < 0);
}

Test(endpoint, size_beyond_4_GiB)
{
    struct xfer_endpoint end;
    int fd = open(scratch_path("file"), O_RDWR | O_CREAT, 0644);
    cr_assert(ftruncate(fd, ((off_t)5 << 30) + 1) == 0);
    lseek(fd, ((off_t)5 << 30) - 1, SEEK_SET);
    cr_assert(xfer_endpoint_look(&end, fd) == 0);
    cr_expect(end.size == ((off_t)5 << 30) + 1 && end.offset == ((off_t)5 << 30) - 1);
}

static int any_block_device(char *path)
{
    static const char *const names[] = {"/dev/vda", "/dev/sda", "/dev/nvme0n1", "/dev/loop0", "/dev/ram0"};
    for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++) {
        int fd = open(names[i], O_RDONLY);
        strcpy(path, names[i]);
        if (fd >= 0)
            return fd;
    }
    return -1;
}

Test(endpoint, block_device_has_its_capacity_as_size)
{
    char path[64];
    struct xfer_endpoint end, other;
    int fd = any_block_device(path);
    if (fd < 0)
        cr_skip_test("no block device can be opened here");
    cr_assert(xfer_endpoint_look(&end, fd) == 0);
    cr_expect(S_ISBLK(end.mode));
    cr_expect(end.size == lseek(fd, 0, SEEK_END), "%s", path);
    cr_assert(xfer_endpoint_look(&other, open(path, O_RDONLY)) == 0);
    cr_expect(xfer_endpoint_same_file(&end, &other));
}

Test(endpoint, A9_same_file_by_any_name)
{
    struct xfer_endpoint a, b, c;
    make_text(scratch_path("a"), "a");
    make_text(scratch_path("c"), "a");
    cr_assert(link(scratch_path("a"), scratch_path("b")) == 0);
    cr_assert(xfer_endpoint_look(&a, open(scratch_path("a"), O_RDONLY)) == 0);
    cr_assert(xfer_endpoint_look(&b, open(scratch_path("b"), O_WRONLY)) == 0);
    cr_assert(xfer_endpoint_look(&c, open(scratch_path("c"), O_RDONLY)) == 0);
    cr_expect(xfer_endpoint_same_file(&a, &b));
    cr_expect(!xfer_endpoint_same_file(&a, &c));
    c.inode = a.inode;
    c.device = a.device + 1;
    cr_expect(!xfer_endpoint_same_file(&a, &c), "the same number on another file system");
}

Test(endpoint, A9_two_nodes_of_one_block_device_are_the_same_and_a_file_is_not)
{
    struct xfer_endpoint a = {.mode = S_IFBLK, .device = 1, .inode = 5, .special = makedev(8, 0)}, b = a,
                         file = a;
    b.inode = 6;
    cr_expect(xfer_endpoint_same_file(&a, &b));
    b.special = makedev(8, 1);
    b.inode = 5;
    cr_expect(!xfer_endpoint_same_file(&a, &b));
    file.mode = S_IFREG;
    file.inode = 7;
    cr_expect(!xfer_endpoint_same_file(&a, &file));
}

Test(endpoint, A4_A19_only_file_systems_of_the_list)
{
    static const uint64_t known[] = {EXT4_SUPER_MAGIC,      0x58465342,       BTRFS_SUPER_MAGIC, TMPFS_MAGIC,
                                     OVERLAYFS_SUPER_MAGIC, F2FS_SUPER_MAGIC, 0xca451a4e};
    static const uint64_t unknown[] = {PROC_SUPER_MAGIC,
                                       SYSFS_MAGIC,
                                       NFS_SUPER_MAGIC,
                                       0xff534d42 /* cifs */,
                                       0x65735546 /* fuse */,
                                       0x2fc12fc1 /* zfs */,
                                       0x00c36400 /* ceph */,
                                       MSDOS_SUPER_MAGIC,
                                       HUGETLBFS_MAGIC,
                                       RAMFS_MAGIC,
                                       0,
                                       ~(uint64_t)0};
    for (unsigned i = 0; i < sizeof(known) / sizeof(*known); i++)
        cr_expect(xfer_endpoint_fs_known(known[i]), "%lx", known[i]);
    for (unsigned i = 0; i < sizeof(unknown) / sizeof(*unknown); i++)
        cr_expect(!xfer_endpoint_fs_known(unknown[i]), "%lx", unknown[i]);
}

static void expect_known(const char *kind)
{
    struct xfer_endpoint end;
    int fd = open(text("%s/file", mount_fresh(kind, 0)), O_RDWR | O_CREAT, 0644);
    cr_assert(xfer_endpoint_look(&end, fd) == 0 && xfer_endpoint_look_closer(&end) == 0);
    cr_expect(xfer_endpoint_fs_known(end.fs_type), "%s is %lx", kind, end.fs_type);
}

Test(endpoint, A19_a_mounted_ext4_is_known)
{
    expect_known("ext4");
}

Test(endpoint, A19_a_mounted_xfs_is_known)
{
    expect_known("xfs");
}

Test(endpoint, A19_a_mounted_btrfs_is_known)
{
    expect_known("btrfs");
}

Test(endpoint, A4_procfs_is_not_known)
{
    struct xfer_endpoint end;
    cr_assert(xfer_endpoint_look(&end, open("/proc/self/status", O_RDONLY)) == 0);
    cr_assert(xfer_endpoint_look_closer(&end) == 0);
    cr_expect(!xfer_endpoint_fs_known(end.fs_type));
}
