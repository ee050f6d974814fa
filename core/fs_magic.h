/* Types of file systems (statfs f_type) that linux/magic.h lacks on some systems: fs/bcachefs and fs/xfs of
 * the kernel. */
#ifndef XFER_FS_MAGIC_H
#define XFER_FS_MAGIC_H

#include <linux/magic.h>

#define BCACHEFS_MAGIC 0xca451a4e
#ifndef XFS_SUPER_MAGIC
#define XFS_SUPER_MAGIC 0x58465342
#endif

#endif
