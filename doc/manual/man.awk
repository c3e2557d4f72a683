# man.awk: makes a manual page of pages in Markdown.
#   awk -v version='mvfield 0.1.0' [-v title='NAME(SECTION): SUMMARY'] [-v help=FILE] -f man.awk
#       PAGE.md...
# The title is the first line of the first page, if it is not given; further pages become one
# section each. Of Markdown it knows what the pages use: headings, paragraphs, "- " lists, tables,
# indented literal text, `code`, **bold**, *emphasis* and [links](of files). The body of a section
# Options is made of what the command's --help printed into FILE.
#
# SPDX-License-Identifier: BSD-2-Clause

# From "NAME(SECTION): SUMMARY".
function begin(title,    name, section) {
	name = section = title
	sub(/\(.*/, "", name)
	sub(/^[^(]*\(/, "", section)
	sub(/\).*/, "", section)
	sub(/^[^:]*: */, "", title)
	print "'\\\" t"
	printf ".TH %s %s \"\" \"%s\"\n.nh\n.ad l\n", toupper(name), section, version
	printf ".SH NAME\n%s \\- %s\n", name, inline(title)
}

# One character at a time, so that what roff would read as its own is escaped wherever it stands.
function escape(text, code,    i, c, out) {
	for (i = 1; i <= length(text); i++) {
		c = substr(text, i, 1)
		out = out (c == "\\" ? "\\e" : c == "-" && code ? "\\-" : c == "'" && code ? "\\(aq" : \
			c == "~" ? "\\(ti" : c == "^" ? "\\(ha" : c == "`" ? "\\(ga" : c)
	}
	return out
}

# Up to the next mark: *, **, ` or [.
function inline(text,    out, at, mark, end, rest) {
	while (match(text, /[*`\[]/)) {
		out = out escape(substr(text, 1, RSTART - 1), 0)
		text = substr(text, RSTART)
		mark = substr(text, 1, 2) == "**" ? "**" : substr(text, 1, 1)
		rest = substr(text, length(mark) + 1)
		end = index(rest, mark == "[" ? "](" : mark)
		if (!end || (mark == "*" && rest ~ /^ /)) {
			out = out escape(mark, 0)
			text = rest
			continue
		}
		at = substr(rest, 1, end - 1)
		text = substr(rest, end + length(mark))
		if (mark == "[") {
			text = substr(text, index(text, ")") + 1)
			out = out inline(at)
		} else if (mark == "*") {
			out = out "\\fI" inline(at) "\\fR"
		} else {
			out = out "\\fB" (mark == "`" ? escape(at, 1) : inline(at)) "\\fR"
		}
	}
	return out escape(text, 0)
}

# A line that starts as roff's own would.
function text_line(line) {
	return line ~ /^[.']/ ? "\\&" line : line
}

function flush() {
	if (paragraph != "")
		print text_line(inline(paragraph))
	paragraph = ""
	if (literal)
		print ".fi\n.RE"
	literal = 0
	if (table)
		print ".TE"
	table = 0
}

function table_row(line,    n, i, cells, out) {
	gsub(/\\\|/, "\001", line)
	n = split(line, cells, / *\| */)
	if (!table) {
		print (first ? "" : ".PP\n") ".TS\ntab(@);"
		for (i = 2; i < n; i++)
			out = out (i > 2 ? " " : "") "lb"
		out = out "\n"
		for (i = 2; i < n; i++)
			out = out (i > 2 ? " " : "") (i == n - 1 ? "lx" : "l")
		print out "."
		out = ""
	} else if (line ~ /^\|[-| ]*$/) {
		return
	}
	for (i = 2; i < n; i++) {
		gsub("\001", "|", cells[i])
		out = out (i > 2 ? "@" : "") "T{\n" text_line(inline(cells[i])) "\nT}"
	}
	print out
	table = 1
}

# The options as their help lists them: two blanks and the name, then what it does, wrapped.
function options(    line, n, parts, text) {
	while ((getline line < help) > 0) {
		if (line ~ /^[A-Z].*:$/) {
			option(text)
			text = ""
			sub(/:$/, "", line)
			if (line != "Options")
				printf ".SS %s\n", escape(line, 0)
		} else if (line ~ /^  --/) {
			option(text)
			n = split(substr(line, 3), parts, /   */)
			text = parts[1] "\n" (n > 1 ? parts[2] : "")
		} else if (line ~ /^         / && text != "") {
			sub(/^ */, "", line)
			text = text (text ~ /\n$/ ? "" : " ") line
		} else if (text != "") {
			option(text)
			text = ""
		}
	}
	close(help)
}

function option(text,    lines, words) {
	if (text == "")
		return
	split(text, lines, "\n")
	split(lines[1], words, " ")
	printf ".TP\n"
	if (words[1] == "--output")
		printf "\\fB\\-o\\fR \\fI%s\\fR, ", words[2]
	printf "\\fB%s\\fR%s\n%s\n", escape(words[1], 1),
		words[2] == "" ? "" : " \\fI" escape(words[2], 1) "\\fR", text_line(escape(lines[2], 0))
}

FNR == 1 { n_pages++ }
/^<!--.*-->$/ { next }
/^# / {
	flush()
	if (n_pages == 1) {
		begin(title == "" ? substr($0, 3) : title)
		untitled = 1
	} else
		printf ".SH %s\n", toupper(inline(substr($0, 3)))
	first = 1
	next
}
/^## / && n_pages == 1 {
	flush()
	skipped = untitled = 0
	heading = toupper(substr($0, 4))
	printf ".SH %s\n", inline(heading)
	if (heading == "OPTIONS") {
		options()
		skipped = 1
	}
	first = 1
	next
}
skipped { next }
untitled && !/^$/ {
	print ".SH DESCRIPTION"
	untitled = 0
}
/^###? / {
	flush()
	sub(/^#+ /, "")
	printf ".SS %s\n", inline($0)
	first = 1
	next
}
/^$/ {
	if (!literal)
		flush()
	else
		blank = 1
	next
}
/^    / && paragraph == "" {
	if (!literal)
		print (first ? "" : ".PP\n") ".RS 4\n.nf"
	else if (blank)
		print ""
	literal = 1
	blank = first = 0
	print text_line(escape(substr($0, 5), 1))
	next
}
/^\|/ {
	if (!table)
		flush()
	table_row($0)
	first = 0
	next
}
/^- / {
	flush()
	print ".IP \\(bu 2"
	first = 0
	paragraph = substr($0, 3)
	next
}
{
	if (literal || table)
		flush()
	if (paragraph == "" && !first)
		print ".PP"
	first = blank = 0
	sub(/^ +/, "")
	paragraph = paragraph (paragraph == "" ? "" : " ") $0
}
END { flush() }
