/* The environment variables. */
#include "support.h"

#include <errno.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "config.h"

enum { K = 1024 };

static void given(const char *name, const char *value)
{
    cr_assert(setenv(name, value, 1) == 0);
}

static void read_as(const char *program)
{
    config_read(program);
}

Test(config, nothing_set_gives_the_documented_defaults)
{
    read_as("dd");
    cr_expect(config.mode == CONFIG_ON);
    cr_expect(config.buffer == 16 * K && config.buffer_max == 512 * K);
    cr_expect(config.threshold == 64 * K && !config.threshold_given);
    cr_expect(config.engine_write && config.report == NULL && config.malformed == NULL);
    cr_expect(config.engine_range && config.share == CONFIG_SHARE_LEASE && config.share_max == 4096 * K);
}

Test(config, D10_before_it_is_read_the_library_is_off)
{
    cr_expect(config.mode == CONFIG_OFF);
}

Test(config, D10_no_environment_at_all)
{
    extern char **environ;
    environ = NULL;
    read_as("dd");
    cr_expect(config.mode == CONFIG_ON && config.buffer == 16 * K);
}

Test(config, empty_values_are_as_if_unset)
{
    const char *names[] = {"XFERSHIM",         "XFERSHIM_ONLY",       "XFERSHIM_SKIP",
                           "XFERSHIM_BUFFER",  "XFERSHIM_BUFFER_MAX", "XFERSHIM_THRESHOLD",
                           "XFERSHIM_ENGINES", "XFERSHIM_REPORT",     "XFERSHIM_SHARE"};
    for (int i = 0; i < 9; i++)
        given(names[i], "");
    read_as("dd");
    cr_expect(config.mode == CONFIG_ON && config.buffer == 16 * K && config.buffer_max == 512 * K);
    cr_expect(!config.threshold_given && config.engine_write && !config.report && !config.malformed);
}

static enum config_mode mode_for(const char *value)
{
    given("XFERSHIM", value);
    read_as("dd");
    return config.mode;
}

Test(config, mode_words)
{
    cr_expect(mode_for("on") == CONFIG_ON);
    cr_expect(mode_for("off") == CONFIG_OFF);
    cr_expect(mode_for("observe") == CONFIG_OBSERVE);
    cr_expect(config.malformed == NULL);
    cr_expect(mode_for("ON") == CONFIG_ON && config.malformed && !strcmp(config.malformed, "XFERSHIM"));
}

static void expect_sizes(const char *buffer, const char *most, size_t first, size_t largest,
                         const char *malformed)
{
    config =
        (struct config){.buffer = 16 * K, .buffer_max = 256 * K, .threshold = 64 * K, .engine_write = true};
    given("XFERSHIM_BUFFER", buffer);
    given("XFERSHIM_BUFFER_MAX", most);
    read_as("dd");
    cr_expect(config.buffer == first && config.buffer_max == largest, "'%s' and '%s' gave %zu and %zu",
              buffer, most, config.buffer, config.buffer_max);
    cr_expect(malformed ? config.malformed && !strcmp(config.malformed, malformed) : !config.malformed,
              "'%s' and '%s': not understood: %s", buffer, most, config.malformed);
}

Test(config, sizes_with_suffixes_and_between_their_bounds)
{
    expect_sizes("32K", "", 32 * K, 256 * K, NULL);
    expect_sizes("32k", "", 32 * K, 256 * K, NULL);
    expect_sizes("4096", "", 4096, 256 * K, NULL);
    expect_sizes("", "1M", 16 * K, 1024 * K, NULL);
    expect_sizes("", "4K", 4 * K, 4 * K, NULL);
    expect_sizes("512K", "", 512 * K, 512 * K, NULL);
    expect_sizes("512K", "128K", 128 * K, 128 * K, NULL);
    expect_sizes("5000", "70001", 5000, 70001, NULL);
}

