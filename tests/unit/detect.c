/* The detector: which sequences of calls lead to the question, and what the answers do. */
#include "support.h"

#include "detect.h"

enum { K = 1024, THRESHOLD = 64 * K };

static struct detect d;
static const char here, there; /* call sites */
static char buffer[1];

static void begin(void)
{
    d = (struct detect){.in = -1, .out = -1};
}

static bool pair_at(int in, int out, size_t chunk, const void *site)
{
    detect_read(&d, in, buffer, chunk, (ssize_t)chunk);
    return detect_write(&d, out, buffer, (ssize_t)chunk, site, THRESHOLD, false);
}

static bool pair(int in, int out, size_t chunk)
{
    return pair_at(in, out, chunk, &here);
}

/* Pairs until the question, at most `most`; how many it took, `most` + 1 for never. */
static int pairs_until_asked(int in, int out, size_t chunk, int most)
{
    for (int i = 1; i <= most; i++)
        if (pair(in, out, chunk))
            return i;
    return most + 1;
}

Test(detect, asks_when_a_loop_has_moved_the_threshold)
{
    begin();
    cr_expect(pairs_until_asked(3, 4, 4 * K, 100) == 16);
    cr_expect(d.in == 3 && d.out == 4 && d.read_asked == 4 * K && d.read_got == 4 * K &&
              d.write_size == 4 * K);
    cr_expect(d.current->address == &here);
}

Test(detect, counts_the_bytes_of_writes_without_a_read_but_asks_only_behind_a_pair)
{
    begin();
    detect_read(&d, 3, buffer, 64 * K, 64 * K);
    cr_expect(!detect_write(&d, 4, buffer, 60 * K, &here, THRESHOLD, false));
    cr_expect(!detect_write(&d, 4, buffer, 60 * K, &here, THRESHOLD, false));
    cr_expect(pair(3, 4, 10));
}

Test(detect, neither_reads_alone_nor_writes_alone_ask)
{
    begin();
    for (int i = 0; i < 100; i++)
        detect_read(&d, 3, buffer, 4 * K, 4 * K);
    cr_expect(d.current == NULL);
    begin();
    for (int i = 0; i < 100; i++)
        cr_expect(!detect_write(&d, 4, buffer, 4 * K, &here, THRESHOLD, false));
}

Test(detect, failed_and_empty_calls_count_for_nothing)
{
    begin();
    for (int i = 0; i < 100; i++) {
        detect_read(&d, 3, buffer, 4 * K, -1);
        cr_expect(!detect_write(&d, 4, buffer, 4 * K, &here, THRESHOLD, false));
    }
    for (int i = 0; i < 100; i++) {
        detect_read(&d, 3, buffer, 4 * K, 4 * K);
        cr_expect(!detect_write(&d, 4, buffer, -1, &here, THRESHOLD, false));
        cr_expect(!detect_write(&d, 4, buffer, 0, &here, THRESHOLD, false));
    }
}

Test(detect, A9_reading_and_writing_one_descriptor_is_no_pair)
{
    begin();
    for (int i = 0; i < 100; i++)
        cr_expect(!pair(3, 3, 4 * K));
}

Test(detect, a_third_descriptor_that_alternates_never_makes_a_pair_of_old_and_new)
{
    begin();
    for (int i = 0; i < 200; i++) {
        detect_read(&d, 3, buffer, 4 * K, 4 * K);
        detect_read(&d, 5, buffer, 4 * K, 4 * K);
        if (detect_write(&d, 4, buffer, 4 * K, &here, THRESHOLD, false))
            cr_expect(d.in == 5 && d.out == 4, "%d -> %d", d.in, d.out);
        if (detect_write(&d, 6, buffer, 4 * K, &here, THRESHOLD, false))
            cr_expect(false, "a write without a read before it asked");
    }
}

Test(detect, a_changed_buffer_and_size_are_those_of_the_last_calls)
{
    static char first[10], second[10];
    begin();
    detect_read(&d, 3, first, 100, 100);
    detect_read(&d, 3, second, 300, 200);
    detect_write(&d, 4, first, 150, &here, THRESHOLD, false);
    cr_expect(d.read_buffer == second && d.write_buffer == first);
    cr_expect(d.read_asked == 300 && d.read_got == 200 && d.write_size == 150);
}

