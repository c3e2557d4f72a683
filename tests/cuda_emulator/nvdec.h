/*
 * nvdec.h - an NVDEC for tests: libnvcuvid.so.1 in the folder tests/cuda_emulator/nvdec of the
 * build, beside a libcuda.so.1 of emulator.h that has all the functions that FFmpeg looks for.
 *
 * It serves H.264 and HEVC of 8 bits, 4:2:0, 48x16 px and more. Slices, which are all that FFmpeg
 * hands over, are decoded by FFmpeg in software as they come, with the parameter sets of the video,
 * which all videos of a run have to share. Pictures are put into memory of the emulated device when
 * they are mapped, in order with the stream that the caller names, and turn into garbage when they
 * are given back, in order with it too. There are only as many surfaces as were asked for.
 *
 *   NVDEC_EMULATOR_HEADERS=FILE  the parameter sets, with start codes; without it nothing is served
 *
 * The file of CUDA_EMULATOR_CALLS gets a line "NAME N" for each function called, and
 * "left sessions N" for those that were never destroyed, and "most making N" for the most that were
 * being made at a time.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
