/* Small files of /proc, read through the gate. */
#ifndef SHIM_FILES_H
#define SHIM_FILES_H

#include <stddef.h>
#include <sys/types.h>

/* Opens for reading, close-on-exec, on a descriptor above 2: the program may have closed 0..2 and count on
 * getting them back from its own next open. Returns the descriptor or -errno. Any context.
 */
int files_open(const char *path);

/* Reads up to `size` - 1 bytes from the start and ends them with a NUL. Returns the length or -errno. Any
 * context. */
ssize_t files_read(const char *path, char *text, size_t size);

/* Moves `fd` above 2 if it is not. Returns the descriptor or -errno; `fd` is closed then. Any context. */
int files_above_standard(int fd);

/* "/proc/self/fd/N" and the like: writes `before`, `number`, `after` to `path`, which holds FILES_PATH_SIZE
 * bytes. */
void files_path(char *path, const char *before, long number, const char *after);

#define FILES_PATH_SIZE 64

/* The process id without getpid(2), which a filter may kill for; the calls that read a file are those of the
 * dynamic loader. 0 without /proc. Any context.
 */
int files_own_pid(void);

#endif
