/* The command line of the launcher. */
#ifndef XFERSHIM_LAUNCHER_OPTIONS_H
#define XFERSHIM_LAUNCHER_OPTIONS_H

struct options {
    const char *check;   /* --check: the program to look at, or NULL */
    const char *library; /* --library, or NULL */
    char **command;      /* the program and its arguments, NULL at the end; nothing for --check */
};

/* Parse ARGV and put the settings into the environment, where the library reads them. Answers --help and
 * --version itself. Ends the process with EXIT_OURS where something is wrong.
 */
struct options options_parse(int argc, char **argv);

#endif
