/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/commands.h"

#include <string.h>

static const command_entry commands[] = {
    {COMMAND_EXTRACT, command_extract, "extract", "IN -o OUT, or --list FILE -o DIR",
     "motion vectors to a file",
     "Searches each frame's motion against its reference and writes the vectors to OUT. IN is a "
     "file, - for standard input, or any address that FFmpeg opens; an mvf file is converted. A "
     "vector points from a block to where it comes from in the reference: content that moved 3 px "
     "to the left has x = +3. Row k belongs to frame k; the first frame has no reference and one "
     "row without vectors. With --list, the files that FILE names are extracted into DIR, many at "
     "a "
     "time: a/clip.mp4 to DIR/clip.mvf, or as --format says. Outputs that are there already are "
     "left as they are, so the same command goes on after a stop; a file that fails is left out, "
     "and named at the end."},
    {COMMAND_MERGE, command_merge, "merge", "SHARD... -o OUT.mvf",
     "the shards of one run to one file",
     "Joins the shards of one run (mvfield extract --shard), in any order, into the file that the "
     "run without --shard makes, byte for byte. Says which shard is missing, there twice, damaged, "
     "or of another input or other options. The shards stay as they are."},
    {COMMAND_OVERLAY, command_overlay, "overlay", "IN -o OUT.mp4", "motion drawn over the video",
     "Draws the motion of each frame over the video: arrows that show how the content moved, "
     "coloured by direction, and dots where it stood still. Audio, subtitles and times are kept. "
     "OUT is .mp4, .mov, .mkv, .webm or .avi; .gif, .apng or .webp; .png or .jpg for images, "
     "numbered by frame; .y4m, or - for a player: mvfield overlay IN -o - | ffplay -"},
    {COMMAND_REPORT, command_report, "report", "IN -o DIR",
     "a page with the overlay and plots of its motion",
     "Makes DIR/index.html, a page of one file for any browser: the overlay, frame by frame, plots "
     "of its motion and its scenes, where content moves, and the command that made it."},
    {COMMAND_COMPARE, command_compare, "compare", "A B",
     "two sets of vectors: agreement, errors, gain",
     "Compares vectors A with vectors B, pixel by pixel. Each is an mvf file; a Middlebury .flo "
     "file or a KITTI flow PNG, which stand for one frame (as B: the truth), for which the first "
     "field with vectors of the other side is taken (flow to the next frame: extract --reference "
     "next); or the word search or codec, for what is found in --video. With --video, also: how "
     "well the vectors that point into the past predict each frame from the one before it."},
    {COMMAND_STATS, command_stats, "stats", "IN",
     "how much moves, where to, and when the scene changes",
     "Sums up the motion of a video, or of an mvf file: lengths and directions, motion of the "
     "whole frame, still blocks, scene changes and repeated frames."},
    {COMMAND_BENCH, command_bench, "bench", "[IN]",
     "this machine's search speed against its own limit",
     "Measures how fast this machine searches, on the CPU and, where there is one, on the GPU: on "
     "the first frames of IN, decoded beforehand, or on a built-in moving texture of 1920x1080. "
     "Beside each speed stands what comparing every candidate could reach at most: the speed of "
     "the processor's SAD instruction, measured in the same run."},
    {COMMAND_INFO, command_info, "info", "[IN]", "this build and machine, or what a file offers",
     "Shows this build and this machine; with IN, what the file offers."},
    {COMMAND_COMPLETION, command_completion, "completion", "SHELL",
     "what a shell needs to complete command lines",
     "Prints the completion of mvfield's command line for SHELL: bash or zsh. For bash, "
     "eval \"$(mvfield completion bash)\" in ~/.bashrc is enough; where mvfield is installed "
     "beside "
     "the shell's own files, they are found without it."},
};
#define N_COMMANDS (sizeof commands / sizeof commands[0])

const command_entry *command_at(size_t index)
{
    return index < N_COMMANDS ? &commands[index] : NULL;
}

const command_entry *command_find(const char *name)
{
    for (size_t i = 0; i < N_COMMANDS; i++)
        if (!strcmp(commands[i].name, name))
            return &commands[i];
    return NULL;
}

const char *command_name(cli_command command)
{
    size_t i = 0;
    while (i < N_COMMANDS - 1 && commands[i].command != command)
        i++;
    return commands[i].name;
}
