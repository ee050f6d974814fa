/* same HOW CHUNK: both ends are the same file. */
#include "victim.h"

int main(int count, char **arguments)
{
    static char buffer[1 << 16];
    if (count != 3)
        return 99;
    const char *how = arguments[1], *name = "in";
    size_t chunk = size_argument(arguments[2]);
    if (strcmp(how, "hard-link") == 0) {
        must(link("in", "link"), "link");
        name = "link";
    } else if (strcmp(how, "symbolic-link") == 0) {
        must(symlink("in", "link"), "symlink");
        name = "link";
    }
    int in = (int)must(open("in", O_RDWR), "in");
    int out = strcmp(how, "one-description") == 0 ? dup(in) : (int)must(open(name, O_RDWR), name);
    if (strcmp(how, "one-descriptor") == 0)
        out = in;
    long start = strcmp(how, "ahead") == 0 ? (long)chunk + 5 : strcmp(how, "far-ahead") == 0 ? 30000 : 0;
    must(lseek(out, start, SEEK_SET), "lseek");
    if (strcmp(how, "behind") == 0)
        must(lseek(in, 1000, SEEK_SET), "lseek");
    /* What is written ahead is read later: it never ends. */
    ssize_t n = copy_pairs(in, out, buffer, chunk, 500);
    told("last", n);
    where("end", in, out);
    say();
    return 0;
}
