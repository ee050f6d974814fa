/* The mappings of this process, as the kernel tells them: by PROCMAP_QUERY where it has it (Linux 6.11), else
 * by the text of /proc/self/maps.
 */
#ifndef SHIM_MAPS_H
#define SHIM_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "proof.h"
#include "refusal.h"

#define MAPS_ENDS 2
#define MAPS_BUFFERS 3

struct maps_query {
    /* In: the files that must not be mapped. Device numbers are not compared: those of the mappings do not
     * match fstat's on btrfs. On overlayfs older kernels show the inode of the layer below, so there the path
     * is compared too.
     */
    ino_t inode[MAPS_ENDS];
    int by_path[MAPS_ENDS]; /* descriptor whose path counts too, -1: none */

    /* In and out: addresses; the private anonymous writable memory around each (start == end: it is not such
     * memory). */
    struct xfer_range buffer[MAPS_BUFFERS];

    /* Out: mappings looked at. */
    unsigned count;
};

/* Looks at all mappings. Returns REFUSAL_NONE, or why no session can start: REFUSAL_SHARED_MAPPING,
 * REFUSAL_MAPPED_END, REFUSAL_NO_DESCRIPTOR, REFUSAL_NO_MAPS. Any context, but not re-entered: no handler may
 * run.
 */
enum refusal maps_examine(struct maps_query *query);

/* The private anonymous writable memory around `address`; empty if it is not such memory. Context as above.
 */
struct xfer_range maps_memory(uintptr_t address);

#endif