/* A file of `size` bytes in pieces of `chunk`, with the reads that see its end. Returns the pair that asked,
 * or 0. */
static int copy_file(int in, int out, size_t size, size_t chunk)
{
    int asked = 0, turn = 0;
    for (size_t left = size;;) {
        size_t n = left < chunk ? left : chunk;
        detect_read(&d, in, buffer, chunk, (ssize_t)n);
        if (n == 0)
            return asked;
        turn++;
        if (detect_write(&d, out, buffer, (ssize_t)n, &here, THRESHOLD, false) && !asked)
            asked = turn;
        left -= n;
    }
}

Test(detect, files_one_after_the_other_through_the_same_numbers_add_up)
{
    begin();
    int files = 1;
    while (files < 100 && !copy_file(3, 4, 20 * K, 4 * K))
        files++;
    cr_expect(files == 4, "asked in file %d of 20 KiB", files);
}

Test(detect, the_last_piece_of_a_file_and_the_first_of_the_next_do_not_ask)
{
    begin();
    copy_file(3, 4, 60 * K + 1, 4 * K);
    cr_expect(!pair(3, 4, 4 * K),
              "the first pair of the next file asked: the short read may have been the end");
    cr_expect(pair(3, 4, 4 * K));
}

Test(detect, too_small_waits_for_the_rest_of_this_file_and_asks_early_in_the_next)
{
    begin();
    cr_assert(pairs_until_asked(3, 4, 4 * K, 100) == 16);
    detect_too_small(&d, 8 * K);
    int pairs = pairs_until_asked(3, 4, 4 * K, 200);
    cr_expect(pairs == 64, "the file was longer than it said, asked after %d pairs", pairs);
    detect_too_small(&d, 0);
    pairs = pairs_until_asked(3, 4, 4 * K, 200);
    cr_expect(pairs == 64, "no size at all, asked after %d pairs", pairs);
    detect_too_small(&d, 8 * K);
    detect_read(&d, 3, buffer, 4 * K, 0);
    cr_expect(!pair(3, 4, 4 * K));
    cr_expect(pair(3, 4, 4 * K));
}

Test(detect, C7_a_tree_of_small_files_is_asked_about_once_in_each)
{
    begin();
    int asked = 0;
    for (int file = 0; file < 2000; file++) {
        int pairs = copy_file(3, 4, 32 * K, 4 * K);
        if (pairs > 0) {
            asked++;
            detect_too_small(&d, (uint64_t)(8 - pairs) * 4 * K);
        }
    }
    cr_expect(asked >= 1990 && asked <= 2000, "%d questions for 2000 files", asked);
}

Test(detect, a_large_file_after_many_small_ones_is_asked_about)
{
    begin();
    for (int file = 0; file < 200; file++)
        if (copy_file(3, 4, 32 * K, 4 * K))
            detect_too_small(&d, 20 * K);
    int pairs = copy_file(3, 4, 4096 * K, 4 * K);
    cr_expect(pairs > 0 && pairs < 60, "after %d pairs", pairs);
}

Test(detect, a_lasting_refusal_is_remembered_and_asked_again_ever_later)
{
    begin();
    int pairs, last = 0, asked = 0;
    cr_assert(pairs_until_asked(3, 4, 4 * K, 100) == 16);
    for (; asked < 14; asked++, last = pairs) {
        detect_refused(&d, false);
        pairs = pairs_until_asked(3, 4, 4 * K, 200000);
        cr_expect(asked == 0   ? pairs == 64
                  : asked < 11 ? pairs == 2 * last
                               : pairs == last,
                  "question %d after %d pairs", asked, pairs);
    }
    cr_expect((uint64_t)last * 4 * K == (uint64_t)256 << 20);
}

Test(detect, a_refused_pair_does_not_hold_up_another_pair)
{
    begin();
    cr_assert(pairs_until_asked(3, 4, 4 * K, 100) == 16);
    detect_refused(&d, false);
    cr_expect(!pair(3, 4, 4 * K));
    cr_expect(!pair(3, 5, 4 * K), "the first pair");
    cr_expect(pair(3, 5, 4 * K), "the second pair of another destination");
    detect_refused(&d, false);
    cr_expect(!pair(6, 5, 4 * K));
    cr_expect(pair(6, 5, 4 * K), "the second pair of another source");
}

