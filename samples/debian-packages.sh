#!/bin/sh
# debian-packages.sh build|test: installs the Debian packages that building (or building and
# testing) needs and that are not there yet. With nothing to install it needs no network. As
# another user than root it goes through sudo; where neither works it says what is missing.
set -eu

build="gcc make autoconf automake libtool pkg-config zlib1g-dev
libavformat-dev libavcodec-dev libavutil-dev libswscale-dev
libfreetype-dev libfontconfig-dev fonts-dejavu-core"
test="$build git xz-utils ffmpeg clang clang-format libclang-rt-14-dev g++ binutils libcmocka-dev
libavfilter-dev python3 python3-numpy valgrind locales zsh mandoc doxygen
debhelper dpkg-dev lintian slurm-wlm munge parallel python3-yaml"

case ${1-} in
build) wanted=$build ;;
test) wanted=$test ;;
*)
	echo "usage: debian-packages.sh build|test" >&2
	exit 2
	;;
esac

if ! command -v dpkg-query > /dev/null || ! command -v apt-get > /dev/null; then
	echo "Not a Debian system: going on without installing anything. Needed here, by Debian's names:"
	echo $wanted
	exit 0
fi

missing=
for package in $wanted; do
	state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2> /dev/null || true)
	[ "$state" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" = 0 ]; then
	as_root=
elif command -v sudo > /dev/null && { [ -t 0 ] || sudo -n true 2> /dev/null; }; then
	as_root=sudo
else
	echo "These Debian packages are missing, and only root (or sudo) can install them:" >&2
	echo "  apt-get install$missing" >&2
	exit 1
fi
echo "Installing:$missing"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { $as_root apt-get update && $as_root apt-get install -y --no-install-recommends $missing; } \
	> "$log" 2>&1; then
	tail -n 20 "$log" >&2
	echo "The packages could not be installed:$missing" >&2
	exit 1
fi
