/* A copy loop whose turns are taken by the program and by a library that it loads, alternately:
 *   next      loaded once, bound as usual
 *   deep      with RTLD_DEEPBIND: its read and write are libc's
 *   namespace with dlmopen: with a libc of its own
 *   reload    loaded and unloaded at every turn
 *   until     no library; copies the whole again and again until the file "stop" is there
 *
 * host_loop SRC DST LIBRARY MODE
 */
#include <dlfcn.h>

#include "copy.h"

enum { CHUNK = 512, OWN_PAIRS = 37, PLUGIN_PAIRS = 11 };

typedef long copy_function(int in, int out, char *buffer, size_t chunk, long pairs);

static void *load(const char *path, const char *mode)
{
    void *handle = strcmp(mode, "namespace") == 0 ? dlmopen(LM_ID_NEWLM, path, RTLD_NOW)
                   : strcmp(mode, "deep") == 0    ? dlopen(path, RTLD_NOW | RTLD_DEEPBIND)
                                                  : dlopen(path, RTLD_LAZY);
    if (!handle)
        dprintf(2, "%s\n", dlerror());
    NEED(handle);
    return handle;
}

int main(int argc, char **argv)
{
    static char buffer[CHUNK];
    NEED(argc == 5);
    int in = open_source(argv[1]), out = open_destination(argv[2]);
    const char *mode = argv[4];
    long total = 0, last = 1;

    if (strcmp(mode, "until") == 0) {
        while (access("stop", F_OK) != 0) {
            NEED(lseek(in, 0, SEEK_SET) == 0 && lseek(out, 0, SEEK_SET) == 0);
            total = copy_bytes(in, out, buffer, CHUNK, -1);
        }
        printf("%ld bytes, at %ld and %ld\n", total, (long)lseek(in, 0, SEEK_CUR),
               (long)lseek(out, 0, SEEK_CUR));
        return 0;
    }
    void *handle = load(argv[3], mode);
    copy_function *copy = (copy_function *)dlsym(handle, "plugin_copy");
    NEED(copy);
    while (last > 0) {
        long own = copy_bytes(in, out, buffer, CHUNK, (long)OWN_PAIRS * CHUNK);
        if (strcmp(mode, "reload") == 0) {
            NEED(dlclose(handle) == 0);
            handle = load(argv[3], mode);
            copy = (copy_function *)dlsym(handle, "plugin_copy");
            NEED(copy);
        }
        last = copy(in, out, buffer, CHUNK, PLUGIN_PAIRS);
        NEED(own >= 0 && last >= 0);
        total += own + last;
    }
    printf("%ld bytes, at %ld and %ld\n", total, (long)lseek(in, 0, SEEK_CUR), (long)lseek(out, 0, SEEK_CUR));
    return close(in) != 0 || close(out) != 0;
}
