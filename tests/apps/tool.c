/* The small tools of every system: each moves bytes in its own way, most of them not in a loop of ours. */
#include "row/row.h"

#define TOOL(name, program, line, ...) ROW(tool, name, .needs = program, .command = line, __VA_ARGS__)

TOOL(cat, "cat", "cat $SRC >out; cat <$MID >>out; cat $TEXT - $MID <$TEXT >>out")
TOOL(cat_numbers, "cat", "cat -n $TEXT >out; cat -A $MID >two")
TOOL(cat_to_a_pipe, "cat", "cat $SRC | cat | cat >out")
TOOL(cat_onto_itself, "cat", "cp $MID out; cat out >>out", .exit = 1)
TOOL(split_bytes, "split", "split -b 1000000 $SRC part-")
TOOL(split_bytes_small, "split", "split -a 4 -b 5000 $TEXT part-", .quick = true)
TOOL(split_lines, "split", "split -l 1000 $TEXT part-")
TOOL(split_line_bytes, "split", "split -C 10000 $TEXT part-")
TOOL(split_number, "split", "split -n 7 $SRC part-; split -n r/3 $TEXT round-; split -n l/4 $TEXT line-")
TOOL(split_filter, "split", "split -b 3000000 --filter='cat >$FILE.copy' $SRC part-")
TOOL(csplit, "csplit", "csplit -s $TEXT 100 200 '/xyz/' '{5}'")
TOOL(head_bytes, "head", "head -c 10000000 $SRC >out; head -c -1000 $MID >two; head -n 1000 $TEXT >three")
TOOL(head_then_the_rest, "head", "{ head -c 1234567; cat; } <$SRC >out; { head -n 10; cat; } <$TEXT >two")
TOOL(tail, "tail",
     "tail -c 10000000 $SRC >out; tail -c +1000 $MID >two; tail -n 1000 $TEXT >three; tail -n +9 $TEXT >four")
TOOL(tee, "tee", "tee one two <$SRC >out; tee -a one <$MID >/dev/null")
TOOL(tee_behind_a_pipe, "tee", "cat $SRC | tee one | cat >out")
TOOL(cp, "cp", "cp $SRC out; cp --reflink=never --sparse=always $MID two")
TOOL(cp_tree_keeping_times, "cp", "cp -a $TREE tree", .times = true, .quick = true)
TOOL(install, "install", "install -m 751 $SRC out; install -p -m 600 $MID two; install -D -T $TEXT a/b/three")
TOOL(mv_across_file_systems, "mv",
     "other=$(mktemp -d /dev/shm/row.XXXXXX); cp $SRC one; cp -a $TREE/folder\\ 1 tree;"
     "mv one tree $other; ls -R $other | sed s,$other,other,; mv $other/* .; rmdir $other")
TOOL(cmp, "cmp",
     "cp $SRC out; cmp $SRC out; printf X | dd of=out bs=1 seek=9999999 conv=notrunc status=none;"
     "cmp -l $SRC out || :; cmp $MID - <$MID")
TOOL(diff_patch, "diff patch",
     "sed s/abc/ABC/ $TEXT >new; cp $TEXT old; diff -u old new >change || :;"
     "sed -i 's/^\\(---\\|+++\\).*/\\1 old/' change; patch old change; cmp old new; patch -R old change;"
     "cmp old $TEXT")
TOOL(diff_of_binaries, "diff", "cp $SRC out; diff $SRC out; echo x >>out; diff $SRC out | sed s,/.*/,, ")
TOOL(digests, "md5sum",
     "md5sum <$SRC; sha1sum <$MID; b2sum <$TEXT; cksum <$SRC; sum <$MID;"
     "cd $TREE; find . -type f -print0 | sort -z | xargs -0 md5sum")
TOOL(sort, "sort",
     "sort $TEXT >out; sort -S 200k -T . $TEXT >two; sort -u -k2 <$TEXT >three; sort -o out -r out")
