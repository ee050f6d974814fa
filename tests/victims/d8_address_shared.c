/* The same with gcc's AddressSanitizer in a shared library, which insists on being first in LD_PRELOAD. The
 * flags are in tests/hazards/host.mk. */
#include "d8_address.c"
