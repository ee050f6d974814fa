/* The fused stream against real files: serving, lags, flushing, offsets, sources that change. */
#include "fused.h"

/* ---- plain loops ---------------------------------------------------------------------------- */

/* Reads to the end in pieces of `chunk`, and writes, `lead` header bytes first, in blocks of `block`: what
 * archivers do. */
struct shape {
    size_t chunk, block, lead;
};

/* Runs the loop; returns how many calls the program made. A short read before the end fails the test. */
static long archive(struct fused *f, struct shape shape, uint64_t size)
{
    unsigned char *in = f->buffer, *pending = f->buffer + BUFFER_SIZE / 2;
    size_t have = shape.lead;
    uint64_t total = 0;
    long calls = 0;
    memset(pending, 'H', have);
    for (;;) {
        ssize_t n = fused_read(f, in, shape.chunk);
        calls++;
        cr_assert(n >= 0, "read: %zd", n);
        total += (uint64_t)n;
        cr_assert(n == (ssize_t)shape.chunk || total == size, "A17: read of %zu gave %zd at %lu of %lu",
                  shape.chunk, n, total, size);
        if (n == 0)
            break;
        for (ssize_t done = 0; done < n;) {
            size_t piece = shape.block - have < (size_t)(n - done) ? shape.block - have : (size_t)(n - done);
            memcpy(pending + have, in + done, piece);
            done += (ssize_t)piece;
            have += piece;
            if (have == shape.block) {
                cr_assert(fused_write(f, pending, have) == (ssize_t)have);
                calls++;
                have = 0;
            }
        }
    }
    if (have > 0)
        cr_assert(fused_write(f, pending, have) == (ssize_t)have);
    return calls + 1;
}

static void expect_archive(struct shape shape, uint64_t size, bool served)
{
    int in = open_source(1, size), out = open_destination();
    struct fused *f = fused_new(in, out);
    fused_open(f, shape.chunk, shape.block);
    calls_made = 0;
    long calls = archive(f, shape, size);
    cr_expect(fused_close(f) == 0);
    cr_expect(offset_of(in) == (off_t)size);
    cr_expect(offset_of(out) == (off_t)(size + shape.lead));

    size_t source_size, copy_size;
    char *source = file_read(scratch_path("in"), &source_size),
         *copy = file_read(scratch_path("out"), &copy_size);
    cr_assert(copy_size == size + shape.lead);
    cr_expect(memcmp(copy + shape.lead, source, size) == 0, "chunk %zu block %zu lead %zu: other bytes",
              shape.chunk, shape.block, shape.lead);
    for (size_t i = 0; i < shape.lead; i++)
        cr_assert(copy[i] == 'H');
    long after = calls_made + f->passed;
    if (served)
        cr_expect(after < calls / 4 + 60, "chunk %zu block %zu lead %zu: %ld calls became %ld, ended %d",
                  shape.chunk, shape.block, shape.lead, calls, after, f->stream.ended);
    fused_free(f);
    free(source);
    free(copy);
    close(in);
    close(out);
}

Test(stream, C1_loop_of_any_chunk_size_is_a_copy)
{
    size_t chunks[] = {1, 7, 100, 512, 1000, 1024, 4095, 4096, 4097, 8192, 10240, 16384, 20000, 32768, 65535};
    for (unsigned i = 0; i < sizeof(chunks) / sizeof(*chunks); i++) {
        uint64_t size = chunks[i] < 100 ? 70001 : 1500007;
        expect_archive((struct shape){chunks[i], chunks[i], 0}, size, chunks[i] <= 4097);
    }
}

Test(stream, C1_sizes_around_the_first_fills_and_the_chunk)
{
    uint64_t around[] = {0, 1, 4095, 4096, 4097, 16383, 16384, 16385, 49151, 49152, 49153, 114688};
    for (unsigned i = 0; i < sizeof(around) / sizeof(*around); i++) {
        expect_archive((struct shape){4096, 4096, 0}, around[i], false);
        expect_archive((struct shape){1000, 1000, 0}, around[i], false);
    }
}

