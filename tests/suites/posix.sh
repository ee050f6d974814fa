#!/bin/sh
# posix_cases.c plain and under the shim with a session at every second pair: it must see the same.
set -u
suite=posix
. "$(dirname "$0")/suite.inc"
command -v "${CC:-cc}" >/dev/null || stop "no C compiler is installed"
"${CC:-cc}" -O2 -Wall -Wextra -o "$place/cases" "$(dirname "$0")/posix_cases.c" || stop "the cases cannot be built" 1

for way in plain shim; do
	rm -rf "${place:?}/$way" "$place/report.json"
	mkdir -p "$place/$way/tmp"
	(cd "$place/$way/tmp" && run_way "$way" timeout 60 "$place/cases" >"$place/$way/seen" 2>&1 </dev/null
	echo "exit: $?" >>"$place/$way/seen")
	# A line of what a case saw is a test of it: numbered, as the same words come more than once.
	awk -F : '{ name = $1; gsub(/ /, "_"); print name ":" ++n[name] $0, "passed" }' "$place/$way/seen" \
		>"$place/$way/results"
done
grep -q '^exit: 0$' "$place/plain/seen" || stop "the cases do not run, see $place/plain/seen" 1
verdict "posix_cases"
