#!/bin/sh
# What the compiler said of each kernel, for every architecture in the build: no stack frame and
# nothing spilled to local memory. Exit status 77 in a build without kernels.
set -eu
reports=$(find "$top_builddir/kernels" "$top_builddir/tests" -name '*.ptxas' 2>/dev/null)
test -n "$reports" || { echo "skipped: no kernels in this build"; exit 77; }
# shellcheck disable=SC2086
awk '
	/Compiling entry function/ { split($0, quoted, "\047"); entry = quoted[2] " " quoted[4] }
	/bytes stack frame/ {
		n++
		if ($1 + $5 + $9 > 0) { print "FAIL: " entry ": " $0; failed = 1 }
	}
	/Used [0-9]+ registers/ { print entry ": " substr($0, index($0, "Used")) }
	END {
		if (!n) { print "FAIL: no kernel in the reports"; failed = 1 }
		print n " kernels, none may spill"
		exit failed
	}' $reports
