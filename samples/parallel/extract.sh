#!/bin/sh
# extract.sh [-n SHARDS] [-S HOST,HOST...] [-j JOBS] LIST OUT [OPTIONS OF mvfield extract...]
#
# Extracts the videos that LIST names, one a line, with GNU parallel: SHARDS parts a file (default 8),
# on this machine or on the HOSTs, JOBS at a time on each (default: one a processor), and then merges
# each file's shards to OUT/NAME.mvf.
#
# With hosts, these are reached by ssh without a password, and see LIST, OUT and the videos under the
# same names. ":" is this machine. Run it again at any time: what is finished is left alone, and what
# failed is tried again. MVFIELD names the program, if it is not in the hosts' PATH.
#
# SPDX-License-Identifier: BSD-2-Clause
set -eu

usage() {
	sed -n '2,/^$/s/^# \{0,1\}//p' "$0" | sed '/^SPDX/d' >&2
	exit 2
}

shards=8 hosts=: jobs=100%
while getopts n:S:j: option; do
	case $option in
	n) shards=$OPTARG ;;
	S) hosts=$OPTARG ;;
	j) jobs=$OPTARG ;;
	*) usage ;;
	esac
done
shift $((OPTIND - 1))
[ $# -ge 2 ] || usage
case $shards in
'' | *[!0-9]* | 0*) usage ;;
esac
list=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")
shift 2
mvfield=${MVFIELD-mvfield}

# Names that would meet in OUT.
meeting=$(sed 's,.*/,,; s,\(.\)\.[^.]*$,\1,' "$list" | sort | uniq -d | head -n 3)
[ -z "$meeting" ] || {
	echo "extract.sh: more than one file would become $meeting.mvf; list them in different runs" >&2
	exit 2
}

# One thread a shard is the least work; a shard that is damaged but complete (3) is fine. parallel
# quotes what takes the place of {}.
status=0
parallel -S "$hosts" --jobs "$jobs" --retries 3 --joblog "$out/shards.log" \
	"test -e $out/{1/.}.mvf || { mkdir -p $out/{1/.}.shards && '$mvfield' extract {1} --threads 1 $* \
		--shard {2}/$shards -o $out/{1/.}.shards/{2}-of-$shards.mvf || test \$? = 3; }" \
	:::: "$list" ::: $(seq 0 $((shards - 1))) || status=$?
[ $status = 0 ] || echo "extract.sh: $status shards failed ($out/shards.log says which)" >&2

# A file of which a shard failed, since it cannot be cut where it is damaged, is extracted whole.
parallel -S "$hosts" --jobs "$jobs" --joblog "$out/merges.log" \
	"test -e $out/{/.}.mvf || { '$mvfield' merge $out/{/.}.shards/*-of-$shards.mvf -o $out/{/.}.mvf ||
		'$mvfield' extract {} --threads 1 $* -o $out/{/.}.mvf || test \$? = 3; } &&
		rm -rf $out/{/.}.shards" :::: "$list"
