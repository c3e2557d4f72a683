# tap.sh - what the TAP scripts share: sourced, not run.
#
# Each script gets a folder of its own, $dir, which is also the working directory and is removed at
# the end; so what lies in the source tree is named by $top_srcdir, never by $0. The
# plan is printed by done_testing, so a script that stops early is an error.
#
# SPDX-License-Identifier: BSD-2-Clause
set -u
LC_ALL=C
export LC_ALL
: "${top_srcdir:?}" "${top_builddir:?}"

# libtool's wrapper costs time at each start; the program behind it is what is tested.
program=$top_builddir/src/cli/mvfield
if [ -x "$top_builddir/src/cli/.libs/mvfield" ]; then
	program=$top_builddir/src/cli/.libs/mvfield
	LD_LIBRARY_PATH=$top_builddir/src/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
	export LD_LIBRARY_PATH
fi
sample=$top_srcdir/samples/media/street-540p.mp4
media=${MVF_MEDIA:-$top_srcdir/../shared/media}

dir=$(mktemp -d) || exit 99
trap 'cd / && rm -rf "$dir"' EXIT
trap 'exit 99' HUP INT TERM
cd "$dir" || exit 99
n_tests=0

diag() {
	printf '%s\n' "$*" | sed 's/^/# /'
}

pass() {
	n_tests=$((n_tests + 1))
	echo "ok $n_tests - $1"
}

fail() {
	n_tests=$((n_tests + 1))
	echo "not ok $n_tests - $1"
}

# ok DESCRIPTION COMMAND...: passes when the command does.
ok() {
	ok_what=$1
	shift
	if "$@"; then
		pass "$ok_what"
	else
		fail "$ok_what"
	fi
}

# is GOT WANTED DESCRIPTION
is() {
	if [ "$1" = "$2" ]; then
		pass "$3"
	else
		fail "$3"
		diag "got:    $1"
		diag "wanted: $2"
	fi
}

# like TEXT PATTERN DESCRIPTION: an extended regular expression, on any line.
like() {
	if printf '%s\n' "$1" | grep -Eq -- "$2"; then
		pass "$3"
	else
		fail "$3"
		diag "got:    $1"
		diag "wanted: /$2/"
	fi
}

# at_most VALUE LIMIT DESCRIPTION
at_most() {
	if [ "$1" -le "$2" ]; then
		pass "$3 ($1)"
	else
		fail "$3 ($1 > $2)"
	fi
}

skip() {
	n_tests=$((n_tests + 1))
	echo "ok $n_tests # SKIP $1"
}

skip_all() {
	echo "1..0 # SKIP $1"
	exit 0
}
# What tests/run.sh leaves to another of its builds.
case " ${MVF_ELSEWHERE-} " in
*" $(basename "$0" .tap) "*) skip_all "another build runs it" ;;
esac

need() {
	for need_tool; do
		command -v "$need_tool" > /dev/null || skip_all "there is no $need_tool"
	done
}

need_encoder() {
	for need_name; do
		ffmpeg -hide_banner -v error -h "encoder=$need_name" 2>&1 | grep -q '^Encoder ' ||
			skip_all "ffmpeg has no encoder $need_name"
	done
}

# Also checks what holds for every script: no unfinished file is left behind.
done_testing() {
	is "$(find "$dir" -name '*.part*')" "" "no unfinished file is left behind"
	echo "1..$n_tests"
}

# run ARGUMENTS...: the command's exit status in $status, its output in $out and $err (files out
# and err).
run() {
	status=0
	"$program" "$@" > "$dir/out" 2> "$dir/err" || status=$?
	out=$(cat "$dir/out")
	err=$(cat "$dir/err")
}

# extract IN ARGUMENTS...: a run on the CPU whose rows come in the file out.
extract() {
	run extract --backend cpu --format csv -o - "$@"
}

n_lines() {
	printf '%s' "$1" | grep -c '' || :
}

# What a csv file (default: out) says: its frames, the frames that have vectors, the number of
# blocks.
csv_frames() {
	awk -F, 'NR > 1 && !seen[$1]++ { n++ } END { print n + 0 }' "${1:-out}"
}
csv_fields() {
	awk -F, 'NR > 1 && $6 != "" && !seen[$1]++ { n++ } END { print n + 0 }' "${1:-out}"
}
csv_blocks() {
	awk -F, 'NR > 1 && $6 != "" { n++ } END { print n + 0 }' "${1:-out}"
}
csv_pts() {
	awk -F, 'NR > 1 && !seen[$1]++ { print $2 }' "${1:-out}"
}

# The columns that do not depend on the container: frame, and all of the block's.
csv_vectors() {
	cut -d, -f1,6- "${1:-out}"
}

# csv_shift W H [DX DY]: of the blocks whose content, moving as in shift_clip, is inside the previous
# frame, how many there are and how many do not have that very vector without cost.
csv_shift() {
	awk -F, -v w="$1" -v h="$2" -v dx="${3:-3}" -v dy="${4:-2}" '
		NR > 1 && $6 != "" && $8 + dx >= 0 && $9 + dy >= 0 && $8 + $10 + dx <= w &&
			$9 + $11 + dy <= h { n++; bad += $12 != dx || $13 != dy || $14 != 0 }
		END { print n + 0, bad + 0 }' out
}

# FFmpeg's answers.
probe_frames() {
	ffprobe -v error -select_streams "${2:-v:0}" -count_frames \
		-show_entries stream=nb_read_frames -of csv=p=0 "$1" 2> /dev/null | head -n 1 | tr -d ,
}
probe_pts() {
	ffprobe -v error -select_streams "${2:-v:0}" -show_entries frame=pts -of csv=p=0 "$1" \
		2> /dev/null | tr -d , | grep .
}
probe_stream() {
	ffprobe -v error -select_streams "${3:-v:0}" -show_entries "stream=$2" -of csv=p=0 "$1" |
		head -n 1 | sed 's/,$//'
}

# wait_catching PID: until the process catches SIGINT and SIGTERM, or is gone. Before it is another
# program it is a copy of this shell, which catches them, too.
wait_catching() {
	for wait_turn in $(seq 600); do
		[ "$(readlink "/proc/$1/exe")" != "$(readlink /proc/$$/exe)" ] || { sleep 0.1; continue; }
		case $(sed -n 's/^SigCgt:[[:space:]]*//p' "/proc/$1/status" 2> /dev/null) in
		*[4567cdef]??[2367abef] | '') return ;;
		esac
		sleep 0.1
	done
}

# wait_idle PID: until all threads of the process wait for something, five times in a row.
wait_idle() {
	wait_quiet=0
	for wait_turn in $(seq 600); do
		sleep 0.1
		if cat /proc/$1/task/*/stat 2> /dev/null | sed 's/.*) //' | grep -qv '^S'; then
			wait_quiet=0
		else
			wait_quiet=$((wait_quiet + 1))
		fi
		[ $wait_quiet -lt 5 ] || return
	done
}

has_gpu() {
	"$program" info | grep -q '^GPU [0-9]'
}