TOOL(text_filters, "sed",
     "tr a-z A-Z <$TEXT >1; tac $TEXT >2; od -An -tx1 $TEXT >3; base64 $TEXT >4; base64 -d 4 >5;"
     "cut -c3-9 $TEXT >6; uniq -c $TEXT >7; nl $TEXT >8; fold -w 20 $TEXT >9; rev $TEXT >10;"
     "paste $TEXT $TEXT >11; expand $TEXT >12; wc $TEXT | sed s,/.*/,, >13;"
     "grep -n abc $TEXT >14; sed s/a/b/g $TEXT >15; comm -12 $TEXT $TEXT 2>/dev/null >16 || :")
TOOL(in_place_editing, "sed",
     "cp $TEXT out; sed -i s/abc/defgh/g out; cp $TEXT two; sed -i.old -n '1~2p' two")
TOOL(ed, "ed", "cp $TEXT out; printf '%s\\n' '1,500g/abc/d' w '$r !head -c 3000 '$TEXT w q | ed -s out")
TOOL(awk, "awk", "awk '{ n += length($0); print NR, $0 } END { print n }' $TEXT >out")
TOOL(truncate_and_shred, "shred", "cp $MID out; shred -n 0 -z -s 3000001 out; truncate -s 7000000 out")
TOOL(gzip, "gzip",
     "gzip -1 -n -c <$MID >out.gz; gzip -dc out.gz >out; cp $TEXT two; gzip -n two; gunzip two.gz;"
     "zcat out.gz | cmp - $MID")
TOOL(gzip_stored_twice, "gzip", "gzip -1 -n -c $TEXT >out.gz; gzip -1 -n -c $MID >>out.gz; gunzip out.gz")
TOOL(xz, "xz", "xz -0 -T1 -c <$TEXT >out.xz; xz -dc out.xz >out; cp $TEXT two; xz -0 -T1 two; unxz two.xz",
     .quick = true)
TOOL(bzip2, "bzip2", "bzip2 -1 -c <$TEXT >out.bz2; bzip2 -dc out.bz2 >out")
TOOL(zstd, "zstd", "zstd -q -1 -c --single-thread <$MID >out.zst; zstd -q -dc out.zst >out")
TOOL(lz4, "lz4", "lz4 -q -1 -c <$MID >out.lz4; lz4 -q -dc out.lz4 >out")
TOOL(openssl, "openssl",
     "openssl enc -aes-128-ctr -K 00 -iv 00 -in $SRC -out one 2>/dev/null;"
     "openssl enc -d -aes-128-ctr -K 00 -iv 00 -in one -out two 2>/dev/null; cmp two $SRC")
TOOL(curl, "curl", "curl -sS file://$SRC >out; curl -sS -o two file://$MID")
TOOL(sqlite3, "sqlite3",
     "sqlite3 base \"create table t(b); insert into t values(readfile('$MID'));"
     "select length(b), writefile('out', b) from t;\"; sqlite3 base '.backup copy';"
     "sqlite3 copy 'pragma integrity_check'; rm base copy")
TOOL(compiler, "gcc", "echo 'int main(void) { return 7; }' >a.c; gcc -g -c a.c -o a.o; gcc a.o -o a; ./a",
     .exit = 7)
TOOL(logrotate_copytruncate, "logrotate",
     "cp $SRC log; chmod 644 log; chmod 755 .; printf '%s {\\n copytruncate\\n rotate 3\\n}\\n' $PWD/log "
     ">rules; chmod 600 rules;"
     "logrotate -f -s $PWD/state rules; cp $MID log; logrotate -f -s $PWD/state rules; rm state rules",
     .eager = "logrotate")
TOOL(logrotate_compress, "logrotate",
     "cp $MID log; chmod 644 log; chmod 755 .; printf '%s {\\n copy\\n compress\\n compressoptions -1n\\n "
     "rotate 3\\n}\\n' $PWD/log"
     " >rules; chmod 600 rules; logrotate -f -s $PWD/state rules; gunzip -c log.1.gz >out; rm state rules "
     "log.1.gz")

#define BUSYBOX(name, line, ...) ROW(busybox, name, .needs = "busybox", .command = line, __VA_ARGS__)

