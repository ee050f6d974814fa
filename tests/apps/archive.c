/* Archivers: their blocks hold the tail of one read and the head of the next. */
#include "row/row.h"

#define CPIO(name, line, ...) ROW(cpio, name, .needs = "cpio", .command = line, __VA_ARGS__)
#define TAR(name, line, ...) ROW(tar, name, .needs = "tar", .command = line, __VA_ARGS__)

/* Names in one order, directories behind what they hold. */
#define LIST "(cd $TREE; find . -depth -print0 | sort -zr) >list;"
#define BIG "ln -s $SRC big; ls big >list;"

CPIO(out_tree, LIST "(cd $TREE; cpio -0o --quiet) <list >archive", .eager = "cpio")
CPIO(out_tree_newc, LIST "(cd $TREE; cpio -0o -H newc --quiet) <list >archive", .eager = "cpio")
CPIO(out_tree_crc, LIST "(cd $TREE; cpio -0o -H crc --quiet) <list >archive")
CPIO(out_tree_ustar, LIST "(cd $TREE; cpio -0o -H ustar --quiet -O $OLDPWD/archive) <list", .eager = "cpio")
ROW(cpio, out_big, .needs = "cpio bash", .command = BIG "bash -c 'cpio -o -L <list >archive'", .busy = "cpio")
CPIO(out_big_from_dash, BIG "cpio -o -L <list >archive", .busy = "cpio")
CPIO(out_big_io_4k, BIG "cpio -o -L -H newc -C 4096 -O archive <list", .busy = "cpio")
CPIO(out_big_blocks, BIG "cpio -o -L -B -O archive <list", .busy = "cpio")
CPIO(out_to_a_pipe, LIST "(cd $TREE; cpio -0o -H newc --quiet) <list | cat >archive")
CPIO(in_tree,
     LIST "(cd $TREE; cpio -0o -H newc --quiet) <list >archive; mkdir got; cd got; cpio -idm <../archive",
     .quick = true)
CPIO(in_big, BIG "cpio -o -L --quiet -O archive <list; mkdir got; cd got; cpio -im -I ../archive",
     .busy = "cpio")
CPIO(in_big_io_4k, BIG "cpio -oL -H newc -C 4096 --quiet <list >archive; mkdir got; cd got;"
                       "cpio -im -C 4096 <../archive")
CPIO(in_to_standard_output, BIG "cpio -oL -H newc --quiet <list | cpio -i --to-stdout --quiet >out")
CPIO(in_list, LIST "(cd $TREE; cpio -0o -H newc --quiet) <list >archive; cpio -t <archive")
CPIO(in_one_of_many,
     LIST "(cd $TREE; cpio -0o -H newc --quiet) <list >archive; cpio -id '*/file-7*' <archive")
CPIO(pass_tree, LIST "mkdir got; cd $TREE; cpio -0pdm --quiet $OLDPWD/got <$OLDPWD/list", .eager = "cpio",
     .quick = true)
CPIO(pass_big, "mkdir got; mkdir from; cp $SRC from/big; cd from; echo big | cpio -pm ../got", .busy = "cpio")
CPIO(append, BIG "cpio -oL --quiet <list >archive; ln -s $MID more; echo more | cpio -oLA --quiet -O archive",
     .busy = "cpio")
CPIO(two_from_one_description,
     BIG "ln -s $MID more; echo more >>list; echo big | cpio -oL -H newc --quiet >archive;"
         "echo more | cpio -oL -H newc --quiet >>archive;"
         "mkdir got; cd got; { cpio -i --quiet; cpio -i --quiet; } <../archive")

TAR(create_tree, "tar cf archive --sort=name -C $TREE .")
TAR(create_tree_posix,
    "tar cf archive --format=posix --pax-option=delete=atime,delete=ctime --sort=name -C $TREE .")
