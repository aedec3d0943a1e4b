"""Gateway with a drawing side that paints plain pictures, and pages with real sockets."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import struct
import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import aiohttp
import numpy as np
from PIL import Image

from uzushio.viewer.document import ViewDocument
from uzushio.viewer.exchange import DrawnPicture, DrawRequest, Exchange, ProbeValue
from uzushio.viewer.gateway import Gateway
from uzushio.viewer.stream_state import FieldDescription, MeshDescription, StreamDescription

#: Settings of a new page's view.
START = {"layers": [{"kind": "slice", "field": "u"}], "size": [320, 180]}
CLOSE = aiohttp.ClientWSTimeout(ws_close=5.0)
HEADER = struct.Struct("<4sBBHQQqdHHffff4x")


def shade(request: DrawRequest) -> int:
    """Return the grey value in which the drawing side paints a view: its azimuth in degrees."""
    return round(request.settings.camera.azimuth) % 256


class Painter:
    """Drawing side: a thread that paints the requested views.

    Attributes:
        seconds: duration of each picture.
        noise: whether pictures are incompressible.
        requests: all requests that were taken.
    """

    def __init__(self, exchange: Exchange, seconds: float = 0.0, noise: bool = False) -> None:
        self.exchange, self.seconds, self.noise = exchange, seconds, noise
        self.requests: list[DrawRequest] = []
        self.step = 1
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self.exchange.describe(
            StreamDescription(
                "test",
                True,
                (FieldDescription("u", "box", "m/s"),),
                (MeshDescription("box", "uniform", ((0.0, 1.0),) * 3),),
                start=START,
            )
        )
        self.exchange.advance(self.step)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join(10)

    def _run(self) -> None:
        generator = np.random.default_rng(1)
        while not self._end.is_set():
            request = self.exchange.take(0.05)
            if request is None:
                continue
            self.requests.append(request)
            value = None if request.probe is None else ProbeValue((*request.probe, 0.5), {"u": 2.0})
            if request.only_probe:
                assert value is not None
                self.exchange.put_probe(request, value)
                continue
            if any(layer.field == "missing" for layer in request.settings.layers):
                path = ("views", request.view, "layers", 0, "field")
                self.exchange.fail(request, "there is no field 'missing'", path)
                continue
            time.sleep(self.seconds)
            width, height = request.settings.size
            pixels = np.full((height, width, 3), shade(request), np.uint8)
            if self.noise:
                pixels = generator.integers(0, 255, pixels.shape, np.uint8)
            step = request.step or self.step
            seconds = {"draw": self.seconds}
            self.exchange.put(
                DrawnPicture(
                    request, pixels, step, 0.5 * step, {"u": (0.0, 1.0)}, (), seconds, value
                )
            )


@dataclass
class Frame:
    """Picture that a page has received; `whole` is the frame with its header."""

    codec: int
    key: bool
    sequence: int
    revision: int
    step: int
    time: float
    final: bool
    size: tuple[int, int]
    seconds: tuple[float, ...]
    data: bytes
    whole: bytes = field(repr=False)

    @classmethod
    def of(cls, message: bytes) -> Self:
        magic, codec, flags, length, *rest = HEADER.unpack_from(message)
        assert (magic, length) == (b"UZF1", 64) and codec in (1, 2)
        key = bool(flags & 1)
        assert key or codec == 2
        sequence, revision, step, at, width, height, *seconds = rest
        size = (width, height)
        final = bool(flags & 2)
        return cls(
            codec,
            key,
            sequence,
            revision,
            step,
            at,
            final,
            size,
            tuple(seconds),
            message[64:],
            message,
        )

    @property
    def shade(self) -> int:
        """Grey value in the middle."""
        image = Image.open(io.BytesIO(self.data))
        assert image.size == self.size
        return int(np.asarray(image.convert("L"))[self.size[1] // 2, self.size[0] // 2])


@dataclass
class Page:
    """Page over a real socket. It acknowledges each frame unless `silent`."""

    socket: aiohttp.ClientWebSocketResponse
    silent: bool = False
    told: list[dict[str, Any]] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)
    arrivals: list[float] = field(default_factory=list)
    closed: int | None = None
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    async def read(self) -> None:
        """Read until the connection ends."""
        async for message in self.socket:
            if message.type is aiohttp.WSMsgType.BINARY:
                self.frames.append(Frame.of(message.data))
                self.arrivals.append(time.perf_counter())
                if not self.silent:
                    await self.say(type="ack", sequence=self.frames[-1].sequence)
            elif message.type is aiohttp.WSMsgType.TEXT:
                self.told.append(json.loads(message.data))
            self._changed.set()
        self.closed = self.socket.close_code
        self._changed.set()

    async def say(self, **message: Any) -> None:
        """Send a message, unless the connection has ended."""
        with contextlib.suppress(ConnectionError):
            await self.socket.send_str(json.dumps(message))

    async def until(self, condition: Callable[[], Any], limit: float = 10.0) -> Any:
        """Wait until a condition of what was received is true; return its value."""
        async with asyncio.timeout(limit):
            while not (value := condition()):
                self._changed.clear()
                await self._changed.wait()
        return value

    def last(self, kind: str) -> dict[str, Any] | None:
        """Return the last message of a kind."""
        return next((message for message in reversed(self.told) if message["type"] == kind), None)

    async def hear(self, kind: str, limit: float = 10.0) -> dict[str, Any]:
        """Wait for a message of a kind that was not heard before, and return the last."""
        message: dict[str, Any] = await self.until(lambda: self.last(kind), limit)
        self.told = [message for message in self.told if message["type"] != kind]
        return message

    async def shows(self, value: int, final: bool = True, limit: float = 10.0) -> Frame:
        """Wait for a frame of this grey value."""

        def shown_frame() -> Frame | None:
            last = self.frames[-1] if self.frames else None
            shown = last is not None and last.codec == 1  # a stream is decoded from its beginning
            near = shown and abs(last.shade - value) <= 1 and last.final >= final
            return last if near else None

        frame: Frame = await self.until(shown_frame, limit)
        return frame

    async def patch(self, view: str, base: int, **camera: Any) -> None:
        """Change keys of the camera."""
        changes = [{"path": ["views", view, "camera", k], "value": v} for k, v in camera.items()]
        await self.say(type="patch", base=base, changes=changes)


class Browser:
    """Browser with a cookie, which opens pages; an asynchronous context."""

    def __init__(self, gateway: Gateway, origin: str = "") -> None:
        self.gateway, self.origin = gateway, origin or f"http://127.0.0.1:{gateway.port}"
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        self.session = aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True))
        address, _, token = self.gateway.address().partition("#token=")
        self.base = address
        async with self.post("login", json={"token": token}) as answer:
            assert answer.status == 204, await answer.text()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.session.close()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def post(self, path: str, **more: Any) -> Any:
        return self.session.post(self.base + path, headers={"Origin": self.origin}, **more)

    async def open(
        self, silent: bool = False, wait: bool = True, follow: str = "", **query: Any
    ) -> Page:
        """Open a page, and wait for its view, or the one that it follows."""
        socket = await self.session.ws_connect(
            self.base + "ws", params=query, origin=self.origin, max_msg_size=0, timeout=CLOSE
        )
        page = Page(socket, silent)
        self._tasks.append(asyncio.create_task(page.read()))
        if wait:
            await page.until(lambda: page.last("view"))
        if follow:
            await page.say(type="follow", view=follow)
            await page.until(lambda: (page.last("view") or {}).get("view") == follow)
        return page


def live(
    test: Callable[[Browser, Painter], Awaitable[None]],
    tmp_path: Path,
    seconds: float = 0.0,
    noise: bool = False,
    document: ViewDocument | None = None,
    **more: Any,
) -> None:
    """Run an asynchronous test with a gateway, a painter and a browser."""

    async def run() -> None:
        async with asyncio.timeout(40), Browser(gateway) as browser:
            await test(browser, painter)

    (tmp_path / "index.html").write_text("<!doctype html><title>page</title>")
    (tmp_path / "page.js").write_text("export {};")
    exchange = Exchange()
    with (
        Gateway(exchange, document, page=tmp_path, **more) as gateway,
        Painter(exchange, seconds, noise) as painter,
    ):
        asyncio.run(run())
