#!/bin/sh
# The tests that GNU coreutils bring for programs that copy, split and filter, by the installed programs, plain and
# under the shim with a session at every second pair.
set -u
suite=coreutils
. "$(dirname "$0")/suite.inc"
source_of coreutils
source=$place/source

# A program of theirs that many tests ask for the limits of C's types.
if [ ! -x "$source/src/getlimits" ]; then
	command -v make >/dev/null && command -v cc >/dev/null || stop "cc and make are not installed"
	(cd "$source" && FORCE_UNSAFE_CONFIGURE=1 ./configure -q --disable-nls --disable-dependency-tracking CFLAGS=-O1 &&
		printf 'include Makefile\nours: $(BUILT_SOURCES)\n' | make -f - ours &&
		make src/getlimits) >"$place/build.log" 2>&1 ||
		stop "the helpers of the tests cannot be built, see $place/build.log"
fi

# Left out, for what they depend on (the clock, the terminal, the memory) or for the time they take:
#   dd/no-allocate and misc/*-vg want memory limits;
#   *perf*, *race* and cp/link-heap measure time and memory.
leave='dd/no-allocate.sh cp/link-heap.sh cp/sparse-perf.sh cp/file-perm-race.sh cp/existing-perm-race.sh
	cp/parent-perm-race.sh cp/nfs-removal-race.sh misc/head-write-error.sh'
list=$(cd "$source/tests" && echo dd/* cp/* mv/* split/* install/* \
	misc/base64.pl misc/basenc.pl misc/b2sum.sh misc/cat-*.sh misc/comm.pl misc/csplit*.* misc/cut*.* misc/expand.pl \
	misc/fold.pl misc/head*.* misc/join*.* misc/md5sum*.* misc/nl.sh misc/od*.* misc/paste.pl misc/sha*.* misc/shred-*.sh \
	misc/shuf*.sh misc/sort*.* misc/stdbuf.sh misc/sum*.pl misc/sync.sh misc/tac*.* misc/tail.pl misc/tee.sh misc/tr*.* \
	misc/truncate-*.sh misc/unexpand.pl misc/uniq*.* misc/wc*.* misc/xstrtol.pl misc/cksum*.sh)

for way in plain shim; do
	rm -rf "${place:?}/$way" "$place/report.json"
	mkdir -p "$place/$way/src" "$place/$way/tmp"
	ln -s "$source/src/getlimits" "$place/$way/src/"
	ln -s "$source/tests" "$source/init.cfg" "$source/build-aux" "$place/$way/"
done
version=$(dd --version | sed -n '1s/.* //p')
programs=$(dpkg -L coreutils | sed -nE 's,^/(usr/)?s?bin/,,p' | tr '\n' ' ')

run_one() { # TEST WAY
	log=$place/$2/$(echo "$1" | tr / -).log
	case $1 in
	*.pl) set -- "$1" "$2" perl -w "-I$source/tests" -MCuSkip -MCoreutils "-MCuTmpdir qw(tests/$1)" "tests/$1" ;;
	*) set -- "$1" "$2" bash "tests/$1" ;;
	esac
	test=$1 way=$2
	shift 2
	(cd "$place/$way" && set +u && { . ./tests/envvar-check || :; } && run_way "$way" timeout 60 env "VERSION=$version" \
		"PACKAGE_VERSION=$version" "abs_top_builddir=$place/$way" "abs_top_srcdir=$source" "abs_srcdir=$source" \
		"built_programs=$programs" fail=0 host_os=linux-gnu srcdir="$source" top_srcdir="$source" \
		"CONFIG_HEADER=$source/lib/config.h" "CU_TEST_NAME=$test" CC=cc AWK=awk EGREP='grep -E' EXEEXT= MAKE=make \
		PERL=perl SHELL=/bin/bash "TMPDIR=$place/$way/tmp" LOCALE_FR=none LOCALE_FR_UTF8=none "$@" \
		>"$log" 2>&1 </dev/null 9>&2)
	case $? in
	0) word=passed ;;
	77) word=skipped ;;
	*) word=failed ;;
	esac
	echo "$test $word" >"$place/$way/one"
}

for test in $list; do
	case " $(echo $leave) " in *" $test "*) continue ;; esac
	run_one "$test" plain &
	run_one "$test" shim
	wait
	# What differs gets a second chance on both sides, alone: some depend on the clock.
	if ! cmp -s "$place/plain/one" "$place/shim/one"; then
		run_one "$test" plain
		run_one "$test" shim
	fi
	cat "$place/plain/one" >>"$place/plain/results"
	cat "$place/shim/one" >>"$place/shim/results"
done
verdict "coreutils $version"
