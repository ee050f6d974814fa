/* Where the loader would find a library that a program needs. */
#ifndef XFERSHIM_LAUNCHER_NEEDED_H
#define XFERSHIM_LAUNCHER_NEEDED_H

#include "launcher/elf.h"

/* Find the library NAME that NEEDER, whose path is NEEDER_PATH, asks for: in its DT_RPATH or DT_RUNPATH,
 * LD_LIBRARY_PATH and the standard directories (not in ld.so.cache). Returns a descriptor and fills PATH and
 * FILE; -ENOENT when it is nowhere. Never runs anything of it.
 */
int needed_open(const char *name, const struct elf_file *needer, const char *needer_path, char path[PATH_MAX],
                struct elf_file *file);

#endif
