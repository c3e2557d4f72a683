#!/bin/sh
# valgrind.sh FOLDER: unit tests and small runs of the build in FOLDER under valgrind, which finds
# what is used before it has a value, in code that the compiler cannot instrument too.
#
# SPDX-License-Identifier: BSD-2-Clause
set -eu
cd "${1:?a folder with a build}"
under="./libtool --mode=execute valgrind -q --error-exitcode=9 --leak-check=full"
under="$under --errors-for-leak-kinds=definite"
for test in base field flow mvf sink; do
	$under tests/unit/$test
done
small=$(mktemp -d)
trap 'rm -rf "$small"' EXIT
ffmpeg -nostdin -v error -f lavfi -i testsrc2=s=64x48:r=25:d=0.12 -c:v mpeg4 "$small/in.avi"
search="--backend cpu --threads 1 --range 3"
$under src/cli/mvfield extract "$small/in.avi" $search -o "$small/a.npz" --compress 6
$under src/cli/mvfield extract "$small/in.avi" $search --subpel quarter -o "$small/a.mvf"
$under src/cli/mvfield extract "$small/a.mvf" -o "$small/a.csv"
$under src/cli/mvfield overlay "$small/in.avi" $search --codec mpeg4 -o "$small/a.avi"
