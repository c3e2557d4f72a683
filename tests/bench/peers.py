"""peers.py PROGRAM CLIP [JSON]: mvfield against other searches, on the same frames.

One thread each, by processor time (user and system), so that other programs matter little; rounds
in which all take their turn, and the median of each. What is not installed is said and skipped.
Every row gives searches/s: frames searched against one reference, without decoding.

Environment: MVF_BENCH_FRAMES (default 20), MVF_BENCH_START (0), MVF_BENCH_ROUNDS (5). FFmpeg's
exhaustive search takes seconds for each frame, and gets 4 frames and a single round.

SPDX-License-Identifier: BSD-2-Clause
"""
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile

FEW = 4
# The search and as little as possible beside it.
X264 = ("merange=16:ref=1:bframes=0:partitions=none:subme=1:weightp=0:trellis=0:no-mbtree=1:"
        "rc-lookahead=0:scenecut=0:threads=1:lookahead-threads=1:qp=26")


def number(name, default):
    return int(os.environ.get(name, default))


def processor_seconds(command):
    """What the command and its children take."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def ffmpeg(*arguments):
    return ["ffmpeg", "-nostdin", "-v", "error", "-threads", "1", "-filter_threads", "1", *arguments]


def has_encoder(name):
    answer = subprocess.run(["ffmpeg", "-v", "error", "-h", "encoder=" + name],
                            capture_output=True, text=True)
    return answer.stdout.startswith("Encoder ")


class Peer:
    """A command whose time, less that of another one, is n_searches searches."""

    def __init__(self, name, command, n_searches, less=None, once=False):
        self.name, self.command, self.n_searches = name, command, n_searches
        self.less, self.once, self.times = less, once, []

    def measure(self):
        if not (self.once and self.times):
            self.times.append(processor_seconds(self.command))

    def speed(self):
        spent = statistics.median(self.times)
        if self.less:
            spent -= statistics.median(self.less.times)
        return self.n_searches / spent if spent > 0 else 0


def reading(clip, n, once=False):
    return Peer("reading %d frames" % n, ffmpeg("-i", clip, "-frames:v", str(n), "-f", "null", "-"),
                0, once=once)


def mestimate_peers(clip, n):
    """Each frame but the last is searched against both neighbours; the first against itself
    instead of the one before, which takes no time."""
    plain, few = reading(clip, n), reading(clip, FEW, once=True)
    peers = [plain, few]
    for method in ("esa", "epzs", "hexbs"):
        is_slow = method == "esa"
        count = FEW if is_slow else n
        # The filter delays, so it is stopped by what goes in.
        filters = "trim=end_frame=%d,mestimate=method=%s:search_param=16" % (count, method)
        peers.append(Peer("FFmpeg mestimate %s, 16" % method,
                          ffmpeg("-i", clip, "-vf", filters, "-f", "null", "-"), 2 * count - 3,
                          few if is_slow else plain, once=is_slow))
    return peers


def x264_peers(clip, n):
    """Whole encodes, and what a method takes beyond diamonds."""
    plain, peers = reading(clip, n), {}
    for method in ("dia", "hex", "esa"):
        command = ffmpeg("-i", clip, "-frames:v", str(n), "-c:v", "libx264", "-preset", "medium",
                         "-threads", "1", "-x264-params", X264 + ":me=" + method, "-f", "null", "-")
        peers[method] = Peer("x264 --me %s, whole encode" % method, command, n - 1, plain)
    extra = [Peer("x264 --me %s beyond --me dia" % method, None, n - 1, peers["dia"])
             for method in ("hex", "esa")]
    for peer, method in zip(extra, ("hex", "esa")):
        peer.times = peers[method].times
        peer.measure = lambda: None
    return [plain, *peers.values(), *extra]


DIS = """
import sys, time
import cv2, numpy
cv2.setNumThreads(1)
w, h, n = map(int, sys.argv[2:5])
frames = numpy.fromfile(sys.argv[1], numpy.uint8, w * h * n).reshape(n, h, w)
dis = cv2.DISOpticalFlow_create(cv2.DISOPTICAL_FLOW_PRESET_MEDIUM)
dis.calc(frames[1], frames[0], None)
start = time.process_time()
for k in range(1, n):
    dis.calc(frames[k], frames[k - 1], None)
