/*
 * calls.h - calls of the driver: counted, and made to fail where a test asks for it.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_CUDA_EMULATOR_CALLS_H
#define MVF_CUDA_EMULATOR_CALLS_H

#include "objects.h"

#include "cuda/driver.h"

#define FUNCTION_NUMBER(name) FUNCTION_##name,
typedef enum driver_function { MVF_CUDA_FUNCTIONS(FUNCTION_NUMBER) N_FUNCTIONS } driver_function;

/* From the environment variable NAME, or what it is else. */
long setting(const char *name, long otherwise);

/* Counts the call; CUDA_SUCCESS, or how it shall fail. */
CUresult calls_begin(driver_function function);

/* Something was not given back. */
void calls_left(const char *what, size_t n);

/* So many bytes of allocations of a kind are in use. */
void calls_note_bytes(object_kind kind, size_t n_bytes);

#endif
