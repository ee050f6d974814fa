#include "common.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

/* Those of a make above us would make the make that is measured wait for a job server. */
static bool kept(const char *variable)
{
    static const char *const dropped[] = {"LD_PRELOAD=", "MAKEFLAGS=", "MAKELEVEL=", "MFLAGS="};
    for (size_t i = 0; i < sizeof(dropped) / sizeof(*dropped); i++)
        if (strncmp(variable, dropped[i], strlen(dropped[i])) == 0)
            return false;
    return true;
}

/* The array and its first string are the caller's to free. NULL when there is no memory. */
static char **environment(const char *preload, char **setting)
{
    size_t count = 0;
    while (environ[count])
        count++;
    char **copy = calloc(count + 2, sizeof(*copy));
    *setting = NULL;
    if (!copy || (preload && asprintf(setting, "LD_PRELOAD=%s", preload) < 0)) {
        free(copy);
        return NULL;
    }

    size_t next = 0;
    if (preload)
        copy[next++] = *setting;
    for (size_t i = 0; i < count; i++)
        if (kept(environ[i]))
            copy[next++] = environ[i];
    return copy;
}

static double seconds(struct timeval time)
{
    return time.tv_sec + time.tv_usec * 1e-6;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

static int spawn(const struct command *command, pid_t *child)
{
    posix_spawn_file_actions_t actions;
    const char *in = command->stdin_path ? command->stdin_path : "/dev/null";
    const char *out = command->stdout_path ? command->stdout_path : "/dev/null";
    char *setting;
    char **variables = environment(command->preload, &setting);
    if (!variables)
        return ENOMEM;

    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, in, O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    int error = posix_spawnp(child, command->argv[0], &actions, NULL, command->argv, variables);
    posix_spawn_file_actions_destroy(&actions);
    free(setting);
    free(variables);
    return error;
}

int command_run(const struct command *command, struct cost *cost)
{
    pid_t child;
    int status;
    struct rusage usage;

    double start = now();
    int error = spawn(command, &child);
    if (error)
        return -error;
    while (wait4(child, &status, 0, &usage) < 0)
        if (errno != EINTR)
            return -errno;
    cost->wall = now() - start;
    cost->cpu = seconds(usage.ru_utime) + seconds(usage.ru_stime);
    return status;
}
