"""plot_field.py FIELDS.mvf [FRAME] [-o OUT.png] - draws one field of an mvf file.

    mvfield extract samples/media/street-540p.mp4 -o street.mvf
    python3 plot_field.py street.mvf 5 -o street-5.png

With matplotlib: arrows the way that the content moved, over its speed. Without it, a picture whose
hue is the direction and whose brightness is the speed.

SPDX-License-Identifier: BSD-2-Clause
"""

import argparse
import struct
import zlib

import numpy as np

import mvf


def first_frame_with_vectors(fields):
    return next(field.frame for field in fields if len(field.blocks))


def plot(field, path):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    # Content moves against its vector into the past.
    mv = -field.vectors_px()
    x = field.blocks["x"] + field.blocks["w"] / 2
    y = field.blocks["y"] + field.blocks["h"] / 2
    figure, axes = pyplot.subplots(figsize=(9, 9 * field.height / field.width + 1))
    arrows = axes.quiver(x, y, mv[:, 0], mv[:, 1], np.hypot(mv[:, 0], mv[:, 1]), angles="xy",
                         scale_units="xy", scale=0.5)
    axes.set(xlim=(0, field.width), ylim=(field.height, 0), aspect="equal",
             title=f"frame {field.frame}, motion since frame {field.references[0][0]} (twice its length)"
             if field.references else f"frame {field.frame}")
    figure.colorbar(arrows, label="px a frame")
    figure.savefig(path, dpi=120, bbox_inches="tight")


def colours(flow):
    """(height, width, 3) bytes: hue for the direction of the content, brightness for its speed."""
    u, v = -flow
    speed = np.hypot(u, v)
    fastest = np.nanmax(speed, initial=0) or 1
    sector = np.nan_to_num((np.arctan2(v, u) / (2 * np.pi) % 1) * 6)
    value = np.nan_to_num(speed / fastest)
    rise, fall = sector % 1, 1 - sector % 1
    one, none = np.ones_like(rise), np.zeros_like(rise)
    wheel = [(one, rise, none), (fall, one, none), (none, one, rise), (none, fall, one),
             (rise, none, one), (one, none, fall)]
    picture = np.zeros(flow.shape[1:] + (3,))
    for i, channels in enumerate(wheel):
        here = sector.astype(int) % 6 == i
        picture[here] = np.stack(channels, 2)[here]
    return (255 * picture * value[:, :, None]).astype(np.uint8)


def write_png(path, picture):
    def chunk(kind, data):
        return (struct.pack(">I", len(data)) + kind + data +
                struct.pack(">I", zlib.crc32(kind + data)))

    height, width, _ = picture.shape
    rows = b"".join(b"\0" + row.tobytes() for row in picture)
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" +
                   chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) +
                   chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def main():
    parser = argparse.ArgumentParser(description="Draws one field of an mvf file.")
    parser.add_argument("fields")
    parser.add_argument("frame", type=int, nargs="?")
    parser.add_argument("-o", "--output", default="field.png")
    arguments = parser.parse_args()
    with mvf.open(arguments.fields) as fields:
        frame = arguments.frame if arguments.frame is not None else first_frame_with_vectors(fields)
        field = fields.at(frame)
    try:
        plot(field, arguments.output)
    except ImportError:
        write_png(arguments.output, colours(field.flow_px()))


if __name__ == "__main__":
    main()
