#!/bin/sh
# run.sh [--quick]: installs what the tests need (Debian packages, by name), builds and runs all of
# them, and ends in one line: N passed, N failed, N skipped. --quick: one build with the default
# compiler instead of gcc, clang, the sanitizers and a distribution check. May be run again at any
# time and from any folder; builds in build-tests/.
set -eu
cd "$(dirname "$0")/.."
root=$PWD
jobs=$(getconf _NPROCESSORS_ONLN)
passed=0 failed=0 skipped=0
quick=no
[ "${1-}" != --quick ] || quick=yes

started=$(date +%s)
step() {
	printf '\n== %s (after %d s)\n' "$*" $(($(date +%s) - started))
}

# one NAME COMMAND...: a step that counts as one test; shows the end of its output if it fails.
one() {
	name=$1
	shift
	if "$@" > "$root/build-tests/$name.log" 2>&1; then
		passed=$((passed + 1))
		echo "PASS: $name"
		return 0
	fi
	failed=$((failed + 1))
	tail -n 40 "$root/build-tests/$name.log"
	echo "FAIL: $name (the whole output is in build-tests/$name.log)"
	return 1
}

# Adds the counts of an automake test summary.
count() {
	passed=$((passed + $(sed -n 's/^# PASS: *//p' "$1" | tail -n 1)))
	skipped=$((skipped + $(sed -n 's/^# SKIP: *//p' "$1" | tail -n 1)))
	failed=$((failed + $(sed -n 's/^# \(FAIL\|XPASS\|ERROR\): *//p' "$1" | tail -n 3 |
		awk '{ n += $1 } END { print n + 0 }')))
}

# What each failed test of the suite in this folder printed where it failed and last.
ends_of_failed() {
	find tests -name '*.trs' -exec grep -lE '^:test-result: (FAIL|ERROR)' {} + | while read -r result; do
		printf -- '-- the end of %s/%s\n' "${PWD#"$root/"}" "${result%.trs}.log"
		grep -A 4 '^not ok ' "${result%.trs}.log" | head -n 40
		tail -n 5 "${result%.trs}.log"
	done
}

# suite NAME CONFIGURE-ARGUMENTS...: configures and builds in build-tests/NAME and runs the tests.
suite() {
	suite=$1
	shift
	step "$suite"
	mkdir -p "build-tests/$suite"
	cd "build-tests/$suite"
	if one "$suite-configure" ../../configure "$@" && one "$suite-build" make -j"$jobs" &&
		one "$suite-build-tests" make -j"$jobs" check TESTS=; then
		log=$root/build-tests/$suite-check.log
		# Some wait more than they work.
		make -j$((jobs + 1)) check > "$log" 2>&1 || true
		grep -E '^(PASS|FAIL|SKIP|ERROR|XPASS): ' "$log" | grep -v '^PASS' || true
		ends_of_failed
		if grep -q '^# PASS: ' "$log"; then
			count "$log"
		else
			tail -n 40 "$log"
			failed=$((failed + 1))
		fi
	fi
	cd "$root"
}

# The command of the README, in a tree whose build folder is that of the first suite.
quickstart() {
	rm -rf build-tests/quickstart
	mkdir build-tests/quickstart
	for entry in *; do
		[ "$entry" = build ] || ln -s "../../$entry" build-tests/quickstart/
	done
	ln -s ../gcc build-tests/quickstart/build
	build-tests/quickstart/samples/quickstart.sh &&
		[ -s build-tests/gcc/street.csv ] && [ -s build-tests/gcc/street-arrows.mp4 ]
}

step "packages"
sh samples/debian-packages.sh test
mkdir -p build-tests
step "autoreconf"
one autoreconf autoreconf -fi || true
# One build is enough for these: what another compiler or sanitizer cannot change, and what is long and
# meant for the sanitizers.
with_gcc="faults faults_cuda slurm format includes machine_code completion manual readme"
with_sanitizers="damage hostile signals"
# Files, processes, messages, memory and times: clang's own turn is for what it makes of the searches and
# the drawing, and the sanitizers' build is clang's as well.
without_clang="batch bench decoders live load messages outputs overlay python report"
without_clang="$without_clang resources samples seek shard source"
[ $quick = yes ] || export MVF_ELSEWHERE="$with_sanitizers"
suite gcc --enable-werror CC=gcc
if [ $quick = no ]; then
	MVF_ELSEWHERE="$with_gcc $with_sanitizers $without_clang"
	suite clang --enable-werror --with-cuda=no CC=clang
	MVF_ELSEWHERE=$with_gcc
	export ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=halt_on_error=1
	suite sanitizers --with-cuda=no --disable-shared CC=clang \
		CFLAGS="-O1 -g -fsanitize=address,undefined -fno-omit-frame-pointer"
	unset ASAN_OPTIONS UBSAN_OPTIONS
	step "threads, valgrind, fuzzing"
	one threads sh tests/sanitizers/threads.sh || true
	if command -v valgrind > /dev/null; then
		one valgrind sh tests/sanitizers/valgrind.sh build-tests/gcc || true
	else
		echo "SKIP: valgrind: there is none"
		skipped=$((skipped + 1))
	fi
	if echo 'int LLVMFuzzerTestOneInput(void); int LLVMFuzzerTestOneInput(void) { return 0; }' |
		clang -fsanitize=fuzzer -x c -o build-tests/fuzzer - 2> /dev/null; then
		one fuzzing sh tests/fuzz/fuzz.sh 3 || true
	else
		echo "SKIP: fuzzing: this clang has no libFuzzer"
		skipped=$((skipped + 1))
	fi
	step "distribution"
	cd build-tests/gcc
	# A tarball builds without the autotools: these would be their names.
	without="AUTOCONF=false AUTOHEADER=false AUTOMAKE=false ACLOCAL=false"
	one distcheck-without-cuda make -j"$jobs" distcheck \
		DISTCHECK_CONFIGURE_FLAGS="--with-cuda=no $without" TESTS= || true
	if grep -q "^NVCC = ." Makefile; then
		one distcheck-with-cuda make -j"$jobs" distcheck \
			DISTCHECK_CONFIGURE_FLAGS="--with-cuda=yes --with-cuda-arch=90 $without" TESTS= || true
	fi
	cd "$root"
	one quickstart quickstart || true
	if [ "$(id -u)" = 0 ] && command -v dpkg-buildpackage > /dev/null; then
		DEB_BUILD_OPTIONS=nocheck one debian-packages sh tests/packaging/debian.sh || true
	else
		echo "SKIP: debian-packages: only root on a Debian machine can install them"
		skipped=$((skipped + 1))
	fi
fi

printf '\n%d passed, %d failed, %d skipped\n' $passed $failed $skipped
[ $failed = 0 ]