Test(stream, C1_blocks_with_a_header_in_front_lag_behind_the_reads)
{
    size_t leads[] = {1, 76, 110, 511, 512, 4095};
    for (unsigned i = 0; i < sizeof(leads) / sizeof(*leads); i++) {
        expect_archive((struct shape){512, 512, leads[i] % 512}, 700001, true);
        expect_archive((struct shape){4096, 4096, leads[i]}, 1500007, true);
        expect_archive((struct shape){4096, 512, leads[i] % 512}, 1500007, true);
        expect_archive((struct shape){4096, 10240, leads[i]}, 1500007, true);
        expect_archive((struct shape){1000, 3001, leads[i] % 3001}, 700001, true);
        expect_archive((struct shape){32768, 512, leads[i] % 512}, 1500007, true);
    }
}

Test(stream, C1_small_writes_of_a_large_read_and_large_writes_of_small_reads)
{
    expect_archive((struct shape){65535, 100, 0}, 1500007, true);
    expect_archive((struct shape){100, 65535, 0}, 700007, true);
    expect_archive((struct shape){3, 7, 2}, 70001, true);
}

Test(stream, C1_a_source_that_repeats_itself_does_not_mislead_the_lag_search)
{
    char *path = scratch_path("in"), *bytes = malloc(1 << 20);
    for (int i = 0; i < 1 << 20; i++)
        bytes[i] = i % 8192 < 5000 ? 0 : (char)(i / 8192);
    make_file(path, bytes, 1 << 20);
    size_t leads[] = {0, 110, 4000};
    for (int i = 0; i < 3; i++) {
        int in = open(path, O_RDONLY), out = open_destination();
        struct fused *f = fused_new(in, out);
        fused_open(f, 4096, 4096);
        archive(f, (struct shape){4096, 4096, leads[i]}, 1 << 20);
        cr_expect(fused_close(f) == 0);
        size_t size;
        char *copy = file_read(scratch_path("out"), &size);
        cr_assert(size == leads[i] + (1 << 20));
        cr_expect(memcmp(copy + leads[i], bytes, 1 << 20) == 0, "lead %zu", leads[i]);
        fused_free(f);
        close(in);
        close(out);
    }
}

/* ---- offsets and promises ------------------------------------------------------------------- */

static void turn(struct fused *f, size_t chunk)
{
    cr_assert(fused_read(f, f->buffer, chunk) == (ssize_t)chunk);
    cr_assert(fused_write(f, f->buffer, chunk) == (ssize_t)chunk);
}

static void copy_some(struct fused *f, size_t chunk, int turns)
{
    for (int i = 0; i < turns; i++)
        turn(f, chunk);
}

static struct fused *running(uint64_t size, size_t chunk)
{
    struct fused *f = fused_new(open_source(2, size), open_destination());
    fused_open(f, chunk, chunk);
    return f;
}

Test(stream, A12_after_close_both_offsets_are_where_the_program_is)
{
    for (int turns = 0; turns < 60; turns++) {
        struct fused *f = running(1 << 20, 1000);
        copy_some(f, 1000, turns);
        cr_assert(xfer_stream_is_open(&f->stream));
        cr_expect(fused_close(f) == 0);
        cr_expect(offset_of(f->in) == turns * 1000, "after %d turns at %ld", turns, offset_of(f->in));
        cr_expect(offset_of(f->out) == turns * 1000 && size_of(f->out) == turns * 1000);
        cr_expect(!xfer_stream_is_open(&f->stream));
        close(f->in);
        close(f->out);
        fused_free(f);
    }
    cr_expect(prefix_difference(scratch_path("out"), scratch_path("in")) == NULL);
}

Test(stream, A12_bytes_read_and_not_written_stay_read)
{
    struct fused *f = running(1 << 20, 1000);
    copy_some(f, 1000, 20);
    cr_assert(fused_read(f, f->buffer, 1000) == 1000);
    cr_expect(fused_close(f) == 0);
    cr_expect(offset_of(f->in) == 21000);
    cr_expect(size_of(f->out) == 20000);
}

Test(stream, a_source_offset_of_5_GiB_and_one_in_the_middle)
{
    off_t starts[] = {0, 1, 999, 4095, ((off_t)5 << 30) + 17};
    char *path = scratch_path("in");
    for (int i = 0; i < 5; i++) {
        make_text(path, "");
        int in = open(path, O_RDWR), out = open_destination();
        char bytes[100000];
        fill_random(bytes, sizeof(bytes), 3, 0);
        cr_assert(pwrite(in, bytes, sizeof(bytes), starts[i]) == sizeof(bytes));
        lseek(in, starts[i], SEEK_SET);
        struct fused *f = fused_new(in, out);
        fused_open(f, 1000, 1000);
        copy_some(f, 1000, 70);
        cr_assert(f->passed == 0);
        cr_expect(fused_close(f) == 0);
        cr_expect(offset_of(in) == starts[i] + 70000);
        char *copy = file_read(scratch_path("out"), NULL);
        cr_expect(memcmp(copy, bytes, 70000) == 0);
        fused_free(f);
        close(in);
        close(out);
    }
}

