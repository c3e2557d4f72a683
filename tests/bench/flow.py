"""flow.py PROGRAM FOLDER [JSON]: how true optical flow is, of mvfield and of OpenCV, on the same samples.

Mean end-point error in px over the pixels whose motion is known, every pixel having a vector, of
the image pairs in FOLDER that are there; as they are, with noise in both images, and with the
second image darker. OpenCV for Python is optional: what is not installed is said and left out.

SPDX-License-Identifier: BSD-2-Clause
"""
import array
import json
import math
import os
import random
import struct
import subprocess
import sys
import tempfile

SIX = ("dimetrodon", "grove2", "rubberwhale", "urban2", "urban3", "venus")
PAIRS = [(name, name + "-10.png", name + "-11.png", name + "-10.flo") for name in SIX]
PAIRS.append(("yosemite", "yosemite-09.png", "yosemite-10.png", "yosemite-09.flo"))
CONDITIONS = ("as they are", "noise of deviation 8", "second image darker by a fifth")
OWN = (("mvfield", ["--step", "1"]), ("mvfield, effort low", ["--step", "1", "--effort", "low"]),
       ("mvfield, 8x8 paths", None))
BLOCKS = ["--block", "8", "--range", "24", "--subpel", "quarter", "--smooth", "path"]
OPENCV = """
import sys
import cv2, numpy
method, first, second, width, height, out = sys.argv[1:]
shape = int(height), int(width)
a, b = (numpy.fromfile(name, numpy.uint8).reshape(shape) for name in (first, second))
if method == "Farneback":
    flow = cv2.calcOpticalFlowFarneback(a, b, None, 0.5, 5, 15, 3, 5, 1.2, 0)
else:
    preset = getattr(cv2, "DISOPTICAL_FLOW_PRESET_" + method.split()[1].upper())
    flow = cv2.DISOpticalFlow_create(preset).calc(a, b, None)
flow.astype("<f4").tofile(out)
"""
PEERS = ("DIS medium", "DIS fast", "Farneback")


def read_flow(path):
    """Width, height, and x and y of each pixel."""
    with open(path, "rb") as file:
        name, width, height = struct.unpack("<4sii", file.read(12))
        vectors = array.array("f", file.read())
    if name != b"PIEH" or len(vectors) != 2 * width * height:
        raise ValueError(path + " is no flow file")
    if sys.byteorder == "big":
        vectors.byteswap()
    return width, height, vectors


def gray(path):
    return subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-i", path, "-pix_fmt", "gray", "-f",
                           "rawvideo", "-"], check=True, capture_output=True).stdout


def clip(value):
    return 0 if value < 0 else 255 if value > 255 else int(value + 0.5)


def change(samples, condition, is_second, seed):
    if condition == CONDITIONS[1]:
        noise = random.Random(seed)
        return bytes(clip(s + noise.gauss(0, 8)) for s in samples)
    if condition == CONDITIONS[2] and is_second:
        return bytes(clip(0.8 * s) for s in samples)
    return samples


def mean_error(truth, found):
    total, n = 0.0, 0
    for i in range(0, len(truth), 2):
        if abs(truth[i]) < 1e9 and abs(truth[i + 1]) < 1e9:
            total += math.hypot(found[i] - truth[i], found[i + 1] - truth[i + 1])
            n += 1
    return total / n


def run_own(program, options, folder, size):
    video = os.path.join(folder, "pair.y4m")
    with open(video, "wb") as file:
        file.write(b"YUV4MPEG2 W%d H%d F1:1 Ip A1:1 Cmono\n" % size)
        for name in ("first", "second"):
            file.write(b"FRAME\n")
            with open(os.path.join(folder, name), "rb") as samples:
                file.write(samples.read())
    command = [program, "extract", video, "--backend", "cpu", "--quiet", "--overwrite", "--reference",
               "next", "--frames", "1", "-o", os.path.join(folder, "out-%d.flo")]
    command += ["--preset", "truemotion", *options] if options else BLOCKS
    subprocess.run(command, check=True)
    return read_flow(os.path.join(folder, "out-0.flo"))[2]


def run_opencv(method, folder, size):
    out = os.path.join(folder, "flow")
    subprocess.run([sys.executable, "-c", OPENCV, method, os.path.join(folder, "first"),
                    os.path.join(folder, "second"), str(size[0]), str(size[1]), out], check=True)
    with open(out, "rb") as file:
        return array.array("f", file.read())


def measure(program, folder, pair, condition, peers):
    """The error of each method on one pair."""
    _, first, second, truth = pair
    width, height, known = read_flow(os.path.join(folder, truth))
    with tempfile.TemporaryDirectory() as work:
        for i, (name, image) in enumerate((("first", first), ("second", second))):
            samples = change(gray(os.path.join(folder, image)), condition, i, first + name)
            with open(os.path.join(work, name), "wb") as file:
                file.write(samples)
        size = width, height
        errors = {name: mean_error(known, run_own(program, options, work, size))
                  for name, options in OWN}
        errors.update((name, mean_error(known, run_opencv(name, work, size))) for name in peers)
    return errors


def main():
    program, folder = sys.argv[1:3]
    pairs = [pair for pair in PAIRS
             if all(os.path.exists(os.path.join(folder, name)) for name in pair[1:])]
    if not pairs:
        print("skipped: no image pairs in %s" % folder)
        return 77
    found = subprocess.run([sys.executable, "-c", "import cv2, numpy"], capture_output=True)
    peers = PEERS if not found.returncode else ()
    if not peers:
        print("skipped: DIS and Farneback: there is no OpenCV for Python")
    names = [name for name, _ in OWN] + list(peers)
    result = {}
    for condition in CONDITIONS:
        print("%-34s" % condition + "".join("%21s" % name for name in names))
        rows = {pair[0]: measure(program, folder, pair, condition, peers) for pair in pairs}
        six = [row for name, row in rows.items() if name in SIX]
        if len(six) == len(SIX):
            rows["mean of the six"] = {name: sum(row[name] for row in six) / len(six)
                                       for name in names}
        for pair, row in rows.items():
            print("%-34s" % pair + "".join("%21.3f" % row[name] for name in names))
        result[condition] = rows
    if len(sys.argv) > 3:
        with open(sys.argv[3], "w") as file:
            json.dump(result, file, indent=1)
            file.write("\n")
    return 0


sys.exit(main())
