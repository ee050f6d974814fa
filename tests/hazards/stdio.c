/* A14: streams and their descriptors used side by side. What a FILE holds is never ours to move. */
#include "support.h"

static const size_t chunks[] = {1, 100, 512, 1000, 4096, 10240};
enum { CHUNKS = sizeof chunks / sizeof *chunks };

static void prepare(const char *directory, void *unused)
{
    (void)unused;
    make_random(text("%s/in", directory), 21, 800001);
}

static void mixed(const char *action)
{
    for (int i = 0; i < CHUNKS; i++) {
        struct run mixed = {.args = ARGS(victim("stdio_mixed"), action, text("%zu", chunks[i]))};
        struct outcome outcome = run_both(&mixed, prepare, NULL);
        cr_assert(outcome.status == 0, "%s: %s", action, outcome.err);
        assert_sessions(outcome);
    }
}

#define MIXED(test, action)                                                                                  \
    Test(hazard_a, A14_##test)                                                                               \
    {                                                                                                        \
        mixed(#action);                                                                                      \
    }

MIXED(descriptor_loop_beside_full_buffers, by_descriptor)
MIXED(descriptor_loop_after_fflush, by_descriptor_flushed)
MIXED(read_then_fwrite, read_and_fwrite)
MIXED(fread_then_write, fread_and_write)
MIXED(fputc_between_two_fwrites, one_character)
MIXED(ungetc, push_back)
MIXED(ungetc_of_what_came, push_back_what_came)
MIXED(ftell, tell)
MIXED(fseek_of_source, seek_source)
MIXED(fseek_of_sink, seek_sink)
MIXED(fseek_of_sink_to_end, seek_sink_end)
MIXED(lseek_under_a_stream, seek_by_descriptor)
MIXED(rewind, rewind_source)
MIXED(fprintf, print)
MIXED(fgets, a_line)
MIXED(fflush_of_sink, flush_sink)
MIXED(fflush_of_source, flush_source)
MIXED(fflush_of_all, flush_all)
MIXED(feof_and_clearerr, flags)
MIXED(bytes_pending, pending)
MIXED(buffer_thrown_away, purge)
MIXED(freopen_of_source, reopen_source)
MIXED(freopen_of_sink, reopen_sink)
MIXED(setvbuf_to_none, buffer_none)
MIXED(setvbuf_to_own, buffer_own)
MIXED(fstat_between, size_by_stat)
MIXED(second_stream_looks, second_stream)
MIXED(system_between, run_system)

Test(hazard_a, A14_any_order)
{
    for (unsigned seed = 1; seed <= 60; seed++) {
        struct run mixed = {
            .args = ARGS(victim("stdio_mixed"), text("any-%u", seed), text("%zu", chunks[seed % CHUNKS]))};
        struct outcome outcome = run_both(&mixed, prepare, NULL);
        cr_assert(outcome.status == 0, "seed %u: %s", seed, outcome.err);
        assert_sessions(outcome);
    }
}
