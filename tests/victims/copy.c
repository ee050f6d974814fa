/*
 * copy CHUNK [WORD...]: the plain loop from "in" to "out", with the ends as the words say; tells both
 * offsets at the end, and every read that was short before the end of the file.
 */
#include "victim.h"

int main(int count, char **arguments)
{
    if (count < 2)
        return 99;
    size_t chunk = size_argument(arguments[1]);
    int in_flags = O_RDONLY, out_flags = O_WRONLY | O_CREAT | O_TRUNC;
    long in_start = 0, out_start = 0, pairs = -1, seen = 0, in_later = 0;
    const char *source = "in", *destination = "out";
    for (char **word = arguments + 2; *word; word++) {
        if (strcmp(*word, "append") == 0)
            out_flags = O_WRONLY | O_CREAT | O_APPEND;
        else if (strcmp(*word, "keep") == 0)
            out_flags &= ~O_TRUNC;
        else if (strcmp(*word, "both-ways") == 0)
            in_flags = O_RDWR, out_flags = (out_flags & ~O_WRONLY) | O_RDWR;
        else if (strcmp(*word, "sync") == 0)
            out_flags |= O_SYNC;
        else if (strcmp(*word, "dsync") == 0)
            out_flags |= O_DSYNC;
        else if (strcmp(*word, "direct-in") == 0)
            in_flags |= O_DIRECT;
        else if (strcmp(*word, "direct-out") == 0)
            out_flags |= O_DIRECT;
        else if (strcmp(*word, "nonblock") == 0)
            in_flags |= O_NONBLOCK, out_flags |= O_NONBLOCK;
        else if (strncmp(*word, "from=", 5) == 0)
            source = *word + 5;
        else if (strncmp(*word, "to=", 3) == 0)
            destination = *word + 3;
        else if (strncmp(*word, "skip=", 5) == 0)
            in_start = atol(*word + 5);
        else if (strncmp(*word, "skip-later=", 11) == 0)
            in_later = atol(*word + 11);
        else if (strncmp(*word, "seek=", 5) == 0)
            out_start = atol(*word + 5);
        else if (strncmp(*word, "pairs=", 6) == 0)
            pairs = atol(*word + 6);
        else
            return 99;
    }
    char *room = aligned_alloc(4096, (chunk + 4095) / 4096 * 4096);
    int in = (int)must(open(source, in_flags), source);
    int out = (int)must(open(destination, out_flags, 0666), destination);
    if (in_start)
        must(lseek(in, in_start, SEEK_SET), "lseek");
    if (out_start)
        must(lseek(out, out_start, SEEK_SET), "lseek");

    long shorts = 0;
    ssize_t n = 0, before = (ssize_t)chunk;
    while (pairs-- != 0 && (n = read(in, room, chunk)) > 0) {
        shorts += before != (ssize_t)chunk;
        before = n;
        ssize_t written = write(out, room, (size_t)n);
        if (written != n) {
            told("write", written);
            break;
        }
        seen += n;
        /* A second stretch of the source, for files that are too large to copy whole. */
        if (in_later && seen >= in_later / 16) {
            must(lseek(in, in_later, SEEK_SET), "lseek");
            must(lseek(out, in_later, SEEK_SET), "lseek");
            in_later = 0;
        }
    }
    told("last read", n);
    note("%ld bytes, %ld short reads before the end\n", seen, shorts);
    if (out_flags & O_APPEND)
        must(lseek(out, 0, SEEK_END), "lseek");
    else
        where("end", in, out);
    told("close", close(out));
    told("close", close(in));
    say();
    return 0;
}
