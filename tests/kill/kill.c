/*
 * kill [-n KILLS] [-s SEED] [-k NUMBER] [-j JOBS] [-p PLACE] [-d FOLDER] -L LIBRARY -P COPIER
 *
 * Kills copy loops at random instants and at every system call of theirs. -k repeats one kill of a seed and
 * shows it. Exit status 1 where something was wrong, or where what was killed was not at work.
 */
#include "kill.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SHAPES_MOST 64
#define JOBS_MOST 16
#define FAILURES_MOST 8

struct tools tools;

static struct {
    uint64_t seed;
    long kills, only;
    int jobs;
    const char *place, *folder;
} options = {.seed = 1, .kills = 1000, .only = -1, .jobs = 2, .folder = "."};

/* How long a loop takes when nobody disturbs it, and how many stops at system calls it has. */
struct undisturbed {
    double seconds;
    int stops, moves;
    int move[MOVES];
    bool known;
};

static const int signals[] = {SIGKILL, SIGTERM, SIGINT};
static const char *const signal_names[] = {"SIGKILL", "SIGTERM", "SIGINT"};

void die(const char *what)
{
    fprintf(stderr, "kill: %s: %s\n", what, strerror(errno));
    exit(2);
}

/* splitmix64, Steele, Lea, Flood 2014: the N-th number of a stream. */
static uint64_t random_number(uint64_t stream, uint64_t n)
{
    uint64_t z = stream * 0xd1342543de82ef95u + (n + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

struct choice {
    int shape, place, signal;
    bool timed;
    bool moving; /* at a call that moves bytes or offsets: the others, of a session's start, are many */
    double when; /* share of the loop, 0..1 */
};

static struct choice choose(long number)
{
    uint64_t stream = random_number(options.seed, (uint64_t)number);
    struct choice choice = {
        .shape = (int)(random_number(stream, 0) % (uint64_t)shape_count),
        .place = (int)(random_number(stream, 1) % (uint64_t)place_count),
        .timed = random_number(stream, 2) % 2,
        .moving = random_number(stream, 5) % 4 > 0,
        .when = (double)(random_number(stream, 3) >> 11) / (double)((uint64_t)1 << 53),
    };
    uint64_t die_of = random_number(stream, 4) % 10;
    choice.signal = die_of < 8 ? 0 : die_of == 8 ? 1 : 2;
    if (options.place)
        for (int i = 0; i < place_count; i++)
            if (strcmp(places[i].name, options.place) == 0)
                choice.place = i;
    return choice;
}

static void fail(long number, const struct choice *choice, const char *how, const char *trouble)
{
    tally_count(&tally->failures);
    printf("FAILED kill %ld: %s, %s, %s %s\n  %s\n  replay: make check-kill KILL=\"-s %llu -k %ld%s%s%s\"\n",
           number, places[choice->place].name, shapes[choice->shape].name, signal_names[choice->signal], how,
           trouble, (unsigned long long)options.seed, number, options.place ? " -p '" : "",
           options.place ?: "", options.place ? "'" : "");
    fflush(stdout);
}

/* To the end, several times; what is left must be the whole copy. False if it is not. */
static bool measure(struct undisturbed *undisturbed, const struct shape *shape, const struct place *place,
                    const char *folder, const char **trouble)
{
    const struct cut never = {.timed = true};
    *trouble = NULL;
    undisturbed->seconds = 1e9;
    for (int i = 0; i < 3 && !*trouble; i++) {
        struct ends ends;
        struct death death;
        bool trace = i == 2;
        ends_open(&ends, folder, shape, place);
        copy_run(&death, &ends, shape, place, NULL, true, trace);
        *trouble = death.status ? "undisturbed, it did not end well" : NULL;
        if (!*trouble)
            *trouble = judge(&death, &ends, shape, place, &never);
        if (!*trouble && trace && must_act(shape, place) && !death.acted)
            *trouble = "undisturbed, no session ran";
        ends_close(&ends);
        if (trace) {
            undisturbed->stops = death.stops;
            undisturbed->moves = death.moves;
            memcpy(undisturbed->move, death.move, sizeof death.move);
        } else if (death.seconds < undisturbed->seconds) {
            undisturbed->seconds = death.seconds;
        }
    }
    undisturbed->known = true;
    return !*trouble;
}

static void kill_one(long number, struct undisturbed known[PLACES_MOST][SHAPES_MOST])
{
    struct choice choice = choose(number);
    const struct shape *shape = &shapes[choice.shape];
    const struct place *place = &places[choice.place];
    if (place_reason(choice.place)) {
        tally_count(&tally->skipped);
        return;
    }
    const char *folder = place_folder(choice.place), *trouble;
    struct undisturbed *undisturbed = &known[choice.place][choice.shape];
    if (!undisturbed->known && !measure(undisturbed, shape, place, folder, &trouble)) {
        fail(number, &choice, "undisturbed", trouble);
        return;
    }
    struct cut cut = {
        .timed = choice.timed,
        .after = choice.when * undisturbed->seconds,
        .stop = (int)(choice.when * undisturbed->stops),
        .signal = signals[choice.signal],
    };
    if (choice.moving && undisturbed->moves)
        cut.stop = undisturbed->move[(int)(choice.when * undisturbed->moves)];
    struct ends ends;
    struct death death;
    ends_open(&ends, folder, shape, place);
    copy_run(&death, &ends, shape, place, &cut, true, false);
    char how[128];
    if (cut.timed)
        snprintf(how, sizeof how, "after %.6f of %.6f s", cut.after, undisturbed->seconds);
    else
        snprintf(how, sizeof how, "at stop %d of %d (%s, %s)", cut.stop, undisturbed->stops,
                 call_names[death.call], death.leaving ? "made" : "entered");
    trouble = judge(&death, &ends, shape, place, &cut);
    if (!trouble && shape->survivor) {
        tally_count(&tally->survivors);
        trouble =
            !survivor_goes_on(&ends) ? "the survivor failed" : judge_survivor(&death, &ends, shape, place);
    }
    if (trouble)
        fail(number, &choice, how, trouble);
    else if (options.only >= 0)
        printf("kill %ld: %s, %s, %s %s: %s; session %s; source at %ld, destination at %ld of %ld\n", number,
               place->name, shape->name, signal_names[choice.signal], how,
               death.status ? "died" : "ended before", death.active ? "active" : "not active", (long)death.in,
               (long)death.out, (long)death.size);
    ends_close(&ends);
    tally_death(&death, choice.shape, choice.place, &cut);
}

static void work(int job)
{
    static struct undisturbed known[PLACES_MOST][SHAPES_MOST];
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_TIMERSLACK, 1);
    if (options.only >= 0) {
        if (job == 0)
            kill_one(options.only, known);
        return;
    }
    for (long i = job; i < options.kills && tally->failures < FAILURES_MOST; i += options.jobs)
        kill_one(i, known);
}

/* The oracle itself: a plain copy of each shape leaves what is expected of it. */
static void try_plain(void)
{
    const struct place *place = &places[0];
    const struct cut never = {.timed = true};
    for (int i = 0; i < shape_count; i++) {
        struct ends ends;
        struct death death;
        ends_open(&ends, place_folder(0), &shapes[i], place);
        copy_run(&death, &ends, &shapes[i], place, NULL, false, false);
        const char *trouble = judge(&death, &ends, &shapes[i], place, &never);
        ends_close(&ends);
        if (trouble || death.status) {
            printf("FAILED plain, %s: %s\n", shapes[i].name, trouble);
            tally_count(&tally->failures);
        }
    }
}

static void remove_scratch(const char *scratch)
{
    char command[PATH_MAX + 16];
    snprintf(command, sizeof command, "rm -rf '%s'", scratch);
    if (system(command) != 0)
        fprintf(stderr, "kill: %s is left\n", scratch);
}

static void parse(int argc, char **argv)
{
    for (int option; (option = getopt(argc, argv, "n:s:k:j:p:d:L:P:")) != -1;)
        switch (option) {
        case 'n':
            options.kills = atol(optarg);
            break;
        case 's':
            options.seed = strtoull(optarg, NULL, 10);
            break;
        case 'k':
            options.only = atol(optarg);
            break;
        case 'j':
            options.jobs = atoi(optarg);
            break;
        case 'p':
            options.place = optarg;
            break;
        case 'd':
            options.folder = optarg;
            break;
        case 'L':
            tools.library = realpath(optarg, NULL);
            break;
        case 'P':
            tools.copier = realpath(optarg, NULL);
            break;
        default:
            exit(2);
        }
    if (!tools.library || !tools.copier || options.jobs < 1 || options.jobs > JOBS_MOST) {
        fprintf(stderr, "kill: -L LIBRARY and -P COPIER are needed; see the head of kill.c\n");
        exit(2);
    }
}

int main(int argc, char **argv)
{
    char scratch[PATH_MAX];
    parse(argc, argv);
    tally_open();
    snprintf(scratch, sizeof scratch, "%s/kill-XXXXXX", options.folder);
    if (!mkdtemp(scratch))
        die(scratch);
    bool wanted[PLACES_MOST];
    for (int i = 0; i < place_count; i++)
        wanted[i] = options.only < 0 || choose(options.only).place == i;
    places_open(scratch, wanted);
    try_plain();
    fflush(stdout);

    pid_t jobs[JOBS_MOST];
    for (int i = 0; i < options.jobs; i++) {
        jobs[i] = fork();
        if (jobs[i] < 0)
            die("fork");
        if (jobs[i] == 0) {
            work(i);
            fflush(stdout);
            _exit(0);
        }
    }
    for (int i = 0; i < options.jobs; i++) {
        int status;
        waitpid(jobs[i], &status, 0);
        if (status)
            tally_complain("a worker could not go on");
    }
    if (options.only < 0)
        tally_judge();
    places_close();
    remove_scratch(scratch);
    if (options.only < 0)
        tally_summarize();
    return tally->failures > 0;
}
