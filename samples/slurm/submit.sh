#!/bin/sh
# submit.sh [-g] [-n SHARDS] [-p PARALLEL] LIST OUT [OPTIONS OF mvfield extract...]
#
# Extracts the videos that LIST names, one a line, on a Slurm cluster: an array job with SHARDS tasks a
# file (default 8), and after it an array job that merges each file's shards to OUT/NAME.mvf.
#
#   -g  a GPU a task (--gres=gpu:1 and --backend cuda) instead of processors alone
#   -p  at most so many tasks at a time
#
# LIST, OUT and the videos have to be where all nodes see them, under the same name. Run it again at any
# time: what is finished is left alone. SBATCH_PARTITION, SBATCH_ACCOUNT and other SBATCH_ variables
# work as usual; MVFIELD names the program, if it is not in the nodes' PATH.
#
# SPDX-License-Identifier: BSD-2-Clause
set -eu
here=$(cd "$(dirname "$0")" && pwd)

usage() {
	sed -n '2,/^$/s/^# \{0,1\}//p' "$0" | sed '/^SPDX/d' >&2
	exit 2
}

gpu=no shards=8 parallel=
while getopts gn:p: option; do
	case $option in
	g) gpu=yes ;;
	n) shards=$OPTARG ;;
	p) parallel=%$OPTARG ;;
	*) usage ;;
	esac
done
shift $((OPTIND - 1))
[ $# -ge 2 ] || usage
case $shards in
'' | *[!0-9]* | 0*) usage ;;
esac
MVF_LIST=$(realpath "$1")
mkdir -p "$2"
MVF_OUT=$(realpath "$2")
shift 2
MVF_SHARDS=$shards MVF_OPTIONS=$* MVFIELD=${MVFIELD-mvfield}
n_files=$(grep -c '' "$MVF_LIST")
[ "$n_files" -gt 0 ] || {
	echo "submit.sh: $MVF_LIST names no file" >&2
	exit 1
}

# Names that would meet in OUT.
meeting=$(sed 's,.*/,,; s,\(.\)\.[^.]*$,\1,' "$MVF_LIST" | sort | uniq -d | head -n 3)
[ -z "$meeting" ] || {
	echo "submit.sh: more than one file would become $meeting.mvf; list them in different runs" >&2
	exit 2
}

machine="--cpus-per-task=${MVF_CPUS-1}"
[ $gpu = no ] || {
	machine="--gres=gpu:1 --cpus-per-task=${MVF_CPUS-4}"
	MVF_OPTIONS="$MVF_OPTIONS --backend cuda"
}

# A cluster takes arrays up to a size, so there may have to be several.
largest=$(scontrol show config | sed -n 's/^MaxArraySize *= *//p')
largest=${largest:-1001}
mkdir -p "$MVF_OUT/log"

# arrays SCRIPT N OPTIONS...: submits N tasks of the script; their jobs' numbers, each after a colon.
arrays() {
	script=$1 n=$2 MVF_FIRST=0
	shift 2
	export MVF_LIST MVF_OUT MVF_SHARDS MVF_OPTIONS MVFIELD MVF_FIRST
	while [ $MVF_FIRST -lt "$n" ]; do
		last=$(((n - MVF_FIRST < largest ? n - MVF_FIRST : largest) - 1))
		job=$(sbatch --parsable --requeue --open-mode=append --array="0-$last$parallel" \
			--output="$MVF_OUT/log/%x-%A-%a" "$@" "$here/$script")
		printf ':%s' "${job%%;*}"
		MVF_FIRST=$((MVF_FIRST + last + 1))
	done
}

shard_jobs=$(arrays shard.sbatch $((n_files * shards)) $machine)
# After any end of the shards: those that failed are the merge's to deal with.
merge_jobs=$(arrays merge.sbatch "$n_files" $machine --dependency="afterany$shard_jobs")
echo "shards: ${shard_jobs#:}"
echo "merges: ${merge_jobs#:}"
