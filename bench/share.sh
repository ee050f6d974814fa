#!/bin/sh
# The gain where blocks are shared: on XFS and btrfs in images beside the programs. Root only.
#   bench/share.sh BUILD [option of gain]...
set -u
build=$(cd "$1" && pwd) || exit 1
[ "$(id -u)" -eq 0 ] || { echo "mounting needs root"; exit 1; }
# A mount namespace of our own: nothing is left mounted, whatever happens.
[ -n "${SHARE_INSIDE-}" ] || SHARE_INSIDE=1 exec unshare -m --propagation private "$0" "$@"
shift

point=$build/bench/mount
image=$build/bench/image
trap 'umount "$point" 2>/dev/null; rm -rf "$point" "$image"' EXIT
trap 'exit 1' HUP INT TERM
mkdir -p "$point"
for kind in xfs btrfs; do
	rm -f "$image"
	truncate -s 4G "$image"
	case $kind in
	xfs) mkfs.xfs -q -m reflink=1 "$image" ;;
	btrfs) mkfs.btrfs -q "$image" >/dev/null ;;
	esac && mount -o loop -t "$kind" "$image" "$point" || exit 1
	"$build/bench/gain" --suite "$kind" --scratch "$point" --markdown "$build/bench/share-$kind.md" "$@"
	umount "$point"
done
