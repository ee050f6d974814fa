#!/bin/sh
# Perl's own t/io and t/op by the installed perl, plain and under the shim with a session at every second pair.
# `perl.sh short` takes t/io and what in t/op reads and writes files.
set -u
suite=perl
. "$(dirname "$0")/suite.inc"
perl=${PERL:-/usr/bin/perl}
[ -x "$perl" ] || stop "$perl is not installed"
source_of perl

# Left out, for what they depend on (the clock, the terminal, the memory) or for the time they take:
#   op/rand op/srand op/hash-rt85026  chance
#   op/time op/sselect op/alarm       the clock, in a machine that does other things too
#   op/taint                          looks for the libraries of the build tree
leave='op/rand.t op/srand.t op/hash-rt85026.t op/time.t op/sselect.t op/alarm.t op/taint.t'
short='op/chdir.t op/die_exit.t op/exec.t op/fork.t op/glob.t op/inccode.t op/lfs.t op/magic.t op/readline.t
	op/stat.t op/sysio.t op/filetest.t op/mkdir.t op/select.t op/heredoc.t op/closure.t'

# The tests look for perl in their folder and for its library in ../lib.
if [ ! -e "$place/lib" ]; then
	mkdir -p "$place/lib.new"
	for folder in $("$perl" -MConfig -le 'print for $Config{privlibexp}, $Config{archlibexp}') \
		$("$perl" -le 'print for grep { m,/perl-base$, } @INC'); do
		cp -rsf "$folder/." "$place/lib.new/"
	done
	mv "$place/lib.new" "$place/lib"
fi

for way in plain shim; do
	rm -rf "${place:?}/$way" "$place/report.json"
	mkdir -p "$place/$way"
	cp -r "$place/source/t" "$place/source/MANIFEST" "$place/$way/"
	ln -s ../lib "$place/$way/lib"
	ln -s "$perl" "$place/$way/t/perl"
	: >"$place/$way/results"
done

run_one() { # TEST WAY
	(cd "$place/$2/t" && run_way "$2" timeout 120 env PERL_CORE=1 PERL_RUNPERL_DEBUG= TMPDIR="$place/$2/t" \
		./perl -I../lib "$1" >"$place/$2/output" 2>"$place/$2/errors" </dev/null
	# TAP: one line of results a test.
	awk -v file="$1" -v status=$? '
		/^(not )?ok/ {
			word = /^not/ ? "failed" : "passed"
			if (/# *[Ss][Kk][Ii][Pp]/) word = "skipped"
			if (/# *TODO/) word = "expected-" word
			print file ":" ++n, word
		}
		/^1\.\.0/ { print file, "skipped" }
		END { if (status) print file, "exit", status }' "$place/$2/output" >"$place/$2/one")
}

cd "$place/source/t" || exit 1
for test in io/*.t $([ "${1-}" = short ] && echo $short || echo op/*.t); do
	case " $leave " in *" $test "*) continue ;; esac
	run_one "$test" plain
	run_one "$test" shim
	# What differs gets a second chance on both sides: some depend on the clock.
	if ! cmp -s "$place/plain/one" "$place/shim/one"; then
		run_one "$test" plain
		run_one "$test" shim
		cp "$place/shim/errors" "$place/shim/$(echo "$test" | tr / -).errors"
	fi
	cat "$place/plain/one" >>"$place/plain/results"
	cat "$place/shim/one" >>"$place/shim/results"
done
verdict "perl $("$perl" -e 'print $]') t/io t/op"
