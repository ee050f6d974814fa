/* Time, in milliseconds of CLOCK_MONOTONIC, without a system call wherever the vDSO can tell it. */
#ifndef XFER_CLOCK_H
#define XFER_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* Milliseconds, as coarse as the kernel's tick (1..10 ms); about 5 ns. Any context. */
uint64_t xfer_clock_ms(void);

/* True while this process is inside the function above: a clock_gettime that a guard traps then is the vDSO's
 * own fallback (no usable clock source, some time namespaces).
 */
bool xfer_clock_inside(void);

/* From now on ask the kernel through the gate: the vDSO falls back to a system call of its own here. */
void xfer_clock_use_gate(void);

#endif