Test(detect, C7_eager_remembers_refusals_too)
{
    begin();
    int asked = 0;
    for (int i = 0; i < 100000; i++) {
        detect_read(&d, 3, buffer, 512, 512);
        if (detect_write(&d, 4, buffer, 512, &here, 1, true)) {
            asked++;
            detect_refused(&d, true);
        }
    }
    cr_expect(asked >= 2 && asked < 30, "%d questions", asked);
}

Test(detect, eager_asks_at_every_pair_past_the_threshold_but_needs_a_read)
{
    begin();
    for (int i = 0; i < 10; i++) {
        detect_read(&d, 3, buffer, 512, 100);
        cr_expect(detect_write(&d, 4, buffer, 100, &here, 1, true));
        cr_expect(!detect_write(&d, 4, buffer, 100, &here, 1, true));
    }
    begin();
    for (int i = 1; i <= 20; i++) {
        detect_read(&d, 3, buffer, 512, 100);
        cr_expect(detect_write(&d, 4, buffer, 100, &here, 1000, true) == (i >= 10), "pair %d", i);
    }
}

Test(detect, eager_does_not_hold_a_refusal_against_another_pair)
{
    begin();
    for (int i = 0; i < 10000; i++) {
        detect_read(&d, 3, buffer, 512, 512);
        if (detect_write(&d, 4, buffer, 512, &here, 1, true))
            detect_refused(&d, true);
    }
    bool asked = false;
    for (int i = 0; i < 3; i++) {
        detect_read(&d, 7, buffer, 512, 512);
        asked |= detect_write(&d, 8, buffer, 512, &here, 1, true);
    }
    cr_expect(asked);
}

Test(detect, back_off_grows_with_every_session_that_did_not_pay)
{
    begin();
    uint64_t expected = 256 * K;
    for (int failure = 1; failure <= 10; failure++, expected *= 4) {
        pair(3, 4, 4 * K);
        detect_session_over(&d, false);
        cr_expect(d.current->run_least == expected, "failure %d: %lu", failure, d.current->run_least);
        cr_expect(d.current->ask_at == expected);
    }
    cr_assert(!pair(3, 4, 4 * K));
    detect_session_over(&d, false);
    cr_expect(d.current->run_least == UINT64_MAX, "the site is left alone");
}

Test(detect, back_off_is_of_the_call_site_whatever_the_descriptors)
{
    begin();
    cr_assert(pairs_until_asked(3, 4, 4 * K, 100) == 16);
    detect_session_over(&d, false);
    cr_expect(pairs_until_asked(5, 6, 4 * K, 100) == 64);
    detect_session_over(&d, false);
    for (int i = 0; i < 15; i++)
        cr_expect(!pair_at(3, 4, 4 * K, &there));
    cr_expect(pair_at(3, 4, 4 * K, &there), "another site has its own count");
}

Test(detect, a_session_that_paid_is_followed_by_the_next_at_once)
{
    begin();
    cr_assert(pairs_until_asked(3, 4, 4 * K, 100) == 16);
    detect_session_over(&d, false);
    detect_session_over(&d, false);
    cr_expect(d.current->failures == 2);
    detect_session_over(&d, true);
    cr_expect(d.current->failures == 1 && d.current->run_least == 0);
    cr_expect(pair(3, 4, 4 * K));
}

Test(detect, not_yet_waits_as_long_as_after_a_failure)
{
    begin();
    cr_assert(pairs_until_asked(3, 4, 4 * K, 100) == 16);
    detect_not_yet(&d);
    cr_expect(pairs_until_asked(3, 4, 4 * K, 100) == 64);
}

Test(detect, more_call_sites_than_are_remembered)
{
    static const char sites[3 * DETECT_SITES];
    begin();
    for (int round = 0; round < 1000; round++)
        for (int i = 0; i < 3 * DETECT_SITES; i++) {
            pair_at(3, 4, 1 + (size_t)i, &sites[i]);
            cr_assert(d.current >= d.site && d.current < d.site + DETECT_SITES);
            cr_assert(d.current->address == &sites[i]);
        }
}
