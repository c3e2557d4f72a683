#!/bin/sh
# tables.sh [CLIP]: measures the tables of PERFORMANCE.md again, as far as this machine can, under the
# headings that they have there, and says what it skips and why. `make bench [BENCH_CLIP=CLIP]
# [BENCH_ONLY='HEADING...']` runs it; the figures against other searches are saved in bench.json,
# bench-peers.json and bench-flow.json. Without a clip it takes the one that PERFORMANCE.md was measured on, if it is
# there, else the sample.
#
# SPDX-License-Identifier: BSD-2-Clause
set -eu
: "${top_srcdir:?}" "${top_builddir:?}"
program=$top_builddir/src/cli/mvfield
media=${MVF_MEDIA:-$top_srcdir/../shared/media}
bench_clip=$media/bench/mix-1080p-h264.mp4
sample=$top_srcdir/samples/media/street-540p.mp4
clip=${1-}
[ -n "$clip" ] || clip=$bench_clip
[ -f "$clip" ] || clip=$sample
python=${PYTHON:-python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' HUP INT TERM

# Each table has the heading of PERFORMANCE.md that it stands under; those without a command of
# their own are accounts of what was done once.
tables() {
	cat << 'END'
cuda_rows	CUDA, elimination and brute force (`kernels/search_eliminate.cu`, `kernels/search_exhaust.cu`)
-	One frame alone
cuda	CUDA, general kernels (`kernels/search.cu`)
minimum	The minimum and its place (`tests/minimum.cu`)
same_bits	The same bits
cuda_hier	CUDA, method hier (`kernels/hier_*.cu`)
same_bits_hier	The same bits by method hier
cuda_command	CUDA, the calling thread
cpu	CPU
-	What limits it
-	What was tried
peers	Against other searches
encoders	What encoders ask for
true	How true
flow	Against OpenCV, with noise and in other light
work	How much work
fast	How fast
smooth	Smooth fields of blocks
formats	Formats
decoders	Several decoders
hours	Many hours
-	Decoding on the GPU
drawing	Drawing
overlay	The whole overlay
END
}

if [ "${1-}" = --list ]; then
	tables
	exit 0
fi

skipped() {
	printf 'skipped: %s\n' "$*"
}
has_python() {
	command -v "$python" > /dev/null || { skipped "it needs Python 3"; return 1; }
}
has_gpu() {
	"$program" info | grep -q '^GPU [0-9]' || {
		skipped "$("$program" info | sed -n 's/^GPU *none: /there is no GPU: /p')"
		return 1
	}
}
# What follows is processor time of one thread.
seconds() {
	set -- $("$python" "$top_srcdir/tests/cli/measure.py" "$program" extract --quiet --backend cpu \
		--threads 1 --format null "$@")
	[ "$1" = 0 ] || { echo "failed with status $1" >&2; return 1; }
	echo "$4"
}

# bench_cuda ARGUMENTS...: check_kernels on the frames of the clip.
bench_cuda() {
	has_gpu || return 0
	[ -f "$work/luma.raw" ] ||
		ffmpeg -nostdin -v error -i "$clip" -map 0:v:0 -pix_fmt gray -f rawvideo "$work/luma.raw"
	MVF_REQUIRE_GPU=1 "$top_builddir/tests/check_kernels" --cuda --bench --clip "$work/luma.raw" "$@"
}

run_cuda_rows() {
	bench_cuda --only "bench rows"
}

run_cuda() {
	bench_cuda --only "bench shapes"
}

run_minimum() {
	bench_cuda --only minimum
}

run_cuda_hier() {
	bench_cuda --only "bench hier"
}

# same_bits OPTION...: the digest of the sample's vectors by both engines.
same_bits() {
	has_gpu || return 0
	for backend in cpu cuda; do
		printf '%s  %s\n' "$("$program" extract --quiet --backend $backend "$@" --format md5 \
			"$sample" -o -)" $backend
	done
}

run_same_bits() {
	same_bits --range 32
}

run_same_bits_hier() {
	same_bits --method hier --range 64
}

# The scenes of the clip of PERFORMANCE.md; of any other, its first frames.
run_cpu() {
	bench_scenes --backend cpu --threads 1
}

# bench_scenes OPTION...
bench_scenes() {
	if [ "$clip" != "$bench_clip" ]; then
		"$program" bench "$clip" "$@" --start "${MVF_BENCH_START:-0}"
		return
	fi
	for scene in "0 30 bunny" "30 54 street" "84 77 wall"; do
		printf '%s: ' "${scene##* }"
		scene=${scene% *}
		"$program" bench "$clip" "$@" --start "${scene% *}" --frames "${scene#* }"
	done
}

# Both methods at their usual ranges, and other block sizes.
run_cuda_command() {
	has_gpu || return 0
	bench_scenes --backend cuda
	for block in 8 32 64; do
		bench_scenes --backend cuda --block $block --range 32
	done
}

run_peers() {
	"$program" bench "$clip" --start "${MVF_BENCH_START:-0}" --json bench.json --overwrite
	has_python || return 0
	status=0
	"$python" "$top_srcdir/tests/bench/peers.py" "$program" "$clip" bench-peers.json || status=$?
	[ $status = 77 ] || return $status
}

run_encoders() {
	has_python || return 0
	start=41
	[ "$clip" = "$bench_clip" ] || start=2
	# One candidate a block is what a run takes besides the search.
	less=$(seconds "$clip" --start $start --frames 4 --range 0 --block 64)
	while read -r options; do
		took=$(seconds "$clip" --start $start --frames 4 $options)
		awk -v took="$took" -v less="$less" -v options="$options" \
			'BEGIN { printf "%8.3f s a field   %s\n", (took - less) / 3, options }'
	done << 'END'
--range 16
--subpel quarter
--subpel quarter --refine-metric satd
--lambda 5
--preset encoder
--preset encoder --cpu-level c
--preset encoder --partitions rect
--preset encoder --subpel none
END
	has_gpu || return 0
	MVF_REQUIRE_GPU=1 "$top_builddir/tests/check_kernels" --cuda --bench --only "bench shapes"
}

# The program prints the tables of three headings, in the order that they have there.
run_true() {
	"$top_builddir/tests/truemotion_accuracy" || [ $? = 77 ]
	# How well vectors predict: without motion, whole and quarter samples, and true motion.
	for set in "a --range 32" "b --range 32 --subpel quarter" "t --preset truemotion"; do
		set -- $set
		name=$1
		shift
		"$program" extract --quiet --backend cpu "$sample" --start 30 --frames 12 "$@" -o "$work/$name.mvf"
	done
	predicted() {
		"$program" compare "$work/$1.mvf" "$work/$1.mvf" --video "$sample" --start 30 --frames 12 \
			--quiet | sed -n "s/^$2  *//p"
	}
	printf 'street, PSNR: no motion %s, exact whole px %s, quarter px %s, true motion %s\n' \
		"$(predicted a 'without motion')" "$(predicted a 'prediction by A')" \
		"$(predicted b 'prediction by A')" "$(predicted t 'prediction by A')"
}

run_flow() {
	has_python || return 0
	status=0
	"$python" "$top_srcdir/tests/bench/flow.py" "$program" "$media/flow" bench-flow.json || status=$?
	[ $status = 77 ] || return $status
}

run_work() {
	echo "under: How true"
}

run_fast() {
	"$top_builddir/tests/check_kernels" --only truemotion --bench
}

run_smooth() {
	echo "errors: under: How true"
	has_python || return 0
	while read -r options; do
		took=$(seconds "$clip" --frames 20 $options)
		awk -v took="$took" -v options="$options" \
			'BEGIN { printf "%8.1f ms a frame   %s\n", took * 50, options }'
	done << 'END'
--smooth none
--smooth path
--subpel quarter
--subpel quarter --smooth path
--block 8
--block 8 --smooth path
END
	bench_cuda --only "bench smooth"
}

run_formats() {
	"$program" extract --quiet --backend cpu "$clip" --frames 33 -o "$work/fields.mvf"
	for format in csv jsonl npy "npz 0" "npz 1" "mvf 0" "mvf 1" "mvf 6" yuview md5; do
		set -- $format
		(cd "$work" && "$top_builddir/tests/bench_formats" "$1" "${2-0}" fields.mvf)
	done
}

run_decoders() {
	has_python || return 0
	for n in 1 2 4; do
		"$python" "$top_srcdir/tests/cli/measure.py" "$program" extract "$clip" --preset quick \
			--range 16 --backend cpu --format null --decoders "$n" --quiet |
			awk -v n="$n" '{ printf "%d decoders: %.2f s of processor time, %.0f MB\n", n, $4, $3 / 1024 }'
	done
}

# A long clip whole and in eight shards: processor seconds of each, and whether the bytes are the same.
run_hours() {
	has_python || return 0
	ffmpeg -nostdin -v error -stream_loop 23 -i "$clip" -map 0:v:0 -c copy "$work/loop.mp4"
	processor() {
		"$python" "$top_srcdir/tests/cli/measure.py" "$program" "$@" --quiet | cut -d ' ' -f 4
	}
	shards=0
	set -- "$work/loop.mp4" --backend cpu --threads 1 --compress 1
	whole=$(processor extract "$@" -o "$work/all.mvf")
	for i in 0 1 2 3 4 5 6 7; do
		shards="$shards + $(processor extract "$@" --shard $i/8 -o "$work/part-$i.mvf")"
	done
	merge=$(processor merge "$work"/part-?.mvf -o "$work/merged.mvf")
	cmp "$work/all.mvf" "$work/merged.mvf"
	n_bytes=$(wc -c < "$work/merged.mvf")
	awk "BEGIN { whole = $whole; shards = $shards; printf \
		\"whole %.2f s, 8 shards %.2f s (%+.1f %%); merged %.1f MB in %.2f s: the same bytes\\n\", \
		whole, shards, 100 * (shards / whole - 1), $n_bytes / 1e6, $merge }"
	"$python" "$top_srcdir/tests/bench/stragglers.py"
}

run_drawing() {
	"$top_builddir/tests/bench_draw"
}

run_overlay() {
	has_python || return 0
	ffmpeg -v error -h encoder=libx264 2> /dev/null | grep -q '^Encoder' || {
		skipped "this FFmpeg has no x264"
		return 0
	}
	MVFIELD=$program sh "$top_srcdir/tests/bench_overlay.sh" "$clip" 90 3
}

printf '%s\n' "clip: $clip"
"$program" info | sed -n '/^CPU /p; /^GPU /p'
tables > "$work/tables"
failed=0
while IFS='	' read -r name heading <&3; do
	case " ${BENCH_ONLY:-$name} " in
	*" $name "*) ;;
	*) continue ;;
	esac
	printf '\n== %s\n' "$heading"
	if [ "$name" = - ]; then
		skipped "an account of what was done once, without a command"
		continue
	fi
	# A condition would switch set -e off in it.
	set +e
	(set -e; "run_$name")
	status=$?
	set -e
	[ $status = 0 ] || { echo "FAILED: $name"; failed=1; }
done 3< "$work/tables"
exit $failed
