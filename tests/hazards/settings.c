/*
 * C6 and the variables: what the library is told to leave alone it leaves alone, whatever it does not
 * understand it does as without the variable; and the report says what really happened.
 */
#include "support.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SIZE = 2000001, CHUNK = 500, PAIRS = SIZE / CHUNK + 1 };

static void prepare(const char *directory, void *unused)
{
    (void)unused;
    make_random(text("%s/in", directory), 51, SIZE);
}

static struct outcome with(const char *const *settings)
{
    struct run copy = {.args = ARGS(victim("copy"), text("%d", CHUNK)), .env = settings};
    struct outcome outcome = run_both(&copy, prepare, NULL);
    cr_assert(outcome.status == 0, "%s", outcome.err);
    return outcome;
}

/* The calls that the program made, by the kernel's count where we may see it: all of them, or few. */
static bool known(const struct outcome *outcome)
{
    return outcome->writes >= 0;
}

static void assert_plain_calls(const struct outcome *outcome)
{
    if (!known(outcome))
        return;
    cr_expect(outcome->writes >= PAIRS && outcome->reads >= PAIRS, "%ld reads, %ld writes",
              (long)outcome->reads, (long)outcome->writes);
}

static void assert_few_calls(const struct outcome *outcome)
{
    if (!known(outcome))
        return;
    cr_expect(outcome->writes < PAIRS / 4 && outcome->reads < PAIRS / 4, "%ld reads, %ld writes",
              (long)outcome->reads, (long)outcome->writes);
}

Test(settings, default_settings_serve_a_large_loop)
{
    struct outcome outcome = with(ARGS("XFERSHIM_THRESHOLD"));
    assert_sessions(outcome);
    assert_few_calls(&outcome);
}

Test(settings, default_settings_leave_a_small_loop_alone)
{
    struct run copy = {.args = ARGS(victim("copy"), text("%d", CHUNK), "pairs=120"),
                       .env = ARGS("XFERSHIM_THRESHOLD")};
    struct outcome outcome = run_both(&copy, prepare, NULL);
    cr_expect(outcome.report.sessions == 0, "%s", outcome.report.raw);
    cr_expect(!known(&outcome) || outcome.writes >= 120);
}

Test(settings, threshold_is_in_bytes)
{
    struct outcome outcome = with(ARGS("XFERSHIM_THRESHOLD=1000K"));
    assert_sessions(outcome);
    cr_expect(!known(&outcome) || (outcome.writes > 1024000 / CHUNK && outcome.writes < PAIRS - 900),
              "%ld writes", (long)outcome.writes);
    outcome = with(ARGS("XFERSHIM_THRESHOLD=1G"));
    cr_expect(outcome.report.sessions == 0, "%s", outcome.report.raw);
    assert_plain_calls(&outcome);
}

Test(settings, off_does_nothing)
{
    struct outcome outcome = with(ARGS("XFERSHIM=off"));
    cr_expect(outcome.report.sessions == 0, "%s", outcome.report.raw);
    assert_plain_calls(&outcome);
}

Test(settings, observe_changes_nothing_and_tells)
{
    struct outcome outcome = with(ARGS("XFERSHIM=observe"));
    assert_sessions(outcome);
    cr_expect_not_null(strstr(outcome.report.raw, "\"mode\":\"observe\""));
    assert_plain_calls(&outcome);
}

Test(settings, observe_tells_as_many_calls_as_were_made)
{
    /* As it would be without XFERSHIM_THRESHOLD, which lets a session start at every pair. */
    struct outcome observed = with(ARGS("XFERSHIM=observe", "XFERSHIM_THRESHOLD"));
    struct outcome done = with(ARGS("XFERSHIM_THRESHOLD"));
    cr_assert(observed.report.loop_count == 1 && done.report.loop_count == 1, "%s%s", observed.report.raw,
              done.report.raw);
    cr_expect(observed.report.sessions == done.report.sessions, "%s%s", observed.report.raw, done.report.raw);
    int64_t would = observed.report.loops[0].calls_before, was = done.report.loops[0].calls_before;
    cr_expect(would > was - 20 && would < was + 20, "%s%s", observed.report.raw, done.report.raw);
    would = observed.report.loops[0].calls_after, was = done.report.loops[0].calls_after;
    cr_expect(would > was / 2 && would < was * 2, "%s%s", observed.report.raw, done.report.raw);
}

Test(settings, only_names_programs)
{
    struct outcome outcome = with(ARGS("XFERSHIM_ONLY=dd,c?py"));
    assert_sessions(outcome);
    outcome = with(ARGS("XFERSHIM_ONLY=dd,cop"));
    cr_expect(outcome.report.sessions == 0, "%s", outcome.report.raw);
    assert_plain_calls(&outcome);
}

Test(settings, skip_wins_over_only)
{
    struct outcome outcome = with(ARGS("XFERSHIM_SKIP=tar,cop*", "XFERSHIM_ONLY=copy"));
    cr_expect(outcome.report.sessions == 0, "%s", outcome.report.raw);
    assert_plain_calls(&outcome);
    outcome = with(ARGS("XFERSHIM_SKIP=tar,cp"));
    assert_sessions(outcome);
}

Test(settings, without_the_write_engine_there_is_no_session)
{
    struct outcome outcome = with(ARGS("XFERSHIM_ENGINES=splice"));
    assert_stays_out(outcome, "engine-off");
    assert_plain_calls(&outcome);
    outcome = with(ARGS("XFERSHIM_ENGINES=write"));
    assert_sessions(outcome);
}

