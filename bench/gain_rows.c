#include "gain.h"

#include <string.h>

/* Buffers that are no copy of the input, and archives, are expected to be what a plain run makes. */

static const char perl_loop[] = "open my $i, '<', $ARGV[0] or die; open my $o, '>', $ARGV[1] or die;"
                                "while (sysread $i, my $b, 4096) { syswrite($o, $b) == length $b or die }";

static const char python_os[] = "import os, sys\n"
                                "i = os.open(sys.argv[1], os.O_RDONLY)\n"
                                "o = os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)\n"
                                "while b := os.read(i, 4096): os.write(o, b)";

static const char python_raw[] =
    "import shutil, sys\n"
    "with open(sys.argv[1], 'rb', buffering=0) as i, open(sys.argv[2], 'wb', buffering=0) as o:\n"
    "    shutil.copyfileobj(i, o, 4096)";

#define FASTER(times)                                                                                        \
    {                                                                                                        \
        BAR_FASTER, times                                                                                    \
    }
/* A ratio of CPU time that two runs of the same thing do not pass on a quiet machine. */
#define NOT_SLOWER                                                                                           \
    {                                                                                                        \
        BAR_NOT_SLOWER, 1.03                                                                                 \
    }

#define LOOP(text, chunk, which, limit)                                                                      \
    {                                                                                                        \
        .name = "C loop " text, .brief = "a C loop, " text " at a time", .suites = which, .bar = limit,      \
        .argv = {"{loop}", "-c", chunk, "{in}", "{out}"},                                                    \
    }

/* The same where blocks are shared. */
#define SHARED(text, chunk, on, which, limit)                                                                \
    {                                                                                                        \
        .name = "C loop " text " on " on, .suites = which, .bar = limit,                                     \
        .argv = {"{loop}", "-c", chunk, "{in}", "{out}"},                                                    \
    }
#define PERL_COPY(on, which, limit)                                                                          \
    {                                                                                                        \
        .name = "perl File::Copy on " on, .suites = which, .bar = limit,                                     \
        .argv = {"perl", "-MFile::Copy", "-e", "copy(@ARGV) or die", "{in}", "{out}"},                       \
    }

/* About 25 mappings is what a C program has with the shim; 275 more make 300. */
#define TREE(text, what, piece, chunk, mappings, extra)                                                      \
    {                                                                                                        \
        .name = text " in " piece ", " mappings " mappings", .suites = SUITE_STILL, .material = what,        \
        .bar = NOT_SLOWER, .argv = {"{loop}", "-T", "-c", chunk, "-m", extra, "{in}", "{out}"},              \
    }
#define TREES(text, what)                                                                                    \
    TREE(text, what, "512 B", "512", "25", "0"), TREE(text, what, "512 B", "512", "300", "275"),             \
        TREE(text, what, "4 KiB", "4K", "25", "0"), TREE(text, what, "4 KiB", "4K", "300", "275"),           \
        TREE(text, what, "16 KiB", "16K", "25", "0"), TREE(text, what, "16 KiB", "16K", "300", "275")

