/* dd: the plainest of copy loops, and the one with the most ways to go about it. */
#include "row/row.h"

#include <stdlib.h>
#include <string.h>

#define DD(name, line, ...) ROW(dd, name, .needs = "dd", .command = line, __VA_ARGS__)

DD(default_block, "dd if=$SRC of=out status=none", .busy = "dd")
DD(bs_4k, "dd if=$SRC of=out bs=4k status=noxfer", .busy = "dd")
DD(bs_16k, "dd if=$SRC of=out bs=16k status=noxfer")
DD(bs_1M, "dd if=$SRC of=out bs=1M status=noxfer")
DD(bs_odd, "dd if=$SRC of=out bs=1000 status=noxfer", .busy = "dd")
DD(bs_1, "dd if=$SRC of=out bs=1 count=100000 status=noxfer", .busy = "dd")
/* bash opens in the child, dash in the parent, which then holds the description too. */
ROW(dd, standard_streams, .needs = "bash", .command = "bash -c 'dd bs=512 status=none <$SRC >out'",
    .busy = "dd")
DD(standard_streams_of_the_parent, "dd bs=4k status=none <$SRC >out", .idle = "dd",
   .idle_because = "shared-offset")

/* Reading and writing in different sizes: the written bytes lag behind the read ones. */
DD(ibs_smaller, "dd if=$SRC of=out ibs=512 obs=4096 status=noxfer")
DD(ibs_larger, "dd if=$SRC of=out ibs=8192 obs=512 status=noxfer")
DD(ibs_obs_coprime, "dd if=$SRC of=out ibs=3000 obs=700 status=noxfer")

/* The buffer is not what was read. */
DD(conv_sync, "dd if=$SRC of=out bs=3000 conv=sync status=noxfer", .busy = "dd")
DD(conv_swab, "dd if=$MID of=out bs=512 conv=swab status=noxfer")
DD(conv_ucase, "dd if=$TEXT of=out bs=512 conv=ucase status=noxfer")
DD(conv_ebcdic, "dd if=$MID of=out bs=4k conv=ebcdic status=noxfer")
DD(conv_block, "dd if=$TEXT of=out cbs=80 conv=block status=noxfer")
DD(conv_unblock, "dd if=$TEXT of=out cbs=80 conv=unblock status=noxfer")
DD(conv_sparse, "dd if=/dev/zero of=holes bs=4k seek=1000 count=0 status=none; cat $MID >>holes;"
                "dd if=holes of=out bs=512 conv=sparse status=noxfer")

DD(skip_seek, "dd if=$MID of=out bs=512 status=none; dd if=$SRC of=out bs=4k skip=77 seek=55 status=noxfer",
   .busy = "dd")
DD(skip_from_standard_input,
   "{ dd bs=512 skip=3 count=1000 of=one; dd bs=4k skip=1 of=two; } <$SRC 2>/dev/null", .idle = "dd",
   .idle_because = "shared-offset")
DD(seek_standard_output,
   "{ dd bs=512 seek=3 count=3000; dd bs=4k seek=100 count=1000; } <$SRC >out 2>/dev/null", .idle = "dd",
   .idle_because = "shared-offset")
DD(count, "dd if=$SRC of=out bs=512 count=70001 status=noxfer", .busy = "dd")
DD(count_then_the_rest,
   "{ dd bs=512 count=1000 status=none; dd bs=4k count=1000 status=none; cat; } <$SRC >out", .idle = "dd",
   .idle_because = "shared-offset")
DD(count_bytes,
   "dd if=$SRC of=out bs=4k count=9999999 skip=1234567 iflag=count_bytes,skip_bytes status=noxfer")
DD(fullblock, "dd if=$SRC of=out bs=4k iflag=fullblock status=noxfer", .busy = "dd")
DD(fullblock_from_a_pipe, "cat $MID | dd of=out bs=64k iflag=fullblock status=noxfer", .idle = "dd")
DD(notrunc, "cp $SRC out; dd if=$MID of=out bs=512 conv=notrunc status=noxfer", .busy = "dd")
DD(append, "cp $MID out; dd if=$SRC of=out bs=512 oflag=append conv=notrunc status=noxfer")
DD(excl, "touch out; dd if=$MID of=out bs=512 conv=excl status=noxfer", .exit = 1)
DD(fsync, "dd if=$MID of=out bs=4k conv=fsync status=noxfer", .eager = "dd")
DD(fdatasync, "dd if=$MID of=out bs=512 conv=fdatasync status=noxfer", .eager = "dd")
DD(nocache, "dd if=$MID of=out bs=4k iflag=nocache oflag=nocache status=noxfer")
DD(oflag_sync, "dd if=$MID of=out bs=64k oflag=sync count=20 status=noxfer", .idle = "dd")
DD(oflag_dsync, "dd if=$MID of=out bs=512 oflag=dsync count=30 status=noxfer", .idle = "dd")
DD(direct_in, "dd if=$MID of=out bs=4k iflag=direct count=1000 status=noxfer", .idle = "dd")
DD(direct_out, "dd if=$MID of=out bs=4k oflag=direct count=200 status=noxfer", .idle = "dd")

