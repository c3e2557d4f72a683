#!/bin/sh
# The CUDA half of check_kernels on the CPU: see tests/cuda_emulator/emulator.h. Two orders in which
# threads and streams go on, or those of MVF_EMULATED_SEEDS. Exit status 77 in a build without it.
#
# SPDX-License-Identifier: BSD-2-Clause
set -eu
emulator=$top_builddir/tests/cuda_emulator
test -f "$emulator/libcuda.so.1" || { echo "skipped: no CUDA emulator in this build"; exit 77; }
LD_LIBRARY_PATH=$emulator${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
MVF_REQUIRE_GPU=1
export LD_LIBRARY_PATH MVF_REQUIRE_GPU
for seed in ${MVF_EMULATED_SEEDS:-1 2}; do
	echo "emulated with seed $seed"
	CUDA_EMULATOR_SEED=$seed "$top_builddir/tests/check_kernels" --cuda --small --seed "$seed"
done
