"""mvf.py - reads mvf files with Python and NumPy alone.

    import mvf
    with mvf.open("clip.mvf") as fields:
        for field in fields:
            print(field.frame, field.time, len(field.blocks))
        field = fields.at(17)          # the field of frame 17
        u, v = field.grid_px()         # (rows, cols) arrays of px, NaN where there is no vector
        flow = field.flow_px()         # (2, height, width), one vector a pixel
        field.confidence               # of each block, 0 to 255; None but for true motion

A vector points from its block in the current frame to its prediction in the reference: content that
moved 3 px to the left has x = +3. y grows downwards. doc/mvf-format.md describes each byte.

SPDX-License-Identifier: BSD-2-Clause
"""

import builtins
import struct
import zlib

import numpy as np

MAGIC = b"\x89MVF\r\n\x1a\n"
NONE = -(2**63)
BLOCK = np.dtype([("x", "<i4"), ("y", "<i4"), ("w", "<u2"), ("h", "<u2"), ("mv_x", "<i2"),
                  ("mv_y", "<i2"), ("cost", "<u4"), ("dir", "i1"), ("flags", "u1"), ("ref", "<i2")])
HEAD = struct.Struct("<qqiiiiBBBBiIHHHHiiIQ")
HAS_CONFIDENCE = 1
CHUNK = struct.Struct("<4sIQQII")


class Damaged(Exception):
    """The file is cut off or damaged; the message names the byte."""