TAR(create_big, "tar cf archive -C ${SRC%/*} SRC")
TAR(create_big_blocks_of_512, "tar cf archive -b 1 -C ${SRC%/*} SRC", .eager = "tar")
TAR(create_to_a_pipe, "tar cf - --sort=name -C $TREE . | cat >archive")
TAR(create_sparse, "truncate -s 30M holes; dd if=$MID of=holes bs=64k seek=100 conv=notrunc status=none;"
                   "touch -d @1600000000 holes; tar cSf archive holes")
TAR(extract_tree, "tar cf archive --sort=name -C $TREE .; mkdir got; tar xpf archive -C got; rm archive",
    .times = true, .quick = true)
TAR(extract_tree_from_standard_input,
    "tar cf archive --sort=name -C $TREE .; mkdir got; tar xf - -C got <archive", .quick = true)
TAR(extract_big, "tar cf archive -C ${SRC%/*} SRC; mkdir got; tar xf archive -C got; rm archive")
TAR(extract_big_blocks_of_512,
    "tar cf archive -b 1 -C ${MID%/*} MID; mkdir got; tar xf archive -b 1 -C got; rm archive")
TAR(extract_through_a_pipe, "mkdir got; tar cf - --sort=name -C $TREE . | tar xpf - -C got", .quick = true)
TAR(extract_to_standard_output, "tar cf archive -C ${SRC%/*} SRC; tar xOf archive >out")
TAR(append, "tar cf archive -C ${MID%/*} MID; tar rf archive -C ${MID%/*} TEXT; tar tf archive")
TAR(concatenate,
    "tar cf archive -C ${MID%/*} MID; tar cf two -C ${MID%/*} TEXT; tar Af archive two; tar tf archive")
TAR(delete, "tar cf archive -C ${MID%/*} MID TEXT; tar f archive --delete MID; tar tf archive")
TAR(diff, "tar cf archive --sort=name -C $TREE .; tar df archive -C $TREE")
TAR(list, "tar cf archive --sort=name -C $TREE .; tar tvf archive")
TAR(gzip, "tar czf archive -C ${MID%/*} MID; mkdir got; tar xzpf archive -C got; rm archive")
TAR(change_of_volume, "tar cMf one -L 4000 -f two -C ${MID%/*} MID </dev/null; mkdir got;"
                      "tar xMf one -f two -C got </dev/null")

ROW(ar, create_extract, .needs = "ar",
    .command = "cp $MID one; cp $TEXT two; ar rcD archive one two; mkdir got; cd got; ar x ../archive; ar p "
               "../archive two")
ROW(ar, replace_in_place, .needs = "ar",
    .command =
        "cp $MID one; cp $TEXT two; ar qcD archive one; ar qD archive two; ar rD archive one; ar t archive")

ROW(zip, tree, .needs = "zip unzip", .quick = true,
    .command =
        "cd $TREE; zip -qryX -0 $OLDPWD/archive .; cd $OLDPWD; mkdir got; cd got; unzip -qo ../archive")
ROW(zip, big_stored, .needs = "zip unzip",
    .command = "zip -qX0j archive $SRC; mkdir got; cd got; unzip -qo ../archive; unzip -tq ../archive")
ROW(zip, from_standard_input, .needs = "zip unzip",
    .command = "zip -qX1 archive - <$MID; unzip -p archive >out; rm archive.zip")

#define RSYNC(name, line, ...) ROW(rsync, name, .needs = "rsync", .command = line, __VA_ARGS__)

RSYNC(tree, "rsync -aH $TREE/ got/", .times = true, .quick = true)
RSYNC(big, "rsync -t $SRC out")
RSYNC(update_in_place, "cp $SRC out; printf X | dd of=out bs=1 seek=5000000 conv=notrunc status=none;"
                       "rsync --no-whole-file --inplace -cI $SRC out")
RSYNC(update_by_blocks, "head -c 40000000 $SRC >out; rsync --no-whole-file -I $SRC out")
RSYNC(append, "head -c 3000000 $MID >out; rsync --append -I $MID out")