/* At each write(2) of the library: the source's offset is where the program is, and by how much the
 * destination lags. */
static struct fused *watched;
static off_t watched_read;
static int late_writes;

static bool watch_writes(long number, const long *argument, long *result)
{
    (void)result;
    if (number == SYS_write && argument[0] == watched->out && offset_of(watched->in) != watched_read)
        late_writes++;
    return false;
}

Test(stream, C4_A23_source_offset_is_set_before_each_flush)
{
    struct fused *f = watched = running(1 << 20, 4096);
    gate_hook = watch_writes;
    for (int i = 0; i < 200; i++) {
        watched_read += 4096;
        turn(f, 4096);
    }
    cr_expect(f->stream.stats.flushes > 2);
    cr_expect(late_writes == 0, "%d flushes with the source's offset elsewhere", late_writes);
}

/* Between flushes the source's offset never runs ahead of what the destination holds by more than the reads
 * say. */
Test(stream, C4_killed_between_any_two_calls_the_source_is_not_ahead_of_the_destination)
{
    struct fused *f = running(1 << 20, 4096);
    for (int i = 0; i < 200; i++) {
        cr_assert(fused_read(f, f->buffer, 4096) == 4096);
        cr_assert(offset_of(f->in) <= size_of(f->out) + 4096, "turn %d: source %ld destination %ld", i,
                  offset_of(f->in), size_of(f->out));
        cr_assert(fused_write(f, f->buffer, 4096) == 4096);
        cr_assert(offset_of(f->in) <= size_of(f->out));
    }
}

Test(stream, C3_write_that_nears_the_end_of_the_source_flushes)
{
    size_t sizes[] = {16384 + 4096 * 7, 100000, 99999, 65536, 4096 * 20 + 1};
    for (int i = 0; i < 5; i++) {
        struct fused *f = running(sizes[i], 4096);
        for (size_t done = 0; done + 4096 <= sizes[i]; done += 4096) {
            turn(f, 4096);
            if (sizes[i] - done - 4096 < 4096)
                cr_expect(size_of(f->out) == (off_t)done + 4096, "of %zu the last full write left %ld behind",
                          sizes[i], (off_t)done + 4096 - size_of(f->out));
        }
        close(f->in);
        close(f->out);
        fused_free(f);
    }
}

/* At the end of the source there is no later read to wait for: every small write of the last large read is in
 * the file when it returns.
 */
Test(stream, C3_every_small_write_at_the_end_of_the_source_is_flushed)
{
    struct fused *f = running(9 * 4096 + 2048, 4096);
    for (int i = 0; i < 8; i++)
        turn(f, 4096);
    cr_assert(fused_read(f, f->buffer, 4096) == 4096);
    for (off_t at = 0; at < 4096; at += 512) {
        cr_assert(fused_write(f, f->buffer + at, 512) == 512);
        cr_expect(size_of(f->out) == 8 * 4096 + at + 512, "%ld bytes are there of %ld", size_of(f->out),
                  8 * 4096 + at + 512);
    }
}

/* An error must be reported by a write: no promise may be left to be flushed by the read that fills. */
static int flushes_in_read;
static bool in_read;

static bool watch_reads(long number, const long *argument, long *result)
{
    (void)argument;
    (void)result;
    if (number == SYS_write && in_read)
        flushes_in_read++;
    return false;
}

static void expect_flushes_in_writes_only(size_t read_size, size_t write_size)
{
    struct fused *f = running(1 << 20, read_size);
    flushes_in_read = 0;
    gate_hook = watch_reads;
    for (size_t done = 0; done + read_size <= 1 << 20; done += read_size) {
        in_read = true;
        cr_assert(fused_read(f, f->buffer, read_size) == (ssize_t)read_size);
        in_read = false;
        for (size_t at = 0; at < read_size; at += write_size) {
            ssize_t piece = read_size - at < write_size ? (ssize_t)(read_size - at) : (ssize_t)write_size;
            cr_assert(fused_write(f, f->buffer + at, (size_t)piece) == piece);
        }
    }
    gate_hook = NULL;
    cr_expect(f->stream.stats.flushes > 2);
    cr_expect(flushes_in_read == 0, "reads of %zu, writes of %zu: %d flushes inside a read", read_size,
              write_size, flushes_in_read);
    close(f->in);
    close(f->out);
    fused_free(f);
}

