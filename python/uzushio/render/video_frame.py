"""Pictures as frames of video: H.264 and its relatives have half as many colours as pixels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from av.video.codeccontext import VideoCodecContext
    from av.video.frame import VideoFrame


def set_format(codec: VideoCodecContext, width: int, height: int, threads: int = 1) -> None:
    """Set size and colour space of an encoder, without B-frames.

    An odd width or height is padded by one column or row, as H.264 requires.

    Args:
        codec: encoder that is not open.
        width: columns of the pictures.
        height: rows of the pictures.
        threads: number of threads of the encoder.
    """
    from av.video.reformatter import ColorPrimaries, ColorRange, Colorspace, ColorTrc

    codec.width, codec.height = width + width % 2, height + height % 2
    codec.pix_fmt = "yuv420p"
    codec.max_b_frames = 0
    codec.thread_count = threads
    codec.colorspace = Colorspace.ITU709
    codec.color_primaries = ColorPrimaries.BT709
    codec.color_trc = ColorTrc.BT709
    codec.color_range = ColorRange.MPEG


class FrameConverter:
    """Conversion of pictures of one size to the format of `set_format`.

    Args:
        threads: number of threads of the conversion.
    """

    def __init__(self, threads: int = 1) -> None:
        from av.video.reformatter import VideoReformatter

        self._reformatter, self._threads = VideoReformatter(), threads

    def __call__(self, pixels: NDArray[np.uint8]) -> VideoFrame:
        """Convert a picture; shape (height, width, 3 or 4)."""
        from av.video.frame import VideoFrame
        from av.video.reformatter import ColorRange, Colorspace

        height, width = pixels.shape[:2]
        pixels = pixels[..., :3]
        if height % 2 or width % 2:
            pixels = np.pad(pixels, ((0, height % 2), (0, width % 2), (0, 0)), mode="edge")
        frame = VideoFrame.from_ndarray(np.ascontiguousarray(pixels), format="rgb24")
        return self._reformatter.reformat(
            frame,
            format="yuv420p",
            dst_colorspace=Colorspace.ITU709,
            dst_color_range=ColorRange.MPEG,
            threads=self._threads,
        )
