#include "loop.h"

#include <err.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

enum { page = 4096 };

/* Neighbours differ in what they map or in what they permit, or the kernel would join them. They
 * are private, as those of a program with many libraries are. */
void loop_mappings(int count)
{
    static const int permissions[] = {PROT_READ, PROT_READ | PROT_WRITE, PROT_NONE};
    int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

    for (int i = 0; i < count; i++) {
        bool file = i % 2 == 0 && self >= 0;
        int protection = file ? PROT_READ : permissions[i / 2 % 3];
        int flags = MAP_PRIVATE | (file ? 0 : MAP_ANONYMOUS);
        if (mmap(NULL, page, protection, flags, file ? self : -1, 0) == MAP_FAILED)
            err(1, "mapping %d of %d", i + 1, count);
    }
    if (self >= 0)
        close(self);
}