Test(stream, C3_flush_is_in_the_write_before_the_read_that_fills)
{
    expect_flushes_in_writes_only(4096, 4096);
    expect_flushes_in_writes_only(1000, 1000);
    expect_flushes_in_writes_only(4096, 512);
    expect_flushes_in_writes_only(4096, 1000);
    expect_flushes_in_writes_only(20000, 20000);
    expect_flushes_in_writes_only(512, 512);
}

Test(stream, promises_wait_for_the_window_to_fill)
{
    struct fused *f = running(1 << 20, 512);
    copy_some(f, 512, 2000);
    cr_expect(f->stream.stats.flushes < 16, "%lu flushes", f->stream.stats.flushes);
    cr_expect(f->stream.stats.reads + f->stream.stats.writes == 4000);
    cr_expect(f->stream.stats.bytes == 2000 * 512);
    cr_expect(f->stream.stats.calls == (uint64_t)calls_made, "%lu told, %ld made", f->stream.stats.calls,
              calls_made);
}

/* ---- time ----------------------------------------------------------------------------------- */

Test(stream, a_window_older_than_100_ms_is_not_served_from)
{
    struct fused *f = running(1 << 20, 4096);
    copy_some(f, 4096, 5);
    char now[4096];
    memset(now, 'N', sizeof(now));
    off_t at = 5 * 4096;
    cr_assert(pwrite(f->in, now, sizeof(now), at) == sizeof(now));
    clock_ms += XFER_STREAM_OLDEST_MS + 1;
    cr_assert(fused_read(f, f->buffer, 4096) == 4096);
    cr_expect(memcmp(f->buffer, now, 4096) == 0, "bytes of more than 100 ms ago were served");
    cr_expect(f->passed == 0 && xfer_stream_is_open(&f->stream));
}

Test(stream, a_window_of_100_ms_still_is)
{
    struct fused *f = running(1 << 20, 512);
    copy_some(f, 512, 5);
    clock_ms += XFER_STREAM_OLDEST_MS;
    calls_made = 0;
    copy_some(f, 512, 1);
    cr_expect(calls_made == 0, "%ld calls", calls_made);
}

Test(stream, a_promise_older_than_100_ms_is_kept_by_the_next_read)
{
    struct fused *f = running(1 << 20, 512);
    copy_some(f, 512, 50);
    cr_assert(size_of(f->out) < 50 * 512);
    clock_ms += XFER_STREAM_OLDEST_MS + 1;
    cr_assert(fused_read(f, f->buffer, 512) == 512);
    cr_expect(size_of(f->out) == 50 * 512);
}

Test(stream, a_promise_older_than_100_ms_is_kept_by_the_next_write_but_the_one_after_a_read)
{
    struct fused *f = running(1 << 20, 2048);
    copy_some(f, 2048, 15);
    cr_assert(fused_read(f, f->buffer, 2048) == 2048);
    cr_assert(fused_write(f, f->buffer, 512) == 512);
    cr_assert(size_of(f->out) < 15 * 2048);
    clock_ms += XFER_STREAM_OLDEST_MS + 1;
    cr_assert(fused_write(f, f->buffer + 512, 512) == 512);
    cr_expect(size_of(f->out) == 15 * 2048 + 1024);

    clock_ms += XFER_STREAM_OLDEST_MS + 1;
    cr_assert(fused_write(f, f->buffer + 1024, 1024) == 1024);
    cr_assert(fused_read(f, f->buffer, 2048) == 2048);
    clock_ms += XFER_STREAM_OLDEST_MS + 1;
    cr_assert(fused_write(f, f->buffer, 2048) == 2048);
    cr_assert(fused_read(f, f->buffer, 2048) == 2048);
    cr_expect(size_of(f->out) == 17 * 2048, "%ld", (long)size_of(f->out));
}

