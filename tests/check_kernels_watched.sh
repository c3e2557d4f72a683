#!/bin/sh
# The kernels on the CPU with every access to memory watched: addresses that are not theirs, and
# accesses that no barrier or fence brings into an order; see tests/cuda_emulator/watch.c. Exit
# status 77 in a build without it.
#
# SPDX-License-Identifier: BSD-2-Clause
set -eu
emulator=$top_builddir/tests/cuda_emulator/watched
test -f "$emulator/libcuda.so.1" || { echo "skipped: no watching CUDA emulator in this build"; exit 77; }
LD_LIBRARY_PATH=$emulator${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
MVF_REQUIRE_GPU=1
export LD_LIBRARY_PATH MVF_REQUIRE_GPU
seed=${MVF_EMULATED_SEEDS:-1}
echo "emulated, memory watched"
for group in "rows, small" "hier, level" encoder search smooth pictures; do
	CUDA_EMULATOR_SEED=${seed%% *} "$top_builddir/tests/check_kernels" --cuda --small \
		--seed "${seed%% *}" --only "$group"
done