const struct row rows[] = {
    LOOP("512 B", "512", SUITE_MAIN | SUITE_DEMO, FASTER(8)),
    LOOP("1 KiB", "1K", SUITE_MAIN, FASTER(5)),
    LOOP("4 KiB", "4K", SUITE_MAIN | SUITE_DEMO, FASTER(2.8)),
    LOOP("8 KiB", "8K", SUITE_MAIN, FASTER(1.8)),
    LOOP("16 KiB", "16K", SUITE_MAIN, FASTER(1.2)),
    LOOP("64 KiB", "64K", SUITE_MAIN, NOT_SLOWER),
    LOOP("128 KiB", "128K", SUITE_MAIN, NOT_SLOWER),
    LOOP("1 MiB", "1M", SUITE_MAIN, NOT_SLOWER),
    {
        .name = "dd",
        .brief = "dd with its default of 512 B",
        .suites = SUITE_MAIN | SUITE_DEMO,
        .bar = FASTER(2.5),
        .argv = {"dd", "status=none", "if={in}", "of={out}"},
    },
    {
        .name = "cpio -o",
        .brief = "cpio -o",
        .suites = SUITE_MAIN | SUITE_DEMO,
        .material = MATERIAL_NAMES,
        .expected = EXPECT_PLAIN,
        .bar = FASTER(3.5),
        .stdin_path = "{in}",
        .stdout_path = "{out}",
        .argv = {"cpio", "-o", "--quiet"},
    },
    {
        .name = "perl sysread, 4 KiB",
        .brief = "perl, sysread and syswrite of 4 KiB",
        .suites = SUITE_MAIN | SUITE_DEMO,
        .bar = FASTER(1.7),
        .argv = {"perl", "-e", perl_loop, "{in}", "{out}"},
    },
    {
        .name = "python3 os.read, 4 KiB",
        .brief = "python3, os.read and os.write of 4 KiB",
        .suites = SUITE_MAIN | SUITE_DEMO,
        .bar = FASTER(1.4),
        .argv = {"{python}", "-c", python_os, "{in}", "{out}"},
    },
    {
        .name = "python3 copyfileobj raw, 4 KiB",
        .suites = SUITE_MAIN,
        .bar = FASTER(1.4),
        .argv = {"{python}", "-c", python_raw, "{in}", "{out}"},
    },

    SHARED("512 B", "512", "XFS", SUITE_XFS, FASTER(15)),
    SHARED("4 KiB", "4K", "XFS", SUITE_XFS, FASTER(7)),
    SHARED("64 KiB", "64K", "XFS", SUITE_XFS, NOT_SLOWER),
    SHARED("128 KiB", "128K", "XFS", SUITE_XFS, FASTER(1.3)),
    SHARED("1 MiB", "1M", "XFS", SUITE_XFS, NOT_SLOWER),
    PERL_COPY("XFS", SUITE_XFS, FASTER(1.3)),
    SHARED("512 B", "512", "btrfs", SUITE_BTRFS, FASTER(40)),
    SHARED("4 KiB", "4K", "btrfs", SUITE_BTRFS, FASTER(7)),
    SHARED("64 KiB", "64K", "btrfs", SUITE_BTRFS, NOT_SLOWER),
    SHARED("128 KiB", "128K", "btrfs", SUITE_BTRFS, FASTER(5)),
    SHARED("1 MiB", "1M", "btrfs", SUITE_BTRFS, NOT_SLOWER),
    PERL_COPY("btrfs", SUITE_BTRFS, NOT_SLOWER),

    {
        .name = "tar cf",
        .suites = SUITE_STILL,
        .expected = EXPECT_PLAIN,
        .bar = NOT_SLOWER,
        .argv = {"tar", "cf", "{out}", "-C", "{folder}", "{base}"},
    },
    {
        .name = "tar cf, 10000 files of 4..64 KiB",
        .suites = SUITE_STILL,
        .material = MATERIAL_SMALL,
        .expected = EXPECT_PLAIN,
        .bar = NOT_SLOWER,
        .argv = {"tar", "cf", "{out}", "-C", "{folder}", "{base}"},
    },
    {
        .name = "loop that changes each buffer, 512 B",
        .suites = SUITE_STILL,
        .expected = EXPECT_PLAIN,
        .bar = NOT_SLOWER,
        .argv = {"{loop}", "-t", "-c", "512", "{in}", "{out}"},
    },
    {
        .name = "loop that changes each buffer, 4 KiB",
        .suites = SUITE_STILL,
        .expected = EXPECT_PLAIN,
        .bar = NOT_SLOWER,
        .argv = {"{loop}", "-t", "-c", "4K", "{in}", "{out}"},
    },
    {
        .name = "loop with a third call, 512 B",
        .suites = SUITE_STILL,
        .bar = NOT_SLOWER,
        .argv = {"{loop}", "-x", "-c", "512", "{in}", "{out}"},
    },
    {
        .name = "loop with a third call, 4 KiB",
        .suites = SUITE_STILL,
        .bar = NOT_SLOWER,
        .argv = {"{loop}", "-x", "-c", "4K", "{in}", "{out}"},
    },
    TREES("10000 files of 4..64 KiB", MATERIAL_SMALL),
    TREES("2000 files of 64..256 KiB", MATERIAL_MIDDLE),
    TREES("300 files of 1 MiB", MATERIAL_MEBIBYTE),
    {
        .name = "make of this project",
        .suites = SUITE_STILL,
        .material = MATERIAL_PROJECT,
        .expected = EXPECT_PLAIN,
        .bar = NOT_SLOWER,
        .prepare = {"cp", "-r", "{in}", "{out}"},
        .argv = {"make", "-s", "-C", "{out}", "NODEPS=1"},
    },
};

const size_t row_count = sizeof(rows) / sizeof(*rows);

unsigned suite_named(const char *name)
{
    static const struct {
        const char *name;
        enum suite suite;
    } suites[] = {{"main", SUITE_MAIN},
                  {"still", SUITE_STILL},
                  {"demo", SUITE_DEMO},
                  {"xfs", SUITE_XFS},
                  {"btrfs", SUITE_BTRFS}};

    for (size_t i = 0; i < sizeof(suites) / sizeof(*suites); i++)
        if (strcmp(name, suites[i].name) == 0)
            return suites[i].suite;
    return 0;
}
