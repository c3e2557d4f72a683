#!/bin/sh
# fuzz.sh SECONDS [FOLDER]: each fuzz target for so many seconds, under AddressSanitizer and
# UndefinedBehaviorSanitizer, built in FOLDER (build-tests/fuzz). What it learns stays there, in
# found-TARGET; an input that ends a target badly is left there as crash-TARGET-... and makes this
# fail. Needs clang with libFuzzer.
#
# SPDX-License-Identifier: BSD-2-Clause
set -eu
seconds=${1:?seconds}
root=$(cd "$(dirname "$0")/../.." && pwd)
folder=${2:-$root/build-tests/fuzz}
mkdir -p "$folder"
cd "$folder"
[ -f Makefile ] || "$root/configure" --enable-fuzzers --with-cuda=no --disable-shared CC=clang \
	CFLAGS="-O1 -g -fsanitize=address,undefined,fuzzer-no-link -fno-omit-frame-pointer"
make -j"$(getconf _NPROCESSORS_ONLN)" fuzzers
UBSAN_OPTIONS=halt_on_error=1
export UBSAN_OPTIONS
failed=
for corpus in "$root"/tests/fuzz/corpus/*; do
	name=${corpus##*/}
	mkdir -p "found-$name"
	"tests/fuzz/fuzz_$name" -max_total_time="$seconds" -max_len=4096 -timeout=120 \
		-rss_limit_mb=4096 -close_fd_mask=3 -print_final_stats=1 -artifact_prefix="crash-$name-" \
		"found-$name" "$corpus" > "$name.log" 2>&1 || failed="$failed $name"
	echo "$name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$name.log") executions"
done
[ -z "$failed" ] || { echo "failed:$failed"; exit 1; }