Test(stream, A8_bytes_already_delivered_are_kept_when_the_window_is_read_anew)
{
    struct fused *f = running(1 << 20, 4096);
    copy_some(f, 4096, 5);
    cr_assert(fused_read(f, f->buffer, 4096) == 4096);
    cr_assert(fused_write(f, f->buffer, 1000) == 1000);
    clock_ms += XFER_STREAM_OLDEST_MS + 1;
    char zeros[8192] = {0};
    cr_assert(pwrite(f->in, zeros, sizeof(zeros), 5 * 4096) == sizeof(zeros));
    cr_assert(fused_read(f, f->buffer + 8192, 4096) == 4096);
    cr_assert(fused_write(f, f->buffer + 1000, 3096) == 3096);
    cr_assert(fused_write(f, f->buffer + 8192, 4096) == 4096);
    cr_expect(fused_close(f) == 0);
    cr_expect(size_of(f->out) == 7 * 4096);
    char *copy = file_read(scratch_path("out"), NULL), expected[4096];
    fill_random(expected, 4096, 2, 5 * 4096);
    cr_expect(memcmp(copy + 5 * 4096, expected, 4096) == 0, "A8: other bytes than the program wrote");
    cr_expect(memcmp(copy + 6 * 4096, zeros, 4096) == 0);
}

/* ---- sources that change -------------------------------------------------------------------- */

static void copy_to_the_end(struct fused *f, size_t chunk)
{
    for (int i = 0;; i++) {
        cr_assert(i < 10000, "A18: does not end");
        ssize_t n = fused_read(f, f->buffer, chunk);
        cr_assert(n >= 0);
        if (n == 0)
            return;
        cr_assert(fused_write(f, f->buffer, (size_t)n) == n);
    }
}

Test(stream, A18_growing_source_is_copied_with_what_was_added)
{
    struct fused *f = running(100000, 4096);
    copy_some(f, 4096, 24);
    char more[50000];
    fill_random(more, sizeof(more), 2, 100000);
    cr_assert(pwrite(f->in, more, sizeof(more), 100000) == sizeof(more));
    copy_to_the_end(f, 4096);
    cr_expect(fused_close(f) == 0);
    cr_expect(file_difference(scratch_path("in"), scratch_path("out")) == NULL);
}

Test(stream, A18_shrinking_source_ends_the_copy_where_plain_could_have)
{
    for (int turns = 1; turns < 40; turns++) {
        struct fused *f = running(200000, 4096);
        copy_some(f, 4096, turns);
        off_t to = turns * 4096 - 2000 + (turns % 3) * 3000;
        cr_assert(ftruncate(f->in, to) == 0);
        copy_to_the_end(f, 4096);
        cr_expect(fused_close(f) == 0);
        cr_expect(offset_of(f->in) == offset_of(f->out));
        make_random(scratch_path("in"), 2, 200000);
        cr_expect(prefix_difference(scratch_path("out"), scratch_path("in")) == NULL);
        cr_expect(size_of(f->out) >= turns * 4096);
        close(f->in);
        close(f->out);
        fused_free(f);
    }
}

Test(stream, A8_source_truncated_below_what_was_read_of_a_new_session)
{
    struct fused *f = running(200000, 4096);
    lseek(f->in, 20 * 4096, SEEK_SET);
    fused_open(f, 4096, 4096);
    cr_assert(ftruncate(f->in, 20 * 4096 - 100) == 0); /* into the bytes that are read again for the lag */
    cr_expect(fused_read(f, f->buffer, 4096) == 0);
    cr_expect(offset_of(f->in) == 20 * 4096);
}

/* ---- others with the same description ------------------------------------------------------- */

Test(stream, A2_A23_offset_moved_by_somebody_else_stays_theirs)
{
    struct fused *f = running(1 << 20, 4096);
    copy_some(f, 4096, 10);
    off_t moved = 700000;
    lseek(f->in, moved, SEEK_SET);
    for (int i = 0; i < 200 && xfer_stream_is_open(&f->stream); i++) {
        cr_assert(fused_read(f, f->buffer, 4096) == 4096);
        cr_assert(fused_write(f, f->buffer, 4096) == 4096);
    }
    cr_expect(f->stream.ended == XFER_END_FOREIGN, "ended %d", f->stream.ended);
    cr_expect(offset_of(f->in) == moved + f->passed / 2 * 4096 + (f->passed & 1) * 4096,
              "at %ld after %ld calls of the program itself", offset_of(f->in), f->passed);
}

