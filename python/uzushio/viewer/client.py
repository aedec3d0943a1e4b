"""Page that is connected: messages and frames that wait for it, and credit."""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Awaitable, Hashable, Iterable
from typing import TYPE_CHECKING

from aiohttp import WSCloseCode, web

from uzushio.errors import OutputError
from uzushio.viewer.encoder import FINAL, VIDEO, EncodedPicture, Quality
from uzushio.viewer.link import Link
from uzushio.viewer.video import VideoEncoder

if TYPE_CHECKING:
    from uzushio.viewer.messages import Message
    from uzushio.viewer.recording import Recording
    from uzushio.viewer.shared_view import SharedView

#: Frames that a page has not acknowledged, at most.
CREDIT = 2
#: Seconds that a picture is the newest before a slow link receives it in the best quality.
REFINE_SECONDS = 1.0
#: Seconds between two measurements of the round-trip time.
PING_SECONDS = 1.0
#: Maximum number of messages that wait for a page.
MAX_WAITING = 64
#: Seconds until a page that receives nothing is disconnected.
SEND_LIMIT = 60.0

_LOG = logging.getLogger(__name__)


class Client:
    """Page with its WebSocket.

    A task sends the newest message of each kind, then the newest picture of the view if there is
    credit. The page does not get pictures that were replaced by newer ones meanwhile.

    Attributes:
        name: name of the page.
        view: the view that it shows.
        own: name of the page's own view.
        key: secret of this connection, by which the page is known when it connects again.
        read_only: whether it may only look: it changes nothing but its own view.
        socket: the WebSocket.
        link: estimates of the connection.
        size: size of its picture in device pixels, if it is known.
        background: background of pictures in its colour scheme; empty for the default.
        patch: number of its newest patch that was applied.
        plots: whether the page shows the plots.
        recording: movie of the pictures that it shows, or that it has not fetched yet.
        video: encoder of its H.264 stream.
        ending: done when the connection is to end, with the code, the reason and a last message.
    """

    def __init__(self, name: str, view: SharedView, socket: web.WebSocketResponse) -> None:
        self.name, self.view, self.own, self.socket = name, view, view.name, socket
        self.key, self.read_only = secrets.token_hex(16), False
        self.link = Link()
        self.size: tuple[int, int] | None = None
        self.background = ""
        self.patch = 0
        self.plots = False
        self.recording: Recording | None = None
        self.video = VideoEncoder()
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

    def show(self, view: SharedView) -> None:
        """Show another view."""
        self.view, self._sent = view, None
        self._wake.set()

    def end(self, code: WSCloseCode, reason: str, last: str = "") -> None:
        """End the connection after a last message, if it does not end already."""
        if not self.ending.done():
            self.ending.set_result((code, reason, last))

    def offer_video(self, decodes: bool) -> None:
        """Note whether the page decodes H.264; if no longer, send it the picture as JPEG."""
        self.link.decodes_video = decodes
        if not decodes:
            self.link.video, self._sent = False, None
            self._wake.set()

    def acknowledge(self, sequence: int, page: float = 0.0) -> bool:
        """Return the credit of a frame; return whether it was in flight.

        Args:
            sequence: number of the frame.
            page: seconds from the reception of the frame to its picture.
        """
        known = self.link.acknowledged(sequence, time.perf_counter(), page)
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
            ConnectionError: the page has disconnected.
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
            frame, first = await self._encoded(picture, quality)
        except OutputError as error:
            _LOG.warning("%s", error)
            self.offer_video(False)
            return
        finally:
            self._encoding -= 1
        if view is not self.view or (quality is VIDEO and not self.link.video):
            self.video.close()  # its next frame must not refer to one that the page does not have
            self._wake.set()
            return
        pixels = picture.picture.pixels.shape[0] * picture.picture.pixels.shape[1]
        self._sent = picture.sequence, quality
        now = time.perf_counter()
        self.link.sent(picture.sequence, len(frame), pixels, quality, now, first)
        await self._within_limit(self.socket.send_bytes(frame))
        self._wake.set()  # a newer picture may be there

    async def _encoded(self, picture: EncodedPicture, quality: Quality) -> tuple[bytes, bool]:
        """Return a frame, and whether it is the key frame of a stream."""
        if quality is VIDEO:
            return await picture.video_frame(self.video)
        if not self.link.video:
            self.video.close()
        return await picture.frame(quality), False

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


def tell(clients: Iterable[Client], message: Message, *of: Hashable) -> None:
    """Send pages a message soon.

    Args:
        clients: the pages.
        message: replaces a waiting one of the same type and the same `of`.
        of: what the message is about, where several of its type are to arrive.
    """
    text = message.model_dump_json()
    for client in clients:
        client.post((type(message), *of), text)