Test(config, malformed_sizes_give_the_default_and_are_named)
{
    static const char *const wrong[] = {"x",   "-1", " 32K", "4095",  "5M",   "1.5M", "99999999999999999999",
                                        "16E", "K",  "+32K", "32KiB", "32 K", "32Kx", "32q",
                                        "1T",  "0"};
    for (unsigned i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        expect_sizes(wrong[i], "", 16 * K, 256 * K, "XFERSHIM_BUFFER");
        expect_sizes("", wrong[i], 16 * K, 256 * K, "XFERSHIM_BUFFER_MAX");
    }
    expect_sizes("x", "64K", 16 * K, 64 * K, "XFERSHIM_BUFFER");
}

Test(config, threshold_given_switches_the_rules_off_and_a_malformed_one_does_not)
{
    given("XFERSHIM_THRESHOLD", "1");
    read_as("dd");
    cr_expect(config.threshold == 1 && config.threshold_given);
    given("XFERSHIM_THRESHOLD", "0");
    read_as("dd");
    cr_expect(config.threshold == 0 && config.threshold_given);
    given("XFERSHIM_THRESHOLD", "2G");
    read_as("dd");
    cr_expect(config.threshold == (uint64_t)2 << 30 && config.threshold_given);
    config.threshold = 64 * K;
    given("XFERSHIM_THRESHOLD", "-5");
    read_as("dd");
    cr_expect(config.threshold == 64 * K && !config.threshold_given);
    cr_expect_str_eq(config.malformed, "XFERSHIM_THRESHOLD");
}

static bool runs(const char *only, const char *skip, const char *program)
{
    given("XFERSHIM_ONLY", only);
    given("XFERSHIM_SKIP", skip);
    read_as(program);
    return config.mode == CONFIG_ON;
}

Test(config, only_and_skip_are_lists_of_globs)
{
    cr_expect(runs("dd", "", "dd"));
    cr_expect(!runs("dd", "", "ddrescue"));
    cr_expect(!runs("dd", "", "d"));
    cr_expect(runs("tar,dd,cpio", "", "dd"));
    cr_expect(runs("tar,dd,cpio", "", "cpio"));
    cr_expect(!runs("tar,dd,cpio", "", "tar,dd"));
    cr_expect(runs("python3*", "", "python3.11"));
    cr_expect(runs("p?rl", "", "perl"));
    cr_expect(runs("[a-d]d", "", "dd"));
    cr_expect(!runs("[!a-d]d", "", "dd"));
    cr_expect(runs("*", "", ""));
    cr_expect(!runs("", "dd", "dd"));
    cr_expect(runs("", "dd", "cat"));
    cr_expect(!runs("", "*", "cat"));
    cr_expect(!runs("d*", "dd", "dd"), "SKIP wins");
    cr_expect(runs("d*", "dd", "dc"));
    cr_expect(runs(",,dd,", "", "dd"));
    cr_expect(!runs(",", "", "dd"));
    cr_expect(!runs("dd ", "", "dd"), "no blanks");
}

Test(config, off_stays_off_whatever_the_lists_say)
{
    given("XFERSHIM", "off");
    given("XFERSHIM_ONLY", "dd");
    read_as("dd");
    cr_expect(config.mode == CONFIG_OFF);
}

Test(config, long_names_and_lists)
{
    char name[300], list[70000];
    memset(name, 'n', 299);
    name[255] = '\0';
    cr_expect(runs(name, "", name), "255 bytes");
    memset(list, ',', sizeof(list));
    strcpy(list + sizeof(list) - 3, "dd");
    cr_expect(runs(list, "", "dd"));
    memset(list, 'x', sizeof(list));
    strcpy(list + 60000, ",dd");
    cr_expect(runs(list, "", "dd"), "an item too long hides the others");
    cr_expect(runs("", list, "x"));
    memset(list, '*', 1000);
    list[1000] = '\0';
    cr_expect(runs("", list, "dd") || config.mode == CONFIG_OFF, "comes back");
}

static bool engine_write_for(const char *list)
{
    config.engine_write = true;
    config.malformed = NULL;
    given("XFERSHIM_ENGINES", list);
    read_as("dd");
    return config.engine_write;
}

