"""Binary frames with pictures, from the gateway to a page."""

from __future__ import annotations

import struct

MAGIC = b"UZF1"
JPEG, H264 = 1, 2
KEY_FRAME, FINAL_QUALITY = 1, 2
HEADER_BYTES = 64
_HEADER = struct.Struct("<4sBBHQQqdHHffff4x")
assert _HEADER.size == HEADER_BYTES


def frame_header(
    codec: int,
    flags: int,
    sequence: int,
    revision: int,
    step: int,
    time: float,
    size: tuple[int, int],
    seconds: tuple[float, float, float, float],
) -> bytes:
    """Return the header of a frame, little endian, which the codec's data follow.

    Args:
        codec: `JPEG`, or `H264` with start codes (Annex B); parameter sets come with key frames.
        flags: sum of `KEY_FRAME`, if the frame refers to no other, and `FINAL_QUALITY`.
        sequence: number of the picture, for `Ack`. It increases; the frames of a picture at
            several qualities have the same.
        revision: revision of the view.
        step: number of the step.
        time: time of the step.
        size: columns and rows.
        seconds: for reading, drawing, compositing with annotation, encoding.
    """
    return _HEADER.pack(
        MAGIC, codec, flags, HEADER_BYTES, sequence, revision, step, time, *size, *seconds
    )
