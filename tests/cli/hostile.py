#!/usr/bin/env python3
"""hostile.py FOLDER - files whose headers lie about sizes, counts, rates and times.

Expects clip.mp4, clip.mkv, clip.avi and lossless.mkv in the folder; makes the others from them or
from nothing, and prints their names.

SPDX-License-Identifier: BSD-2-Clause
"""
import os
import struct
import sys
import zlib

os.chdir(sys.argv[1])


def make(name, data):
    with open(name, "wb") as file:
        file.write(data)
    print(name)


def read(name):
    with open(name, "rb") as file:
        return file.read()


def patch(name, source, key, offset, value):
    """The source with `value` at `offset` bytes after each `key`, which must be there."""
    data = bytearray(read(source))
    at = data.find(key)
    assert at >= 0, (name, key)
    while at >= 0:
        data[at + offset:at + offset + len(value)] = value
        at = data.find(key, at + len(key))
    make(name, bytes(data))


def be(*values):
    return b"".join(struct.pack(">I", v) for v in values)


def le(*values):
    return b"".join(struct.pack("<I", v) for v in values)


# Sizes of frames.
def png(width, height):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0" * 1000)) +
            chunk(b"IEND", b""))


make("size-100000.png", png(100000, 100000))
make("size-30000.png", png(30000, 30000))
make("size-40000x10.png", png(40000, 10))
make("size-largest.png", png(2**31 - 1, 2**31 - 1))
make("size.gif", b"GIF89a" + struct.pack("<HHBBB", 65535, 65535, 0x80, 0, 0) + b"\0\0\0\xff\xff\xff,\0\0\0\0" +
     struct.pack("<HH", 65535, 65535) + b"\0\x02\x02\x44\x01\0;")
make("size.bmp", b"BM" + struct.pack("<IHHI", 54, 0, 0, 54) +
     struct.pack("<IiiHHIIiiII", 40, 100000, 100000, 1, 24, 0, 0, 0, 0, 0, 0) + b"\0" * 1000)
make("size.pgm", b"P5 100000 100000 255\n" + b"\0" * 1000)
make("size.jpg", b"\xff\xd8\xff\xc0" + struct.pack(">HBHHB", 11, 8, 65535, 65535, 1) + b"\x01\x11\0" +
     b"\xff\xda\0\x08\x01\x01\0\0\x3f\0" + b"\0" * 1000 + b"\xff\xd9")


def y4m(name, header):
    make(name + ".y4m", b"YUV4MPEG2 " + header + b" C420\n" + (b"FRAME\n" + b"\x80" * 6144) * 3)


y4m("size", b"W100000 H100000 F25:1")
y4m("size-overflow", b"W99999999999 H99999999999 F25:1")
y4m("size-negative", b"W-64 H64 F25:1")
y4m("size-zero", b"W0 H0 F25:1")
patch("size.mp4", "clip.mp4", b"avc1\0\0\0\0\0\0\0\1", 28, struct.pack(">HH", 65535, 65535))
patch("size-track.mp4", "clip.mp4", b"tkhd", 80, be(0xffffffff, 0xffffffff))
patch("size.mkv", "lossless.mkv", b"\xb0\x81\x40\xba\x81\x40", 0, b"\xb0\x81\xff\xba\x81\xff")
patch("size.avi", "clip.avi", b"strf", 12, le(100000, 100000))
patch("size-codec.mkv", "clip.mkv", b"\xb0\x81\x40\xba\x81\x40", 0, b"\xb0\x81\x01\xba\x81\x01")

# Rates, time bases, aspects.
for rate in (b"0:0", b"1:0", b"0:1", b"2147483647:1", b"1:2147483647", b"-25:1"):
    y4m("rate-" + rate.decode().replace(":", "-"), b"W64 H64 F" + rate)
for aspect in (b"0:0", b"1:0", b"2147483647:1", b"-1:1"):
    y4m("aspect-" + aspect.decode().replace(":", "-"), b"W64 H64 F25:1 A" + aspect)
for scale in (0, 1, 0x7fffffff, 0xffffffff):
    patch("scale-%x.mp4" % scale, "clip.mp4", b"mdhd", 16, be(scale))
    patch("movie-scale-%x.mp4" % scale, "clip.mp4", b"mvhd", 16, be(scale))
    patch("rate-%x.avi" % scale, "clip.avi", b"vids", 24, le(scale))
    patch("scale-%x.avi" % scale, "clip.avi", b"vids", 20, le(scale))
for scale in (b"\0\0\0", b"\0\0\1", b"\xff\xff\xff"):
    patch("scale-%s.mkv" % scale.hex(), "clip.mkv", b"\x2a\xd7\xb1\x83", 4, scale)

# Durations and counts.
for length in (0, 0x7fffffff, 0xffffffff):
    patch("duration-%x.mp4" % length, "clip.mp4", b"mdhd", 20, be(length))
    patch("step-%x.mp4" % length, "clip.mp4", b"stts", 16, be(length))
    patch("runs-%x.mp4" % length, "clip.mp4", b"stts", 8, be(length))
    patch("run-%x.mp4" % length, "clip.mp4", b"stts", 12, be(length))
    patch("sizes-%x.mp4" % length, "clip.mp4", b"stsz", 12, be(length))
    patch("chunks-%x.mp4" % length, "clip.mp4", b"stco", 8, be(length))
    patch("chunk-%x.mp4" % length, "clip.mp4", b"stsc", 16, be(length))
    patch("offsets-%x.mp4" % length, "clip.mp4", b"ctts", 8, be(length))
    patch("edits-%x.mp4" % length, "clip.mp4", b"elst", 8, be(length))
    patch("frames-%x.avi" % length, "clip.avi", b"vids", 32, le(length))
    patch("index-%x.avi" % length, "clip.avi", b"idx1", 4, le(length))
for duration in (float("nan"), float("inf"), -1.0, 1e300):
    patch("duration-%s.mkv" % str(duration).replace("-", "minus"), "clip.mkv", b"\x44\x89\x88", 3,
          struct.pack(">d", duration))


def ivf(name, codec, size, rate, scale):
    packet = struct.pack("<IQ", 10, 2**63) + b"\x83\x49\x83\x42\x00" * 2
    make(name, b"DKIF" + struct.pack("<HH4sHHIIII", 0, 32, codec, size, size, rate, scale, 2**32 - 1, 0) + packet * 3)


ivf("vp9.ivf", b"VP90", 65535, 0, 0)
ivf("vp8.ivf", b"VP80", 64, 2**32 - 1, 1)
