/* Copies in a directory with a quota until the loop stops: at the first error, or early, after BYTES. Every
 * call on the destination is checked. When something failed the program makes room, by unlinking its own
 * other file, and does that call again; nothing that it was told is written may then be missing. After a
 * failed close there is no again, so that being told is all.
 *
 * f8_quota SRC DST BALLAST CHUNK BYTES close|lseek|fsync|fdatasync|ftruncate|dup2|write|retry
 *
 * "write": the
 * ending call is one more write, of one byte. "retry": the failed write of the loop is tried again, and the
 * loop goes on. Prints "seen CALL ERROR" for the first error (nothing when there was none) and "complete",
 * "missing" or "told".
 */
#include <sys/stat.h>

#include "copy.h"

static const char *seen_call, *ending, *ballast;
static int seen_error, in, out;
static long total;

/* Notes the first error; says whether this call failed. */
static int failed(const char *call, long result)
{
    if (result >= 0)
        return 0;
    if (!seen_call) {
        seen_call = call;
        seen_error = errno;
    }
    return 1;
}

static long ending_call(void)
{
    if (strcmp(ending, "lseek") == 0)
        return lseek(out, 0, SEEK_CUR);
    if (strcmp(ending, "fsync") == 0)
        return fsync(out);
    if (strcmp(ending, "fdatasync") == 0)
        return fdatasync(out);
    if (strcmp(ending, "ftruncate") == 0)
        return ftruncate(out, total);
    if (strcmp(ending, "dup2") == 0)
        return dup2(in, out);
    if (strcmp(ending, "write") == 0) {
        long result = write(out, "", 1);
        total += result > 0;
        return result;
    }
    return 0;
}

/* Room comes late on some file systems: freed blocks count until the next commit. */
#define TRIES 300
#define PAUSE_US 10000

static void make_room(void)
{
    unlink(ballast);
    usleep(PAUSE_US);
}

/* Writes a piece; a write that fails is tried again after making room only in "retry". */
static int put_piece(const char *piece, ssize_t length)
{
    for (int tries = 0; length > 0;) {
        ssize_t n = write(out, piece, (size_t)length);
        if (failed("write", n)) {
            if (strcmp(ending, "retry") != 0 || tries++ == TRIES)
                return -1;
            make_room();
            continue;
        }
        piece += n;
        length -= n;
        total += n;
    }
    return 0;
}

int main(int argc, char **argv)
{
    NEED(argc == 7);
    size_t chunk = strtoul(argv[4], NULL, 10);
    long limit = strtol(argv[5], NULL, 10);
    char *buffer = malloc(chunk);
    struct stat status;

    NEED(buffer);
    ballast = argv[3];
    ending = argv[6];
    in = open_source(argv[1]);
    out = open_destination(argv[2]);
    while (total < limit) {
        ssize_t got = read(in, buffer, chunk);
        if (failed("read", got) || got == 0 || put_piece(buffer, got) != 0)
            break;
    }
    if (failed(ending, ending_call()) || seen_call)
        for (int i = 0; i < TRIES; i++) {
            make_room();
            if (ending_call() >= 0)
                break;
        }
    if (strcmp(ending, "dup2") != 0)
        failed("close", close(out));
    if (seen_call)
        printf("seen %s %s\n", seen_call, strerror(seen_error));
    NEED(stat(argv[2], &status) == 0);
    printf("%s\n", status.st_size >= total                        ? "complete"
                   : seen_call && strcmp(seen_call, "close") == 0 ? "told"
                                                                  : "missing");
    fprintf(stderr, "%ld %ld\n", total, (long)status.st_size);
    return 0;
}
