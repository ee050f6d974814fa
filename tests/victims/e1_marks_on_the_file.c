/* What a copy leaves on the files besides bytes: the destination's set-user-id bits, capabilities and mtime,
 * the source's atime. Run by root; becomes user 65534 for the copy, since root's writes clear no bits.
 *
 * e1_marks_on_the_file SRC DST [noatime]
 */
#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>

#include "copy.h"

#define NOBODY 65534

int main(int argc, char **argv)
{
    static char buffer[1000];
    struct stat in_status, out_status;
    struct timespec past[2] = {{1000000000, 0}, {1000000000, 0}};
    /* cap_net_bind_service, permitted: the second version of the attribute has two words of each set. */
    struct vfs_cap_data capability = {.magic_etc = VFS_CAP_REVISION_2, .data = {{.permitted = 1 << 10}}};

    NEED(argc >= 3);
    int in = open(argv[1], O_RDONLY | (argc > 3 ? O_NOATIME : 0)), out = open_destination(argv[2]);
    NEED(in >= 0);
    int capable = fsetxattr(out, "security.capability", &capability, sizeof capability, 0) == 0;
    NEED(fchown(out, NOBODY, NOBODY) == 0);
    /* chown clears what the next two set. */
    if (capable)
        NEED(fsetxattr(out, "security.capability", &capability, sizeof capability, 0) == 0);
    NEED(fchmod(out, 06755) == 0);
    NEED(setgid(NOBODY) == 0 && setuid(NOBODY) == 0);

    long total = 0;
    for (int round = 0; round < 3; round++) {
        total += copy_bytes(in, out, buffer, sizeof buffer, 200 * 1000);
        NEED(fstat(out, &out_status) == 0);
        printf("mode %o, capability %s, mtime %s\n", out_status.st_mode & 07777,
               fgetxattr(out, "security.capability", buffer, sizeof buffer) > 0 ? "kept" : "none",
               out_status.st_mtime > past[1].tv_sec ? "moved" : "old");
        NEED(futimens(out, past) == 0);
    }
    total += copy_bytes(in, out, buffer, sizeof buffer, -1);
    NEED(fstat(in, &in_status) == 0 && fstat(out, &out_status) == 0);
    printf("%ld bytes, mtime %s, atime %s\n", total, out_status.st_mtime > past[1].tv_sec ? "moved" : "old",
           in_status.st_atime > past[0].tv_sec ? "moved" : "old");
    return 0;
}
