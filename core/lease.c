#include "lease.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>

#include "sys.h"

static long control(int fd, int command, long argument)
{
    return XFER_SYS(SYS_fcntl, fd, command, argument);
}

/* F_GETOWN cannot tell the owner -1 from the error EPERM; this one can. */
static bool has_owner(int fd)
{
    struct f_owner_ex owner = {0};
    return control(fd, F_GETOWN_EX, (long)&owner) < 0 || owner.pid != 0;
}

int xfer_lease_take(int fd, int number)
{
    if (control(fd, F_GETLEASE, 0) != F_UNLCK || control(fd, F_GETSIG, 0) != 0 || has_owner(fd))
        return -EBUSY;
    long rc = control(fd, F_SETSIG, number);
    if (rc < 0)
        return (int)rc;
    rc = control(fd, F_SETLEASE, F_RDLCK);
    if (rc < 0) {
        control(fd, F_SETOWN, 0);
        control(fd, F_SETSIG, 0);
    }
    return (int)rc;
}

void xfer_lease_drop(int fd)
{
    control(fd, F_SETLEASE, F_UNLCK);
    control(fd, F_SETOWN, 0); /* F_SETLEASE has set it */
    control(fd, F_SETSIG, 0);
}

/* fcntl_getlease() tells what the lease is about to become. */
bool xfer_lease_is_breaking(int fd)
{
    return control(fd, F_GETLEASE, 0) == F_UNLCK;
}
