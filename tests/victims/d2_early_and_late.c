/* Copies before any constructor ran (preinit), in a constructor, in main, in atexit, in a destructor, and
 * after every library's destructors: a handler that belongs to no object and was registered before the
 * dynamic linker's own runs after that one.
 *
 * d2_early_and_late SRC DIRECTORY
 */
#include "copy.h"

int __cxa_atexit(void (*function)(void *), void *argument, void *object);

static const char *source, *directory;

static void copy_to(const char *name)
{
    static char buffer[700], path[4096];
    ssize_t length = snprintf(path, sizeof path, "%s/%s", directory, name);

    NEED(length > 0 && (size_t)length < sizeof path);
    int in = open_source(source), out = open_destination(path);
    long total = copy_bytes(in, out, buffer, sizeof buffer, -1);
    NEED(total == lseek(in, 0, SEEK_END));
    NEED(close(in) == 0 && close(out) == 0);
    dprintf(1, "%s %ld\n", name, total);
}

static void last_of_all(void *unused)
{
    (void)unused;
    copy_to("last");
}

static void before_all(int argc, char **argv, char **environment)
{
    (void)environment;
    NEED(argc == 3);
    source = argv[1];
    directory = argv[2];
    NEED(__cxa_atexit(last_of_all, NULL, NULL) == 0);
    copy_to("preinit");
}

__attribute__((section(".preinit_array"), used)) static void (*const first)(int, char **,
                                                                            char **) = before_all;

__attribute__((constructor)) static void constructor(void)
{
    copy_to("constructor");
}

__attribute__((destructor)) static void destructor(void)
{
    copy_to("destructor");
}

static void at_exit(void)
{
    copy_to("atexit");
}

int main(void)
{
    NEED(atexit(at_exit) == 0);
    copy_to("main");
    /* Left in stdio's buffer: written when the process ends, after all of the above. */
    printf("flushed at exit\n");
    return 0;
}
