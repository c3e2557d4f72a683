#!/bin/sh
# peers.sh [CLIP]: mvfield's own speed, and against other searches on the same frames; the table on
# standard output, the figures in bench.json and bench-peers.json. `make bench` runs it; CLIP is
# then given as BENCH_CLIP=. PYTHON: a Python 3, which decides whether OpenCV and mvtools are found.
#
# SPDX-License-Identifier: BSD-2-Clause
set -eu
: "${top_srcdir:?}" "${top_builddir:?}"
program=$top_builddir/src/cli/mvfield
clip=${1:-$top_srcdir/../shared/media/bench/mix-1080p-h264.mp4}
[ -n "${1-}" ] || [ -f "$clip" ] || clip=$top_srcdir/samples/media/street-540p.mp4
python=${PYTHON:-python3}
"$program" bench "$clip" --start "${MVF_BENCH_START:-0}" --json bench.json --overwrite
if ! command -v "$python" > /dev/null; then
	echo "skipped: the peers need Python 3"
	exit 0
fi
echo
status=0
"$python" "$top_srcdir/tests/bench/peers.py" "$program" "$clip" bench-peers.json || status=$?
[ $status = 77 ] || exit $status