Test(stream, A2_A23_offset_moved_by_somebody_else_before_the_end_stays_theirs)
{
    struct fused *f = running(1 << 20, 4096);
    copy_some(f, 4096, 10);
    lseek(f->in, 700000, SEEK_SET);
    cr_expect(fused_close(f) == 0);
    cr_expect(f->stream.ended == XFER_END_FOREIGN);
    cr_expect(offset_of(f->in) == 700000);
    cr_expect(size_of(f->out) == 10 * 4096, "the promise was forgotten");
}

Test(stream, A2_nothing_more_is_read_ahead_after_a_foreign_move)
{
    struct fused *f = running(1 << 20, 512);
    copy_some(f, 512, 10);
    lseek(f->in, 0, SEEK_SET);
    clock_ms += XFER_STREAM_OLDEST_MS + 1; /* the next write flushes and sees it */
    cr_assert(fused_read(f, f->buffer, 512) >= 0);
    cr_expect(!xfer_stream_is_open(&f->stream));
    cr_expect(f->passed == 1);
}

/* ---- programs that do more than copy -------------------------------------------------------- */

Test(stream, A7_one_byte_changed_at_any_place_of_the_write)
{
    int in = open_source(4, 400000), out = open_destination();
    unsigned char *expected = malloc(400000);
    fill_random(expected, 400000, 4, 0);
    struct fused *f = fused_new(in, out);
    size_t chunk = 256;
    for (size_t i = 0; i < 400000 / chunk; i++) {
        if (!xfer_stream_is_open(&f->stream))
            fused_open(f, chunk, chunk);
        cr_assert(fused_read(f, f->buffer, chunk) == (ssize_t)chunk);
        if (i % 5 == 3) {
            size_t place = i / 5 % chunk;
            f->buffer[place] ^= 1 << i % 8;
            expected[i * chunk + place] ^= 1 << i % 8;
        }
        cr_assert(fused_write(f, f->buffer, chunk) == (ssize_t)chunk);
    }
    cr_expect(fused_close(f) == 0);
    size_t whole = 400000 / chunk * chunk, size;
    char *copy = file_read(scratch_path("out"), &size);
    cr_expect(size == whole && memcmp(copy, expected, whole) == 0);
    cr_expect(offset_of(in) == (off_t)whole);
    fused_free(f);
}

Test(stream, A7_changed_bytes_are_written_after_the_promises_before_them)
{
    struct fused *f = running(1 << 20, 1000);
    copy_some(f, 1000, 9);
    cr_assert(fused_read(f, f->buffer, 1000) == 1000);
    memset(f->buffer, 'x', 1000);
    cr_assert(fused_write(f, f->buffer, 1000) == 1000);
    cr_expect(f->stream.ended == XFER_END_CHANGED);
    cr_expect(size_of(f->out) == 10000);
    char *copy = file_read(scratch_path("out"), NULL), expected[9000];
    fill_random(expected, 9000, 2, 0);
    cr_expect(memcmp(copy, expected, 9000) == 0);
    cr_expect(copy[9000] == 'x' && copy[9999] == 'x');
}

Test(stream, a_write_longer_than_what_was_read_is_not_a_copy)
{
    struct fused *f = running(1 << 20, 1000);
    copy_some(f, 1000, 9);
    cr_assert(fused_write(f, f->buffer, 1001) == 1001); /* proves the memory */
    cr_assert(fused_read(f, f->buffer, 1000) == 1000);
    cr_assert(fused_write(f, f->buffer, 1001) == 1001);
    cr_expect(!xfer_stream_is_open(&f->stream) && f->stream.ended == XFER_END_CHANGED);
    cr_expect(size_of(f->out) == 9000 + 2 * 1001);
    cr_expect(offset_of(f->in) == 10000);
}

Test(stream, F2_a_bad_pointer_is_left_to_the_real_call_with_the_offset_unmoved)
{
    struct fused *f = running(1 << 20, 1000);
    copy_some(f, 1000, 9);
    char *hole = anonymous(8192);
    munmap(hole, 8192);
    cr_expect(fused_read(f, hole, 1000) == -EFAULT);
    cr_expect(offset_of(f->in) == 9000);
    fused_open(f, 1000, 1000);
    copy_some(f, 1000, 9);
    cr_expect(fused_write(f, hole, 1000) == -EFAULT);
    cr_expect(size_of(f->out) == 18000);
}

/* The memory is named as good, but nothing has proven it yet, and it is not good: the kernel must find that
 * out. */
