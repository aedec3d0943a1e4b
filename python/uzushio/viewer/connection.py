"""WebSocket of a page: its messages, within limits on their number, size and validity."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from aiohttp import WSCloseCode, WSMsgType, web
from pydantic import ValidationError

from uzushio.viewer import messages
from uzushio.viewer.client import Client, tell
from uzushio.viewer.document_limits import RefusedChange
from uzushio.viewer.session import Session

#: Seconds between two checks whether a page is there; it has half of them to answer.
HEARTBEAT = 60.0
#: Maximum seconds to send the last message.
LAST_SECONDS = 1.0
#: Invalid messages of a page, after which it is disconnected.
MAX_INVALID = 10

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Limits:
    """Limits of a gateway.

    Attributes:
        clients: pages at once.
        rate: messages per second of a page.
        burst: messages above the rate.
    """

    clients: int = 16
    rate: float = 500.0
    burst: float = 1000.0


class Connection:
    """WebSocket of a page.

    Args:
        session: the views and pages.
        limits: limits of pages and messages.
    """

    def __init__(self, session: Session, limits: Limits) -> None:
        self._session, self._limits = session, limits
        self._socket = web.WebSocketResponse(
            timeout=5.0,
            autoping=False,
            heartbeat=HEARTBEAT,
            # A page that is still sending when its socket is closed may not receive the reason:
            # messages that are only somewhat too large are received whole, and the connection
            # closed after them.
            max_msg_size=4 * messages.MAX_MESSAGE,
            compress=False,
        )

    async def serve(self, request: web.Request, read_only: bool = False) -> web.WebSocketResponse:
        """Answer the request of a page that is logged in, and serve it until it leaves."""
        view, size, background = _wanted(request.query)
        socket = self._socket
        await socket.prepare(request)
        clients, maximum = self._session.clients, self._limits.clients
        if read_only:  # they cannot keep out those that may steer
            clients, maximum = [client for client in clients if client.read_only], maximum // 2
        if len(clients) >= maximum:
            reason = f"{maximum} pages are open, the maximum"
            await socket.close(code=WSCloseCode.TRY_AGAIN_LATER, message=reason.encode())
            return socket
        client = self._session.join(socket, view, size, self._limits.rate, background, read_only)
        tasks = {asyncio.create_task(work) for work in (client.send(), self._receive(client))}
        try:
            waiting: set[asyncio.Future[Any]] = {*tasks, client.ending}
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            closed = socket.close_code == WSCloseCode.GOING_AWAY  # the page was closed
            self._session.leave(client, lost=not closed and not client.ending.done())
            for task in tasks:
                task.cancel()
            for error in await asyncio.gather(*tasks, return_exceptions=True):
                if isinstance(error, Exception) and not isinstance(error, OSError):
                    _LOG.error("The connection of %s failed.", client.name, exc_info=error)
            await _close(client)
        return socket

    async def _receive(self, client: Client) -> None:
        """Apply the messages of a page, within the limits."""
        allowance, last, invalid = self._limits.burst, time.perf_counter(), 0
        async for message in self._socket:
            now = time.perf_counter()
            gained = (now - last) * self._limits.rate
            allowance, last = min(self._limits.burst, allowance + gained) - 1, now
            if allowance < 0:
                client.end(
                    WSCloseCode.POLICY_VIOLATION,
                    f"more than {self._limits.rate:g} messages a second",
                )
                return
            if message.type is WSMsgType.PING:
                await self._socket.pong(message.data)
            elif message.type is WSMsgType.PONG:
                client.pong(bytes(message.data))
            elif message.type is WSMsgType.ERROR:
                return
            elif _size(message.data) > messages.MAX_MESSAGE:
                limit = f"a message above {messages.MAX_MESSAGE} bytes"
                client.end(WSCloseCode.MESSAGE_TOO_BIG, limit)
                return
            else:
                began = time.perf_counter()
                valid = await self._apply(client, message.data)
                invalid += not valid
                if invalid >= MAX_INVALID:
                    client.end(WSCloseCode.POLICY_VIOLATION, "invalid messages")
                    return
                # The messages of one page take at most half of the time of this thread.
                await asyncio.sleep(time.perf_counter() - began)

    async def _apply(self, client: Client, data: str | bytes) -> bool:
        """Apply a message, or answer why it has no effect; return whether it was valid."""
        try:
            if isinstance(data, bytes):
                raise RefusedChange("binary messages are not known")
            message = messages.FROM_PAGE.validate_json(data)
        except (ValidationError, RefusedChange) as error:
            self._refuse(client, RefusedChange(_first(error)), data)
            return False
        try:
            if isinstance(message, messages.Load):
                await self._session.load(client, message)
            else:
                self._session.handle(client, message)
        except RefusedChange as error:
            self._refuse(client, error, data)
        return True

    def _refuse(self, client: Client, error: RefusedChange, data: str | bytes) -> None:
        view = self._session.document.views.get(client.view.name)
        message = messages.ErrorMessage(
            path=list(error.path),
            message=str(error),
            revision=view.revision if view else 0,
            patch=_patch_number(data),
        )
        tell([client], message, error.path)


async def _close(client: Client) -> None:
    """Close a page's connection, if it is not closed, for the reason that was given."""
    code, reason, last = WSCloseCode.OK, "", ""
    if client.ending.done():
        code, reason, last = client.ending.result()
    with suppress(ConnectionError, TimeoutError):
        if last:
            async with asyncio.timeout(LAST_SECONDS):
                await client.socket.send_str(last)
    await client.socket.close(code=code, message=reason.encode())


def _size(data: str | bytes) -> int:
    """Return the bytes of a message."""
    return len(data.encode() if isinstance(data, str) else data)


def _patch_number(data: str | bytes) -> int | None:
    """Return the number of a patch, valid or not; None if the message has none."""
    with suppress(ValueError, RecursionError):
        message = json.loads(data)
        if isinstance(message, dict) and isinstance(number := message.get("number"), int):
            return number
    return None


def _first(error: ValidationError | RefusedChange) -> str:
    """Return the sentence of the first error."""
    if isinstance(error, RefusedChange):
        return str(error)
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(map(str, first["loc"]))
    return f"{where}: {first['msg']}" if where else first["msg"]


def _wanted(query: Mapping[str, str]) -> tuple[str, tuple[int, int] | None, str]:
    """Return view, size and background in the address of a WebSocket; empty or None if invalid."""
    view, background = query.get("view", ""), query.get("background", "")
    view = view if re.fullmatch(messages.VIEW_NAME, view) else ""
    background = background if re.fullmatch(r"#[0-9a-f]{6}", background) else ""
    try:
        size = messages.Size.model_validate(
            {"type": "size", "width": query.get("width"), "height": query.get("height")}
        )
    except ValidationError:
        return view, None, background
    return view, (size.width, size.height), background
