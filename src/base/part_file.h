/*
 * base/part_file.h - where a file is until it is complete: beside its final name.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_BASE_PART_FILE_H
#define MVF_BASE_PART_FILE_H

/*
 * Creates a file for reading and writing in the folder of `path`, under a name that no other
 * process has. Returns its descriptor and, in *part_path, its name, which the caller frees; or -1
 * with errno set and *part_path NULL.
 */
int mvf_part_file_create(const char *path, char **part_path);

#endif
