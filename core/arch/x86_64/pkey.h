/* Protection keys: the access rights register, which a program changes without a system call. */
#ifndef XFER_ARCH_PKEY_H
#define XFER_ARCH_PKEY_H

#include <cpuid.h>
#include <stdbool.h>
#include <stdint.h>

/* CPUID.(EAX=7,ECX=0):ECX bit 4, OSPKE: the system has switched protection keys on, so rdpkru is legal. */
static inline bool arch_has_pkeys(void)
{
    unsigned a, b, c, d;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (c & (1u << 4));
}

static inline uint32_t arch_read_pkru(void)
{
    uint32_t rights, high;
    __asm__ volatile(".byte 0x0f,0x01,0xee" : "=a"(rights), "=d"(high) : "c"(0));
    return rights;
}

#endif
