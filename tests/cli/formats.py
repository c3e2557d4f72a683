# formats.py CHECK FOLDER: compares what formats.tap made with what csv says.
#
# SPDX-License-Identifier: BSD-2-Clause
import csv
import json
import os
import struct
import sys

import numpy as np

W, H, COLS, ROWS, FRAMES = 70, 50, 5, 4, 8


def rows(name):
    return list(csv.DictReader(open(name, newline="")))


def by_frame(name):
    frames = {}
    for row in rows(name):
        frames.setdefault(int(row["frame"]), []).append(row)
    return frames


def vectors(frame):
    return np.array([[float(r["mv_x"]), float(r["mv_y"])] for r in frame]).reshape(ROWS, COLS, 2)


def check_npz(name):
    frames, z = by_frame("a.csv"), np.load(name)
    meta = json.loads(str(z["meta"]))
    assert meta["grid"] == {"cols": COLS, "rows": ROWS, "block": [16, 16], "step": [16, 16]}
    assert meta["mv_scale"] == 4 and meta["width"] == W and meta["height"] == H
    assert z["mv"].shape == (FRAMES, ROWS, COLS, 2) and z["mv"].dtype == np.int16
    assert (z["mv"][0] == -32768).all() and (z["cost"][0] == 2**32 - 1).all()
    assert (z["dir"][0] == 0).all() and (z["ref"][0] == -1).all()
    for k in range(1, FRAMES):
        assert (z["mv"][k] / 4 == vectors(frames[k])).all()
        for column in ("cost", "dir", "ref"):
            assert (z[column][k].ravel() == [int(r[column]) for r in frames[k]]).all()
    assert list(z["frame"]) == list(frames)
    assert list(z["pts"]) == [int(f[0]["pts"]) for f in frames.values()]
    assert np.allclose(z["time"], [float(f[0]["time"]) for f in frames.values()])
    assert [t.decode() for t in z["type"]] == [f[0]["type"] for f in frames.values()]


def check_jsonl():
    frames, lines = by_frame("a.csv"), [json.loads(line) for line in open("a.jsonl")]
    assert [line["frame"] for line in lines] == list(frames)
    assert lines[0]["blocks"] == [] and lines[0]["grid"]["cols"] == COLS
    for line in lines[1:]:
        for block, row in zip(line["blocks"], frames[line["frame"]], strict=True):
            assert dict(zip(line["columns"], block)) == {
                c: json.loads(row[c]) for c in line["columns"]}


def dense(frame):
    return np.repeat(np.repeat(vectors(frame), 16, 0), 16, 1)[:H, :W]


def check_flow():
    frames = by_frame("a.csv")
    kitti = np.fromfile("kitti.raw", "<u2").reshape(FRAMES, H, W, 3).astype(float)
    for k in range(FRAMES):
        data = open(f"flow-{k:06d}.flo", "rb").read()
        assert struct.unpack("<fii", data[:12]) == (202021.25, W, H) and len(data) == 12 + 8 * W * H
        flow = np.array(struct.unpack(f"<{2 * W * H}f", data[12:])).reshape(H, W, 2)
        if k == 0:
            assert (flow == np.float32(1e10)).all() and (kitti[k] == 0).all()
            continue
        assert (flow == dense(frames[k])).all()
        assert ((kitti[k, :, :, :2] - 32768) / 64 == flow).all() and (kitti[k, :, :, 2] == 1).all()


def check_yuview():
    data = [r.split(";") for r in open("a.yuview.csv").read().split() if r[0] != "%"]
    wanted = [r for r in rows("a.csv") if r["dir"]]
    for number, columns in ((0, ("mv_x", "mv_y")), (2, ("cost",))):
        got = [[int(v) for v in r[:5] + r[6:]] for r in data if int(r[5]) == number]
        unit = 4 if number == 0 else 1
        assert got == [[int(r[c]) for c in ("frame", "x", "y", "w", "h")] +
                       [float(r[c]) * unit for c in columns] for r in wanted]


def check_blocks():
    frames, z = by_frame("both.csv"), np.load("both.npz")
    blocks, offsets = z["blocks"], z["offsets"]
    assert len(offsets) == FRAMES + 1 and offsets[-1] == len(blocks)
    for i, (k, frame) in enumerate(frames.items()):
        part = blocks[offsets[i]:offsets[i + 1]]
        assert len(part) == len(frame) == (2 if 0 < k < FRAMES - 1 else 1) * ROWS * COLS
        for c in ("x", "y", "w", "h", "dir", "ref", "cost"):
            assert (part[c] == [int(r[c]) for r in frame]).all()
        for c in ("mv_x", "mv_y"):
            assert (part[c] / z["mv_scale"][i] == [float(r[c]) for r in frame]).all()


def check_opencv():
    import cv2

    mv = np.load("a.npy")
    for k in range(1, FRAMES):
        wanted = np.repeat(np.repeat(mv[k] / 4, 16, 0), 16, 1)[:H, :W]
        assert (cv2.readOpticalFlow(f"flow-{k:06d}.flo") == wanted).all()
        # OpenCV has the channels the other way round.
        kitti = cv2.imread(f"flow-{k:06d}.png", cv2.IMREAD_ANYDEPTH | cv2.IMREAD_COLOR)[:, :, ::-1]
        assert ((kitti[:, :, :2].astype(float) - 32768) / 64 == wanted).all()


os.chdir(sys.argv[2])
if sys.argv[1] == "grid":
    mv = np.load("a.npy")
    assert mv.dtype == np.dtype("<i2") and (mv == np.load("a.npz")["mv"]).all()
    check_npz("a.npz")
    check_jsonl()
    check_flow()
    check_yuview()
elif sys.argv[1] == "opencv":
    check_opencv()
elif sys.argv[1] == "deflated":
    check_npz("z.npz")
    assert os.path.getsize("z.npz") < os.path.getsize("a.npz")
else:
    check_blocks()
