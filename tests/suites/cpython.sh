#!/bin/sh
# CPython's own tests, plain and under the shim with a session at every second pair: as many must run,
# be skipped and fail, one by one. `cpython.sh short` takes the modules that are done in a minute,
# `cpython.sh MODULE...` those.
#
# For each module: tests, sessions, and the most frequent refusals. Where no session began, strace tells how
# many loops between two files there were in a plain run: with one of them and no refusal the script fails.
#
# For /usr/bin/python3 and the modules of its version (Debian: libpython3.NN-testsuite). Where that
# package is not installed it is unpacked into the build directory.
set -u
build=${TEST_BUILD:-build}
library=${TEST_SHIM:-$build/libxfershim.so}
python=${PYTHON:-/usr/bin/python3}
place=$(mkdir -p "$build/suites/cpython" && cd "$build/suites/cpython" && pwd) || exit 1

modules='test_io test_os test_shutil test_subprocess test_signal test_tarfile test_mmap test_zipfile test_gzip
	test_fileio test_tempfile test_file test_bufio test_largefile test_univnewlines test_fileinput test_zlib
	test_bz2 test_lzma test_mailbox test_filecmp test_posix test_pty test_select test_socketserver test_dbm_dumb'
short='test_fileio test_file test_bufio test_shutil test_tarfile test_gzip test_mmap test_tempfile test_fileinput'
case ${1-} in
'') ;;
short) modules=$short ;;
*) modules=$* ;;
esac

stop() {
	echo "skipped: $1"
	exit "${2:-0}"
}

[ -x "$python" ] || stop "$python is not installed"
[ -r "$library" ] || stop "$library is not built" 1
version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')

# The package has what the interpreter's own `test` folder lacks.
if ! "$python" -c 'import test.test_io' 2>/dev/null; then
	tests=$place/lib/test
	if [ ! -e "$tests/test_io.py" ]; then
		mkdir -p "$place/package" "$place/lib"
		(cd "$place/package" && apt-get -q download "libpython$version-testsuite" >log 2>&1 &&
			dpkg-deb -x libpython*.deb .) ||
			stop "the test modules of Python $version are missing: apt-get install libpython$version-testsuite"
		cp -r "/usr/lib/python$version/test" "$place/lib/" 2>/dev/null
		cp -r "$place/package/usr/lib/python$version/test" "$place/lib/"
	fi
	PYTHONPATH=$place/lib
	export PYTHONPATH
fi

# unittest's own words for each test, sorted, so that a difference has a name. What no two runs have in
# common (addresses, times) is not in them.
cat >"$place/run.py" <<'END'
import sys, unittest, warnings

class Names(unittest.TestResult):
    def __init__(self):
        super().__init__()
        self.lines = []
    def note(self, test, word):
        self.lines.append('%s %s' % (test.id().replace(' ', '_'), word))
    def addSuccess(self, test): self.note(test, 'passed')
    def addSkip(self, test, reason): self.note(test, 'skipped')
    def addExpectedFailure(self, test, error): self.note(test, 'expected')
    def addUnexpectedSuccess(self, test): self.note(test, 'unexpected')
    def failed(self, test, error, word):
        self.note(test, word)
        print(test.id(), self._exc_info_to_string(error, test) if hasattr(test, 'failureException') else error,
              file=sys.stderr)
    def addFailure(self, test, error): self.failed(test, error, 'failed')
    def addError(self, test, error): self.failed(test, error, 'error')

warnings.simplefilter('ignore')
from test import support
support.use_resources = []
# Pieces of 64 KiB, shutil's own, are left alone by the shim; of 8 KiB they are not.
import shutil
shutil.COPY_BUFSIZE = 8192
# Children are started with -X faulthandler, whose alternate stack is too small for a session.
import subprocess
from test.support import script_helper
class Quiet:
    def __getattr__(self, name): return getattr(subprocess, name)
    def Popen(self, args, *rest, **named):
        if args[1:3] == ['-X', 'faulthandler']:
            args = args[:1] + args[3:]
        return subprocess.Popen(args, *rest, **named)
script_helper.subprocess = Quiet()
result = Names()
with open(sys.argv[2], 'w') as out:
    try:
        suite = unittest.defaultTestLoader.loadTestsFromName('test.' + sys.argv[1])
    except unittest.SkipTest as reason:
        suite = unittest.TestSuite()
        result.lines.append('module skipped')
    suite.run(result)
    out.write(''.join(line + '\n' for line in sorted(result.lines)))
END

