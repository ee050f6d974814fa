/* Compare-and-swap against signal handlers of the same thread: one instruction, which no signal can divide,
 * without the lock prefix that other processors would need and that costs 20 cycles.
 */
#ifndef XFER_ARCH_EXCHANGE_H
#define XFER_ARCH_EXCHANGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

static inline bool arch_exchange_if(_Atomic uint64_t *word, uint64_t expected, uint64_t desired)
{
    bool done;
    __asm__ volatile("cmpxchgq %[desired], %[word]"
                     : [word] "+m"(*word), "=@cce"(done), "+a"(expected)
                     : [desired] "r"(desired)
                     : "memory");
    return done;
}

#endif