DD(same_file, "cp $MID out; dd if=out of=out bs=512 conv=notrunc status=noxfer", .idle = "dd")
DD(same_file_shifted, "cp $MID out; dd if=out of=out bs=512 seek=1 count=2000 conv=notrunc status=noxfer",
   .idle = "dd")
DD(same_file_by_two_names,
   "cp $MID out; ln out two; dd if=out of=two bs=4k skip=1 conv=notrunc status=noxfer", .idle = "dd")
DD(to_a_pipe, "dd if=$SRC bs=4k status=none | cat >out")
DD(from_a_pipe, "cat $SRC | dd of=out bs=4k iflag=fullblock status=none", .idle = "dd")
DD(from_a_fifo, "mkfifo pipe; cat $MID >pipe & dd if=pipe of=out bs=512 status=none; wait; rm pipe",
   .idle = "dd")
DD(to_null, "dd if=$SRC of=/dev/null bs=4k status=noxfer")
DD(to_full, "dd if=$SRC of=/dev/full bs=512 status=noxfer", .exit = 1)
DD(from_zero, "dd if=/dev/zero of=out bs=512 count=20000 status=noxfer", .idle = "dd")
DD(past_the_end, "dd if=$MID of=out bs=4k skip=5000 status=noxfer")
DD(sparse_source,
   "truncate -s 40M holes; dd if=$MID of=holes bs=4k seek=2000 conv=notrunc status=none;"
   "dd if=holes of=out bs=512 status=noxfer",
   .busy = "dd")
DD(grows_a_longer_old_file, "cat $SRC $SRC >out; dd if=$SRC of=out bs=4k status=noxfer", .busy = "dd")
DD(file_size_limit, "ulimit -f 10000; dd if=$SRC of=out bs=1000 status=noxfer", .exit = 153)
DD(file_size_limit_ignored, "trap '' XFSZ; ulimit -f 10000; dd if=$SRC of=out bs=1000 status=noxfer",
   .exit = 1)

/* dd prints its statistics from the handler's wish at a turn of its loop: on with the copy, nothing lost. */
DD(usr1_while_copying,
   "dd if=$SRC of=out bs=512 2>/dev/null & pid=$!; sleep 0.02;"
   "for i in 1 2 3 4 5 6 7 8 9 10; do kill -USR1 $pid 2>/dev/null || :; sleep 0.01; done; wait $pid")

/*
 * The killed dd and the cat behind it share the description: what cat begins with is where the killed
 * one's bytes end, or one piece further where plain was killed between read and write. B1's promise.
 */
Test(dd, killed_then_the_rest)
{
    enum { MIB = 1 << 20, ROUNDS = 12 };
    char *source = input("SRC");
    size_t size, copied;
    char *bytes = file_read(source, &size);
    for (int round = 0; round < ROUNDS; round++) {
        char *here = scratch_dir("here");
        char *command = text("{ timeout -s %s 0.0%d dd bs=512 status=none; cat; } <%s >out || :",
                             round % 2 ? "KILL" : "TERM", 12 + 6 * round, source);
        struct run what = {.args = ARGS("sh", "-c", command), .cwd = here, .shim = !getenv("TEST_PLAIN")};
        struct outcome outcome = run(&what);
        cr_assert(outcome.status == 0, "%s", outcome.err);
        char *copy = file_read(text("%s/out", here), &copied);
        cr_assert(copied <= size && size - copied <= MIB / 4, "round %d: %zu of %zu bytes", round, copied,
                  size);
        size_t gap = size - copied, at = 0;
        while (at < copied && copy[at] == bytes[at])
            at++;
        cr_assert(memcmp(copy + at, bytes + at + gap, copied - at) == 0,
                  "round %d: the rest does not go on %zu bytes behind %zu", round, gap, at);
        free(copy);
    }
    free(bytes);
}
