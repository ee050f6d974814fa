/* Names of system calls, for the report. */
#ifndef SHIM_CALLS_H
#define SHIM_CALLS_H

#include "text.h"

/* Puts the name of the call, or its number where the name is not one that usually ends a copy loop. */
void calls_name(struct text *text, long number);

#endif
