/*
 * drain NAME WHERE: takes 512-byte blocks from descriptor 0, which others drain too, and appends them to
 * the file NAME; another call in each turn, WHERE is "before" or "after" the write, or "none".
 */
#include "victim.h"

int main(int count, char **arguments)
{
    if (count != 3)
        return 99;
    char block[512];
    bool before = strcmp(arguments[2], "before") == 0, after = strcmp(arguments[2], "after") == 0;
    int out = (int)must(open(arguments[1], O_WRONLY | O_CREAT | O_TRUNC, 0666), arguments[1]);
    while (read(0, block, sizeof block) == sizeof block) {
        if (before)
            bare(SYS_getppid, 0, 0, 0);
        must(write(out, block, sizeof block), "write");
        if (after)
            bare(SYS_getppid, 0, 0, 0);
    }
    return 0;
}