BUSYBOX(dd,
        "busybox dd if=$SRC of=out bs=512 2>/dev/null; busybox dd if=$SRC of=two bs=4k skip=3 seek=5 "
        "count=9000 2>/dev/null",
        .busy = "busybox")
BUSYBOX(dd_conversions,
        "busybox dd if=$MID of=out bs=512 conv=swab 2>/dev/null; busybox dd if=$MID of=two bs=1000 conv=sync"
        " 2>/dev/null; busybox dd if=$MID of=three ibs=512 obs=4096 2>/dev/null;"
        "busybox dd if=$MID of=three bs=512 conv=notrunc 2>/dev/null")
BUSYBOX(cp, "busybox cp $SRC out; busybox cp -a $TREE tree", .quick = true)
BUSYBOX(cat, "busybox cat $SRC >out; busybox cat <$MID >>out; busybox cat $MID | busybox cat >three")
BUSYBOX(tar, "busybox tar cf archive -C ${SRC%/*} SRC TEXT; mkdir got; busybox tar xf archive -C got")
BUSYBOX(tar_tree,
        "busybox tar cf archive -C $TREE .; mkdir got;"
        "busybox tar xf archive -C got; find got -type f | wc -l",
        .quick = true)
BUSYBOX(cpio,
        "(cd $TREE; find . | sort) >list; (cd $TREE; busybox cpio -o -H newc 2>/dev/null) <list >archive; "
        "mkdir got; cd got;"
        "busybox cpio -idm <../archive 2>/dev/null",
        .quick = true)
BUSYBOX(head, "busybox head -c 5000000 $SRC >out; busybox head -n 500 $TEXT >two; { busybox head -c 999999; "
              "cat; } <$MID >three")
BUSYBOX(tee, "busybox tee one two <$SRC >out")
BUSYBOX(
    gzip,
    "busybox gzip -c <$MID | busybox gunzip -c >out; busybox tail -c 100000 $MID >two; busybox md5sum <$SRC")
BUSYBOX(shell, "busybox sh -c 'n=0; while read -r line; do n=$((n + 1)); [ $n -lt 2000 ] || break; echo "
               "\"$line\"; done; cat' "
               "<$TEXT >out")
BUSYBOX(mv_across_file_systems,
        "other=$(mktemp -d /dev/shm/row.XXXXXX); cp $MID one; busybox mv one $other/two;"
        "busybox mv $other/two .; rmdir $other")

#define REPOSITORY                                                                                           \
    "git init -q -b main work; cp -r $TREE/folder\\ 1 $TREE/folder\\ 13 work/; cp $MID work/big; cp $TEXT "  \
    "work/text; cd work; git add -A;"                                                                        \
    "git commit -q -m one; sed -i s/abc/ABC/ text; git rm -rq 'folder 13'; git commit -qam two; cd ..;"
#define WITHOUT_INDEX "rm -f */index */.git/index; rm -rf */logs */.git/logs; "
#define GIT(name, line, ...)                                                                                 \
    ROW(git, name, .needs = "git", .command = REPOSITORY line WITHOUT_INDEX, .quick = true, __VA_ARGS__)

GIT(clone_by_copying,
    "git clone -q --no-hardlinks work two; git -C two fsck --strict; git -C two rev-parse HEAD HEAD^{tree};")
GIT(clone_by_packing,
    "git -c pack.threads=1 clone -q --no-local work two; git -C two fsck; git -C two status --short;"
    "rm -rf two/.git/objects/pack;")
GIT(gc, "git -C work -c pack.threads=1 gc -q; git -C work fsck; git -C work count-objects -v | grep -v size;"
        "git -C work cat-file blob HEAD:big | cmp - $MID;")
GIT(bundle_and_archive, "git -C work -c pack.threads=1 bundle create -q ../all main; git clone -q -b main "
                        "all two; git -C two fsck;"
                        "git -C two archive --format=tar HEAD >tar; rm all;")
GIT(fetch_push,
    "git clone -q --bare work bare; git clone -q bare two; echo more >>two/text; git -C two commit -qam more;"
    "git -C two push -q; git -C bare rev-parse main; git -C bare fsck; rm two/.git/FETCH_HEAD 2>/dev/null || "
    ":;")
