/* Interpreters: the loop is in the script, the read and the write are the interpreter's own. */
#include "row/row.h"

/* ---- perl --------------------------------------------------------------------------------- */

#define PERL(name, script, ...)                                                                              \
    ROW(perl, name, .needs = "perl",                                                                         \
        .command = "cat >script <<'END'\nuse strict; use warnings;\n" script "\nEND\nperl script",           \
        __VA_ARGS__)
#define PERL_OPEN(from)                                                                                      \
    "open(my $in, '<:raw', $ENV{" #from                                                                      \
    "}) or die; open(my $out, '>:raw', 'out') or die; my $buffer; my $n;\n"
#define PERL_LOOP(size)                                                                                      \
    "while ($n = sysread($in, $buffer, " #size ")) { syswrite($out, $buffer, $n) == $n or die }"

PERL(sysread_512, PERL_OPEN(SRC) PERL_LOOP(512), .busy = "perl")
PERL(sysread_4k, PERL_OPEN(SRC) PERL_LOOP(4096) "close($out) or die; print -s 'out';", .busy = "perl")
PERL(sysread_odd, PERL_OPEN(MID) PERL_LOOP(777), .eager = "perl")
PERL(sysseek_and_tell,
     PERL_OPEN(
         MID) "for my $i (1 .. 200) { for (1 .. 20) { sysread($in, $buffer, 1000); syswrite($out, $buffer) }"
              " print sysseek($in, 0, 1), ' ', sysseek($out, 0, 1), ' ', -s 'out', \"\\n\"; sysseek($in, $i "
              "* 7919 % 1000000, 0) }",
     .eager = "perl")
PERL(file_copy, "use File::Copy; copy($ENV{SRC}, 'out') or die; copy($ENV{MID}, 'two', 4096) or die; "
                "move('two', 'three')")
PERL(file_copy_small_pieces, "use File::Copy; copy($ENV{SRC}, 'out', 4096) or die", .busy = "perl")
PERL(read_print, PERL_OPEN(SRC) "while ($n = read($in, $buffer, 4096)) { print $out $buffer }",
     .busy = "perl")
PERL(lines, PERL_OPEN(TEXT) "while (<$in>) { print $out $_ } close($out); print -s 'out'", .eager = "perl")
PERL(changed_lines, PERL_OPEN(TEXT) "while (<$in>) { s/abc/ABCD/; print $out $_ }")
PERL(changed_now_and_then,
     PERL_OPEN(MID) "my $i = 0; while ($n = sysread($in, $buffer, 512)) { substr($buffer, 5, 1) = 'X' if "
                    "++$i % 1000 == 0;"
                    " syswrite($out, $buffer) }",
     .eager = "perl")
PERL(unbuffered, PERL_OPEN(TEXT) "$| = 1; select((select($out), $| = 1)[0]); while (<$in>) { print $out $_ }")
PERL(timer,
     "use Time::HiRes 'setitimer', 'ITIMER_REAL'; my $ticks = 0; $SIG{ALRM} = sub { $ticks++; -s 'out' };"
     "setitimer(ITIMER_REAL, 0.002, 0.002);" PERL_OPEN(SRC)
         PERL_LOOP(512) "setitimer(ITIMER_REAL, 0); print $ticks > 0")
PERL(
    fork_in_the_middle,
    PERL_OPEN(
        MID) "for (1 .. 2000) { sysread($in, $buffer, 512); syswrite($out, $buffer) } my $child = fork;"
             "if (!$child) { for (1 .. 2000) { sysread($in, $buffer, 512); syswrite($out, $buffer) } exit 3 }"
             "waitpid($child, 0); print $? >> 8;" PERL_LOOP(512),
    .eager = "perl")
PERL(system_in_the_middle,
     PERL_OPEN(MID) "for my $i (1 .. 10) { for (1 .. 100) { sysread($in, $buffer, 512); syswrite($out, "
                    "$buffer) } system('wc -c <out; cksum out') }",
     .eager = "perl")
PERL(pipe_open,
     "open(my $in, '-|', 'cat', $ENV{MID}); open(my $out, '|-', 'cat >out'); my $b;"
     "while (sysread($in, $b, 4096)) { syswrite($out, $b) } close($out); print $?",
     .idle = "perl")
ROW(perl, in_place_editing, .needs = "perl",
    .command = "cp $TEXT out; perl -pi.old -e 's/abc/ABCD/' out; perl -ne 'print if /ABC/' out")

/* ---- python ------------------------------------------------------------------------------- */

/* Debian's, by its path: others of that name may be something else. */
#define PYTHON(name, script, ...)                                                                            \
    ROW(python, name, .needs = "/usr/bin/python3",                                                           \
        .command = "cat >script <<'END'\nimport io, os, sys, shutil\n"                                       \
                   "SRC, MID, TEXT, TREE = (os.environ[n] for n in ('SRC', 'MID', 'TEXT', 'TREE'))\n" script \
                   "\nEND\n/usr/bin/python3 script",                                                         \
        __VA_ARGS__)
