#!/bin/sh
# embed.sh OUT.fatbin.c IN.cu NVCC FLAGS...: compiles IN.cu to OUT.fatbin and writes it as the C array
# mvf_fatbin_NAME, aligned as the driver wants it and ended by a zero byte; OUT.d gets the headers
# that IN.cu includes, and OUT.ptxas the compiler's report on registers and spills.
set -eu
out=$1 in=$2
shift 2
base=${out%.fatbin.c}
name=$(basename "$base")
trap 'rm -f "$base.fatbin.tmp" "$out.tmp"' EXIT
"$@" --fatbin -Xptxas -v -MD -MF "$base.d.tmp" -MT "$out" -o "$base.fatbin.tmp" "$in" \
	2> "$base.ptxas" || { cat "$base.ptxas" >&2; exit 1; }
mv "$base.d.tmp" "$base.d"
{
	echo "/* Made from $name.cu by embed.sh. */"
	echo "extern const unsigned char mvf_fatbin_$name[];"
	echo "__attribute__((aligned(64))) const unsigned char mvf_fatbin_$name[] = {"
	od -An -v -tx1 "$base.fatbin.tmp" | sed 's/ \([0-9a-f][0-9a-f]\)/0x\1,/g'
	echo "0x00};"
} > "$out.tmp"
mv "$base.fatbin.tmp" "$base.fatbin"
mv "$out.tmp" "$out"
