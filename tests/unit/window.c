/* The window: the word, its bounds, compaction, the search. */
#include "support.h"

#include <string.h>

#include "window.h"

static struct xfer_window window_of(char *bytes, size_t filled)
{
    return (struct xfer_window){.bytes = (unsigned char *)bytes, .capacity = filled, .filled = filled};
}

static void expect_round_trip(struct xfer_position p)
{
    struct xfer_position q = xfer_position_unpack(xfer_position_pack(p));
    cr_expect(q.active == p.active && q.aligned == p.aligned && q.generation == p.generation &&
                  q.read == p.read && q.written == p.written,
              "%d %d %u %u %u became %d %d %u %u %u", p.active, p.aligned, p.generation, p.read, p.written,
              q.active, q.aligned, q.generation, q.read, q.written);
}

Test(window, word_holds_every_extreme_of_each_field_alone_and_together)
{
    uint32_t ends[] = {0, 1, 4096, (uint32_t)XFER_WINDOW_LARGEST, 0x7ffffe, 0x7fffff};
    uint16_t generations[] = {0, 1, 0x7fff, 0x8000, 0xffff};
    for (unsigned flags = 0; flags < 4; flags++)
        for (unsigned g = 0; g < 5; g++)
            for (unsigned r = 0; r < 6; r++)
                for (unsigned w = 0; w < 6; w++)
                    expect_round_trip(
                        (struct xfer_position){flags & 1, flags >> 1, generations[g], ends[r], ends[w]});
}

Test(window, an_open_word_has_its_highest_bit_set_and_a_closed_one_has_not)
{
    cr_expect(xfer_position_pack((struct xfer_position){.active = true}) >> 63 == 1);
    cr_expect(xfer_position_pack((struct xfer_position){false, true, 0xffff, 0x7fffff, 0x7fffff}) >> 63 == 0);
}

Test(window, B2_commit_fails_when_a_handler_has_changed_only_the_generation)
{
    struct xfer_window w = window_of(NULL, 0);
    struct xfer_position from = {true, true, 7, 100, 50}, to = from, newer = from;
    to.read = 200;
    newer.generation++;
    xfer_window_set(&w, newer);
    cr_expect(!xfer_window_commit(&w, from, to));
    cr_expect(xfer_window_position(&w).read == 100);
    xfer_window_set(&w, from);
    cr_expect(xfer_window_commit(&w, from, to));
    cr_expect(xfer_window_position(&w).read == 200);
    cr_expect(!xfer_window_commit(&w, from, to), "the same step was taken twice");
}

Test(window, B2_copy_and_comparison_stay_in_bounds_with_positions_of_an_older_window)
{
    char bytes[] = "abcdefgh", to[16] = "";
    struct xfer_window w = window_of(bytes, 8);
    cr_expect(xfer_window_copy(&w, 0, to, 8));
    cr_expect(xfer_window_copy(&w, 8, to, 0));
    cr_expect(!xfer_window_copy(&w, 0, to, 9));
    cr_expect(!xfer_window_copy(&w, 7, to, 2));
    cr_expect(!xfer_window_copy(&w, 9, to, 0));
    cr_expect(!xfer_window_copy(&w, 9, to, SIZE_MAX));
    cr_expect(!xfer_window_copy(&w, 1, to, SIZE_MAX));
    cr_expect(xfer_window_equal(&w, 6, "gh", 2));
    cr_expect(!xfer_window_equal(&w, 6, "gx", 2));
    cr_expect(!xfer_window_equal(&w, 7, "h", 2));
    cr_expect(!xfer_window_equal(&w, 9, "", 0));
    cr_expect(!xfer_window_equal(&w, 1, "bc", SIZE_MAX));
}

Test(window, compaction_keeps_bytes_source_position_and_promise)
{
    char bytes[] = "0123456789";
    struct xfer_window w = window_of(bytes, 10);
    w.base = 1000;
    w.flushed = 5;
    xfer_window_compact(&w, 3, 8);
    cr_expect(w.filled == 5 && w.base == 1003 && w.flushed == 2);
    cr_expect(memcmp(w.bytes, "34567", 5) == 0);
    xfer_window_compact(&w, 4, 5);
    cr_expect(w.filled == 1 && w.base == 1007 && w.flushed == 0, "flushed %zu", w.flushed);
    cr_expect(w.bytes[0] == '7');
    xfer_window_compact(&w, 1, 1);
    cr_expect(w.filled == 0 && w.base == 1008);
}

Test(window, compaction_of_overlapping_bytes_beyond_4_GiB)
{
    char bytes[300], was[300];
    for (int i = 0; i < 300; i++)
        was[i] = bytes[i] = (char)(i * 7);
    struct xfer_window w = window_of(bytes, 300);
    w.base = (off_t)5 << 32;
    xfer_window_compact(&w, 1, 300);
    cr_expect(memcmp(bytes, was + 1, 299) == 0);
    cr_expect(w.base == ((off_t)5 << 32) + 1);
}

Test(window, search_prefers_the_place_that_ends_where_reading_ended)
{
    char bytes[] = "abcabcabcabc";
    struct xfer_window w = window_of(bytes, 12);
    cr_expect(xfer_window_find(&w, 0, 12, "abc", 3) == 9);
    cr_expect(xfer_window_find(&w, 0, 11, "abc", 3) == 0, "the first place, when the last is not the one");
    cr_expect(xfer_window_find(&w, 1, 11, "abc", 3) == 3);
    cr_expect(xfer_window_find(&w, 0, 12, "cab", 3) == 2);
}

Test(window, search_stays_between_its_bounds)
{
    char bytes[] = "abcdefgh";
    struct xfer_window w = window_of(bytes, 8);
    cr_expect(xfer_window_find(&w, 0, 8, "abcdefgh", 8) == 0);
    cr_expect(xfer_window_find(&w, 1, 8, "abcdefgh", 8) == SIZE_MAX);
    cr_expect(xfer_window_find(&w, 1, 8, "ab", 2) == SIZE_MAX, "begins before the range");
    cr_expect(xfer_window_find(&w, 0, 7, "gh", 2) == SIZE_MAX, "ends behind the range");
    cr_expect(xfer_window_find(&w, 0, 9, "a", 1) == SIZE_MAX, "range beyond what is filled");
    cr_expect(xfer_window_find(&w, 5, 4, "a", 1) == SIZE_MAX);
    cr_expect(xfer_window_find(&w, 0, 8, "", 0) == SIZE_MAX);
    cr_expect(xfer_window_find(&w, 3, 3, "d", 1) == SIZE_MAX);
    cr_expect(xfer_window_find(&w, 0, 8, "x", 1) == SIZE_MAX);
    cr_expect(xfer_window_find(&w, 0, 8, "abcdefgh", SIZE_MAX) == SIZE_MAX);
}
