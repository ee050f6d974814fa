#include "window.h"

void xfer_window_compact(struct xfer_window *w, size_t keep, size_t end)
{
    memmove(w->bytes, w->bytes + keep, end - keep);
    w->base += (off_t)keep;
    w->filled = end - keep;
    w->flushed = w->flushed > keep ? w->flushed - keep : 0;
}

size_t xfer_window_find(const struct xfer_window *w, size_t from, size_t to, const void *with, size_t count)
{
    if (count == 0 || to > w->filled || from > to || count > to - from)
        return SIZE_MAX;
    if (memcmp(w->bytes + to - count, with, count) == 0)
        return to - count;
    const unsigned char *found = memmem(w->bytes + from, to - from, with, count);
    return found ? (size_t)(found - w->bytes) : SIZE_MAX;
}
