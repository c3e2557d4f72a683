#!/usr/bin/env python3
"""damage.py PROGRAM [--cases N] [--runs N] [--seed N] [--jobs N] [--only NAMES]

Damages small files of many kinds and gives them to the command: cut at N places spread over the
file (99: at every 1 %), bytes changed N times, stretches of bytes taken out and packets dropped N / 2
times. Each run has to end in time, by status 0, 1 (with one line) or 3 (with a line or more), with
nothing left where it failed, and, with --runs 2 or more, each time with the same output. What the header
promises and a cut took away has to be noticed: formats marked with * never end in status 0 when cut.
Prints a table; exit status 1 and a line for each case that failed. The files are made by ffmpeg in
the working directory, and each damaged file of a failed case is kept there.

SPDX-License-Identifier: BSD-2-Clause
"""
import argparse
import concurrent.futures
import hashlib
import os
import random
import subprocess
import sys

TIME_LIMIT = 120
FAST = ["--backend", "cpu", "--block", "32", "--range", "2"]
TEXT = ["-f", "lavfi", "-i", "testsrc2=s=160x120:r=25:d=1"]
H264 = ["-c:v", "libx264", "-threads", "1", "-pix_fmt", "yuv420p", "-bf", "2", "-g", "10"]

# Name, whether a cut is always noticed, ffmpeg's arguments after the input, an encoder it needs.
VIDEOS = [
    ("index-first.mp4", True, [*H264, "-movflags", "faststart"], "libx264"),
    ("index-last.mp4", True, H264, "libx264"),
    ("fragments.mp4", False, [*H264, "-movflags", "frag_keyframe+empty_moov"], "libx264"),
    ("h264.mkv", True, H264, "libx264"),
    ("h264.ts", False, H264, "libx264"),
    ("raw.h264", False, H264, "libx264"),
    ("hevc.mkv", True, ["-c:v", "libx265", "-x265-params", "log-level=none:pools=1", "-pix_fmt", "yuv420p"],
     "libx265"),
    ("mpeg4.avi", True, ["-c:v", "mpeg4", "-bf", "2"], "mpeg4"),
    ("mpeg2.mpg", False, ["-c:v", "mpeg2video", "-bf", "2"], "mpeg2video"),
    ("mpeg2.ts", False, ["-c:v", "mpeg2video", "-bf", "2"], "mpeg2video"),
    ("vp9.webm", True, ["-c:v", "libvpx-vp9", "-cpu-used", "8", "-deadline", "realtime"], "libvpx-vp9"),
    ("vp8.ivf", False, ["-c:v", "libvpx", "-cpu-used", "8", "-deadline", "realtime"], "libvpx"),
    ("mjpeg.avi", True, ["-c:v", "mjpeg"], "mjpeg"),
    ("ffv1.mkv", True, ["-c:v", "ffv1", "-level", "3", "-slices", "4"], "ffv1"),
    ("samples.y4m", False, ["-t", "0.2", "-pix_fmt", "yuv420p"], None),
    ("picture.gif", False, ["-t", "0.4"], None),
]
# Made by the command itself: name, arguments of extract.
FIELDS = [
    ("plain.mvf", ["--format", "mvf"]),
    ("packed.mvf", ["--format", "mvf", "--compress", "6"]),
]
# Codecs whose vectors FFmpeg exports.
EXPORTERS = {"libx264", "mpeg4", "mpeg2video"}


