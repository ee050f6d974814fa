#!/bin/sh
# Tcl's own tests of channels, files and archives by the installed tclsh, plain and under the shim with a session
# at every second pair.
set -u
suite=tcl
. "$(dirname "$0")/suite.inc"
tclsh=${TCLSH:-/usr/bin/tclsh}
[ -x "$tclsh" ] || stop "$tclsh is not installed"
package=tcl$(echo 'puts $tcl_version' | "$tclsh")
source_of "$package"

# fcopy, gets, puts and exec between channels of every kind. (http wants a network, socket takes time alone.)
files='io ioCmd chan chanio ioTrans iogt fCmd fileName fileSystem fileSystemEncoding unixFCmd unixFile winFCmd
	zlib exec encoding binary cmdAH cmdMZ source event async append package pkgMkIndex safe main http11'

run_one() { # FILE WAY
	rm -rf "$place/$2/tmp"
	mkdir -p "$place/$2/tmp"
	(cd "$place/$2/tmp" && run_way "$2" timeout 300 "$tclsh" "$place/source/tests/$1.test" \
		-tmpdir "$place/$2/tmp" -verbose ps >"$place/$2/$1.log" 2>&1 </dev/null
	awk -v status=$? -v file="$1" '
		$1 == "++++" && $3 ~ /^PASSED/ { print $2, "passed" }
		$1 == "++++" && $3 ~ /^SKIPPED/ { print $2, "skipped" }
		$1 == "====" && $NF == "FAILED" && $2 ~ /-/ { print $2, "failed" }
		END { if (status) print file, "exit", status }' "$place/$2/$1.log" >"$place/$2/one")
}

for way in plain shim; do
	rm -rf "${place:?}/$way" "$place/report.json"
	mkdir -p "$place/$way"
done
for file in $files; do
	run_one "$file" plain
	run_one "$file" shim
	# What differs gets a second chance on both sides: some depend on the clock.
	if ! cmp -s "$place/plain/one" "$place/shim/one"; then
		cp "$place/shim/$file.log" "$place/shim/$file.first.log"
		run_one "$file" plain
		run_one "$file" shim
	fi
	cat "$place/plain/one" >>"$place/plain/results"
	cat "$place/shim/one" >>"$place/shim/results"
done
verdict "$package"
