/* The library that is preloaded, and the LD_PRELOAD that does it. */
#ifndef XFERSHIM_LAUNCHER_PRELOAD_H
#define XFERSHIM_LAUNCHER_PRELOAD_H

#include "launcher/target.h"

/* The library beside the launcher (a build tree) or in ../lib/TRIPLET/xfershim (installed; the whole tree may
 * have been moved), or ASKED where that is not NULL. Ends the process with EXIT_OURS when there is none, or
 * its path holds a character that LD_PRELOAD gives a meaning to.
 */
void preload_find(const char *asked, char path[PATH_MAX]);

/* Put LIBRARY behind whatever LD_PRELOAD names already, and the AddressSanitizer runtime of TARGET, if it
 * needs one, in front of all: it ends the program unless it is the first library of the process.
 */
void preload_set(const char *library, const struct target *target);

#endif