/* Debian's python3 is a link. */
#define PYTHON_NAME "python3"
#define OS_OPEN(from)                                                                                        \
    "i, o = os.open(" #from ", os.O_RDONLY), os.open('out', os.O_WRONLY | os.O_CREAT | os.O_TRUNC)\n"

PYTHON(copyfileobj_raw,
       "with open(SRC, 'rb', 0) as i, open('out', 'wb', 0) as o:\n shutil.copyfileobj(i, o, 4096)",
       .busy = PYTHON_NAME)
PYTHON(copyfileobj_buffered,
       "with open(SRC, 'rb') as i, open('out', 'wb') as o:\n shutil.copyfileobj(i, o, 4096)",
       .busy = PYTHON_NAME)
PYTHON(copyfileobj_as_it_comes,
       "with open(SRC, 'rb') as i, open('out', 'wb') as o:\n shutil.copyfileobj(i, o)")
PYTHON(os_read_write, OS_OPEN(SRC) "while b := os.read(i, 4096): os.write(o, b)\nprint(os.fstat(o).st_size)",
       .busy = PYTHON_NAME)
PYTHON(os_read_write_512, OS_OPEN(MID) "while b := os.read(i, 512): assert os.write(o, b) == len(b)",
       .eager = PYTHON_NAME)
PYTHON(readinto,
       "b = bytearray(4096); v = memoryview(b)\nwith open(SRC, 'rb', 0) as i, open('out', 'wb', 0) as o:\n"
       " while n := i.readinto(b): o.write(v[:n])",
       .busy = PYTHON_NAME)
PYTHON(copyfile,
       "shutil.copyfile(SRC, 'out'); shutil.copy2(MID, 'two')\nshutil._USE_CP_SENDFILE = False\n"
       "shutil.copyfile(SRC, 'three'); shutil.copytree(TREE, 'tree', symlinks=True)",
       .quick = true)
PYTHON(lines, "with open(TEXT) as i, open('out', 'w') as o:\n for l in i: o.write(l.replace('abc', 'ABCD'))")
PYTHON(same_lines,
       "with open(TEXT, newline='') as i, open('out', 'w', newline='') as o:\n for l in i: o.write(l)")
PYTHON(seek_and_tell,
       OS_OPEN(MID) "for k in range(300):\n for _ in range(20): os.write(o, os.read(i, 1000))\n"
                    " print(os.lseek(i, 0, 1), os.lseek(o, 0, 1), os.stat('out').st_size); os.lseek(i, k * "
                    "7919 % 1000000, 0)",
       .eager = PYTHON_NAME)
PYTHON(random_access_file,
       "import random; random.seed(1)\nwith open(MID, 'rb') as i, open('out', 'w+b') as o:\n"
       " for k in range(5000):\n  i.seek(random.randrange(6000000)); o.seek(random.randrange(3000000)); "
       "o.write(i.read(700))\n"
       "  if k % 100 == 0: o.seek(100); print(len(o.read(50)))")
PYTHON(
    fork_in_the_middle,
    OS_OPEN(
        MID) "for _ in range(1000): os.write(o, os.read(i, 512))\nif not (c := os.fork()):\n"
             " for _ in range(1000): os.write(o, os.read(i, 512))\n os._exit(5)\nprint(os.waitpid(c, 0)[1])\n"
             "while b := os.read(i, 512): os.write(o, b)",
    .eager = PYTHON_NAME)
PYTHON(subprocess_in_the_middle,
       "import subprocess, hashlib\n" OS_OPEN(
           MID) "for k in range(10):\n for _ in range(200): os.write(o, os.read(i, 512))\n"
                " print(subprocess.run(['wc', '-c'], stdin=open('out'), capture_output=True).stdout)\n"
                " print(hashlib.md5(open('out', 'rb').read()).hexdigest())",
       .eager = PYTHON_NAME)
PYTHON(mapped_destination,
       "import mmap\n" OS_OPEN(
           MID) "os.ftruncate(o, 6000000); p = os.open('out', os.O_RDWR); m = mmap.mmap(p, 0)\ns = 0\n"
                "for k in range(5000):\n os.write(o, os.read(i, 512)); s += m[k * 512 + 7]\nprint(s)",
       .idle = PYTHON_NAME)
PYTHON(threads,
       "import threading\nt = threading.Event(); w = threading.Thread(target=t.wait); w.start()\n" OS_OPEN(
           MID) "while b := os.read(i, 4096): os.write(o, b)\nt.set(); w.join()",
       .idle = PYTHON_NAME, .idle_because = "threads")
PYTHON(tarfile,
       "import tarfile\nwith tarfile.open('a.tar', 'w') as t: t.add(SRC, 'one'); t.add(TEXT, 'two')\n"
       "with tarfile.open('a.tar') as t: t.extractall('got')")
PYTHON(
    zipfile,
    "import zipfile\nwith zipfile.ZipFile('a.zip', 'w') as z: z.write(MID, 'one'); z.write(TEXT, 'two', 8)\n"
    "with zipfile.ZipFile('a.zip') as z: z.extractall('got'); print(z.testzip())")
