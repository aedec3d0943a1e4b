"""Page that is connected: messages and frames that wait for it, credit, and choice of quality."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Hashable, Mapping
from typing import TYPE_CHECKING

from aiohttp import WSCloseCode, web

from uzushio.viewer.encoder import FINAL, GOOD, POOR, EncodedPicture, Quality

if TYPE_CHECKING:
    from uzushio.viewer.recording import Recording
    from uzushio.viewer.shared_view import SharedView

#: Frames that a page has not acknowledged, at most.
CREDIT = 2
#: Seconds a frame: while dragging, and at rest.
DRAG_SECONDS, REST_SECONDS = 0.05, 0.5
#: Seconds that a picture is the newest before a slow link receives it in the best quality.
REFINE_SECONDS = 1.0
#: Reductions of a picture's sides while dragging.
SCALES = (1, 2, 4)
#: Seconds between two measurements of the round-trip time.
PING_SECONDS = 1.0
#: Maximum number of messages that wait for a page.
MAX_WAITING = 64
#: Seconds until a page that receives nothing is disconnected.
SEND_LIMIT = 60.0

#: Bytes per pixel before the first frame of a quality.
_BYTES_PER_PIXEL = {FINAL: 0.25, GOOD: 0.1, POOR: 0.08}
#: Weight of earlier frames in the estimate of the rate, and seconds below which none is measured.
_DECAY, _MIN_TRANSFER = 0.8, 1e-3
#: A finer scale must be faster than required by this factor, so that the choice is stable.
_MARGIN = 0.7


class Link:
    """Round-trip time and rate of the connection to a page, from acknowledgements.

    A frame is in transfer from its sending, or from the acknowledgement of the one before. The time
    includes decoding and showing in the page.

    Attributes:
        round_trip: seconds, measured while no frame was in flight.
    """

    def __init__(self) -> None:
        self.round_trip = 0.0
        self._in_flight: deque[tuple[int, int, float]] = deque()  # sequence, bytes, time
        self._last_ack = 0.0
        self._bytes, self._seconds = 1e6, 0.05  # 20 MB/s, with little weight
        self._per_pixel = dict(_BYTES_PER_PIXEL)

    @property
    def in_flight(self) -> int:
        """Frames that were sent and not acknowledged."""
        return len(self._in_flight)

    def sent(self, sequence: int, size: int, pixels: int, quality: Quality, now: float) -> None:
        """Note that a frame was sent."""
        self._in_flight.append((sequence, size, now))
        self._per_pixel[quality] = size / pixels

    def acknowledged(self, sequence: int, now: float) -> bool:
        """Note an acknowledgement, also of earlier frames; return whether the frame is known."""
        if all(frame[0] != sequence for frame in self._in_flight):
            return False
        while True:
            known, size, sent = self._in_flight.popleft()
            if known == sequence:
                break
        transfer = now - max(self._last_ack, sent + self.round_trip)
        self._bytes = _DECAY * self._bytes + size
        self._seconds = _DECAY * self._seconds + max(transfer, _MIN_TRANSFER)
        self._last_ack = now
        return True

    def seconds(self, pixels: float, quality: Quality) -> float:
        """Return the expected time of transfer of a frame."""
        return self._per_pixel[quality] * pixels * self._seconds / self._bytes

    def quality(self, pixels: int, final: bool) -> Quality:
        """Return the best quality that is fast enough."""
        if final:
            return FINAL if self.seconds(pixels, FINAL) <= REST_SECONDS else GOOD
        return GOOD if self.seconds(pixels, GOOD) <= DRAG_SECONDS else POOR

    def scale(self, pixels: int, draw: Mapping[int, float], before: int) -> int:
        """Return the reduction of a picture's sides at which drawing and transfer are fast enough.

        Args:
            pixels: of the picture at full size.
            draw: expected seconds of drawing at each of `SCALES`.
            before: the reduction in use.
        """
        for scale in SCALES:
            limit = DRAG_SECONDS if scale >= before else _MARGIN * DRAG_SECONDS
            if max(draw[scale], self.seconds(pixels / scale**2, POOR)) <= limit:
                return scale
        return SCALES[-1]


class Client:
    """Page with its WebSocket.

    A task sends what waits: the newest message of each kind, then the newest picture of the view
    if there is credit. Pictures that come in between are lost for this page.

    Attributes:
        name: of the page.
        view: the view that it shows.
        own: name of the page's own view.
        socket: the WebSocket.
        link: estimates of the connection.
        size: of its picture in device pixels, if it is known.
        plots: whether the page shows the plots.
        recording: movie of the pictures that it shows, or that it has not fetched yet.
        ending: done when the connection is to end, with the code, the reason and a last message.
    """

    def __init__(self, name: str, view: SharedView, socket: web.WebSocketResponse) -> None:
        self.name, self.view, self.own, self.socket = name, view, view.name, socket
        self.link = Link()
        self.size: tuple[int, int] | None = None
        self.plots = False
        self.recording: Recording | None = None
        self.ending: asyncio.Future[tuple[WSCloseCode, str, str]] = (
            asyncio.get_running_loop().create_future()
        )
        self._outbox: dict[Hashable, str] = {}
        self._wake = asyncio.Event()
        self._encoding = 0
        self._sent: tuple[int, Quality] | None = None  # of the newest frame
        self._pinged, self._ping = 0.0, b""

    @property
    def has_credit(self) -> bool:
        """Whether a further picture can be sent."""
        return self.link.in_flight + self._encoding < CREDIT

    def post(self, key: Hashable, message: str) -> None:
        """Send a message soon; it replaces a waiting one with the same key."""
        self._outbox[key] = message
        if len(self._outbox) > MAX_WAITING:
            del self._outbox[next(iter(self._outbox))]
        self._wake.set()

    def wake(self) -> None:
        """Send the view's newest picture if there is credit."""
        self._wake.set()

    def show(self, view: SharedView) -> None:
        """Show another view."""
        self.view, self._sent = view, None
        self._wake.set()

    def end(self, code: WSCloseCode, reason: str, last: str = "") -> None:
        """End the connection after a last message, if it does not end already."""
        if not self.ending.done():
            self.ending.set_result((code, reason, last))

    def acknowledge(self, sequence: int) -> bool:
        """Return the credit of a frame; return whether it was in flight."""
        known = self.link.acknowledged(sequence, time.perf_counter())
        self.view.credit_changed()
        self._wake.set()
        return known

    def pong(self, payload: bytes) -> None:
        """Note the answer to a measurement of the round-trip time."""
        if payload == self._ping:
            self.link.round_trip = time.perf_counter() - self._pinged

    async def send(self) -> None:
        """Send until the connection ends.

        Raises:
            ConnectionError: the page is gone.
            TimeoutError: it has received nothing for `SEND_LIMIT` seconds.
        """
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._outbox:
                await self._within_limit(
                    self.socket.send_str(self._outbox.pop(next(iter(self._outbox))))
                )
            await self._measure()
            await self._send_picture()

    async def _measure(self) -> None:
        now = time.perf_counter()
        if not self.link.in_flight and now - self._pinged > PING_SECONDS:
            self._pinged, self._ping = now, repr(now).encode()
            await self._within_limit(self.socket.ping(self._ping))

    async def _send_picture(self) -> None:
        """Send the newest picture if it was not sent, or in a better quality if it is time."""
        view, picture = self.view, self.view.picture
        if picture is None or not self.has_credit:
            return
        quality = self._due_quality(picture)
        if quality is None:
            return
        self._encoding += 1
        view.credit_changed()
        try:
            frame = await picture.frame(quality)
        finally:
            self._encoding -= 1
        if view is not self.view:  # the page shows another view meanwhile
            self._wake.set()
            return
        pixels = picture.picture.pixels.shape[0] * picture.picture.pixels.shape[1]
        self._sent = picture.sequence, quality
        self.link.sent(picture.sequence, len(frame), pixels, quality, time.perf_counter())
        await self._within_limit(self.socket.send_bytes(frame))
        self._wake.set()  # a newer picture may be there

    def _due_quality(self, picture: EncodedPicture) -> Quality | None:
        """Return the quality in which to send a picture; None: it need not be sent."""
        final = picture.picture.request.final
        if self._sent is None or self._sent[0] != picture.sequence:
            height, width = picture.picture.pixels.shape[:2]
            return self.link.quality(height * width, final)
        if not final or self._sent[1] is FINAL or self.link.in_flight:
            return None
        rest = picture.arrival + REFINE_SECONDS - time.perf_counter()
        if rest <= 0:
            return FINAL
        asyncio.get_running_loop().call_later(rest, self._wake.set)
        return None

    @staticmethod
    async def _within_limit(sending: Awaitable[None]) -> None:
        async with asyncio.timeout(SEND_LIMIT):
            await sending
