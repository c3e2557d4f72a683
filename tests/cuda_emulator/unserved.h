/*
 * unserved.h - functions that FFmpeg looks for in the driver before it uses any of them, and that
 * decoding never calls: they are there, and say that they are not supported.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_CUDA_EMULATOR_UNSERVED_H
#define MVF_CUDA_EMULATOR_UNSERVED_H

#define NOT_SUPPORTED 801

#define UNSERVED(name)                                     \
    __attribute__((visibility("default"))) int name(void); \
    int name(void)                                         \
    {                                                      \
        return NOT_SUPPORTED;                              \
    }

#endif
