"""cover_first.py IN OUT: puts the cover art of an MP4 file, which is in "udta", before the tracks.

SPDX-License-Identifier: BSD-2-Clause
"""
import struct
import sys


def boxes(data, offset, end):
    while offset < end:
        size, kind = struct.unpack(">I4s", data[offset : offset + 8])
        if size == 1:
            (size,) = struct.unpack(">Q", data[offset + 8 : offset + 16])
        yield data[offset : offset + size], kind
        offset += size


def reorder(movie):
    rank = {b"mvhd": 0, b"udta": 1}
    inner = sorted(boxes(movie, 8, len(movie)), key=lambda box: rank.get(box[1], 2))
    return movie[:8] + b"".join(box for box, kind in inner)


data = open(sys.argv[1], "rb").read()
with open(sys.argv[2], "wb") as out:
    for box, kind in boxes(data, 0, len(data)):
        out.write(reorder(box) if kind == b"moov" else box)
