#!/bin/sh
# threads.sh [FOLDER]: what runs in several threads, under ThreadSanitizer; built in FOLDER
# (build-tests/threads). Needs clang.
#
# SPDX-License-Identifier: BSD-2-Clause
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
folder=${1:-$root/build-tests/threads}
clip=$root/samples/media/street-540p.mp4
mkdir -p "$folder"
cd "$folder"
[ -f Makefile ] || "$root/configure" --with-cuda=no --disable-shared CC=clang \
	CFLAGS="-O1 -g -fsanitize=thread"
make -j"$(getconf _NPROCESSORS_ONLN)" \
	src/cli/mvfield tests/load tests/unit/searcher
TSAN_OPTIONS="exitcode=66 suppressions=$root/tests/sanitizers/threads.supp"
export TSAN_OPTIONS
tests/unit/searcher
tests/load together 8 cpu 33x21
search="--backend cpu --threads 4 --frames 3 --range 4 --format null"
src/cli/mvfield extract "$clip" $search
src/cli/mvfield extract "$clip" $search --method hier --reference both
src/cli/mvfield extract "$clip" $search --partitions square --block 64 --subpel quarter
src/cli/mvfield extract "$clip" --backend cpu --threads 4 --frames 2 --preset truemotion --effort low \
	--format null
src/cli/mvfield overlay "$clip" --backend cpu --threads 4 --frames 3 --range 4 -o overlay.avi --overwrite
long=$folder/long.mkv
ffmpeg -nostdin -v error -y -f lavfi -i testsrc2=s=128x96:r=25:d=10 -c:v libx264 -g 30 -bf 2 \
	-x264-params open-gop=1 "$long"
for reference in previous both; do
	src/cli/mvfield extract "$long" --backend cpu --threads 4 --range 1 --block 32 \
		--reference $reference --decoders 3 --format null
done
