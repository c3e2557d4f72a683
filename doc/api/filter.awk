# filter.awk: shows doxygen the public headers as it wants them. Comments become documentation, the
# first one that of the file; a comment serves all declarations below it up to the next comment or
# empty line, so each of them gets it; and a line that declares several members becomes one line
# for each.
#
# SPDX-License-Identifier: BSD-2-Clause

function declare(line,    type, names, each, n, i) {
	if (line !~ /^    [a-z_0-9]+ \*?[a-z_0-9]+(, \*?[a-z_0-9]+)+;$/) {
		printf "%s%s\n", comment, line
		return
	}
	names = type = line
	sub(/^ *[a-z_0-9]+ /, "", names)
	sub(/;$/, "", names)
	sub(/^ */, "", type)
	sub(/ .*/, "", type)
	n = split(names, each, /, /)
	for (i = 1; i <= n; i++)
		printf "%s    %s %s;\n", comment, type, each[i]
}

/^ *\/\*/ && !inside {
	inside = 1
	comment = ""
	sub(/\/\*/, "/**")
}
inside {
	if (FNR == 2) {
		name = $2
		sub(/^ \* [^ ]* - /, "")
		$0 = " * @file " name "\n * " $0
	}
	comment = comment $0 "\n"
	if (/\*\//) {
		inside = 0
		if (comment ~ /@file/) {
			printf "%s", comment
			comment = ""
		}
	}
	next
}
/^$/ { comment = "" }
# The first lines of declarations; what goes on on further lines is indented deeper.
/^(    [a-z]|    MVF_|MVF_API |#define |typedef |enum )/ {
	declare($0)
	next
}
{ print }
