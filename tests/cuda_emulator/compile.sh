#!/bin/sh
# compile.sh OUT.o IN.cu KERNELS CXX FLAGS...: compiles the kernels of IN.cu for the emulator, with
# the table of their names that it finds them by. KERNELS is the folder where embed.sh left the
# fatbin, which stands for the module, and the compiler's report on registers and shared memory.
#
# SPDX-License-Identifier: BSD-2-Clause
set -eu
out=$1 in=$2 built=$3
shift 3
# What includes it lies elsewhere.
case $in in
/*) ;;
*) in=$PWD/$in ;;
esac
base=${out%.o}
name=$(basename "$in" .cu)
trap 'rm -f "$base.kernels" "$base.listed"' EXIT

# Each kernel's name and its greatest number of threads. The bounds are numbers by now.
"$@" -E -P -w -DEMULATOR_LISTS_KERNELS -x c++ "$in" | tr '\n' ' ' | sed 's/__global__/\
__global__/g' | grep '^__global__' > "$base.listed"
sed -n 's/^__global__ *void *__launch_bounds__ *( *\([0-9]*\)[^()]*) *\([A-Za-z0-9_]*\) *(.*/\2 \1/p' \
	"$base.listed" > "$base.kernels"
[ "$(wc -l < "$base.kernels")" = "$(wc -l < "$base.listed")" ] || {
	echo "$in: each kernel needs __launch_bounds__ of plain numbers between void and its name" >&2
	exit 1
}
{
	cat <<- END
		/* Made from $name.cu by compile.sh. */
		#include "$in"
		__asm__(".pushsection .rodata; .balign 64; emulated_image_$name: "
		        ".incbin \"$built/$name.fatbin\"; emulated_image_${name}_end: .popsection");
		extern "C" EMULATOR_API const unsigned char emulated_image_$name[],
		    emulated_image_${name}_end[];
	END
	awk -v name="$name" '
		FNR == NR {
			if (/Compiling entry function/) { split($0, quoted, "\047"); entry = quoted[2] }
			for (i = 2; i <= NF; i++) {
				if ($i ~ /^registers/ && $(i - 1) + 0 > registers[entry]) registers[entry] = $(i - 1) + 0
				if ($i == "smem" && $(i - 2) + 0 > shared[entry]) shared[entry] = $(i - 2) + 0
			}
			next
		}
		!($1 in registers) { print "#error \"ptxas says nothing of " $1 "\""; next }
		{
			print "EMULATED_KERNEL(" $1 ", " $2 ", " registers[$1] ", " shared[$1] + 0 ", " previous ")"
			previous = "&emulated_kernel_" $1
		}
		BEGIN { previous = "nullptr" }
		END {
			print "__attribute__((constructor)) static void register_module()"
			print "{"
			print "    static emulated_module module = {\"" name "\", emulated_image_" name ","
			print "        (size_t)(emulated_image_" name "_end - emulated_image_" name "), " previous ", nullptr};"
			print "    emulated_module_register(&module);"
			print "}"
		}' "$built/$name.ptxas" "$base.kernels"
} > "$base.cpp.tmp"
mv "$base.cpp.tmp" "$base.cpp"
"$@" -MD -MF "$base.d" -MT "$out" -c -o "$out" "$base.cpp"
