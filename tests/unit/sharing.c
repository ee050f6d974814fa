/* Whether somebody else has one of our open file descriptions. Each test is its own process; its parent is
 * another one of its own, because what Criterion's processes share is not ours to say.
 */
#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sharing.h"

/* A number that no process of the test's family uses. */
enum { HIGH = 300 };

static int open_high(const char *name, int number)
{
    make_text(scratch_path("%s", name), "some text");
    int fd = open(scratch_path("%s", name), O_RDWR);
    cr_assert(dup2(fd, number) == number);
    close(fd);
    return number;
}

/* Forks; the child does `child`, tells that it is ready, and waits to be killed. */
static pid_t child_that(void (*child)(int), int argument)
{
    int ready[2];
    char byte;
    cr_assert(pipe(ready) == 0);
    pid_t pid = fork();
    if (pid == 0) {
        close(ready[0]);
        child(argument);
        if (write(ready[1], "r", 1) == 1)
            for (;;)
                pause();
        _exit(1);
    }
    close(ready[1]);
    cr_assert(read(ready[0], &byte, 1) == 1);
    close(ready[0]);
    return pid;
}

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void nothing(int fd)
{
    (void)fd;
}

static void close_it(int fd)
{
    close(fd);
}

static void open_anew(int fd)
{
    close(fd);
    int again = open(scratch_path("file"), O_RDWR);
    dup2(again, fd);
    close(again);
}

Test(sharing, nobody_has_what_was_opened_after_the_fork)
{
    pid_t child = child_that(nothing, 0);
    cr_expect(!sharing_found(open_high("file", HIGH)));
    end(child);
}

Test(sharing, A12_a_living_child_has_it)
{
    int fd = open_high("file", HIGH);
    cr_assert(!sharing_found(fd));
    pid_t child = child_that(nothing, 0);
    cr_expect(sharing_found(fd));
    end(child);
    cr_expect(!sharing_found(fd), "the child is dead");
}

Test(sharing, A12_one_child_of_many)
{
    int fd = open_high("file", HIGH);
    pid_t children[21];
    for (int i = 0; i < 20; i++)
        children[i] = child_that(close_it, fd);
    cr_expect(!sharing_found(fd));
    children[20] = child_that(nothing, 0);
    cr_expect(sharing_found(fd));
    for (int i = 0; i < 21; i++)
        end(children[i]);
}

Test(sharing, a_child_that_has_closed_it_or_opened_the_same_file_itself)
{
    int fd = open_high("file", HIGH);
    pid_t child = child_that(close_it, fd);
    cr_expect(!sharing_found(fd));
    end(child);
    child = child_that(open_anew, fd);
    cr_expect(!sharing_found(fd), "another description of the same file");
    end(child);
}

Test(sharing, a_dead_child_that_nobody_has_waited_for_has_nothing)
{
    int fd = open_high("file", HIGH);
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    siginfo_t info;
    cr_assert(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT) == 0);
    cr_expect(!sharing_found(fd));
    int status;
    cr_expect(waitpid(child, &status, WNOHANG) == child,
              "the end of the child was taken away from the program");
}

/* A result of a child process: what sharing_found() says there. */
static bool found_in_child(int fd)
{
    int status;
    pid_t child = fork();
    if (child == 0)
        _exit(sharing_found(fd));
    cr_assert(waitpid(child, &status, 0) == child && WIFEXITED(status));
    return WEXITSTATUS(status);
}

Test(sharing, A12_the_parent_has_it)
{
    int fd = open_high("file", HIGH);
    cr_expect(found_in_child(fd));
}

Test(sharing, A12_the_parent_has_it_as_a_standard_descriptor_and_we_under_another_number)
{
    int in = open_high("file", HIGH);
    dup2(in, 0);
    close(in);
    int status;
    pid_t child = fork();
    if (child == 0) {
        dup2(0, HIGH);
        _exit(sharing_found(HIGH));
    }
    cr_assert(waitpid(child, &status, 0) == child && WIFEXITED(status));
    cr_expect(WEXITSTATUS(status) == 1, "dup of a shared standard input");
}

Test(sharing, C5_no_descriptor_stays_open_and_errno_stays)
{
    int fd = open_high("file", HIGH), before = dup(0);
    close(before);
    pid_t child = child_that(nothing, 0);
    errno = 4711;
    sharing_found(fd);
    cr_expect(errno == 4711);
    int after = dup(0);
    close(after);
    cr_expect(before == after);
    end(child);
}
