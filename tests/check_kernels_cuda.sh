#!/bin/sh
# The CUDA half of check_kernels: exit status 77 without a device.
exec "$top_builddir/tests/check_kernels" --cuda
