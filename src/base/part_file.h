/*
 * base/part_file.h - where a file is until it is complete: beside its final name.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_BASE_PART_FILE_H
#define MVF_BASE_PART_FILE_H

/* All zero: no file. */
typedef struct mvf_part_file {
    /* The name that it gets, which symbolic links lead to. */
    char *path;
    /* Where it is until then; NULL for what cannot be renamed over, a device or a pipe, which is
     * written in place. */
    char *part_path;
    int overwrite;
} mvf_part_file;

/*
 * Creates the file for reading and writing, in the folder of its final name and under a name that
 * no other process has; a device or a pipe is opened for writing. Returns the descriptor, which the
 * caller closes; or -1 with errno set (EEXIST: there is a file, and `overwrite` is 0) and nothing
 * to discard.
 */
int mvf_part_file_open(mvf_part_file *part, const char *path, int overwrite);

/*
 * Gives the complete file its name. Returns 0 or -1 with errno set: without `overwrite`, EEXIST
 * when somebody else has made such a file by now, which stays as it is.
 */
int mvf_part_file_commit(mvf_part_file *part);

/* Removes what has not got its name; does nothing to no file. */
void mvf_part_file_discard(mvf_part_file *part);

#endif