print(time.process_time() - start)
"""

MVTOOLS = """
import sys, time
import numpy
import vapoursynth as vs
core = vs.core
core.num_threads = 1
w, h, n = map(int, sys.argv[2:5])
frames = numpy.fromfile(sys.argv[1], numpy.uint8, w * h * n).reshape(n, h, w)
clip = core.std.BlankClip(format=vs.GRAY8, width=w, height=h, length=n)
def fill(n, f):
    out = f.copy()
    numpy.copyto(numpy.asarray(out[0]), frames[n])
    return out
clip = core.std.ModifyFrame(clip, clip, fill)
above = core.mv.Super(clip, pel=1, chroma=False)
vectors = core.mv.Analyse(above, blksize=16, search=3, searchparam=16, chroma=False)
start = time.process_time()
for k in range(1, n):
    vectors.get_frame(k)
print(time.process_time() - start)
"""


class ScriptPeer(Peer):
    """A Python program that prints its own time."""

    def measure(self):
        answer = subprocess.run(self.command, check=True, capture_output=True, text=True)
        self.times.append(float(answer.stdout))


def script_peers(luma, width, height, n):
    peers = []
    for name, script, modules in (
            ("OpenCV DIS, medium", DIS, "import cv2, numpy"),
            ("mvtools, exhaustive, 16", MVTOOLS,
             "import numpy, vapoursynth; vapoursynth.core.mv.Analyse")):
        found = subprocess.run([sys.executable, "-c", modules], capture_output=True)
        if found.returncode:
            print("skipped: %s is not installed" % name.split(",")[0])
            continue
        peers.append(ScriptPeer(name, [sys.executable, "-c", script, luma, str(width), str(height),
                                       str(n)], n - 1))
    return peers


def bench_itself(program, clip, n):
    answer = subprocess.run([program, "bench", clip, "--backend", "cpu", "--threads", "1",
                             "--frames", str(n), "--json", "-"], check=True, capture_output=True,
                            text=True)
    return json.loads(answer.stdout)


def row_of(result):
    return "mvfield %s, %d" % (result["method"], result["range"][0])


def main():
    program, clip = sys.argv[1:3]
    n, start = number("MVF_BENCH_FRAMES", 20), number("MVF_BENCH_START", 0)
    n_rounds = number("MVF_BENCH_ROUNDS", 5)
    if not shutil.which("ffmpeg"):
        print("there is no ffmpeg, which makes the frames and is a peer itself")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        frames, luma = folder + "/frames.y4m", folder + "/frames.gray"
        chosen = "trim=start_frame=%d:end_frame=%d,setpts=PTS-STARTPTS" % (start, start + n)
        subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-i", clip, "-an", "-vf", chosen,
                        "-pix_fmt", "yuv420p", frames], check=True)
        subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-i", frames, "-pix_fmt", "gray", "-f",
                        "rawvideo", luma], check=True)
        first = bench_itself(program, frames, n)
        width, height = first["width"], first["height"]
        peers = mestimate_peers(frames, n)
        if has_encoder("libx264"):
            peers += x264_peers(frames, n)
        else:
            print("skipped: this FFmpeg has no x264")
        peers += script_peers(luma, width, height, n)
        own = {row_of(result): [] for result in first["results"]}
        limit = 0
        for _ in range(n_rounds):
            for peer in peers:
                peer.measure()
            measured = bench_itself(program, frames, n)
            limit = max(limit, measured["limits"][0]["differences_per_second"])
            for result in measured["results"]:
                own[row_of(result)].append(result["frames_per_second"])
    rows = {name: statistics.median(speeds) for name, speeds in own.items()}
    rows.update((peer.name, peer.speed()) for peer in peers if peer.n_searches)
    full = rows["mvfield full, 16"]
    print("%s from frame %d: %dx%d, %d frames, one thread, processor time, medians of %d rounds"
          % (os.path.basename(clip), start, width, height, n, n_rounds))
    print("SAD limit: %.1f G differences/s" % (limit / 1e9))
    print("%-34s %12s  %s" % ("", "searches/s", "mvfield full, 16 is ... times as fast"))
    for name, speed in rows.items():
        if speed:
            print("%-34s %12.2f  %10.2f" % (name, speed, full / speed))
        else:
            print("%-34s %12s" % (name, "too little to measure"))
    if len(sys.argv) > 3:
        with open(sys.argv[3], "w") as file:
            json.dump({"clip": os.path.basename(clip), "start": start, "frames": n, "width": width,
                       "height": height, "rounds": n_rounds, "cpu": first["cpu"],
                       "differences_per_second": limit, "searches_per_second": rows}, file, indent=1)
            file.write("\n")
    return 0


sys.exit(main())