Test(settings, buffer_sizes_decide_how_many_calls_are_left)
{
    struct outcome small = with(ARGS("XFERSHIM_BUFFER=8K", "XFERSHIM_BUFFER_MAX=8K"));
    struct outcome large = with(ARGS("XFERSHIM_BUFFER=1M", "XFERSHIM_BUFFER_MAX=1M"));
    assert_sessions(small);
    assert_sessions(large);
    if (!known(&small))
        return;
    cr_expect(small.writes > SIZE / 8192 && small.writes < 3 * SIZE / 8192 + 20, "%ld writes",
              (long)small.writes);
    cr_expect(large.writes < 40, "%ld writes", (long)large.writes);
}

Test(settings, malformed_values_are_defaults_and_never_on_the_terminal)
{
    static const char *const bad[] = {"XFERSHIM_BUFFER=many",     "XFERSHIM_BUFFER_MAX=-1",
                                      "XFERSHIM_BUFFER=",         "XFERSHIM_BUFFER=99999999999999999999",
                                      "XFERSHIM=perhaps",         "XFERSHIM_BUFFER=64Q",
                                      "XFERSHIM_ENGINES=,,,write"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        /* run_both() compares stderr, too. */
        struct outcome outcome = with(ARGS(bad[i]));
        assert_sessions(outcome);
        assert_few_calls(&outcome);
    }
    struct outcome outcome = with(ARGS("XFERSHIM_BUFFER=many"));
    cr_expect_not_null(strstr(outcome.report.raw, "XFERSHIM_BUFFER"), "%s", outcome.report.raw);
}

/* -- the report -- */

Test(settings, report_counts_what_the_program_did)
{
    struct outcome outcome = with(ARGS("XFERSHIM_SHARE=never")); /* whatever the file system can */
    cr_assert(outcome.report.processes == 1 && outcome.report.loop_count >= 1, "%s", outcome.report.raw);
    cr_expect_str_eq(outcome.report.loops[0].engine, "write");
    cr_expect(outcome.report.loops[0].chunk == CHUNK);
    /* All but the first pairs, before the session. */
    cr_expect(outcome.report.loops[0].bytes > SIZE - 10 * CHUNK && outcome.report.loops[0].bytes <= SIZE,
              "%s", outcome.report.raw);
    cr_expect(outcome.report.loops[0].calls_before > 2 * PAIRS - 20 &&
                  outcome.report.loops[0].calls_before <= 2 * PAIRS + 2,
              "%s", outcome.report.raw);
    /* Its own calls: what the kernel counted, beside a few that are no reads or writes. */
    cr_expect(outcome.report.loops[0].calls_after > 0 && outcome.report.loops[0].calls_after < 200, "%s",
              outcome.report.raw);
    cr_expect_not_null(strstr(outcome.report.raw, "/in\",\"out\":\""), "%s", outcome.report.raw);
}

Test(settings, report_as_text_by_process)
{
    struct run copy = {.args = ARGS(victim("copy"), "500"),
                       .cwd = scratch_dir("text"),
                       .env = ARGS(text("XFERSHIM_REPORT=%s/report.%%p", scratch())),
                       .shim = true};
    prepare(copy.cwd, NULL);
    struct running running = run_start(&copy);
    char *path = scratch_path("report.%d", running.pid);
    struct outcome outcome = run_finish(&running);
    cr_assert(outcome.status == 0 && file_exists(path));
    char *report = file_read(path, NULL);
    cr_expect_not_null(strstr(report, "/in -> "), "%s", report);
    cr_expect_not_null(strstr(report, "sessions 1"), "%s", report);
    cr_expect(report[strlen(report) - 1] == '\n');
}

Test(settings, report_that_cannot_be_written_disturbs_nothing)
{
    struct outcome outcome = with(ARGS("XFERSHIM_REPORT=/nowhere/at/all.json"));
    assert_few_calls(&outcome);
    outcome = with(ARGS("XFERSHIM_REPORT=/dev/full"));
    assert_few_calls(&outcome);
    outcome = with(ARGS("XFERSHIM_REPORT=/"));
    assert_few_calls(&outcome);
}

Test(settings, reports_of_many_processes_stay_whole)
{
    struct run shell = {
        .args = ARGS("sh", "-c",
                     "for i in 1 2 3 4 5 6 7 8 9 10; do \"$0\" 500 to=out$i & done; wait; \"$0\" 500 to=last",
                     victim("copy"))};
    struct outcome outcome = run_both(&shell, prepare, NULL);
    cr_assert(outcome.report.malformed == 0);
    cr_expect(outcome.report.processes >= 11, "%d reports", outcome.report.processes);
    cr_expect(outcome.report.sessions >= 11, "%s", outcome.report.raw);
}

Test(settings, report_with_names_that_json_must_escape)
{
    struct run copy = {.args = ARGS(victim("copy"), "500", "from=a \"quoted\\ \n name")};
    for (int i = 0; i < 2; i++) {
        copy.shim = i;
        copy.cwd = scratch_dir("names");
        make_random(text("%s/a \"quoted\\ \n name", copy.cwd), 1, 100000);
        struct outcome outcome = run(&copy);
        cr_assert(outcome.status == 0, "%s", outcome.err);
        if (i) {
            cr_expect(outcome.report.processes == 1 && outcome.report.malformed == 0, "%s",
                      outcome.report.raw);
            assert_sessions(outcome);
        }
    }
}
