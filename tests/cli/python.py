# python.py CHECK FILES...: what python.tap asks of the Python samples.
#
# SPDX-License-Identifier: BSD-2-Clause
import csv
import sys

import numpy as np

import mvf


def rows_of(name):
    frames = {}
    for row in csv.DictReader(open(name, newline="")):
        frames.setdefault(int(row["frame"]), []).append(row)
    return frames


def check_rows(file, rows):
    frames = rows_of(rows)
    with mvf.open(file) as fields:
        assert fields.complete and fields.frames == list(frames)
        for field in fields:
            wanted = [r for r in frames[field.frame] if r["dir"]]
            first = frames[field.frame][0]
            assert first["type"] == field.type and first["source"] == field.source
            assert first["pts"] == str(field.pts) and abs(float(first["time"]) - field.time) < 1e-6
            for name in ("x", "y", "w", "h", "dir"):
                assert (field.blocks[name] == [int(r[name]) for r in wanted]).all()
            if wanted:
                mv = [[float(r["mv_x"]), float(r["mv_y"])] for r in wanted]
                assert (field.vectors_px() == mv).all()
            if field.confidence is None:
                assert "confidence" not in first
            else:
                assert list(field.confidence) == [int(r["confidence"]) for r in wanted]
                assert list(field.blocks["flags"]) == [int(r["flags"]) for r in wanted]
            if field.source == "search":
                assert (field.blocks["cost"] == [int(r["cost"]) for r in wanted]).all()


def check_access(whole, cut):
    with mvf.open(whole) as fields:
        field = fields.at(3)
        u, v = field.grid_px()
        assert u.shape == v.shape == (field.rows, field.cols) == (5, 10)
        flow = field.flow_px()
        assert flow.shape == (2, 70, 150) and (flow[0, ::16, ::16] == u).all()
        assert np.median(u) == 3 and np.median(v) == 2
        assert np.isnan(fields.at(0).grid_px()[0]).all()
        try:
            fields.at(99)
            raise AssertionError("frame 99")
        except KeyError:
            pass
    with mvf.open(cut) as fields:
        assert not fields.complete and fields.frames == [0]
    data = bytearray(open(whole, "rb").read())
    data[len(data) // 2] ^= 1
    open("bad.mvf", "wb").write(data)
    damaged = 0
    with mvf.open("bad.mvf") as fields:
        for frame in fields.frames:
            try:
                fields.at(frame)
            except mvf.Damaged as error:
                damaged += 1
                assert "at byte" in str(error)
    assert damaged <= 1
    try:
        mvf.open(__file__)
        raise AssertionError("a foreign file")
    except mvf.Damaged as error:
        assert "at byte 0" in str(error)


def check_search(planes, rows):
    import mvfield

    frames = rows_of(rows)
    video = np.fromfile(planes, np.uint8).reshape(-1, 70, 150)
    for k in (1, 5):
        field = mvfield.search(video[k], video[k - 1], backend="cpu")
        assert field["mv"].shape == (5, 10, 2)
        wanted = [[float(r["mv_x"]), float(r["mv_y"])] for r in frames[k]]
        assert (field["mv"].reshape(-1, 2) == wanted).all()
        assert (field["cost"].ravel() == [int(r["cost"]) for r in frames[k]]).all()
    deep = video.astype(np.uint16) * 4
    field = mvfield.search(deep[1][:, ::-1], deep[0][:, ::-1], bit_depth=10, block=8, backend="cpu")
    assert np.median(field["mv"][:, :, 0]) == -3
    try:
        mvfield.search(video[0], video[1], block=7)
        raise AssertionError("block 7")
    except RuntimeError as error:
        assert "block" in str(error)


{"rows": check_rows, "access": check_access, "search": check_search}[sys.argv[1]](*sys.argv[2:])