PYTHON(exit_without_closing, OS_OPEN(MID) "for _ in range(3000): os.write(o, os.read(i, 1000))\nos._exit(9)",
       .exit = 9)
PYTHON(killed_by_itself,
       OS_OPEN(MID) "import signal\nfor _ in range(3000): os.write(o, os.read(i, 1000))\n"
                    "os.kill(os.getpid(), signal.SIGKILL)",
       .exit = 137)
PYTHON(exec_in_the_middle,
       OS_OPEN(MID) "for _ in range(3000): os.write(o, os.read(i, 1000))\nos.set_inheritable(i, True)\n"
                    "os.dup2(i, 0); os.dup2(o, 1); os.execvp('cat', ['cat'])")
PYTHON(timer,
       "import signal\nticks = 0\ndef tick(*_):\n global ticks; ticks += 1; os.stat('out')\n" OS_OPEN(
           SRC) "signal.signal(signal.SIGALRM, tick); signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)\n"
                "while b := os.read(i, 4096): os.write(o, b)\nsignal.setitimer(signal.ITIMER_REAL, 0); "
                "print(ticks > 0)")
PYTHON(socket_and_pipe,
       "import socket\na, b = socket.socketpair(); f = os.open(MID, os.O_RDONLY)\nif not (c := os.fork()):\n"
       " a.close(); o = open('out', 'wb', 0)\n while d := b.recv(3000): o.write(d)\n os._exit(0)\n"
       "b.close()\nwhile d := os.read(f, 3000): a.sendall(d)\na.close(); print(os.waitpid(c, 0)[1])")

/* ---- tcl, shells, java -------------------------------------------------------------------- */

#define TCL(name, script, ...)                                                                               \
    ROW(tcl, name, .needs = "tclsh",                                                                         \
        .command = "cat >script <<'END'\n"                                                                   \
                   "set i [open $env(SRC) rb]; set o [open out wb]\n" script "\nEND\ntclsh script",          \
        __VA_ARGS__)
TCL(fcopy, "puts [fcopy $i $o]; close $o")
TCL(fcopy_by_size, "while {![eof $i]} { fcopy $i $o -size 100000 }; close $o; puts [file size out]")
TCL(read_puts, "while {[string length [set b [read $i 4096]]]} { puts -nonewline $o $b }; close $o")
TCL(unbuffered, "fconfigure $i -buffersize 1000; fconfigure $o -buffering none\n"
                "while {[string length [set b [read $i 1000]]]} { puts -nonewline $o $b; if {[tell $o] > "
                "4000000} break }; puts [tell $i]")
TCL(file_copy, "close $o; file copy -force $env(SRC) out; file copy $env(TREE) tree", .quick = true)

#define BASH(name, script, ...)                                                                              \
    ROW(bash, name, .needs = "bash", .command = "cat >script <<'END'\n" script "\nEND\nbash script",         \
        __VA_ARGS__)
BASH(read_lines,
     "n=0; while IFS= read -r line; do printf '%s\\n' \"$line\"; ((++n < 8000)) || break; done <$TEXT >out")
BASH(read_then_the_rest,
     "{ for n in {1..300}; do IFS= read -r line; printf '%s\\n' \"$line\"; done; cat; } <$TEXT >out")
BASH(read_pieces, "exec 3<$TEXT 4>out; for n in {1..2000}; do IFS= read -r -N 512 -u 3 piece; printf %s "
                  "\"$piece\" >&4; done;"
                  "wc -c <out; cat <&3 >&4")
BASH(substitution, "all=$(<$TEXT); printf '%s\\n' \"$all\" >out; mapfile -t lines <$TEXT; echo ${#lines[@]}; "
                   "cat <<<\"$all\" >two")
BASH(both_ends_shared,
     "exec 3<$SRC 4>out; for n in {1..20}; do dd bs=512 count=2000 status=none <&3 >&4; done; cat <&3 >&4")
BASH(killed_then_the_rest, "{ timeout 0.05 sleep 1; dd bs=512 count=9000 status=none; cat; } <$SRC >out")
BASH(append_from_two, "(dd if=$MID bs=512 count=12000 status=none >>out) & dd if=$SRC bs=512 count=12000 "
                      "status=none >>out; wait; wc -c <out;"
                      "perl -e '$/ = \\512; print sort <>' out | cksum; rm out")

static const char java_copy[] =
    "cat >Copy.java <<'END'\n"
    "import java.io.*;\n"
    "public class Copy { public static void main(String[] a) throws IOException {\n"
    " try (FileInputStream i = new FileInputStream(a[0]); FileOutputStream o = new FileOutputStream(a[1])) "
    "{\n"
    "  byte[] b = new byte[4096]; int n; while ((n = i.read(b)) > 0) o.write(b, 0, n);\n"
    "  System.out.println(i.getChannel().position()); } } }\n"
    "END\n"
    "java -XX:+UseSerialGC Copy.java $SRC out";
/* Many threads, handlers with every signal in their masks: left alone for one or the other. */
ROW(java, streams, .needs = "java javac", .command = java_copy, .idle = "java")
