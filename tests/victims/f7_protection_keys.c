/* The buffer's protection key is revoked in the middle of the loop, by an instruction and not by a call.
 * Exits 77 where the CPU or the kernel has no keys.
 *
 * f7_protection_keys SRC DST
 */
#include <sys/mman.h>

#include "copy.h"

static void say(const char *what, ssize_t result, int in, int out)
{
    int error = errno;
    printf("%s: %zd %s, %ld, %ld\n", what, result, result < 0 ? strerror(error) : "",
           (long)lseek(in, 0, SEEK_CUR), (long)lseek(out, 0, SEEK_CUR));
}

int main(int argc, char **argv)
{
    NEED(argc == 3);
    int key = pkey_alloc(0, 0);
    if (key < 0)
        return 77;
    int in = open_source(argv[1]), out = open_destination(argv[2]);
    char *buffer = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    NEED(buffer != MAP_FAILED);
    NEED(pkey_mprotect(buffer, 4096, PROT_READ | PROT_WRITE, key) == 0);

    for (int round = 0; round < 4; round++) {
        NEED(copy_bytes(in, out, buffer, 512, 100 * 512) == 100 * 512);
        NEED(pkey_set(key, PKEY_DISABLE_ACCESS) == 0);
        say("read without access", read(in, buffer, 512), in, out);
        NEED(pkey_set(key, PKEY_DISABLE_WRITE) == 0);
        say("read without write access", read(in, buffer, 512), in, out);
        NEED(pkey_set(key, 0) == 0);
        NEED(copy_bytes(in, out, buffer, 512, 100 * 512) == 100 * 512);
        NEED(read(in, buffer, 512) == 512);
        NEED(pkey_set(key, PKEY_DISABLE_ACCESS) == 0);
        say("write without access", write(out, buffer, 512), in, out);
        NEED(pkey_set(key, PKEY_DISABLE_WRITE) == 0);
        say("write with read access", write(out, buffer, 512), in, out);
        NEED(pkey_set(key, 0) == 0);
    }
    say("rest", copy_bytes(in, out, buffer, 512, -1), in, out);
    return 0;
}