def ffmpeg(*arguments):
    subprocess.run(["ffmpeg", "-nostdin", "-hide_banner", "-v", "error", "-y", *arguments], check=True,
                   stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def has_encoder(name):
    if name is None:
        return True
    answer = subprocess.run(["ffmpeg", "-hide_banner", "-v", "error", "-h", "encoder=" + name],
                            capture_output=True, text=True)
    return answer.stdout.startswith("Encoder ")


class Source:
    def __init__(self, name, noticed, commands):
        self.name, self.noticed, self.commands = name, noticed, commands
        with open(name, "rb") as file:
            self.data = file.read()


def make_sources(program, only):
    for name, noticed, arguments, encoder in VIDEOS:
        if (only and name not in only) or not has_encoder(encoder):
            continue
        ffmpeg(*TEXT, *arguments, name)
        # mvf_source_open() in mvfield/video.h says why.
        fast = FAST + ["--threads", "1"] * (encoder == "libx264")
        commands = [["extract", *fast, "--format", "jsonl"], ["overlay", *fast]]
        if encoder in EXPORTERS:
            commands.insert(1, ["extract", "--vectors", "codec", "--format", "jsonl"])
        yield Source(name, noticed, commands)
    ffmpeg(*TEXT, "-c:v", "ffv1", "whole.mkv")
    for name, arguments in FIELDS:
        if only and name not in only:
            continue
        subprocess.run([program, "extract", *FAST, *arguments, "--overwrite", "-o", name, "whole.mkv"], check=True)
        yield Source(name, True, [["extract", "--format", "jsonl"], ["stats"]])


def spread(n):
    return sorted({round(i * 100 / (n + 1)) for i in range(1, n + 1)} - {0, 100})


def cut(source, n):
    for percent in spread(n):
        yield "cut at %d %%" % percent, source.data[:len(source.data) * percent // 100]


def change_bytes(source, n, seed):
    for i in range(n):
        chance = random.Random("%d %s %d" % (seed, source.name, i))
        data = bytearray(source.data)
        for _ in range(1 << chance.randrange(6)):
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        yield "bytes changed, %d" % i, bytes(data)


def take_out(source, n, seed):
    unit = 188 if source.name.endswith(".ts") else 1
    for i in range(n):
        chance = random.Random("%d %s out %d" % (seed, source.name, i))
        data = source.data
        for _ in range(1 + chance.randrange(3)):
            start = chance.randrange(len(data) // unit) * unit
            length = (1 + chance.randrange(max(1, len(source.data) // unit // 20))) * unit
            data = data[:start] + data[start + length:]
        yield "bytes taken out, %d" % i, data


def drop_packets(source, n):
    container = os.path.splitext(source.name)[1]
    if container not in (".mp4", ".mkv", ".webm", ".avi", ".ts"):
        return
    for i in range(n):
        name = "dropped" + container
        ffmpeg("-i", source.name, "-c", "copy", "-bsf:v",
               "noise=amount=0:drop='eq(mod(n*%d+%d,7),3)'" % (1 + i % 6, i), name)
        with open(name, "rb") as file:
            yield "packets dropped, %d" % i, file.read()


def damages(source, n, seed):
    yield from cut(source, n)
    yield from change_bytes(source, n, seed)
    yield from take_out(source, (n + 1) // 2, seed)
    yield from drop_packets(source, (n + 1) // 2)


def run_once(program, command, path, out):
    """The status (None: it hung), a digest of the output, the lines on standard error."""
    to = [] if command[0] == "stats" else ["-o", out]
    try:
        answer = subprocess.run([program, *command, *to, path], capture_output=True, timeout=TIME_LIMIT,
                                stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return None, None, ""
    digest = hashlib.md5(answer.stdout)
    if os.path.exists(out):
        with open(out, "rb") as file:
            digest.update(file.read())
        os.remove(out)
        if answer.returncode not in (0, 3):
            digest.update(b"left")
            return answer.returncode, "left", answer.stderr.decode(errors="replace")
    return answer.returncode, digest.hexdigest(), answer.stderr.decode(errors="replace")


def judge(source, what, runs):
    """What is wrong with a case, or None."""
    status, digest, err = runs[0]
    if status is None:
        return "hung"
    if status not in (0, 1, 3):
        return "ended in status %d: %s" % (status, err[-3000:])
    if digest == "left":
        return "failed and left an output"
    if any(run != runs[0] for run in runs[1:]):
        return "differs from run to run: %s" % [(s, d, e) for s, d, e in runs]
    if (status == 1 and len(err.splitlines()) != 1) or (status == 3 and not err):
        return "status %d, and not one line: %s" % (status, err)
    if status == 0 and source.noticed and what.startswith("cut"):
        return "a cut was not noticed"
    return None


def try_case(arguments, source, number, what, data):
    command = source.commands[number % len(source.commands)]
    stem, extension = os.path.splitext(source.name)
    path = "%s-%d%s" % (stem, number, extension)
    out = "%s-%d.out.%s" % (stem, number, "jsonl" if command[0] == "extract" else "y4m")
    with open(path, "wb") as file:
        file.write(data)
    runs = [run_once(arguments.program, command, path, out) for _ in range(arguments.runs)]
    wrong = judge(source, what, runs)
    if not wrong:
        os.remove(path)
    return what, runs[0][0], wrong and "%s, %s (%s): %s" % (path, what, " ".join(command), wrong)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--cases", type=int, default=99)
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--only", type=lambda text: text.split(","))
    arguments = parser.parse_args()
    failures, totals = [], [0] * 5
    print("seed %d\n\n| file | cases | status 0 | status 1 | status 3 | failed |" % arguments.seed)
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for source in make_sources(arguments.program, arguments.only):
            cases = damages(source, arguments.cases, arguments.seed)
            jobs = [pool.submit(try_case, arguments, source, i, *case) for i, case in enumerate(cases)]
            results = [job.result() for job in jobs]
            wrong = [result[2] for result in results if result[2]]
            row = [len(results)] + [sum(r[1] == s for r in results) for s in (0, 1, 3)] + [len(wrong)]
            print("| %s%s | %s |" % (source.name, "*" if source.noticed else "", " | ".join(map(str, row))),
                  flush=True)
            totals = [a + b for a, b in zip(totals, row)]
            failures += wrong
    print("| all | %s |" % " | ".join(map(str, totals)))
    for failure in failures:
        print(failure)
    return 1 if failures else 0


sys.exit(main())
