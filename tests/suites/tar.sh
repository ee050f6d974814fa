#!/bin/sh
# GNU tar's own tests by the installed tar, plain and under the shim with a session at every second pair.
set -u
suite=tar
. "$(dirname "$0")/suite.inc"
. "$(dirname "$0")/autotest.inc"
tar=$(command -v tar) || stop "tar is not installed"
source_of tar
helpers genfile checkseekhole ckmtime
# Without 167 and 169, which make sparse files of more than 8 GiB.
autotest "$tar" 1-166 168 170-238
verdict "$(tar --version | head -n 1)"
