#include "sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/kcmp.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/wait.h>

#include "config.h"
#include "files.h"
#include "guard.h"
#include "lease.h"
#include "maps.h"
#include "share.h"
#include "sharing.h"
#include "signals.h"
#include "sys.h"

#define BEYOND_ANY_FILE ((off_t)1 << 61)

static _Atomic bool entered;

void sandbox_entered(void)
{
    atomic_store(&entered, true);
}

bool sandbox_is_entered(void)
{
    return atomic_load_explicit(&entered, memory_order_relaxed);
}

/* The number behind `name` in the status file of a process, or -errno. */
static long status_field(const char *process, const char *name)
{
    static char text[8192];
    char path[FILES_PATH_SIZE];
    stpcpy(stpcpy(stpcpy(path, "/proc/"), process), "/status");
    ssize_t length = files_read(path, text, sizeof(text));
    const char *field = length < 0 ? NULL : strstr(text, name);
    if (!field)
        return length < 0 ? length : -ENOENT;
    long value = 0;
    for (field += strlen(name); *field == ' ' || *field == '\t'; field++)
        ;
    for (; *field >= '0' && *field <= '9'; field++)
        value = value * 10 + (*field - '0');
    return value;
}

/* Makes each kind of call that a session makes, in a way that changes nothing here. */
static void try_calls(void)
{
    struct stat st;
    struct statfs fs;
    char byte;
    uint64_t limit[2];
    int fd = files_open("/proc/self/exe");
    XFER_SYS(SYS_fstat, fd, &st);
    XFER_SYS(SYS_lseek, fd, 0, SEEK_CUR);
    XFER_SYS(SYS_lseek, fd, 0, SEEK_SET);
    XFER_SYS(SYS_fcntl, fd, F_GETFL);
    XFER_SYS(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 3);
    XFER_SYS(SYS_fstatfs, fd, &fs);
    XFER_SYS(SYS_newfstatat, AT_FDCWD, "/proc/self/exe", &st, 0);
    XFER_SYS(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", &byte, 1);
    XFER_SYS(SYS_ioctl, fd, BLKGETSIZE64, limit);
    XFER_SYS(SYS_clock_gettime, CLOCK_MONOTONIC_COARSE, limit);
    XFER_SYS(SYS_process_vm_readv, sys_getpid(), NULL, 0, NULL, 0, 0);
    sys_pread(fd, &byte, CONFIG_BUFFER_LIMIT,
              BEYOND_ANY_FILE); /* filters can look at sizes; nothing is there to be read */
    xfer_share_dirty(fd, 0, 1);
    xfer_share_probe(fd, fd);
    XFER_SYS(SYS_copy_file_range, fd, NULL, fd, NULL, 0, 0);
    if (xfer_lease_take(fd, SIGSYS) == 0)
        xfer_lease_drop(fd);
    XFER_SYS(SYS_rt_sigtimedwait, NULL, NULL, NULL, 0);
    XFER_SYS(SYS_prlimit64, 0, 1 /* RLIMIT_FSIZE */, NULL, limit);
    XFER_SYS(SYS_unshare, CLONE_VM);
    struct signals_survey survey;
    signals_survey(&survey);
    signals_set(signals_block(0));
    sharing_found(fd);
    XFER_SYS(SYS_kcmp, sys_getpid(), sys_getpid(), KCMP_FILE, fd, fd);
    maps_memory((uintptr_t)&byte);
    guard_try();
    XFER_SYS(SYS_madvise, NULL, 0, MADV_WIPEONFORK);
    long thread = XFER_SYS(SYS_gettid);
    XFER_SYS(SYS_tgkill, sys_getpid(), thread, 0);
}

/* The status of a child that shares nothing and whose end sends no signal. */
static bool child_lives(void)
{
    long pid = XFER_SYS(SYS_clone, 0, 0, 0, 0, 0);
    if (pid < 0)
        return false;
    if (pid == 0) {
        try_calls();
        XFER_SYS(SYS_exit_group, 0);
    }
    int status = -1;
    while (XFER_SYS(SYS_wait4, pid, &status, __WALL, 0) == -EINTR)
        ;
    return status == 0;
}

/* The trial needs a process, and a filter may kill for that too. It does not if the parent runs under the
 * same filters, for it made this process.
 */
static bool parent_has_filters(long filters)
{
    char process[FILES_PATH_SIZE];
    files_path(process, "", status_field("self", "\nPPid:"), "");
    return filters > 0 && status_field(process, "\nSeccomp_filters:") == filters;
}

static enum refusal examine(void)
{
    long mode = status_field("self", "\nSeccomp:");
    if (mode < 0)
        return mode == -EMFILE || mode == -ENFILE ? REFUSAL_NO_DESCRIPTOR : REFUSAL_NO_MAPS;
    if (mode == 0)
        return REFUSAL_NONE;
    bool tried = parent_has_filters(status_field("self", "\nSeccomp_filters:")) && child_lives();
    return tried ? REFUSAL_NONE : REFUSAL_SECCOMP;
}

/* The signals are blocked for it: a handler that copies too would come in here, and one that jumps out would
 * leave a descriptor behind. No filter under which programs run forbids rt_sigprocmask.
 */
enum refusal sandbox_check(void)
{
    static enum refusal verdict;
    static volatile bool known;
    if (known)
        return verdict;
    signals_mask before = signals_block(SIGNALS_ALL);
    // cppcheck-suppress knownConditionTrueFalse ; a handler may have come between
    if (!known) {
        verdict = examine();
        known = verdict != REFUSAL_NO_DESCRIPTOR;
    }
    signals_set(before);
    return verdict;
}
