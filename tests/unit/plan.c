/* The plan: which ways two ends get, in which order. */
#include "plan.h"

#include "support.h"

#include <fcntl.h>
#include <sys/stat.h>

enum { EXT4 = 0xef53, XFS = 0x58465342, TMPFS = 0x01021994, NFS = 0x6969, OVERLAY = 0x794c7630 };
#define BTRFS 0x9123683eU
#define MIB (1 << 20)

/* Ways as letters: Clone, Mapped, sEndfile, Splice, Range, Plain. */
static const struct {
    unsigned in_mode, out_mode, in_fs, out_fs;
    int in_device, out_device, in_flags, out_flags;
    off_t size, in_at, out_at;
    unsigned wish;
    bool out_explicit;
    const char *ways;
} rows[] = {
    {S_IFREG, S_IFREG, EXT4, EXT4, 1, 1, 0, 0, MIB, 0, 0, 0, false, "SRP"},
    {S_IFREG, S_IFREG, EXT4, EXT4, 1, 1, 0, 0, MIB, 0, 0, 0, true, "SP"},
    {S_IFREG, S_IFREG, EXT4, TMPFS, 1, 2, 0, 0, MIB, 0, 0, 0, false, "SP"},
    {S_IFREG, S_IFREG, EXT4, EXT4, 1, 1, 0, 0, 32767, 0, 0, 0, false, "P"},
    {S_IFREG, S_IFREG, XFS, XFS, 1, 1, 0, 0, MIB, 0, 0, 0, false, "CSRP"},
    {S_IFREG, S_IFREG, XFS, XFS, 1, 1, 0, 0, 131071, 0, 0, 0, false, "P"},
    {S_IFREG, S_IFREG, XFS, XFS, 1, 1, 0, 0, MIB, 5, 4101, 0, false, "CSRP"},
    {S_IFREG, S_IFREG, XFS, XFS, 1, 1, 0, 0, MIB, 5, 6, 0, false, "SRP"},
    {S_IFREG, S_IFREG, XFS, XFS, 1, 2, 0, 0, MIB, 0, 0, 0, false, "SP"},
    {S_IFREG, S_IFREG, BTRFS, BTRFS, 1, 2, 0, 0, 16384, 0, 0, 0, false, "CP"},
    {S_IFREG, S_IFREG, OVERLAY, OVERLAY, 1, 1, 0, 0, MIB, 0, 0, 0, false, "CSRP"},
    {S_IFREG, S_IFREG, NFS, NFS, 1, 1, 0, 0, MIB, 0, 0, 0, false, "P"},
    {S_IFREG, S_IFREG, NFS, NFS, 1, 1, 0, 0, MIB, 0, 0, XFER_ANY_FILE_SYSTEM, false, "CSRP"},
    {S_IFREG, S_IFREG, XFS, XFS, 1, 1, 0, O_APPEND, MIB, 0, 0, 0, false, "P"},
    {S_IFREG, S_IFREG, XFS, XFS, 1, 1, 0, O_DSYNC, MIB, 0, 0, 0, false, "P"},
    {S_IFREG, S_IFREG, XFS, XFS, 1, 1, O_DIRECT, 0, MIB, 0, 0, 0, false, "P"},
    {S_IFREG, S_IFIFO, EXT4, 0, 1, 3, 0, 0, MIB, 0, -1, 0, false, "P"},
    {S_IFREG, S_IFIFO, EXT4, 0, 1, 3, 0, 0, MIB, 0, -1, XFER_BY_REFERENCE, false, "EP"},
    {S_IFREG, S_IFSOCK, EXT4, 0, 1, 3, 0, 0, MIB, 0, -1, XFER_BY_REFERENCE, false, "EP"},
    {S_IFIFO, S_IFREG, 0, EXT4, 3, 1, 0, 0, 0, -1, 0, XFER_BY_REFERENCE, false, "P"},
    {S_IFSOCK, S_IFREG, 0, EXT4, 3, 1, 0, 0, 0, -1, 0, 0, false, "P"},
    {S_IFBLK, S_IFREG, EXT4, EXT4, 1, 1, 0, 0, MIB, 0, 0, 0, false, "P"},
    {S_IFCHR, S_IFREG, EXT4, EXT4, 1, 1, 0, 0, 0, -1, 0, 0, false, "P"},
};

Test(plan, A19_every_pair_of_ends_gets_its_ways)
{
    static const char letters[] = "PCRSEM";
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct xfer_endpoint in = {.mode = rows[i].in_mode,
                                   .device = rows[i].in_device,
                                   .inode = 1,
                                   .size = rows[i].size,
                                   .offset = rows[i].in_at,
                                   .flags = rows[i].in_flags,
                                   .fs_type = rows[i].in_fs,
                                   .fs_block = 4096};
        struct xfer_endpoint out = {.mode = rows[i].out_mode,
                                    .device = rows[i].out_device,
                                    .inode = 2,
                                    .special = 7,
                                    .offset = rows[i].out_at,
                                    .flags = rows[i].out_flags,
                                    .fs_type = rows[i].out_fs,
                                    .fs_block = 4096};
        struct xfer_wish wish = {.count = XFER_TO_END,
                                 .out_explicit = rows[i].out_explicit,
                                 .ways = XFER_WAYS_DEFAULT,
                                 .flags = rows[i].wish};
        struct xfer_plan plan = xfer_plan_make(&in, &out, &wish);
        char got[XFER_WAYS + 1] = "";
        for (int r = 0; r < plan.rungs; r++)
            got[r] = letters[plan.rung[r].way];
        cr_expect_str_eq(got, rows[i].ways, "row %zu: %s, wanted %s", i, got, rows[i].ways);
        cr_expect(plan.head == (got[0] == 'C' && rows[i].in_at ? 4091 : 0), "row %zu: head %zu", i,
                  plan.head);
        cr_expect(plan.align == ((rows[i].in_flags | rows[i].out_flags) & O_DIRECT ? 4096 : 1), "row %zu", i);
        out.inode = in.inode, out.device = in.device, out.mode = in.mode;
        cr_expect(!S_ISREG(in.mode) || xfer_plan_make(&in, &out, &wish).rungs == 1, "A9, row %zu", i);
    }
}