run_one() { # MODULE WAY [NAME=VALUE...]
	module=$1 way=$2
	shift 2
	folder=$place/$way/$module
	rm -rf "$folder"
	mkdir -p "$folder/tmp"
	(cd "$folder" && TMPDIR=$folder/tmp exec timeout 300 env "$@" "$python" "$place/run.py" "$module" \
		"$folder/results" >"$folder/log" 2>&1 </dev/null)
	echo "exit $?" >>"$folder/results"
}

shim_way() { # MODULE
	rm -f "$place/report-$1.json"
	run_one "$1" shim XFERSHIM=on XFERSHIM_THRESHOLD=1 "XFERSHIM_REPORT=$place/report-$1.json" "LD_PRELOAD=$library"
}

# Loops between two files in a plain run: the same two descriptors, of different numbers and files on disk, in two
# pairs of a read and a write one after the other.
loops_of() { # MODULE
	folder=$place/loops/$1
	rm -rf "$folder"
	mkdir -p "$folder/tmp"
	(cd "$folder" && TMPDIR=$folder/tmp exec timeout 300 strace --seccomp-bpf -f -y -qq -e trace=read,write \
		-e signal=none -o "$folder/calls" "$python" "$place/run.py" "$1" "$folder/results" >/dev/null 2>&1 </dev/null)
	awk '
		{ call = $2; sub(/>.*/, ">", call) }
		call ~ /^read\([0-9]+<\// && $NF > 0 { sub(/^read\(/, "", call); from[$1] = call; next }
		call ~ /^read\(/ { from[$1] = ""; next }
		call ~ /^write\([0-9]+<\// && $NF > 0 {
			sub(/^write\(/, "", call)
			same_number = from[$1] + 0 == call + 0
			source = from[$1]; sub(/^[0-9]+/, "", source)
			target = call; sub(/^[0-9]+/, "", target)
			# An object of /dev or /proc is no source whose bytes can be given back.
			if (same_number || source == "" || source == target || (source target) ~ /<\/(dev|proc|sys)\//) { last[$1] = ""; next }
			pair = from[$1] " " call
			if (pair == last[$1] && !counted[$1]) { n++; counted[$1] = 1 }
			if (pair != last[$1]) counted[$1] = 0
			last[$1] = pair; from[$1] = ""
		}
		END { print n + 0 }' "$folder/calls"
	rm -rf "$folder"
}

library=$(cd "$(dirname "$library")" && pwd)/${library##*/}
total=0 failed=0 sessions=0
for module in $modules; do
	run_one "$module" plain &
	shim_way "$module"
	wait
	# A test that fails on one side gets a second chance on both, alone: some depend on the clock.
	if ! cmp -s "$place/plain/$module/results" "$place/shim/$module/results"; then
		run_one "$module" plain
		shim_way "$module"
	fi
	ran=$(grep -cv '^exit' "$place/shim/$module/results")
	here=$(grep -o '"sessions":[0-9]*,"loops' "$place/report-$module.json" 2>/dev/null |
		awk -F '[:,]' '{ n += $2 } END { print n + 0 }')
	# Most frequent first. source-kind and dest-kind: a pipe, a socket or a terminal at one end.
	refused=$(grep -o '"reason":"[a-z-]*","count":[0-9]*' "$place/report-$module.json" 2>/dev/null |
		awk -F '[":,]+' '{ n[$3] += $5 } END { for (word in n) print n[word], word }' | sort -rn |
		awk '{ printf " %s %d", $2, $1 }')
	rm -f "$place/report-$module.json"
	total=$((total + ran)) sessions=$((sessions + here))
	why=
	if [ "$here" -eq 0 ]; then
		if command -v strace >/dev/null; then
			loops=$(loops_of "$module")
			why="; $loops loops between two files"
			[ "$loops" -eq 0 ] || [ -n "$refused" ] || failed=$((failed + 1))
		else
			why="; loops not counted: strace is not installed"
		fi
	fi
	printf '%-20s %5d tests, %4d skipped, %3d failed, %5d sessions, refused:%s%s\n' "$module" "$ran" \
		"$(grep -c ' skipped$' "$place/shim/$module/results")" \
		"$(grep -cE ' (failed|error)$' "$place/shim/$module/results")" "$here" "${refused:- none}" "$why"
	if ! diff "$place/plain/$module/results" "$place/shim/$module/results" >"$place/shim/$module/difference"; then
		failed=$((failed + 1))
		sed 's/^</    plain:/; s/^>/    shim: /; /^[0-9-]/d' "$place/shim/$module/difference"
		echo "    see $place/shim/$module/log"
	fi
done
echo "$total tests of CPython $version, $sessions sessions, $failed modules with a difference"
# That nothing differs says nothing where nothing ran.
[ "$failed" -eq 0 ] && [ "$sessions" -gt 0 ]
