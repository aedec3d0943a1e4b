"""Estimates of the connection to a page, and the choice of quality and size by them."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import NamedTuple

from uzushio.viewer.encoder import FINAL, GOOD, POOR, VIDEO, Quality

#: Seconds a frame: while dragging, and at rest.
DRAG_SECONDS, REST_SECONDS = 0.05, 0.5
#: Seconds of a picture as JPEG while dragging, above which it is sent as H.264 to a page that
#: decodes it, and below which as JPEG again: the page draws 60 a second.
VIDEO_SECONDS, JPEG_SECONDS = 0.02, 0.01
#: Reductions of a picture's sides while dragging.
SCALES = (1, 2, 4)

#: Bytes of a frame of `_PIXELS` pixels before the first one of a quality.
_BYTES = {FINAL: 100e3, GOOD: 40e3, POOR: 34e3, VIDEO: 15e3}
_PIXELS = 600e3
#: Bytes grow with this power of the number of pixels: 0.4 to 0.7 was measured.
_POWER = 0.7
#: Weight of earlier frames in the estimates of the rate, and seconds below which none is measured.
_DECAY, _MIN_TRANSFER = 0.8, 1e-3
#: Bytes of a frame below which it does not lower the rate.
_SMALL = 8e3
#: A finer scale must be faster than required by this factor, so that the choice is stable.
_MARGIN = 0.7


class Link:
    """Round-trip time and rate of the connection to a page, from acknowledgements.

    A frame is in transfer from its sending, or from the reception of the one before, until its
    reception, which is the acknowledgement less the page's seconds.

    Attributes:
        round_trip: seconds, measured while no frame was in flight.
        page: mean seconds of a frame in the page, for decoding and drawing.
        decodes_video: whether the page decodes H.264.
        video: whether pictures while dragging are sent as H.264.
    """

    def __init__(self) -> None:
        self.round_trip = self.page = 0.0
        self.decodes_video = self.video = False
        self._in_flight: deque[_Sent] = deque()
        self._bytes, self._seconds = 1e6, 0.05  # 20 MB/s, with little weight
        self._last_received = 0.0
        self._sizes = {quality: (size, _PIXELS) for quality, size in _BYTES.items()}

    @property
    def in_flight(self) -> int:
        """Frames that were sent and not acknowledged."""
        return len(self._in_flight)

    def sent(
        self,
        sequence: int,
        size: int,
        pixels: int,
        quality: Quality,
        now: float,
        first: bool = False,
    ) -> None:
        """Note that a frame was sent; `first`: it is the key frame of a stream, which is larger."""
        self._in_flight.append(_Sent(sequence, size, now))
        if first:
            return
        expected = self._expected_bytes(pixels, quality)
        # The size of video follows the motion, and each change of scale costs a key frame.
        largest = max(size, _DECAY * expected) if quality is VIDEO else size
        self._sizes[quality] = largest, pixels

    def acknowledged(self, sequence: int, now: float, page: float = 0.0) -> bool:
        """Note an acknowledgement, also of earlier frames; return whether the frame is known.

        Args:
            sequence: number of the frame.
            now: time.
            page: seconds from the reception of the frame to its picture.
        """
        if all(frame.sequence != sequence for frame in self._in_flight):
            return False
        while True:
            frame = self._in_flight.popleft()
            if frame.sequence == sequence:
                break
        begin = max(self._last_received, frame.time + self.round_trip)
        self._last_received = max(begin, now - page)
        self.page = _DECAY * self.page + (1.0 - _DECAY) * page
        self._add(frame.bytes, max(self._last_received - begin, _MIN_TRANSFER))
        return True

    def _add(self, size: int, seconds: float) -> None:
        """Note a transfer. The time of a small frame is mainly that of delays."""
        small = size < _SMALL and seconds < DRAG_SECONDS
        if small and size * self._seconds < seconds * self._bytes:
            return
        self._bytes = _DECAY * self._bytes + size
        self._seconds = _DECAY * self._seconds + seconds

    def seconds(self, pixels: float, quality: Quality) -> float:
        """Return the expected time of transfer of a frame."""
        return self._expected_bytes(pixels, quality) * self._seconds / self._bytes

    def _expected_bytes(self, pixels: float, quality: Quality) -> float:
        """Return the expected bytes of a frame, by the last one of its quality."""
        size, of = self._sizes[quality]
        return float(size * (pixels / of) ** _POWER)

    def choose_codec(self, pixels: int) -> None:
        """Choose JPEG or H.264 for pictures while dragging.

        Args:
            pixels: pixels of the picture at full size.
        """
        limit = JPEG_SECONDS if self.video else VIDEO_SECONDS
        self.video = self.decodes_video and self.seconds(pixels, GOOD) > limit

    def quality(self, pixels: int, final: bool) -> Quality:
        """Return the best quality that is fast enough."""
        if final:
            return FINAL if self.seconds(pixels, FINAL) <= REST_SECONDS else GOOD
        if self.video:
            return VIDEO
        return GOOD if self.seconds(pixels, GOOD) <= DRAG_SECONDS else POOR

    def scale(self, pixels: int, draw: Mapping[int, float], before: int) -> int:
        """Return the reduction of a picture's sides at which drawing and transfer are fast enough.

        Args:
            pixels: pixels of the picture at full size.
            draw: expected seconds of drawing, in the viewer and in the page, at each of `SCALES`.
            before: the reduction in use.
        """
        fastest = VIDEO if self.video else POOR
        for scale in SCALES:
            limit = DRAG_SECONDS if scale >= before else _MARGIN * DRAG_SECONDS
            if max(draw[scale], self.seconds(pixels / scale**2, fastest)) <= limit:
                return scale
        return SCALES[-1]


class _Sent(NamedTuple):
    """Frame in flight."""

    sequence: int
    bytes: int
    time: float
