"""Encoded pictures, each made once for all pages of a view, in threads."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import simplejpeg

from uzushio.render.picture import png
from uzushio.viewer.exchange import DrawnPicture
from uzushio.viewer.frame import FINAL_QUALITY, H264, JPEG, KEY_FRAME, frame_header

if TYPE_CHECKING:
    from uzushio.viewer.video import VideoEncoder

#: Threads that encode; two views rarely have a new picture at once.
_THREADS = 2
_SPACES = {3: "RGB", 4: "RGBX"}


class Quality(NamedTuple):
    """Codec, and how it encodes.

    Attributes:
        codec: `JPEG` or `H264`.
        value: quality of JPEG, 1 to 100, or constant rate factor of H.264, where less is better.
        subsampling: subsampling of the colours.
    """

    codec: int
    value: int
    subsampling: str


#: Qualities from the best: at rest, while dragging, and over slow links.
FINAL = Quality(JPEG, 92, "444")
GOOD = Quality(JPEG, 75, "420")
POOR = Quality(JPEG, 60, "420")
#: While dragging over slow links, for pages that decode it: errors are not larger than with `GOOD`.
VIDEO = Quality(H264, 22, "420")


def encode(picture: DrawnPicture, sequence: int, quality: Quality) -> bytes:
    """Return a frame: header and JPEG."""
    begin = time.perf_counter()
    pixels = np.ascontiguousarray(picture.pixels)
    data = simplejpeg.encode_jpeg(
        pixels, quality.value, _SPACES[pixels.shape[2]], quality.subsampling, quality is not FINAL
    )
    final = quality is FINAL and picture.request.final
    flags = KEY_FRAME | (FINAL_QUALITY if final else 0)
    return framed(picture, sequence, JPEG, flags, data, time.perf_counter() - begin)


def framed(
    picture: DrawnPicture, sequence: int, codec: int, flags: int, data: bytes, seconds: float
) -> bytes:
    """Return header and data of an encoded picture; `seconds` are those of encoding."""
    stages = (float(picture.seconds.get(stage, 0.0)) for stage in ("read", "draw", "composite"))
    read, draw, composite = stages
    height, width = picture.pixels.shape[:2]
    header = frame_header(
        codec,
        flags,
        sequence,
        picture.request.revision,
        picture.step,
        picture.time,
        (width, height),
        (read, draw, composite, seconds),
    )
    return b"".join((header, data))


class EncodedPicture:
    """Picture of a view with its frames, one for each quality that a page needs.

    Attributes:
        picture: the picture.
        sequence: number of the picture.
        arrival: time at which the gateway received it, by `time.perf_counter`.
    """

    def __init__(self, picture: DrawnPicture, sequence: int, threads: ThreadPoolExecutor) -> None:
        self.picture, self.sequence, self._threads = picture, sequence, threads
        self.arrival = time.perf_counter()
        self._frames: dict[Quality, asyncio.Future[bytes]] = {}

    async def frame(self, quality: Quality) -> bytes:
        """Return the frame at a quality, encoded at the first call."""
        if quality not in self._frames:
            self._frames[quality] = asyncio.get_running_loop().run_in_executor(
                self._threads, encode, self.picture, self.sequence, quality
            )
        # Other pages wait for the same frame when one of them leaves.
        return await asyncio.shield(self._frames[quality])

    async def video_frame(self, video: VideoEncoder) -> tuple[bytes, bool]:
        """Return the next frame of a page's stream, and whether it is a key frame.

        Raises:
            OutputError: the picture cannot be encoded.
        """
        return await asyncio.get_running_loop().run_in_executor(
            self._threads, video.encode, self.picture, self.sequence
        )

    async def png(self) -> bytes:
        """Return the picture as a PNG file."""
        about = {"time": repr(self.picture.time), "step": str(self.picture.step)}
        return await asyncio.get_running_loop().run_in_executor(
            self._threads, png, self.picture.pixels[..., :3], about
        )


def encoding_threads() -> ThreadPoolExecutor:
    """Return the threads that encode."""
    return ThreadPoolExecutor(_THREADS, thread_name_prefix="uzushio-encoder")
