/* Copies in four parts; after each it makes the bytes durable, each time in another way, says so to its
 * parent and waits for the answer, so that the parent can look at the file.
 *
 * e4_synced SRC DST   (descriptor 3 reads the answers, descriptor 4 takes "so many bytes are durable")
 */
#include "copy.h"

int main(int argc, char **argv)
{
    static char buffer[512];
    char answer;
    long total = 0;

    NEED(argc == 3);
    int in = open_source(argv[1]), out = open_destination(argv[2]);
    for (int round = 0; round < 4; round++) {
        total += copy_bytes(in, out, buffer, sizeof buffer, 1 << 20);
        NEED((round == 0   ? fsync(out)
              : round == 1 ? fdatasync(out)
              : round == 2
                  ? syncfs(out)
                  : sync_file_range(out, 0, 0, SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER)) == 0);
        NEED(write(4, &total, sizeof total) == sizeof total);
        NEED(read(3, &answer, 1) == 1);
    }
    total += copy_bytes(in, out, buffer, sizeof buffer, -1);
    printf("%ld bytes\n", total);
    return 0;
}
