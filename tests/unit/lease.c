/* The read lease, against the kernel. */
#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lease.h"
#include "share.h"
#include "sys.h"

static int source(int flags)
{
    make_random(scratch_path("in"), 1, 100000);
    int fd = open(scratch_path("in"), flags);
    cr_assert(fd >= 0);
    return fd;
}

static void expect_untouched(int fd)
{
    struct f_owner_ex owner = {0};
    cr_expect(fcntl(fd, F_GETLEASE) == F_UNLCK);
    cr_expect(fcntl(fd, F_GETSIG) == 0);
    cr_expect(fcntl(fd, F_GETOWN_EX, &owner) == 0 && owner.pid == 0);
}

Test(lease, C5_taken_and_dropped_leaves_the_description_as_it_was)
{
    int fd = source(O_RDONLY);
    int rc = xfer_lease_take(fd, SIGUSR1);
    cr_assert(rc == 0, "%s", strerror(-rc));
    cr_expect(fcntl(fd, F_GETLEASE) == F_RDLCK && !xfer_lease_is_breaking(fd));
    xfer_lease_drop(fd);
    expect_untouched(fd);
}

Test(lease, A8_refused_while_the_file_is_open_for_writing_and_nothing_changes)
{
    int fd = source(O_RDONLY), writer = open(scratch_path("in"), O_WRONLY);
    cr_expect(xfer_lease_take(fd, SIGUSR1) == -EAGAIN);
    expect_untouched(fd);
    close(writer);
    cr_expect(xfer_lease_take(fd, SIGUSR1) == 0);
}

Test(lease, C5_what_somebody_else_has_set_is_left_alone)
{
    int fd = source(O_RDONLY);
    cr_assert(fcntl(fd, F_SETLEASE, F_RDLCK) == 0);
    cr_expect(xfer_lease_take(fd, SIGUSR1) == -EBUSY);
    cr_expect(fcntl(fd, F_GETLEASE) == F_RDLCK);
    cr_assert(fcntl(fd, F_SETLEASE, F_UNLCK) == 0);
    cr_assert(fcntl(fd, F_SETOWN, getpid()) == 0);
    cr_expect(xfer_lease_take(fd, SIGUSR1) == -EBUSY);
    cr_assert(fcntl(fd, F_SETOWN, 0) == 0 && fcntl(fd, F_SETSIG, SIGUSR2) == 0);
    cr_expect(xfer_lease_take(fd, SIGUSR1) == -EBUSY);
    cr_expect(fcntl(fd, F_GETSIG) == SIGUSR2);
}

static volatile sig_atomic_t told_code, told_fd = -1;

static void told(int number, siginfo_t *info, void *context)
{
    (void)number, (void)context;
    told_code = info->si_code;
    told_fd = info->si_fd;
}

Test(lease, A8_a_writer_waits_until_it_is_dropped_and_the_holder_is_told)
{
    struct sigaction action = {.sa_sigaction = told, .sa_flags = SA_SIGINFO};
    int fd = source(O_RDONLY), done[2];
    char byte;
    sigset_t sigsys;
    sigemptyset(&sigsys);
    sigaddset(&sigsys, SIGSYS);
    sigprocmask(SIG_UNBLOCK, &sigsys, NULL);
    sigaction(SIGSYS, &action, NULL);
    cr_assert(pipe(done) == 0 && xfer_lease_take(fd, SIGSYS) == 0);
    const char *path = scratch_path("in"); /* a child has another scratch space */
    pid_t pid = fork();
    if (pid == 0) {
        int writer = open(path, O_WRONLY);
        _exit(write(done[1], "", 1) != 1 || writer < 0);
    }
    for (int i = 0; i < 5000 && told_fd < 0; i++)
        usleep(1000);
    cr_expect(told_code == SI_SIGIO && told_fd == fd);
    cr_expect(xfer_lease_is_breaking(fd));
    cr_assert(fcntl(done[0], F_SETFL, O_NONBLOCK) == 0);
    cr_expect(read(done[0], &byte, 1) == -1 && errno == EAGAIN, "the writer did not wait");
    xfer_lease_drop(fd);
    int status;
    cr_assert(waitpid(pid, &status, 0) == pid && status == 0);
    expect_untouched(fd);
}

Test(share, A20_a_file_that_was_just_written_is_dirty_and_a_synced_one_is_not)
{
    int fd = source(O_RDWR), clean = 0;
    cr_expect(pwrite(fd, "x", 1, 5000) == 1);
    cr_expect(xfer_share_dirty(fd, 0, 100000));
    for (int i = 0; i < 10 && !clean; i++) {
        fsync(fd);
        clean = !xfer_share_dirty(fd, 0, 100000);
    }
    cr_expect(clean);
}

Test(share, F6_the_probe_says_what_stands_in_the_way_and_changes_nothing)
{
    int in = source(O_RDONLY), out = open(scratch_path("out"), O_RDWR | O_CREAT, 0644), ends[2];
    cr_assert(pipe(ends) == 0);
    cr_expect(xfer_share_probe(in, ends[1]) < 0);
    int rc = xfer_share_probe(in, out);
    cr_expect(rc == 0 || rc == -EOPNOTSUPP || rc == -ENOTTY || rc == -EXDEV, "%d", rc);
    cr_expect(file_size(scratch_path("out")) == 0);
    cr_expect(xfer_share_fs(0x58465342) && xfer_share_fs(0x9123683e) && !xfer_share_fs(0xef53));
}
