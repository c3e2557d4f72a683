#!/bin/sh
# media_results.sh PROGRAM FOLDER - each video of the folder through extract (search and codec) and
# overlay; prints the table of TESTING.md: the frames that FFmpeg counts, and the exit status and the
# frames of each run. Exit status 1 where a run that had frames has not FFmpeg's number of them.
#
# SPDX-License-Identifier: BSD-2-Clause
set -u
program=$1 folder=$2
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
fast="--backend cpu --block 32 --range 2"

count() {
	ffprobe -v error -threads 1 -select_streams "$2" -count_frames -show_entries stream=nb_read_frames \
		-of csv=p=0 "$1" 2> /dev/null | head -n 1 | tr -d ,
}
rows() {
	[ ! -f "$1" ] || awk -F, 'NR > 1 && !seen[$1]++ { n++ } END { print n + 0 }' "$1"
}

result=0
echo "| file | FFmpeg | search | codec | overlay |"
echo "| --- | ---: | ---: | ---: | ---: |"
for file in "$folder"/*.* "$folder"/flow/*.p[np][gm] "$folder"/bench/*.mp4; do
	case $file in
	*.md | *.txt) continue ;;
	esac
	rm -f "$dir"/*
	stream=$("$program" info --json "$file" 2> /dev/null | sed -n 's/.*"stream": \([0-9]*\),.*/\1/p')
	wanted=
	[ -z "$stream" ] || wanted=$(count "$file" "$stream")
	case $wanted in
	'' | N/A) wanted=- ;;
	esac
	"$program" extract --quiet $fast "$file" -o "$dir/search.csv" 2> /dev/null
	search="$? $(rows "$dir/search.csv")"
	"$program" extract --quiet --vectors codec "$file" -o "$dir/codec.csv" 2> /dev/null
	codec="$? $(rows "$dir/codec.csv")"
	"$program" overlay --quiet $fast "$file" -o "$dir/overlay.mkv" 2> /dev/null
	overlay="$? $([ ! -f "$dir/overlay.mkv" ] || count "$dir/overlay.mkv" v:0)"
	echo "| ${file#"$folder"/} | $wanted | $search | $codec | $overlay |"
	for got in "$search" "$codec" "$overlay"; do
		case $got in
		"0 $wanted" | "3 $wanted" | "1 ") ;;
		*) result=1 ;;
		esac
	done
done
exit $result