Test(stream, F2_a_named_but_unproven_buffer_is_first_touched_by_the_kernel)
{
    struct fused *f = running(1 << 20, 1000);
    copy_some(f, 1000, 9);
    unsigned char *bad = f->buffer + 65536;
    cr_assert(mprotect(bad, 65536, PROT_NONE) == 0);
    cr_expect(fused_read(f, bad, 1000) == -EFAULT);
    cr_expect(offset_of(f->in) == 9000);
    fused_open(f, 1000, 1000);
    cr_expect(fused_write(f, bad, 1000) == -EFAULT);
    cr_assert(mprotect(bad, 65536, PROT_READ) == 0);
    fused_open(f, 1000, 1000);
    copy_some(f, 1000, 9);
    cr_expect(fused_read(f, bad, 1000) == -EFAULT, "F2: read-only memory was written to");
    cr_expect(offset_of(f->in) == 18000);
}

Test(stream, F2_proof_of_part_of_a_buffer_is_not_proof_of_the_rest)
{
    struct fused *f = running(1 << 20, 1000);
    copy_some(f, 1000, 9);
    unsigned char *edge = f->buffer + 65536;
    cr_assert(mprotect(edge, 65536, PROT_NONE) == 0);
    cr_assert(fused_read(f, edge - 1000, 1000) == 1000);
    ssize_t n = fused_read(f, edge - 500, 1000); /* plain gives what fits or EFAULT, and so do we */
    cr_expect(n == 500 || n == -EFAULT, "%zd", n);
    cr_expect(offset_of(f->in) == (n == 500 ? 10500 : 10000));
}

Test(stream, F3_odd_counts_go_to_the_real_call)
{
    size_t counts[] = {0, (size_t)SSIZE_MAX, SIZE_MAX, FILL_LARGEST + 1};
    for (int i = 0; i < 4; i++) {
        struct fused *f = running(1 << 20, 1000);
        copy_some(f, 1000, 9);
        (void)fused_read(f, f->buffer, counts[i] > BUFFER_SIZE ? counts[i] & 0xffff : counts[i]);
        fused_close(f);
        fused_open(f, 1000, 1000);
        cr_expect(xfer_stream_read(&f->stream, f->buffer, counts[i]) == XFER_STREAM_END);
        cr_expect(xfer_stream_write(&f->stream, f->buffer, counts[i]) == XFER_STREAM_END);
        cr_expect(!xfer_stream_serve(&f->stream, f->buffer, counts[i]));
        cr_expect(!xfer_stream_accept(&f->stream, f->buffer, counts[i]));
        cr_expect(fused_close(f) == 0);
        close(f->in);
        close(f->out);
        fused_free(f);
    }
}

Test(stream, a_closed_stream_serves_nothing)
{
    struct fused *f = running(1 << 20, 1000);
    copy_some(f, 1000, 9);
    cr_expect(fused_close(f) == 0);
    cr_expect(!xfer_stream_serve(&f->stream, f->buffer, 1000));
    cr_expect(!xfer_stream_accept(&f->stream, f->buffer, 1000));
    cr_expect(xfer_stream_read(&f->stream, f->buffer, 1000) == XFER_STREAM_END);
    cr_expect(xfer_stream_write(&f->stream, f->buffer, 1000) == XFER_STREAM_END);
}

Test(stream, delivered_bytes_that_are_never_written_end_the_session_not_the_copy)
{
    struct fused *f = running(1 << 20, 4096);
    size_t read = 0;
    for (; read + 4096 <= 1 << 20; read += 4096) {
        cr_assert(fused_read(f, f->buffer, 4096) == 4096);
        unsigned char expected[4096];
        fill_random(expected, 4096, 2, read);
        cr_assert(memcmp(f->buffer, expected, 4096) == 0);
        if (read < 65536)
            cr_assert(fused_write(f, f->buffer, 2000) == 2000);
    }
    cr_expect(fused_close(f) == 0);
    cr_expect(offset_of(f->in) == (off_t)read);
    cr_expect(size_of(f->out) == 16 * 2000);
}

Test(stream, A15_appending_destination)
{
    struct fused *f = fused_new(open_source(2, 1 << 20), -1);
    make_text(scratch_path("out"), "old");
    f->out = open(scratch_path("out"), O_WRONLY | O_APPEND);
    struct xfer_stream_setup setup = fused_setup(f, 4096, 4096);
    setup.out_append = true;
    fused_open_with(f, setup);
    copy_some(f, 4096, 50);
    cr_expect(fused_close(f) == 0);
    size_t size;
    char *copy = file_read(scratch_path("out"), &size), *source = file_read(scratch_path("in"), NULL);
    cr_expect(size == 3 + 50 * 4096);
    cr_expect(memcmp(copy + 3, source, 50 * 4096) == 0);
}