Test(config, engines)
{
    cr_expect(engine_write_for("write") && !config.malformed);
    cr_expect(engine_write_for("range,write") && !config.malformed);
    cr_expect(!engine_write_for("range") && !config.malformed);
    cr_expect(!engine_write_for("sendfile,splice") && !config.malformed);
    cr_expect(engine_write_for("write,magic") && config.malformed);
    cr_expect(engine_write_for("range,magic") && config.malformed, "malformed: the default");
    cr_expect(engine_write_for("writ") && config.malformed);
    cr_expect(engine_write_for(",") && config.malformed);
}

static enum config_share share_for(const char *value)
{
    config.share = CONFIG_SHARE_LEASE;
    config.malformed = NULL;
    given("XFERSHIM_SHARE", value);
    read_as("dd");
    return config.share;
}

Test(config, sharing_of_blocks)
{
    cr_expect(share_for("lease") == CONFIG_SHARE_LEASE && !config.malformed);
    cr_expect(share_for("never") == CONFIG_SHARE_NEVER && !config.malformed);
    cr_expect(share_for("always") == CONFIG_SHARE_ALWAYS && !config.malformed);
    cr_expect(share_for("sometimes") == CONFIG_SHARE_LEASE && config.malformed);
    engine_write_for("write");
    cr_expect(!config.engine_range);
    engine_write_for("write,range");
    cr_expect(config.engine_range);
}

Test(config, a_largest_window_that_is_given_is_that_of_shared_blocks_too)
{
    given("XFERSHIM_BUFFER_MAX", "1M");
    read_as("dd");
    cr_expect(config.buffer_max == 1024 * K && config.share_max == 1024 * K);
}

Test(config, the_report_path_is_a_copy)
{
    char *value = strdup("XFERSHIM_REPORT=/tmp/report.json");
    putenv(value);
    read_as("dd");
    memset(value + strlen("XFERSHIM_REPORT="), 'x', 10); /* as setproctitle does it */
    cr_expect_str_eq(config.report, "/tmp/report.json");
}

Test(config, a_report_path_beyond_PATH_MAX_is_malformed)
{
    char path[PATH_MAX + 1];
    memset(path, 'r', sizeof(path));
    path[PATH_MAX] = '\0';
    given("XFERSHIM_REPORT", path);
    read_as("dd");
    cr_expect(config.report == NULL);
    cr_expect_str_eq(config.malformed, "XFERSHIM_REPORT");
    path[PATH_MAX - 1] = '\0';
    given("XFERSHIM_REPORT", path);
    read_as("dd");
    cr_expect(config.report && strlen(config.report) == PATH_MAX - 1);
}

Test(config, D1_errno_is_left_alone)
{
    given("XFERSHIM_BUFFER", "99999999999999999999");
    given("XFERSHIM_THRESHOLD", "16E");
    given("XFERSHIM_ONLY", "[");
    errno = 4711;
    read_as("dd");
    cr_expect(errno == 4711, "%d", errno);
    errno = 0;
    read_as("dd");
    cr_expect(errno == 0);
}

/* A filter that kills for every call but exit_group: the child can only end well by making none. */
static void forbid_all_calls(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog program = {sizeof(filter) / sizeof(*filter), filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        _exit(77);
}

static int status_without_calls(void (*what)(void))
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        forbid_all_calls();
        what();
        _exit(0);
    }
    cr_assert(waitpid(child, &status, 0) == child);
    return status;
}

static void read_config(void)
{
    read_as("dd");
}

static void make_a_call(void)
{
    syscall(SYS_getpid);
}

Test(config, D13_makes_no_system_call)
{
#ifdef __SANITIZE_ADDRESS__
    cr_skip_test("the sanitizer makes calls of its own");
#endif
    given("XFERSHIM", "observe");
    given("XFERSHIM_ONLY", "d*,[[:alpha:]]x");
    given("XFERSHIM_SKIP", "cat");
    given("XFERSHIM_BUFFER", "32K");
    given("XFERSHIM_BUFFER_MAX", "1M");
    given("XFERSHIM_THRESHOLD", "x");
    given("XFERSHIM_ENGINES", "write,range");
    given("XFERSHIM_REPORT", "/tmp/%p.json");
    int status = status_without_calls(make_a_call);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        cr_skip_test("no seccomp filter can be set here");
    cr_assert(WIFSIGNALED(status), "the filter does not kill");
    status = status_without_calls(read_config);
    cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %x", status);
}
