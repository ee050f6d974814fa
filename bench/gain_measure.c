#include "gain.h"

#include <unistd.h>
#include <bsd/string.h>
#include <err.h>
#include <errno.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* A row with its placeholders filled in. */
struct task {
    const struct setting *setting;
    char *prepare[ARGUMENTS_MAX], *argv[ARGUMENTS_MAX];
    char *stdin_path, *stdout_path;
    char out[PATH_MAX];
    char reference[PATH_MAX]; /* what the output must be */
};

static void expand_all(const struct places *places, const char *const *texts, char **result)
{
    for (size_t i = 0; i < ARGUMENTS_MAX; i++)
        result[i] = places_expand(places, texts[i]);
}

static void task_open(struct task *task, const struct row *row, const struct setting *setting)
{
    const char *in = material_path(row->material, setting);
    char loop[PATH_MAX], folder[PATH_MAX], base[PATH_MAX];
    *task = (struct task){.setting = setting};
    strlcpy(folder, in ? in : "", sizeof(folder));
    strlcpy(base, in ? in : "", sizeof(base));
    scratch_path(task->out, setting, "out");
    beside_self(loop, "loop");
    struct places places = {
        .in = in,
        .out = task->out,
        .loop = loop,
        .python = setting->python,
        .folder = dirname(folder),
        .base = basename(base),
    };
    expand_all(&places, row->prepare, task->prepare);
    expand_all(&places, row->argv, task->argv);
    task->stdin_path = places_expand(&places, row->stdin_path);
    task->stdout_path = places_expand(&places, row->stdout_path);
}

static void task_close(struct task *task)
{
    for (size_t i = 0; i < ARGUMENTS_MAX; i++) {
        free(task->prepare[i]);
        free(task->argv[i]);
    }
    free(task->stdin_path);
    free(task->stdout_path);
}

static enum outcome say_failure(const char *program, const char *preload, int status)
{
    const char *how = preload ? "under the shim" : "plain";
    if (status == -ENOENT || (WIFEXITED(status) && WEXITSTATUS(status) == 127))
        return OUTCOME_ABSENT;
    if (interrupted())
        return OUTCOME_STOPPED;
    if (status < 0)
        warnx("%s, %s: %s", program, how, strerror(-status));
    else if (WIFSIGNALED(status))
        warnx("%s, %s: killed by signal %d", program, how, WTERMSIG(status));
    else
        warnx("%s, %s: exit status %d", program, how, WEXITSTATUS(status));
    return OUTCOME_FAILED;
}

static enum outcome task_run(const struct task *task, const char *preload, struct cost *cost)
{
    struct command prepare = {.argv = task->prepare};
    struct command command = {
        .argv = task->argv,
        .stdin_path = task->stdin_path,
        .stdout_path = task->stdout_path,
        .preload = preload,
    };
    /* What is left to do of it, the journal and the blocks that are given back, is not to be done in the next
     * run's time. */
    tree_retire(task->out);
    sync();
    int status = task->prepare[0] ? command_run(&prepare, cost) : 0;
    if (status != 0)
        return say_failure(task->prepare[0], NULL, status);
    status = command_run(&command, cost);
    if (status != 0)
        return say_failure(task->argv[0], preload, status);
    return interrupted() ? OUTCOME_STOPPED : OUTCOME_MEASURED;
}

static enum outcome checked_run(const struct task *task, const char *preload, struct cost *cost)
{
    enum outcome outcome = task_run(task, preload, cost);
    if (outcome == OUTCOME_MEASURED && !same(task->reference, task->out))
        return OUTCOME_FAILED;
    return outcome;
}

static enum outcome make_reference(struct task *task, const struct row *row)
{
    if (row->expected == EXPECT_INPUT) {
        strlcpy(task->reference, material_path(row->material, task->setting), sizeof(task->reference));
        return OUTCOME_MEASURED;
    }
    struct cost cost;
    enum outcome outcome = task_run(task, NULL, &cost);
    if (outcome != OUTCOME_MEASURED)
        return outcome;
    scratch_path(task->reference, task->setting, "expected");
    if (rename(task->out, task->reference) < 0) {
        warn("%s", task->out);
        return OUTCOME_FAILED;
    }
    return OUTCOME_MEASURED;
}

/* Tells what the figures are figures of: a gain without a session is chance, a loss without one too. */
static enum outcome see_acting(const struct task *task, struct acted *acted)
{
    struct cost cost;
    acted_begin(task->setting);
    enum outcome outcome = checked_run(task, task->setting->library, &cost);
    *acted = acted_end(task->setting);
    return outcome;
}

static enum outcome measure_pair(const struct task *task, struct pair *pair)
{
    for (int turn = 0; turn < 2; turn++) {
        bool shim = pair->shim_first == (turn == 0);
        enum outcome outcome =
            checked_run(task, shim ? task->setting->library : NULL, shim ? &pair->shim : &pair->plain);
        if (outcome != OUTCOME_MEASURED)
            return outcome;
    }
    return OUTCOME_MEASURED;
}

/* The order turns round with each pair, so that what drifts (clock, write-back) does not favour one. */
static enum outcome measure_pairs(const struct task *task, const char *source, struct result *result)
{
    const struct setting *setting = task->setting;
    double spent = 0;
    bool open = true;
    while ((result->count < setting->pairs || (open && result->count < setting->most)) &&
           (spent < setting->budget || result->count == 0)) {
        struct pair *pair = &result->pairs[result->count];
        pair->shim_first = result->count % 2 == 1;
        if (setting->warm && source)
            material_warm(source);
        enum outcome outcome = measure_pair(task, pair);
        if (outcome != OUTCOME_MEASURED)
            return outcome;
        result->count++;
        spent += pair->plain.wall + pair->shim.wall;
        open = result_judge(result);
    }
    return OUTCOME_MEASURED;
}

enum outcome row_measure(const struct row *row, const struct setting *setting, struct result *result)
{
    struct task task;
    /* cpio's list names the file. */
    enum material source = row->material == MATERIAL_NAMES ? MATERIAL_FILE : row->material;

    result->row = row;
    result->count = 0;
    task_open(&task, row, setting);
    enum outcome outcome = make_reference(&task, row);
    if (outcome == OUTCOME_MEASURED)
        outcome = see_acting(&task, &result->acted);
    if (outcome == OUTCOME_MEASURED)
        outcome = measure_pairs(&task, material_path(source, setting), result);

    tree_retire(task.out);
    if (row->expected == EXPECT_PLAIN)
        tree_retire(task.reference);
    task_close(&task);
    return outcome;
}
