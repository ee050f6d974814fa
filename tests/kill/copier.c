/* copier CHUNK BLOCK HEAD BREAKS: copies descriptor 3 to descriptor 4 in reads of CHUNK and writes of BLOCK
 * bytes, HEAD bytes before all others, with another system call after each BREAKS reads. It says on
 * descriptor 1 when it is ready, and begins when descriptor 0 says so. */
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static void put(const char *bytes, size_t count)
{
    while (count) {
        ssize_t n = write(4, bytes, count);
        if (n <= 0)
            _exit(3);
        bytes += n;
        count -= (size_t)n;
    }
}

int main(int argc, char **argv)
{
    if (argc != 5)
        return 2;
    size_t chunk = strtoul(argv[1], NULL, 10), block = strtoul(argv[2], NULL, 10);
    size_t held = strtoul(argv[3], NULL, 10);
    unsigned long breaks = strtoul(argv[4], NULL, 10), turn = 0;
    char *buffer = malloc(chunk), *blocks = malloc(block + held), go;
    if (!buffer || !blocks)
        return 2;
    memset(blocks, 'h', held);
    if (write(1, "", 1) != 1 || read(0, &go, 1) != 1)
        return 2;
    ssize_t got;
    while ((got = read(3, buffer, chunk)) > 0) {
        if (breaks && ++turn % breaks == 0)
            syscall(SYS_getppid);
        if (block == chunk && held == 0) {
            put(buffer, (size_t)got);
            continue;
        }
        for (size_t taken = 0; taken < (size_t)got;) {
            size_t room = block - held, left = (size_t)got - taken;
            size_t n = left < room ? left : room;
            memcpy(blocks + held, buffer + taken, n);
            taken += n;
            held += n;
            if (held == block) {
                put(blocks, block);
                held = 0;
            }
        }
    }
    put(blocks, held);
    return got < 0;
}
