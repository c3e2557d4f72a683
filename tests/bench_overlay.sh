#!/bin/sh
# bench_overlay.sh CLIP [FRAMES [ROUNDS]]: how much of the overlay's time is not the encoder's.
#
# Four commands take turns, with the same encoder and settings: CLIP with its codec's vectors drawn as
# arrows; CLIP decoded alone; the pictures that the first one draws, encoded with nothing drawn; CLIP
# encoded with nothing drawn. Printed are the medians of their processor time (user and system, all threads),
# which a busy machine disturbs less than the time on the wall, and the ratios to the first.
#
# SPDX-License-Identifier: BSD-2-Clause
set -eu
clip=$1 frames=${2:-100} rounds=${3:-5}
mvfield=${MVFIELD:-src/cli/mvfield}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# seconds COMMAND...: of processor time.
seconds() {
	python3 -c 'import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print("%.3f" % (used.ru_utime + used.ru_stime))' "$@"
}
overlay() {
	seconds "$mvfield" overlay --quiet --overwrite --frames "$frames" "$@"
}
median() {
	sort -n "$1" | sed -n "$(($(grep -c . "$1") / 2 + 1))p"
}

overlay --vectors codec --draw arrows "$clip" -o "$dir/drawn.y4m" > /dev/null
for round in $(seq "$rounds"); do
	overlay --vectors codec --draw arrows "$clip" -o "$dir/out.mp4" >> "$dir/arrows"
	overlay --draw none "$clip" -o "$dir/out.y4m" >> "$dir/decode"
	overlay --draw none "$dir/drawn.y4m" -o "$dir/out.mp4" >> "$dir/same"
	overlay --draw none "$clip" -o "$dir/out.mp4" >> "$dir/none"
done
for what in arrows decode same none; do
	eval "$what=$(median "$dir/$what")"
done
echo "$arrows $decode $same $none" | awk '{
	printf "decode, draw arrows, encode           %7.2f s\n", $1
	printf "decode, and encode the same pictures  %7.2f s   %.2f of it\n", $2 + $3, ($2 + $3) / $1
	printf "decode, encode without arrows         %7.2f s   %.2f of it\n", $4, $4 / $1
}'
