/* Watches its own destination and source with inotify. After each part of the loop the queue must hold an
 * event for the last bytes: it was empty before, so that without one a watcher would never look again.
 *
 * e2_watched SRC DST
 */
#include <stdint.h>
#include <sys/inotify.h>

#include "copy.h"

static uint32_t drain(int watcher)
{
    char events[8192] __attribute__((aligned(8)));
    uint32_t seen = 0;
    ssize_t length;

    while ((length = read(watcher, events, sizeof events)) > 0)
        for (char *at = events; at < events + length;) {
            struct inotify_event *event = (struct inotify_event *)at;
            seen |= event->mask;
            at += sizeof *event + event->len;
        }
    return seen;
}

int main(int argc, char **argv)
{
    static char buffer[512];

    NEED(argc == 3);
    int in = open_source(argv[1]), out = open_destination(argv[2]);
    int watcher = inotify_init1(IN_NONBLOCK), source_watcher = inotify_init1(IN_NONBLOCK);
    NEED(inotify_add_watch(watcher, argv[2], IN_MODIFY) >= 0);
    NEED(inotify_add_watch(source_watcher, argv[1], IN_ACCESS | IN_MODIFY) >= 0);

    /* Parts down to a single pair, which must make an event too. */
    for (long part = 1 << 20; part >= 512; part /= 4) {
        long total = copy_bytes(in, out, buffer, sizeof buffer, part);
        uint32_t seen = drain(watcher);
        printf("%ld bytes, %s\n", total, seen & IN_MODIFY ? "modified" : "nothing");
        seen = drain(source_watcher);
        printf("source %s %s\n", seen & IN_ACCESS ? "accessed" : "nothing",
               seen & IN_MODIFY ? "modified" : "");
    }
    copy_bytes(in, out, buffer, sizeof buffer, -1);
    printf("%s\n", drain(watcher) & IN_MODIFY ? "modified" : "nothing");
    return 0;
}
