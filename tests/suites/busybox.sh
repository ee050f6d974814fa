#!/bin/sh
# busybox's own testsuite by the installed busybox, plain and under the shim with a session at every second pair.
set -u
suite=busybox
. "$(dirname "$0")/suite.inc"
busybox=$(command -v "${BUSYBOX:-busybox}") || stop "busybox is not installed: apt-get install busybox"
! file -L "$busybox" 2>/dev/null | grep -q 'statically linked' || stop "$busybox is linked statically"
source_of busybox

# Applets that copy, pack, or read and write files; those that only compute have no loop of ours.
applets='ar awk basename bunzip2 bzcat cat cmp comm cp cpio cut date dd diff du echo expand expr find fold grep gunzip
	gzip head hexdump hostname id install ln ls lzcat lzop md5sum mkdir mkfs.minix mv nl od paste patch pidof pwd
	readlink rm rmdir rx sed sha1sum sha256sum sha512sum shuf sort split strings sum tail tar tee touch tr
	truncate unexpand uniq unlzma unxz unzip uptime uudecode wc wget which xargs xxd xzcat'

for way in plain shim; do
	rm -rf "${place:?}/$way" "$place/report.json"
	mkdir -p "$place/$way"
	cp -r "$place/source/testsuite" "$place/source/scripts" "$place/$way/"
	# The tests ask the configuration what the program can do.
	cp "$place/source/debian/config/pkg/deb" "$place/$way/.config" || exit 1
	ln -s "$busybox" "$place/$way/busybox"
	(cd "$place/$way/testsuite" && run_way "$way" env SKIP_KNOWN_BUGS=1 SKIP_INTERNET_TESTS=1 timeout 300 ./runtest \
		$applets >"$place/$way/log" 2>&1 </dev/null)
	# The same name may be there twice.
	awk '
		$1 == "PASS:" { word = "passed" }
		$1 == "FAIL:" { word = "failed" }
		$1 == "SKIPPED:" || $1 == "UNTESTED:" { word = "skipped" }
		$1 ~ /^(PASS|FAIL|SKIPPED|UNTESTED):$/ { $1 = ""; gsub(/ /, "_"); print substr($0, 2) ":" ++n[$0], word }
		' "$place/$way/log" >"$place/$way/results"
done
verdict "busybox $(dpkg-query -W -f '${Version}' busybox 2>/dev/null)"
