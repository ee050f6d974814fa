#!/bin/sh
# The tests of the hazards and of the plain programs again, with their scratch space on each file system
# that this machine can make: what a descriptor can do depends on the file system behind it.
# Needs root, and loop devices for the images; says what it leaves out.
#   tests/suites/fs.sh [short] [KIND...]    xfs btrfs ext4 tmpfs overlay
# short: without the programs that mount what they need themselves, or to which the file system is all the same.
set -u
build=$(cd "${TEST_BUILD:-build}" && pwd) || exit 1
without=
if [ "${1-}" = short ]; then
	without=' hazards/confinement hazards/host hazards/kinds hazards/quota hazards/settings hazards/share
		hazards/symbols hazards/traces apps/dd apps/archive '
	shift
fi
[ $# -gt 0 ] || set -- xfs btrfs ext4 tmpfs overlay

if [ "$(id -u)" -ne 0 ]; then
	echo "skipped: mounting needs root"
	exit 0
fi
# A mount namespace of our own: nothing is left mounted, whatever happens.
if [ -z "${FS_SUITE_INSIDE-}" ]; then
	FS_SUITE_INSIDE=1 TEST_BUILD=$build exec unshare -m --propagation private "$0" ${without:+short} "$@"
fi

point=$build/fs/mount
image=$build/fs/image
mkdir -p "$point"
trap 'umount -R "$point" 2>/dev/null; rm -rf "$build/fs"' EXIT
# dash runs no EXIT trap when a signal ends it.
trap 'exit 1' HUP INT TERM

mount_kind() {
	case $1 in
	tmpfs) mount -t tmpfs -o size=2G tmpfs "$point" ;;
	overlay)
		# overlayfs takes no overlayfs as its upper layer, which containers often are: a tmpfs below.
		mount -t tmpfs -o size=2G tmpfs "$point" &&
			mkdir "$point/lower" "$point/upper" "$point/work" "$point/merged" &&
			mount -t overlay -o "lowerdir=$point/lower,upperdir=$point/upper,workdir=$point/work" overlay "$point/merged"
		;;
	*)
		command -v "mkfs.$1" >/dev/null || { echo "mkfs.$1 is not installed"; return 1; }
		rm -f "$image"
		truncate -s 3G "$image"
		case $1 in
		xfs) mkfs.xfs -q -m reflink=1 "$image" ;;
		*) "mkfs.$1" -q "$image" >/dev/null ;;
		esac && mount -o loop -t "$1" "$image" "$point"
		;;
	esac
}

# A build directory on that file system: everything in it is the real one's, but the scratch space.
stage() {
	mkdir -p "$1/tests/tmp"
	for thing in "$build"/*; do
		case ${thing##*/} in tests | fs) ;; *) ln -s "$thing" "$1/" ;; esac
	done
	for thing in "$build"/tests/*; do
		case ${thing##*/} in tmp | results) ;; *) ln -s "$thing" "$1/tests/" ;; esac
	done
}

here=$(cd "$(dirname "$0")/../.." && pwd)
status=0
for kind in "$@"; do
	if ! reason=$(mount_kind "$kind" 2>&1); then
		echo "$kind: skipped: ${reason:-cannot be mounted here}"
		umount -R "$point" 2>/dev/null
		continue
	fi
	root=$point
	[ "$kind" = overlay ] && root=$point/merged
	stage "$root/build"
	set --
	for program in "$build"/tests/hazards/* "$build"/tests/apps/dd "$build"/tests/apps/archive; do
		case $without in *[[:space:]]"${program#"$build"/tests/}"[[:space:]]*) continue ;; esac
		[ -f "$program" ] && [ -x "$program" ] && set -- "$@" "$root/build/${program#"$build/"}"
	done
	echo "== $kind"
	TEST_BUILD=$root/build TESTS_ALONE=${TESTS_ALONE-} "$here/tests/support/check" "${FILTER-}" "$@" || status=1
	umount -R "$point"
done
exit $status
