#!/bin/sh
# debian.sh [SOURCE]: builds the Debian packages from a clean copy of the tree (SOURCE: a tarball or
# a folder instead), has lintian look at them, installs them, tries the command, the manual and the
# development files, and removes them again. For root on a Debian machine that has the
# Build-Depends; takes minutes. Ends with status 0 only if all of that went well.
#
# SPDX-License-Identifier: BSD-2-Clause
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
source=${1-$top}
work=$(mktemp -d)
packages="libmvfield0 libmvfield-dev libmvfield-video0 libmvfield-video-dev mvfield"
installed=no
cleanup() {
	cd /
	[ $installed = no ] || dpkg --purge $packages > "$work/purge" 2>&1 || cat "$work/purge" >&2
	rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 1' HUP INT TERM

step() {
	printf '== %s\n' "$*"
}
fail() {
	printf 'debian.sh: %s\n' "$*" >&2
	exit 1
}

step "a clean copy"
mkdir "$work/mvfield"
if [ -f "$source" ]; then
	tar -xf "$source" -C "$work/mvfield" --strip-components=1
else
	(cd "$source" && git ls-files -z | tar --null -T - -cf -) | tar -xf - -C "$work/mvfield"
fi
cd "$work/mvfield"

step "dpkg-buildpackage"
DEB_BUILD_OPTIONS="parallel=$(getconf _NPROCESSORS_ONLN)${DEB_BUILD_OPTIONS:+ $DEB_BUILD_OPTIONS}" \
	dpkg-buildpackage -b -us -uc > "$work/build.log" 2>&1 || {
	tail -n 40 "$work/build.log" >&2
	fail "the packages could not be built"
}
cd "$work"
ls ./*.deb

if command -v lintian > /dev/null; then
	step "lintian"
	lintian --fail-on error ./*.changes || fail "lintian found errors"
fi

step "installing"
for package in $packages; do
	if dpkg-query -W -f '${db:Status-Status}\n' "$package" 2> /dev/null | grep -qx installed; then
		fail "$package is installed on this machine already: remove it first"
	fi
done
installed=yes
# The debug symbols stay where they are.
dpkg -i $(ls ./*.deb | grep -v -e -dbgsym_) > install.log 2>&1 || {
	cat install.log >&2
	fail "the packages could not be installed"
}

step "trying"
clip=$work/mvfield/samples/media/street-540p.mp4
mvfield extract "$clip" --backend cpu --quiet --frames 3 -o street.csv
[ "$(wc -l < street.csv)" = 4082 ] || fail "the command wrote $(wc -l < street.csv) lines"
for page in "1 mvfield" "1 mvfield-extract" "5 mvfield" "3 libmvfield"; do
	set -- $page
	find /usr/share/man/man"$1" -name "$2.$1*" | grep -q . || fail "the manual page $2($1) is missing"
done
gcc -Wall -Werror -o embed mvfield/samples/embed_minimal.c $(pkg-config --cflags --libs mvfield)
./embed > /dev/null
gcc -Wall -Werror -o coder mvfield/samples/lossless_coder.c \
	$(pkg-config --cflags --libs mvfield-video mvfield zlib)
./coder encode "$clip" coded 2 > /dev/null
gcc -Wall -Werror -o embed-static mvfield/samples/embed_minimal.c \
	$(pkg-config --cflags mvfield) -Wl,-Bstatic -lmvfield -Wl,-Bdynamic -lz -lm
./embed-static > /dev/null

step "removing"
dpkg --purge $packages > purge.log 2>&1 || {
	cat purge.log >&2
	fail "the packages could not be removed"
}
installed=no
[ -z "$(find /usr -name '*mvfield*' -path '/usr/[bls]*' ! -path '*/local/*' 2> /dev/null)" ] ||
	fail "this was left: $(find /usr -name '*mvfield*' ! -path '*/local/*')"
echo "debian.sh: built, installed, tried and removed: $packages"
