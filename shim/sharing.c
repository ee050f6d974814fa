#include "sharing.h"

#include <errno.h>
#include <limits.h>
#include <linux/kcmp.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>

#include "files.h"
#include "sys.h"

/* A process with more children than fit here is left alone. */
#define CHILDREN_TEXT 4096
/* So many children of the parent are asked: a question takes two microseconds. */
#define SIBLINGS_MANY 16

/* Shells keep redirections of their own below 10, and bash its saved ones from 10 on. */
#define PARENT_NUMBERS 16

static bool same(int own, int pid, int fd, int other)
{
    return XFER_SYS(SYS_kcmp, own, pid, KCMP_FILE, fd, other) == 0;
}

/* The descriptor's file, to be compared with our own standard descriptors: a kcmp costs as much as five
 * fstats. */
struct end {
    int fd;
    dev_t device;
    ino_t inode;
    bool standard[3]; /* our own descriptor of this number is the same file: the program may have duplicated
                         it */
};

static void look(struct end *end, int fd)
{
    static struct stat st, own; /* static: a start needs little stack, and nothing interrupts it */
    XFER_SYS(SYS_fstat, fd, &st);
    *end = (struct end){.fd = fd, .device = st.st_dev, .inode = st.st_ino};
    for (int i = 0; i <= 2; i++)
        end->standard[i] = i != fd && XFER_SYS(SYS_fstat, i, &own) == 0 && own.st_dev == st.st_dev &&
                           own.st_ino == st.st_ino;
}

static bool has(int own, int pid, const struct end *end)
{
    if (same(own, pid, end->fd, end->fd))
        return true;
    for (int i = 0; i <= 2; i++)
        if (end->standard[i] && same(own, pid, end->fd, i))
            return true;
    return false;
}

enum answer { NOT_SHARED, SHARED, UNKNOWN };

/* Calls has() for the children of `pid` but ourselves, unless there are more than `most`. */
static enum answer ask_children(int own, int pid, const struct end *end, int most)
{
    static char text[CHILDREN_TEXT];
    char head[FILES_PATH_SIZE], path[FILES_PATH_SIZE];
    files_path(head, "/proc/", pid, "/task/");
    files_path(path, head, pid, "/children");
    ssize_t length = files_read(path, text, sizeof(text));
    if (length < 0 || length == sizeof(text) - 1)
        return UNKNOWN;
    for (const char *s = text; *s; s++) /* "PID PID PID " */
        if (*s == ' ' && most-- == 0)
            return UNKNOWN;
    int child = 0;
    for (const char *s = text; *s; s++) {
        if (*s != ' ') {
            child = child * 10 + (*s - '0');
            continue;
        }
        if (child != own && has(own, child, end))
            return SHARED;
        child = 0;
    }
    return NOT_SHARED;
}

/* True if the program has probably not opened the file itself. */
static bool inherited(const struct end *end)
{
    return end->fd <= 2 || end->standard[0] || end->standard[1] || end->standard[2];
}

/* A shell that gives its descriptor to several commands has it at another number: `exec 5<file; a <&5 & b <&5
 * &`. */
static bool parent_has_elsewhere(int own, int parent, const struct end *end)
{
    for (int i = 0; i < PARENT_NUMBERS; i++)
        if (same(own, parent, end->fd, i))
            return true;
    return false;
}

/* WNOWAIT takes nothing away from the program's own wait. */
static bool has_children(void)
{
    siginfo_t info;
    int options = WEXITED | WSTOPPED | WCONTINUED | WNOHANG | WNOWAIT | __WALL;
    return XFER_SYS(SYS_waitid, P_ALL, 0, &info, options, 0) != -ECHILD;
}

bool sharing_found(int fd)
{
    static struct end end;
    look(&end, fd);
    int own = sys_getpid();
    int parent = (int)XFER_SYS(SYS_getppid);
    if (parent > 0 && has(own, parent, &end))
        return true;
    if (parent > 0 && inherited(&end) && parent_has_elsewhere(own, parent, &end))
        return true;
    if (parent > 0 && ask_children(own, parent, &end, SIBLINGS_MANY) == SHARED)
        return true;
    return has_children() && ask_children(own, own, &end, INT_MAX) != NOT_SHARED;
}
