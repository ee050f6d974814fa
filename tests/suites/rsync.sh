#!/bin/sh
# rsync's own testsuite, plain and under the shim with a session at every second pair. It needs helper programs that
# go with the rsync they are built with, so rsync is built too, from the distribution's source.
set -u
suite=rsync
. "$(dirname "$0")/suite.inc"
source_of rsync
source=$place/source
if [ ! -x "$source/rsync" ]; then
	command -v make >/dev/null && command -v cc >/dev/null || stop "cc and make are not installed"
	# Touched, as make would run autoconf where they look older than what they come from.
	(cd "$source" && touch aclocal.m4 && touch configure.sh config.h.in && FORCE_UNSAFE_CONFIGURE=1 ./configure \
		--disable-openssl --disable-xxhash --disable-zstd --disable-lz4 --disable-md2man CFLAGS=-O1 &&
		touch configure.sh config.h.in && make -j2 rsync tls getgroups getfsdev testrun trimslash t_unsafe \
		t_chmod_secure t_secure_relpath wildtest simdtest) >"$place/build.log" 2>&1 ||
		stop "rsync cannot be built, see $place/build.log"
fi

rm -f "$place/report.json"
# Most of it sleeps, until a time stamp is another: both at once.
for way in plain shim; do
	rm -rf "${place:?}/$way"
	mkdir -p "$place/$way"
	(cd "$source" && run_way "$way" timeout 400 env "scratchbase=$place/$way" ./runtests.sh \
		>"$place/$way/log" 2>&1 </dev/null) &
done
wait
for way in plain shim; do
	awk '
		$1 == "PASS" { print $2, "passed" }
		$1 == "SKIP" { print $2, "skipped" }
		$1 == "XFAIL" { print $2, "expected-failed" }
		$1 == "FAIL" || $1 == "ERROR" { print $2, "failed" }' "$place/$way/log" >"$place/$way/results"
done
verdict "$("$source/rsync" --version | sed -n '1s/  .*//p')"
