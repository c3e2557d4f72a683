#!/bin/sh
# quickstart.sh: from a fresh clone to motion vectors in a file and on the video. Builds in build/;
# may be run again at any time and from any folder.
set -eu
cd "$(dirname "$0")/.."
log=$PWD/build/quickstart.log

step() {
	printf '\n== %s\n' "$*"
}

# Runs a command quietly and shows the end of what it said if it fails.
quietly() {
	if ! "$@" > "$log" 2>&1; then
		tail -n 30 "$log" >&2
		echo "This failed: $* (the whole output is in $log)" >&2
		exit 1
	fi
}

# The GPU that is there, or none: the whole list of architectures takes minutes to compile.
cuda_choice() {
	capability=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2> /dev/null |
		head -n 1 | tr -d '.')
	case $capability in
	*[0-9]) echo "--with-cuda=check --with-cuda-arch=$capability" ;;
	*) echo "--with-cuda=no" ;;
	esac
}

started=$(date +%s)
step "Build packages"
sh samples/debian-packages.sh build

step "Building"
mkdir -p build
[ -x configure ] || quietly autoreconf -fi
cd build
[ -f Makefile ] || quietly ../configure $(cuda_choice)
quietly make -j"$(getconf _NPROCESSORS_ONLN)"
cd ..

clip=samples/media/street-540p.mp4
step "mvfield extract $clip -o build/street.csv"
build/src/cli/mvfield extract $clip -o build/street.csv --overwrite
step "mvfield overlay $clip -o build/street-arrows.mp4"
build/src/cli/mvfield overlay $clip -o build/street-arrows.mp4 --overwrite

step "Done in $(($(date +%s) - started)) seconds"
echo "The first rows of the motion vectors (frame 0 has no frame before it):"
head -n 5 build/street.csv
echo
echo "vectors:  $PWD/build/street.csv ($(wc -l < build/street.csv) lines)"
echo "overlay:  $PWD/build/street-arrows.mp4"
echo "command:  $PWD/build/src/cli/mvfield --help"
