"""Web server of the live view, on an event loop in a thread of its own."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Self

from aiohttp import WSCloseCode, web

from uzushio._base.error_text import system_sentence
from uzushio.errors import ViewerError
from uzushio.viewer import messages
from uzushio.viewer.access import Access
from uzushio.viewer.connection import Connection, Limits
from uzushio.viewer.document import ViewDocument
from uzushio.viewer.encoder import encoding_threads
from uzushio.viewer.exchange import Exchange
from uzushio.viewer.listening import Listening, bound_socket
from uzushio.viewer.page_movie import find_movie
from uzushio.viewer.plotly_script import PLOTLY, plotly_script
from uzushio.viewer.session import Session
from uzushio.viewer.token_file import TokenFile

#: Folder of the page's files.
PAGE = Path(__file__).with_name("page")
#: Maximum seconds of a connection that is no page's WebSocket, and maximum number of these.
CONNECTION_SECONDS, MAX_CONNECTIONS = 60.0, 64
#: Seconds until a picture of the present state of a view must be drawn.
PICTURE_LIMIT = 30.0
#: Bytes of a movie that are sent at once.
MOVIE_CHUNK = 1 << 20

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".json": "application/json",
    ".woff2": "font/woff2",
}


class Gateway:
    """Server of the page, its WebSockets and pictures; `start` and `stop`, or a `with` block.

    Args:
        exchange: state shared with the drawing loop.
        document: views to begin with; it belongs to the gateway from now on.
        listening: address.
        token_file: path of a file, made with mode 0600, with the address and the job's token.
        title: title of the job, in that file.
        page: folder of the page's files.
        limits: limits of pages and messages.

    Attributes:
        port: in use.
    """

    def __init__(
        self,
        exchange: Exchange,
        document: ViewDocument | None = None,
        listening: Listening | None = None,
        token_file: Path | None = None,
        title: str = "",
        page: Path = PAGE,
        limits: Limits | None = None,
    ) -> None:
        self._exchange, self._document = exchange, document or ViewDocument()
        self._listening, self._limits = listening or Listening(), limits or Limits()
        self._token_file, self._title = token_file, title
        self._files = _read_files(page)
        self._thread = threading.Thread(target=self._run, name="uzushio-gateway", daemon=True)
        self._started: Future[None] = Future()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping = asyncio.Event()
        self._trusted: set[web.RequestHandler] = set()  # connections with a valid cookie
        self._message = ""
        self.port = self._listening.port

    def start(self, limit: float = 20.0) -> None:
        """Start the thread and wait until the gateway listens.

        Raises:
            ViewerError: it cannot listen there, or not within `limit` seconds.
        """
        self._thread.start()
        try:
            self._started.result(limit)
        except TimeoutError:
            raise ViewerError(f"The live view did not start within {limit:g} s.") from None
        except OSError as error:
            where = self._listening.socket or f"{self._listening.host}:{self._listening.port}"
            raise ViewerError(
                f"The live view cannot listen on {where} ({error.strerror or error}); choose "
                "another port or path."
            ) from error

    def stop(self, message: str = "The viewer has ended.", limit: float = 10.0) -> None:
        """Notify the pages, close all connections and end the thread within `limit` seconds."""
        if self._loop is not None and self._thread.is_alive():
            self._message = message
            with suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(self._stopping.set)
            self._thread.join(limit)

    def __enter__(self) -> Self:
        """Start."""
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop."""
        self.stop()

    def address(self, read_only: bool = False) -> str:
        """Return an address of the page with a new one-time token; call after `start`."""
        token = self._access.one_time_token(read_only)
        return f"{self._origin}{self._listening.prefix}/#token={token}"

    @property
    def _origin(self) -> str:
        return (self._listening.origins or self._listening.accepted_origins(self.port))[0]

    # ---- the thread

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:
            if self._started.done():
                raise
            self._started.set_exception(error)

    async def _serve(self) -> None:
        self._loop = loop = asyncio.get_running_loop()
        threads = encoding_threads()
        self._session = Session(self._document, self._exchange, threads)
        app = web.Application(middlewares=[self._check], client_max_size=4096)
        app.on_response_prepare.append(self._add_headers)
        self._add_routes(app)
        runner = web.AppRunner(
            app,
            access_log=None,
            handle_signals=False,
            keepalive_timeout=10.0,
            shutdown_timeout=2.0,
        )
        await runner.setup()
        server = None
        try:
            server = await self._listen(runner)
            self._access = Access(self._listening.accepted_origins(self.port))
            self._write_token_file()
            self._exchange.listen(lambda: _call_soon(loop, self._session.publish))
            self._started.set_result(None)
            await self._stopping.wait()
        finally:
            self._exchange.listen(None)
            if server is not None:
                server.close()
                for path in (self._token_file, self._listening.socket):
                    if path is not None:
                        path.unlink(missing_ok=True)
            ended = messages.Ended(message=self._message).model_dump_json()
            for client in self._session.clients:
                client.end(WSCloseCode.GOING_AWAY, "ended", ended)
            await runner.cleanup()
            threads.shutdown(wait=False, cancel_futures=True)

    def _write_token_file(self) -> None:
        if self._token_file is None:
            return
        listening, token = self._listening.reached_at(self.port), self._access.token
        try:
            TokenFile(listening, self._origin, token, self._title).write(self._token_file)
        except OSError as error:
            raise ViewerError(f"The token was not written: {system_sentence(error)}") from error

    async def _listen(self, runner: web.AppRunner) -> asyncio.Server:
        loop, path = asyncio.get_running_loop(), self._listening.socket
        assert runner.server is not None
        factory = partial(self._connect, runner.server)
        if path is not None:
            return await loop.create_unix_server(factory, sock=bound_socket(path))
        server = await loop.create_server(factory, self._listening.host, self._listening.port)
        self.port = server.sockets[0].getsockname()[1]
        return server

    def _connect(self, server: web.Server) -> asyncio.BaseProtocol:
        """Return the protocol of a new connection, within the limits of those without a cookie."""
        connections = set(server.connections)
        self._trusted &= connections
        if len(connections - self._trusted) >= MAX_CONNECTIONS:
            return _Refusal()
        protocol = server()
        asyncio.get_running_loop().call_later(CONNECTION_SECONDS, self._expire, protocol)
        return protocol

    def _expire(self, protocol: web.RequestHandler) -> None:
        if protocol not in self._trusted and protocol.transport is not None:
            protocol.transport.abort()

    # ---- requests

    def _add_routes(self, app: web.Application) -> None:
        for base in {"", self._listening.prefix}:
            app.router.add_get(f"{base}/ws", self._socket)
            app.router.add_post(f"{base}/login", self._log_in)
            app.router.add_post(f"{base}/token", self._new_address)
            app.router.add_get(f"{base}/picture.png", self._picture)
            app.router.add_get(f"{base}/{PLOTLY}", self._plotly)
            app.router.add_get(f"{base}/movie.mp4", self._movie)
        for base in sorted({"", self._listening.prefix}, reverse=True):
            app.router.add_get(f"{base}/{{file:.*}}", self._file)

    @web.middleware
    async def _check(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Check the address before anything else."""
        by_page = request.match_info.handler in (self._socket, self._log_in)
        self._access.check_address(request, needs_origin=by_page)
        if self._access.is_logged_in(request):
            self._trusted.add(request.protocol)
        return await handler(request)

    async def _add_headers(self, request: web.Request, response: web.StreamResponse) -> None:
        self._access.add_headers(request, response.headers)

    async def _file(self, request: web.Request) -> web.Response:
        """Return a file of the page; it holds no secret."""
        page_file = self._files.get(request.match_info["file"] or "index.html")
        if page_file is None:
            raise web.HTTPNotFound(text="There is no such file.\n")
        content, kind = page_file
        return web.Response(body=content, headers={"Content-Type": kind})

    async def _plotly(self, request: web.Request) -> web.Response:
        """Return the script that draws plots; a page loads it when it shows them first."""
        del request
        script = await asyncio.to_thread(plotly_script)
        if script is None:
            raise web.HTTPNotFound(text="Plotly is not installed: pip install plotly.\n")
        return web.Response(
            body=script, headers={"Content-Type": _TYPES[".js"], "Content-Encoding": "gzip"}
        )

    async def _log_in(self, request: web.Request) -> web.Response:
        """Exchange a one-time token for a cookie."""
        try:
            token = json.loads(await request.read())["token"]
        except (ValueError, TypeError, KeyError, RecursionError):
            token = None
        response = web.Response(status=204)
        path = f"{self._listening.prefix}/"
        secure = request.headers["Origin"].startswith("https:")
        if not isinstance(token, str) or not self._access.log_in(token, response, path, secure):
            raise web.HTTPUnauthorized(
                text="The token is wrong or was used before; `uzushio view --list` prints a new "
                "address.\n"
            )
        return response

    async def _new_address(self, request: web.Request) -> web.Response:
        """Return an address with a new one-time token to the holder of the job's token."""
        given = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if not self._access.is_job_token(given):
            raise web.HTTPUnauthorized(text="the job's token is wrong\n")
        return web.Response(text=self.address(request.query.get("read_only") == "1"))

    async def _picture(self, request: web.Request) -> web.Response:
        """Return the picture of a view's present state as PNG, when it is drawn."""
        self._needs_cookie(request)
        view = self._session.views.get(request.query.get("view", ""))
        if view is None or view.picture is None:
            raise web.HTTPNotFound(text="There is no picture of this view.\n")
        end = time.monotonic() + PICTURE_LIMIT
        while (picture := view.full_picture(self._session.document)) is None:
            if time.monotonic() > end:
                late = f"The view was not drawn within {PICTURE_LIMIT:g} s"
                raise web.HTTPGatewayTimeout(text=f"{late}; save it when it is shown.\n")
            await asyncio.sleep(0.02)
        headers = {"Step": str(picture.picture.step)}
        return web.Response(body=await picture.png(), headers=headers, content_type="image/png")

    async def _movie(self, request: web.Request) -> web.StreamResponse:
        """Return a movie that a page has recorded, and remove its file."""
        self._needs_cookie(request)
        movie = find_movie(self._session.clients, request.query.get("key", ""))
        if movie is None:
            raise web.HTTPNotFound(text="There is no such movie, or it was fetched before.\n")
        path, remove = movie
        with path.open("rb") as file:
            response = web.StreamResponse(headers={"Content-Type": "video/mp4"})
            response.content_length = path.stat().st_size
            await response.prepare(request)
            while chunk := await asyncio.to_thread(file.read, MOVIE_CHUNK):
                await response.write(chunk)
            await response.write_eof()
        remove()
        return response

    def _needs_cookie(self, request: web.Request) -> None:
        if not self._access.is_logged_in(request):
            raise web.HTTPUnauthorized(text="Open the address that the viewer has printed.\n")

    async def _socket(self, request: web.Request) -> web.WebSocketResponse:
        """Serve a page until it leaves."""
        self._needs_cookie(request)
        read_only = self._access.is_read_only(request)
        return await Connection(self._session, self._limits).serve(request, read_only)


class _Refusal(asyncio.Protocol):
    """Connection above the limit."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Close it."""
        transport.close()


def _call_soon(loop: asyncio.AbstractEventLoop, function: Callable[[], None]) -> None:
    with suppress(RuntimeError):  # the loop has ended
        loop.call_soon_threadsafe(function)


def _read_files(folder: Path) -> dict[str, tuple[bytes, str]]:
    """Return content and type of the page's files by their paths."""
    return {
        path.relative_to(folder).as_posix(): (path.read_bytes(), _TYPES[path.suffix])
        for path in sorted(folder.rglob("*"))
        if path.suffix in _TYPES
    }
