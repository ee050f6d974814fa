/* xfershim --check: can this program be helped? */
#ifndef XFERSHIM_LAUNCHER_CHECK_H
#define XFERSHIM_LAUNCHER_CHECK_H

#include "launcher/target.h"

/* Print what is found about TARGET to stdout. Returns whether it can be helped. */
bool check_print(const struct target *target);

#endif
