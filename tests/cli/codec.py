# codec.py FILE.npz REFERENCE: compares codec vectors with REFERENCE-summary.tsv and -mvs-1.npy, made
# by another extractor; its rows are source, w, h, src_x, src_y, dst_x, dst_y, motion_x, motion_y,
# motion_scale, of block centres.
#
# SPDX-License-Identifier: BSD-2-Clause
import hashlib
import sys

import numpy as np

z, reference = np.load(sys.argv[1]), sys.argv[2]
blocks, offsets = z["blocks"], z["offsets"]


def records(k):
    part, scale = blocks[offsets[k]:offsets[k + 1]], int(z["mv_scale"][k])
    columns = {c: part[c].astype(np.int32) for c in ("dir", "x", "y", "w", "h", "mv_x", "mv_y")}
    x, y = columns["x"] + columns["w"] // 2, columns["y"] + columns["h"] // 2

    def whole(v):
        return np.sign(v) * (np.abs(v) // scale)

    return np.stack([columns["dir"], columns["w"], columns["h"], x + whole(columns["mv_x"]),
                     y + whole(columns["mv_y"]), x, y, columns["mv_x"], columns["mv_y"],
                     np.full(len(part), scale)], 1).astype("<i4")


lines = open(reference + "-summary.tsv").read().splitlines()[1:]
assert len(lines) == len(z["frame"]) == 337
for k, line in enumerate(lines):
    _, kind, n, past, future, sum_x, sum_y, sum_abs, area, digest = line.split("\t")
    r = records(k)
    assert z["type"][k].decode() == kind and len(r) == int(n)
    assert ((r[:, 0] < 0).sum(), (r[:, 0] > 0).sum()) == (int(past), int(future))
    assert (r[:, 7].sum(), r[:, 8].sum()) == (int(sum_x), int(sum_y))
    assert np.abs(r[:, 7:9]).sum() == int(sum_abs) and (r[:, 1] * r[:, 2]).sum() == int(area)
    assert hashlib.sha256(r.tobytes()).hexdigest() == digest, f"frame {k}"
assert (records(1) == np.load(reference + "-mvs-1.npy")).all()
