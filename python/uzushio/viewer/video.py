"""Moving pictures of a page as H.264, each encoded when it is sent."""

from __future__ import annotations

import time
from fractions import Fraction
from typing import TYPE_CHECKING

from uzushio.errors import OutputError
from uzushio.render.video_frame import FrameConverter, set_format
from uzushio.viewer.encoder import VIDEO, framed
from uzushio.viewer.exchange import DrawnPicture
from uzushio.viewer.frame import H264, KEY_FRAME

if TYPE_CHECKING:
    from av.video.codeccontext import VideoCodecContext

#: Key frames come on demand alone: x264's interval without a maximum.
_UNLIMITED = 1 << 30
#: Pictures a second, by which x264 chooses the level that it states.
_RATE = 60


class VideoEncoder:
    """H.264 stream of one page.

    Each frame refers to the one before, so the page must receive all, in their order. The first
    one, and the first of another size, is a key frame, which refers to none. One call at a time, in
    any thread.
    """

    def __init__(self) -> None:
        self._codec: VideoCodecContext | None = None
        self._size = (0, 0)
        self._count = 0

    def encode(self, picture: DrawnPicture, sequence: int) -> tuple[bytes, bool]:
        """Return a frame, header and H.264, and whether it is a key frame.

        Raises:
            OutputError: this PyAV has no x264, or it refuses the picture.
        """
        try:
            import av
        except ImportError as error:
            raise OutputError(f"H.264 needs PyAV; install it: pip install av ({error}).") from error
        begin = time.perf_counter()
        height, width = picture.pixels.shape[:2]
        try:
            codec = self._codec
            if codec is None or self._size != (width, height):
                codec = self._open(width, height)
            frame = self._convert(picture.pixels)
            frame.pts, frame.time_base = self._count, Fraction(1, _RATE)
            packets = codec.encode(frame)
        except (OSError, ValueError, av.FFmpegError) as error:
            self.close()
            raise OutputError(f"Pictures cannot be encoded as H.264: {error}.") from error
        self._count += 1
        key = any(packet.is_keyframe for packet in packets)
        flags = KEY_FRAME if key else 0
        data = b"".join(bytes(packet) for packet in packets)
        seconds = time.perf_counter() - begin
        return framed(picture, sequence, H264, flags, data, seconds), key

    def close(self) -> None:
        """Release the memory; a further frame is a key frame."""
        self._codec = None

    def _open(self, width: int, height: int) -> VideoCodecContext:
        import av

        codec = av.CodecContext.create("libx264", "w")
        set_format(codec, width, height)
        codec.time_base, codec.gop_size = Fraction(1, _RATE), _UNLIMITED
        factor = str(VIDEO.value)
        codec.options = {"preset": "ultrafast", "tune": "zerolatency", "crf": factor}
        self._convert = FrameConverter()
        self._codec, self._size, self._count = codec, (width, height), 0
        return codec
