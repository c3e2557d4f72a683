/*
 * mvfield/section.h - one video read by several decoders at once.
 *
 * A source is cut into sections: frames in a row that can be decoded without those before. Each
 * section goes to one of any number of readers, which have a decoder of their own. All that the
 * readers give, put in order, is what mvf_source_read() gives, frame by frame. The input is read
 * once, by whoever asks for the next section; nothing is sought.
 *
 *     mvf_section *section;
 *     while (mvf_source_next_section(source, 0, 1, &section) == MVF_OK) {
 *         mvf_section_reader_start(reader, section);
 *         while (mvf_section_reader_read(reader, &frame) == MVF_OK)
 *             ...
 *         mvf_section_free(&section);
 *     }
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVFIELD_SECTION_H
#define MVFIELD_SECTION_H

#include <mvfield/video.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Packets that wait to be decoded; some 64 MiB of them at most. */
typedef struct mvf_section mvf_section;

/* A section without an end that is known: the last one, which reads on from the source. */
#define MVF_SECTION_OPEN INT64_MAX

/* What frames a section has. */
typedef struct mvf_section_info {
    /* The number of its first frame, and of the next section's first frame, which for the last
     * section is the number of all frames, or MVF_SECTION_OPEN. */
    int64_t first, end;
} mvf_section_info;

/*
 * Before the first mvf_source_read() and mvf_source_seek(): takes the next section; the caller owns
 * it. Sections that end at `frame` or before are passed over, and never decoded. A reader gives
 * the section's own frames and `n_beyond` (0 to 2) of those after, so that a pair of frames is
 * never cut apart. Sections have 60 frames or more, however long the video is; with NVDEC 120, or
 * 300 where they begin with another picture of H.264 than an IDR one. Thread-safe.
 *
 * MVF_EOF: there are no more. MVF_ERROR_UNSUPPORTED, at the first call: the input cannot be cut,
 * since it can be read only once, its packets lack times, or the like; the logger gets the reason
 * at MVF_LOG_DEBUG. MVF_ERROR_DATA: what follows is damaged. Either way mvf_source_read_on() and
 * one decoder are needed for it. MVF_ERROR_INTERRUPTED, MVF_ERROR_IO, MVF_ERROR_MEMORY.
 */
MVF_API mvf_status mvf_source_next_section(mvf_source *source, int64_t frame, int32_t n_beyond,
                                           mvf_section **section);

/*
 * Ends the reading by sections, of which no reader may be in use: mvf_source_read() then gives the
 * frame of that number and those after it, by the source's own decoder, as in a run from the start.
 * All before it is decoded once more, if it is not 0; from 0 on mvf_source_seek() serves as for a
 * source that was just opened. An overlay gets no packet of another stream twice. Errors as
 * mvf_source_open(), and MVF_ERROR_UNSUPPORTED for an input that cannot be read twice.
 */
MVF_API mvf_status mvf_source_read_on(mvf_source *source, int64_t frame);

/*
 * For a GPU that has failed, with what was decoded into its memory: from the next
 * mvf_source_read_on() on the source decodes in software, and so do section readers that are opened
 * from now on. Frames in device memory can still be freed. Thread-safe.
 */
MVF_API void mvf_source_leave_gpu(mvf_source *source);

/* Which frames it has. */
MVF_API void mvf_section_get_info(const mvf_section *section, mvf_section_info *info);

/* Gives up *section and sets it to NULL; does nothing for NULL. No reader may be in it. */
MVF_API void mvf_section_free(mvf_section **section);

/* A decoder for sections of one source, which has to outlive it. */
typedef struct mvf_section_reader mvf_section_reader;

/*
 * Opens one. Of the options those count that are about decoding (threads and whatever chooses the
 * decoder); NULL: the source's. It serves one thread at a time; any number of them work side by
 * side. Each holds as much memory as a source that is read: the pictures that its decoder refers
 * to, and one more for each thread. Errors as mvf_source_open().
 */
MVF_API mvf_status mvf_section_reader_open(mvf_section_reader **reader, mvf_source *source,
                                           const mvf_source_options *options);

/* Goes to the section's first frame. A section may be read again, by any reader, but not an open
 * one (MVF_ERROR_UNSUPPORTED). MVF_ERROR_MEMORY. */
MVF_API mvf_status mvf_section_reader_start(mvf_section_reader *reader, mvf_section *section);

/*
 * Reads the next frame, with the number that it has in the whole video; MVF_EOF after the last.
 * Frames are held against what their packets promise. MVF_ERROR_DATA, without a message: there are
 * others, or there is damage; mvf_source_read_on() then tells more. MVF_ERROR_DEVICE: the GPU
 * failed. MVF_ERROR_MEMORY, MVF_ERROR_INTERRUPTED.
 */
MVF_API mvf_status mvf_section_reader_read(mvf_section_reader *reader, mvf_frame **frame);

/* Closes *reader and sets it to NULL; does nothing for NULL. */
MVF_API void mvf_section_reader_close(mvf_section_reader **reader);

#ifdef __cplusplus
}
#endif

#endif
