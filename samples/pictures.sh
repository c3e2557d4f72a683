#!/bin/sh
# pictures.sh [FOLDER]: makes the README's pictures, one of each mode, from the sample clip. Takes
# mvfield from the build folder, or the program that MVFIELD names; needs ffmpeg to make them small.
set -eu
cd "$(dirname "$0")/.."
to=${1:-doc/pictures}
mvfield=${MVFIELD:-build/src/cli/mvfield}
clip=samples/media/street-540p.mp4
part=$(mktemp -d)
trap 'rm -rf "$part"' EXIT
mkdir -p "$to"

# picture NAME OPTIONS...: one frame, 560 px wide.
picture() {
	name=$1
	shift
	"$mvfield" overlay --quiet --frame 21 --legend --caption "$@" "$clip" -o "$part/$name.png"
	ffmpeg -nostdin -v error -y -i "$part/$name.png" -vf scale=560:-2:flags=lanczos -q:v 9 \
		"$to/$name.jpg"
}

picture arrows --draw arrows --lambda 8 --range 24 --block 32 --scale 3
picture wheel --draw wheel --preset truemotion --max-motion 12
picture cost --draw cost --block 8
picture grid --draw grid,arrows --lambda 8 --block 32 --scale 3
picture partitions --draw partitions --preset encoder --reference both
"$mvfield" extract --quiet --frames 22 "$clip" -o "$part/exact.mvf"
picture difference --draw difference --against "$part/exact.mvf" --lambda 16
picture side --draw wheel --preset truemotion --max-motion 12 --layout side --ground black
ls -l "$to"
