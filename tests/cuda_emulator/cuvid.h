/*
 * cuvid.h - what NVIDIA's cuviddec.h declares of the decoder, as far as nvdec.c uses it: the SDK is
 * no part of CUDA, and these layouts are fixed.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_CUDA_EMULATOR_CUVID_H
#define MVF_CUDA_EMULATOR_CUVID_H

#include <stdint.h>

#include <cuda.h>

#define CUVID_API __attribute__((visibility("default")))

/* Values of the enumerations. */
enum { CUVID_CODEC_H264 = 4, CUVID_CODEC_HEVC = 8, CUVID_CHROMA_420 = 1, CUVID_SURFACE_NV12 = 0 };

typedef struct cuvid_capabilities {
    int codec, chroma_format;
    unsigned bit_depth_minus_8, reserved_1[3];
    unsigned char is_supported, n_decoders;
    unsigned short output_formats;
    unsigned max_width, max_height, max_macroblocks;
    unsigned short min_width, min_height;
    unsigned char is_histogram_supported, counter_depth;
    unsigned short max_bins;
    unsigned reserved_3[10];
} cuvid_capabilities;

typedef struct cuvid_create_info {
    unsigned long width, height, n_decode_surfaces;
    int codec, chroma_format;
    unsigned long flags, bit_depth_minus_8, is_intra_only, max_width, max_height, reserved_1;
    short display_area[4];
    int output_format, deinterlacing;
    unsigned long target_width, target_height, n_output_surfaces;
    void *lock;
    short target_rectangle[4];
    unsigned long has_histogram, reserved_2[4];
} cuvid_create_info;

/* What stands before the part of each codec. */
typedef struct cuvid_picture {
    int width_macroblocks, height_macroblocks;
    /* The surface that it is decoded into. */
    int index;
    int is_field, is_bottom_field, is_second_field;
    /* Slices with start codes. */
    unsigned n_bytes;
    const unsigned char *bytes;
} cuvid_picture;

/* How a picture is mapped. */
typedef struct cuvid_mapping {
    int is_progressive, is_second_field, is_top_field_first, is_unpaired_field;
    unsigned reserved_flags, reserved_zero;
    unsigned long long raw_input;
    unsigned raw_input_pitch, raw_input_format;
    unsigned long long raw_output;
    unsigned raw_output_pitch, reserved_1;
    CUstream stream;
} cuvid_mapping;

CUVID_API CUresult cuvidGetDecoderCaps(cuvid_capabilities *capabilities);
CUVID_API CUresult cuvidCreateDecoder(void **decoder, cuvid_create_info *info);
CUVID_API CUresult cuvidDestroyDecoder(void *decoder);
CUVID_API CUresult cuvidDecodePicture(void *decoder, cuvid_picture *picture);
CUVID_API CUresult cuvidMapVideoFrame64(void *decoder, int index, unsigned long long *address,
                                        unsigned *pitch, cuvid_mapping *how);
CUVID_API CUresult cuvidUnmapVideoFrame64(void *decoder, unsigned long long address);

#endif
