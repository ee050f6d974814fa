#!/bin/sh
# GNU cpio's own tests by the installed cpio, plain and under the shim with a session at every second pair.
set -u
suite=cpio
. "$(dirname "$0")/suite.inc"
. "$(dirname "$0")/autotest.inc"
cpio=$(command -v cpio) || stop "cpio is not installed: apt-get install cpio"
source_of cpio
helpers genfile
autotest "$cpio"
verdict "$(cpio --version | head -n 1)"
