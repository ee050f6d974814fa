#!/bin/sh
# Git's own tests t0* and t1* (basics, objects, index), plain and under the shim with a session at every second
# pair. They need helper programs, so git is built from the source of the installed version and tests itself.
set -u
suite=git
. "$(dirname "$0")/suite.inc"
source_of git
if [ ! -x "$place/source/t/helper/test-tool" ]; then
	[ -r /usr/include/zlib.h ] || stop "zlib.h is missing: apt-get install zlib1g-dev"
	make -j2 -C "$place/source" NO_OPENSSL=1 NO_CURL=1 NO_EXPAT=1 NO_TCLTK=1 NO_GETTEXT=1 NO_PYTHON=1 CFLAGS=-O1 all \
		>"$place/build.log" 2>&1 || stop "git cannot be built, see $place/build.log"
fi

# Those of files, objects and the index; `git.sh all` takes every one of t0 and t1.
tests='t0000 t0001 t0003 t0004 t0006 t0008 t0010 t0020 t0025 t0026 t0028 t0030 t0060 t0061 t0063 t0090 t0300 t0301
	t1000 t1001 t1002 t1003 t1004 t1005 t1007 t1008 t1009 t1010 t1011 t1012 t1013 t1014 t1020 t1050 t1051 t1060
	t1100 t1300 t1301 t1304 t1306 t1401 t1403 t1410 t1501 t1503 t1509 t1600 t1601 t1700 t1701'
[ "${1-}" = all ] && tests=$(cd "$place/source/t" && echo t[01][0-9]*.sh)

for way in plain shim; do
	rm -rf "${place:?}/$way" "$place/report.json"
	mkdir -p "$place/$way"
done

run_one() { # TEST WAY
	(cd "$place/source/t" && run_way "$2" timeout 200 env "TEST_OUTPUT_DIRECTORY=$place/$2" GIT_TEST_CHAIN_LINT=0 sh "./$1" \
		--root="$place/$2/trash" >"$place/$2/$1.log" 2>&1 </dev/null
	awk -v test="${1%%-*}" -v status=$? '
		/^(not )?ok [0-9]/ {
			word = /^not/ ? "failed" : "passed"
			if (/# skip/) word = "skipped"
			if (/# TODO/) word = "expected-" word
			sub(/^not /, "")
			print test ":" $2, word
		}
		/^1\.\.0 # SKIP/ { print test, "skipped" }
		END { if (status) print test, "exit", status }' "$place/$2/$1.log" >"$place/$2/one")
}

for number in $tests; do
	test=$(cd "$place/source/t" && echo "${number%%-*}"-*.sh)
	[ -e "$place/source/t/$test" ] || continue
	run_one "$test" plain &
	run_one "$test" shim
	wait
	# What differs gets a second chance on both sides, alone: some depend on the clock.
	if ! cmp -s "$place/plain/one" "$place/shim/one"; then
		cp "$place/shim/$test.log" "$place/shim/$test.first.log"
		run_one "$test" plain
		run_one "$test" shim
	fi
	cat "$place/plain/one" >>"$place/plain/results"
	cat "$place/shim/one" >>"$place/shim/results"
done
verdict "$("$place/source/git" --version) t0 t1"
