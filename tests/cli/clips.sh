# clips.sh - makes the clips that the scripts search: sourced after tap.sh.
#
# SPDX-License-Identifier: BSD-2-Clause
need ffmpeg ffprobe

ff() {
	ffmpeg -nostdin -hide_banner -v error -y "$@" < /dev/null
}

x264="-c:v libx264 -threads 1 -pix_fmt yuv420p"

# A texture without a repeat within 64 px, the same on every machine (geq's random() is not).
texture() {
	[ -f tex.png ] || ff -f lavfi -i "nullsrc=s=640x480:d=1:r=1,format=gray,geq=lum='255*mod(abs(43758.5453*sin(12.9898*X+78.233*Y)),1)',gblur=sigma=1.2" -frames:v 1 tex.png
}

# shift FILE WxH FRAMES FORMAT [OPTIONS]: lossless; the content moves 3 px left and 2 px up each
# frame, so that the vectors are (+3, +2).
shift_clip() {
	shift_file=$1 shift_w=${2%x*} shift_h=${2#*x} shift_n=$3 shift_format=$4
	shift 4
	[ $# -gt 0 ] || set -- -c:v ffv1
	texture && ff -loop 1 -framerate 25 -i tex.png -vf "crop=w=$shift_w:h=$shift_h:x='20+3*n':y='20+2*n':exact=1,format=$shift_format" \
		-frames:v "$shift_n" "$@" "$shift_file"
}

# 50 frames with B-frames, 320x240; time stamps 512 apart.
bframes() {
	ff -f lavfi -i testsrc2=s=320x240:r=25:d=2 $x264 -bf 3 "${1:-bframes.mp4}"
}

# 100 frames, 320x240.
long_clip() {
	ff -f lavfi -i testsrc2=s=320x240:r=25:d=4 $x264 -bf 2 -g 25 "${1:-long.mp4}"
}

# head_of FILE TENTHS OUT: the first tenths of a file's bytes.
head_of() {
	head -c $(($(wc -c < "$1") * $2 / 10)) "$1" > "$3"
}

# rotate IN DEGREES OUT: the same video, which players turn clockwise: by FFmpeg's way up to 5, and
# that from 6 on.
rotate() {
	ff -i "$1" -c copy -metadata:s:v:0 "rotate=$2" "$3"
	ffprobe -v error -show_entries stream_side_data=rotation -of csv=p=0 "$3" | grep -q 0 ||
		ff -display_rotation $((-$2)) -i "$1" -c copy "$3"
}