/* ---- margins -------------------------------------------------------------------------------- */

Test(stream, C3_nothing_is_deferred_near_the_file_size_limit)
{
    struct fused *f = fused_new(open_source(2, 8 << 20), open_destination());
    struct xfer_stream_setup setup = fused_setup(f, 4096, 4096);
    setup.out_limit = XFER_STREAM_MARGIN_WINDOWS * FILL_LARGEST + (1 << 20);
    fused_open_with(f, setup);
    while (xfer_stream_is_open(&f->stream)) {
        turn(f, 4096);
        cr_assert(offset_of(f->out) < 2 << 20, "still deferring at %ld", offset_of(f->out));
    }
    cr_expect(f->stream.ended == XFER_END_LIMIT);
    cr_expect(offset_of(f->out) >= 1 << 20);
    copy_some(f, 4096, 1);
    cr_expect(offset_of(f->in) == offset_of(f->out));
}

Test(stream, C3_file_size_limit_counts_from_the_size_of_an_appended_file)
{
    make_sparse(scratch_path("out"), 1, 6 << 20, 0, 1);
    struct fused *f = fused_new(open_source(2, 1 << 20), open(scratch_path("out"), O_WRONLY | O_APPEND));
    struct xfer_stream_setup setup = fused_setup(f, 4096, 4096);
    setup.out_append = true;
    setup.out_limit = XFER_STREAM_MARGIN_WINDOWS * FILL_LARGEST + (1 << 20);
    fused_open_with(f, setup);
    copy_some(f, 4096, 2);
    cr_expect(!xfer_stream_is_open(&f->stream) && f->stream.ended == XFER_END_LIMIT, "ended %d",
              f->stream.ended);
}

Test(stream, C3_nothing_is_deferred_when_space_is_short)
{
    struct fused *f = fused_new(open_source(2, 1 << 20), open_destination());
    struct xfer_stream_setup setup = fused_setup(f, 4096, 4096);
    setup.free_least = (size_t)1 << 60;
    fused_open_with(f, setup);
    copy_some(f, 4096, 2);
    cr_expect(!xfer_stream_is_open(&f->stream) && f->stream.ended == XFER_END_SPACE);
    cr_expect(size_of(f->out) == 2 * 4096);
}

/* ---- a source that fails -------------------------------------------------------------------- */

static long pread_answer;

static bool fail_pread(long number, const long *argument, long *result)
{
    (void)argument;
    *result = pread_answer;
    return number == SYS_pread64;
}

Test(stream, C3_error_of_reading_ahead_is_left_to_the_real_read)
{
    long answers[] = {-EIO, -EINTR, 0, 1, 4000};
    for (int i = 0; i < 5; i++) {
        struct fused *f = running(1 << 20, 4096);
        copy_some(f, 4096, 9);
        pread_answer = answers[i];
        gate_hook = fail_pread;
        copy_some(f, 4096, 100);
        gate_hook = NULL;
        cr_expect(!xfer_stream_is_open(&f->stream));
        cr_expect(offset_of(f->in) == 109 * 4096 && offset_of(f->out) == 109 * 4096);
        cr_expect(prefix_difference(scratch_path("out"), scratch_path("in")) == NULL, "answer %ld",
                  answers[i]);
        close(f->in);
        close(f->out);
        fused_free(f);
    }
}

/* A loop that takes another buffer for each write: all would have to be proven by a call. */
Test(stream, C7_memory_that_changes_too_often_ends_the_session)
{
    struct fused *f = running(4 << 20, 4096);
    for (int i = 0; i < 900 && xfer_stream_is_open(&f->stream); i++) {
        unsigned char *other = f->buffer + 8192 * (1 + i % 64);
        cr_assert(fused_read(f, f->buffer, 4096) == 4096);
        memcpy(other, f->buffer, 4096);
        cr_assert(fused_write(f, other, 4096) == 4096);
    }
    cr_expect(f->stream.ended == XFER_END_MEMORY, "%d", f->stream.ended);
    cr_expect(f->stream.stats.writes < 40);
}