class Field:
    """The vectors of one frame. `blocks` is a structured array: x, y, w, h in px, mv_x and mv_y in
    1/mv_scale px, cost, dir (-1 past, 1 future, 0 no vector), flags, ref (index into references, -1
    unknown). It is empty where the frame has no field, which is not the same as zero vectors.
    `confidence` is an array of uint8, one for each block, or None if the search does not tell."""

    def __init__(self, record):
        (self.frame, self.pts, num, den, self.width, self.height, self.bit_depth, kind, source,
         extras, self.mv_scale, self.flags, self.block_w, self.block_h, self.step_x, self.step_y, self.cols,
         self.rows, n_references, n_blocks) = HEAD.unpack_from(record)
        self.type = "?IPB"[kind] if kind < 4 else "?"
        self.source = "codec" if source else "search"
        self.time = self.pts * num / den if self.pts != NONE and num and den else None
        at = HEAD.size + 16 * n_references
        end = at + (BLOCK.itemsize + (extras & HAS_CONFIDENCE)) * n_blocks
        # What a later version adds is after what this one knows.
        if len(record) < end or (len(record) > end and not extras & ~HAS_CONFIDENCE):
            raise ValueError("the record's counts do not make up its size")
        self.references = [struct.unpack_from("<qq", record, HEAD.size + 16 * i)
                           for i in range(n_references)]
        self._packed = memoryview(record)[at:end]
        self.blocks = np.frombuffer(self._packed[:BLOCK.itemsize * n_blocks], BLOCK)
        self.confidence = None
        if extras & HAS_CONFIDENCE:
            self.confidence = np.frombuffer(self._packed[BLOCK.itemsize * n_blocks:], np.uint8)

    def unpack(self):
        """Turns the packed form into blocks."""
        packed, at = np.frombuffer(self._packed, np.uint8), 0
        n = len(self.blocks)
        blocks = np.empty(n, BLOCK)
        for name in BLOCK.names:
            size = BLOCK[name].itemsize
            planes = packed[at:at + size * n].reshape(size, n).astype(np.uint32)
            at += size * n
            zigzag = sum(planes[i] << np.uint32(8 * i) for i in range(size))
            delta = (zigzag >> np.uint32(1)) ^ (np.uint32(0) - (zigzag & np.uint32(1)))
            if self.cols and name in ("x", "y", "w", "h"):
                value = delta + self._from_grid(name, n)
            else:
                value = np.cumsum(delta, dtype=np.uint32)
            blocks[name] = value.astype(f"<u{size}").view(BLOCK[name])
        self.blocks = blocks
        if self.confidence is not None:
            delta = packed[at:at + n].astype(np.uint32)
            delta = (delta >> np.uint32(1)) ^ (np.uint32(0) - (delta & np.uint32(1)))
            self.confidence = np.cumsum(delta, dtype=np.uint32).astype(np.uint8)

    def _from_grid(self, name, n):
        i = np.arange(n, dtype=np.int64)
        across = name in ("x", "w")
        origin = (i % self.cols) * self.step_x if across else (i // self.cols % self.rows) * self.step_y
        if name in ("x", "y"):
            return origin.astype(np.uint32)
        full, limit = (self.block_w, self.width) if across else (self.block_h, self.height)
        return np.minimum((limit - origin).astype(np.uint32), np.uint32(full))

    def vectors_px(self):
        """(blocks, 2) array of px; NaN where a block has no vector."""
        mv = np.stack([self.blocks["mv_x"], self.blocks["mv_y"]], 1) / self.mv_scale
        mv[self.blocks["dir"] == 0] = np.nan
        return mv

    def grid_px(self, layer=0):
        """The vectors of a uniform grid as two (rows, cols) arrays."""
        if not self.cols:
            raise ValueError("the blocks follow no grid")
        cells = self.rows * self.cols
        if not len(self.blocks):
            return (np.full((self.rows, self.cols), np.nan),) * 2
        mv = self.vectors_px()[layer * cells:(layer + 1) * cells]
        return mv[:, 0].reshape(self.rows, self.cols), mv[:, 1].reshape(self.rows, self.cols)

    def flow_px(self, direction=-1):
        """(2, height, width): each pixel's vector of that direction, NaN where there is none. Where
        blocks overlap, the last one counts."""
        flow = np.full((2, self.height, self.width), np.nan, np.float32)
        mv = self.vectors_px()
        for i in np.flatnonzero(self.blocks["dir"] == direction):
            x, y, w, h = (int(self.blocks[name][i]) for name in ("x", "y", "w", "h"))
            flow[:, max(y, 0):max(y + h, 0), max(x, 0):max(x + w, 0)] = mv[i][:, None, None]
        return flow


class Reader:
    """The fields of a file, in order; also by frame. `complete` tells whether the file ends as it
    should: of one that does not, the fields before the damage are there."""

    def __init__(self, path):
        self.file = builtins.open(path, "rb")
        head = self.file.read(64)
        if head[:8] != MAGIC:
            raise Damaged(f"{path}: is not an mvf file (at byte 0)")
        if len(head) < 64 or zlib.crc32(head[:60]) != struct.unpack("<I", head[60:])[0]:
            raise Damaged(f"{path}: damaged at byte 0: the header")
        major, _, self.start, self.rotation = struct.unpack_from("<HHIi", head, 8)
        if major != 1:
            raise Damaged(f"{path}: is version {major} of the format")
        self.path = path
        self.offsets = self._read_index()
        self.complete = self.offsets is not None
        if not self.complete:
            self.offsets = self._scan()

    def _chunk(self, offset):
        """The kind, the payload and whether it is packed."""
        self.file.seek(offset)
        head = self.file.read(CHUNK.size)
        if len(head) < CHUNK.size:
            raise Damaged(f"{self.path}: ends at byte {offset + len(head)}, inside a chunk")
        kind, method, n, _, crc, own_crc = CHUNK.unpack(head)
        if zlib.crc32(head[:28]) != own_crc:
            raise Damaged(f"{self.path}: damaged at byte {offset}: no chunk")
        payload = self.file.read(n)
        if len(payload) != n or zlib.crc32(payload) != crc:
            raise Damaged(f"{self.path}: damaged at byte {offset}: a chunk's payload")
        return kind, payload, method == 1

    def _read_index(self):
        self.file.seek(0, 2)
        size = self.file.tell()
        if size < self.start + 24:
            return None
        self.file.seek(size - 24)
        trailer = self.file.read(24)
        offset, n, crc, magic = struct.unpack("<QQI4s", trailer)
        if magic != b"MVFE" or zlib.crc32(trailer[:16]) != crc:
            return None
        try:
            kind, payload, _ = self._chunk(offset)
        except Damaged:
            return None
        if kind != b"MVFI" or len(payload) != 24 * n:
            return None
        index = np.frombuffer(payload, [("frame", "<i8"), ("pts", "<i8"), ("offset", "<u8")])
        return {int(entry["frame"]): int(entry["offset"]) for entry in index}

    def _scan(self):
        offsets, offset = {}, self.start
        try:
            while True:
                kind, payload, packed = self._chunk(offset)
                if kind == b"MVFR":
                    offsets[_field(payload, packed).frame] = offset
                elif kind != b"MVFS":
                    break
                offset += (CHUNK.size + len(payload) + 7) // 8 * 8
        except Damaged:
            pass
        return offsets

    def at(self, frame):
        """The field of that frame. KeyError: there is none. Damaged: it cannot be read."""
        kind, payload, packed = self._chunk(self.offsets[frame])
        if kind != b"MVFR":
            raise Damaged(f"{self.path}: damaged at byte {self.offsets[frame]}: not a field")
        return _field(payload, packed)

    @property
    def frames(self):
        return list(self.offsets)

    def __len__(self):
        return len(self.offsets)

    def __iter__(self):
        return (self.at(frame) for frame in self.offsets)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()


def _field(payload, packed):
    field = Field(zlib.decompress(payload) if packed else payload)
    if packed:
        field.unpack()
    return field


def open(path):
    return Reader(path)
