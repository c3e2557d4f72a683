"""mvfield.py - calls libmvfield from Python: two luma planes in, a motion vector field out.

    import numpy as np, mvfield
    field = mvfield.search(current, reference, block=16, range_px=16, backend="cpu")
    field["mv"]       # (rows, cols, 2) float px, toward the reference
    field["cost"]     # (rows, cols) sum of absolute differences

The planes are (height, width) arrays of uint8, or of uint16 with `bit_depth`. The library is found
by pkg-config, or by the environment variable MVFIELD_LIBRARY.

SPDX-License-Identifier: BSD-2-Clause
"""

import ctypes
import os
import subprocess
import sys

import numpy as np

NONE = -(2**63)
BACKENDS = {"auto": 0, "cpu": 1, "cuda": 2}
LOG = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p)


class Rational(ctypes.Structure):
    _fields_ = [("num", ctypes.c_int32), ("den", ctypes.c_int32)]


class Logger(ctypes.Structure):
    _fields_ = [("callback", LOG), ("opaque", ctypes.c_void_p)]


class Options(ctypes.Structure):
    """The start of mvf_options; mvf_options_init() fills in all of it, so there is room for more."""
    _fields_ = [("struct_size", ctypes.c_size_t), ("backend", ctypes.c_int),
                ("device", ctypes.c_int32), ("method", ctypes.c_int)] + \
               [(name, ctypes.c_int32) for name in
                ("block_w", "block_h", "step_x", "step_y", "range_x", "range_y")] + \
               [("edges", ctypes.c_int), ("threads", ctypes.c_int32), ("cpu_level", ctypes.c_int),
                ("max_in_flight", ctypes.c_int32), ("logger", Logger), ("more", ctypes.c_uint8 * 4096)]


class Picture(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("stride_bytes", ctypes.c_ssize_t),
                ("memory", ctypes.c_int), ("type", ctypes.c_int), ("frame", ctypes.c_int64),
                ("pts", ctypes.c_int64), ("time_base", Rational), ("shift_bits", ctypes.c_int32),
                ("stream", ctypes.c_void_p)]


class Grid(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int32) for name in
                ("block_w", "block_h", "step_x", "step_y", "cols", "rows")]


class Field(ctypes.Structure):
    _fields_ = [("frame", ctypes.c_int64), ("pts", ctypes.c_int64), ("time_base", Rational),
                ("type", ctypes.c_int), ("source", ctypes.c_int), ("width", ctypes.c_int32),
                ("height", ctypes.c_int32), ("bit_depth", ctypes.c_int32),
                ("mv_scale", ctypes.c_int32), ("flags", ctypes.c_uint32), ("grid", Grid),
                ("n_references", ctypes.c_size_t), ("references", ctypes.c_void_p),
                ("n_blocks", ctypes.c_size_t), ("blocks", ctypes.c_void_p),
                ("opaque", ctypes.c_void_p)]


BLOCK = np.dtype({"names": ["x", "y", "w", "h", "mv_x", "mv_y", "cost", "dir", "flags", "ref"],
                  "formats": ["i4", "i4", "u2", "u2", "i2", "i2", "u4", "i1", "u1", "i2"]}, align=True)


def find_library():
    if "MVFIELD_LIBRARY" in os.environ:
        return os.environ["MVFIELD_LIBRARY"]
    name = "libmvfield.dylib" if sys.platform == "darwin" else "libmvfield.so"
    try:
        folder = subprocess.run(["pkg-config", "--variable=libdir", "mvfield"], check=True,
                                capture_output=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        raise OSError("pkg-config does not know mvfield: set PKG_CONFIG_PATH or MVFIELD_LIBRARY") \
            from None
    return os.path.join(folder, name)


def load(path=None):
    library = ctypes.CDLL(path or find_library())
    library.mvf_version.restype = library.mvf_status_string.restype = ctypes.c_char_p
    library.mvf_options_init.argtypes = [ctypes.POINTER(Options)]
    library.mvf_picture_init.argtypes = [ctypes.POINTER(Picture)]
    library.mvf_options_init.restype = library.mvf_picture_init.restype = None
    library.mvf_search.argtypes = [ctypes.POINTER(Options), ctypes.c_int32, ctypes.c_int32,
                                   ctypes.c_int32, ctypes.POINTER(Picture), ctypes.POINTER(Picture),
                                   ctypes.POINTER(ctypes.POINTER(Field))]
    library.mvf_field_free.argtypes = [ctypes.POINTER(ctypes.POINTER(Field))]
    library.mvf_field_free.restype = None
    return library


_library = None


def _picture(library, plane, frame):
    picture = Picture()
    library.mvf_picture_init(picture)
    picture.data = plane.ctypes.data
    picture.stride_bytes = plane.strides[0]
    picture.frame = frame
    return picture


def _plane(array, bit_depth):
    array = np.asarray(array)
    wanted = np.uint8 if bit_depth == 8 else np.uint16
    if array.ndim != 2 or array.dtype != wanted:
        raise ValueError(f"a plane is a (height, width) array of {np.dtype(wanted).name}")
    # Rows may lie apart, samples of a row may not.
    return array if array.strides[1] == array.itemsize else np.ascontiguousarray(array)


def search(current, reference, block=16, range_px=16, backend="auto", bit_depth=8):
    """Predicts `current` from `reference`; the result is a dict of arrays."""
    global _library
    _library = _library or load()
    current, reference = _plane(current, bit_depth), _plane(reference, bit_depth)
    if current.shape != reference.shape:
        raise ValueError("both planes must have one size")
    messages, options, field = [], Options(), ctypes.POINTER(Field)()
    _library.mvf_options_init(options)
    options.backend = BACKENDS[backend]
    options.block_w = options.block_h = block
    options.range_x = options.range_y = range_px
    options.logger.callback = log = LOG(lambda _, level, text: messages.append(text.decode()))
    height, width = current.shape
    status = _library.mvf_search(options, width, height, bit_depth, _picture(_library, current, 1),
                                 _picture(_library, reference, 0), field)
    del log
    if status:
        raise RuntimeError("; ".join(messages) or _library.mvf_status_string(status).decode())
    try:
        return _to_arrays(field.contents)
    finally:
        _library.mvf_field_free(field)


def _to_arrays(field):
    raw = (ctypes.c_uint8 * (field.n_blocks * BLOCK.itemsize)).from_address(field.blocks)
    blocks = np.frombuffer(raw, BLOCK).copy().reshape(field.grid.rows, field.grid.cols)
    mv = np.stack([blocks["mv_x"], blocks["mv_y"]], 2) / field.mv_scale
    return {"mv": mv, "cost": blocks["cost"], "blocks": blocks}
