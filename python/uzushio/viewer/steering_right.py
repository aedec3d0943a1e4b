"""The right to steer among the pages of a live view, and their requests to the run."""

from __future__ import annotations

import asyncio
import getpass
import os
import platform
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count

from uzushio._job.steering import HoldRequest, ReleaseRequest
from uzushio.viewer import messages
from uzushio.viewer.client import Client, tell
from uzushio.viewer.exchange import Exchange
from uzushio.viewer.steering_state import (
    PageRequest,
    SteeringAnswer,
    SteeringRequest,
    SteeringState,
)

#: Seconds that a page whose connection was lost keeps the right to steer.
GRACE_SECONDS = 20.0
#: Maximum number of requests of all pages without an answer.
MAX_UNANSWERED = 16


@dataclass
class _Holder:
    """Page that holds the right to steer, or has requested it.

    Attributes:
        client: the page; the last one, while its connection is lost.
        number: number of its request for the right.
        confirmed: whether the run has given the right.
        timer: returns the right of a page whose connection is lost.
    """

    client: Client
    number: int
    confirmed: bool = False
    timer: asyncio.TimerHandle | None = None


class SteeringRight:
    """Right to steer; on the gateway's event loop.

    To the run all pages are one reader, so the right of each page is checked here.

    Args:
        exchange: passes requests to the drawing side.
        clients: returns all pages.
    """

    def __init__(self, exchange: Exchange, clients: Callable[[], list[Client]]) -> None:
        self._exchange, self._clients = exchange, clients
        self._state: SteeringState | None = None
        self._holder: _Holder | None = None
        self._numbers = count(1)
        self._unanswered: dict[int, tuple[Client, int]] = {}  # page, and the page's number
        self._user = f"{_user()}@{platform.node()}"

    def join(self, client: Client) -> None:
        """Send a page the state of steering."""
        self._post([client])

    def resume(self, client: Client, key: str) -> None:
        """Give a page that connects again the right that it had, if the key is its former one."""
        holder = self._holder
        if holder is not None and secrets.compare_digest(holder.client.key, key):
            _cancel(holder)
            holder.client = client
            self._post()

    def leave(self, client: Client, lost: bool) -> None:
        """Return the right of a page that leaves: at once, or some time after a lost connection."""
        holder = self._holder
        if holder is None or holder.client is not client:
            return
        if lost:
            loop = asyncio.get_running_loop()
            holder.timer = loop.call_later(GRACE_SECONDS, self._return_right)
        else:
            self._return_right()

    def handle(self, client: Client, message: messages.Steer) -> None:
        """Pass a request to the run, or answer with the reason of a refusal."""
        refusal = self._refusal(client, message.request)
        if refusal:
            answer = messages.Steered(id=message.id, ok=False, text=refusal)
            tell([client], answer, message.id)
            return
        request = message.request
        if isinstance(request, HoldRequest):
            request = HoldRequest(request="hold", by=f"{self._user}, {client.name}")
        number = self._send(request)
        self._unanswered[number] = client, message.id
        if isinstance(request, HoldRequest):
            self._holder = _Holder(client, number)
            self._post()
        elif isinstance(request, ReleaseRequest):
            self._holder = None
            self._post()

    def update(self, state: SteeringState) -> None:
        """Send the state to all pages; without the connection to the run the right is lost."""
        before, self._state = self._state, state
        renewed = before is not None and before.connection != state.connection
        if self._holder is not None and (renewed or not state.available):
            _cancel(self._holder)
            self._holder = None
        self._post()

    def answer(self, answer: SteeringAnswer) -> None:
        """Send the answer to the page of the request."""
        holder = self._holder
        if holder is not None and holder.number == answer.number:
            holder.confirmed = answer.ok
            if not answer.ok:
                _cancel(holder)
                self._holder = None
            self._post()
        if answer.number in self._unanswered:
            client, number = self._unanswered.pop(answer.number)
            told = messages.Steered(id=number, ok=answer.ok, text=answer.text, step=answer.step)
            tell([client], told, number)

    def _refusal(self, client: Client, request: PageRequest) -> str:
        """Return the reason why a request is not passed to the run; "" if it is."""
        state, holder = self._state, self._holder
        if client.read_only:
            return "this page was opened by a read-only address"
        if state is None or not state.available:
            return "there is no run to steer" if state is None else state.text
        if holder is not None and holder.client is not client:
            return f"{holder.client.name} holds the right to steer"
        if isinstance(request, HoldRequest):
            if holder is not None:
                return "this page has requested the right to steer already"
        elif holder is None or not holder.confirmed:
            return "take the right to steer first"
        if len(self._unanswered) >= MAX_UNANSWERED:
            return "the run has not answered the earlier requests; wait for its answers"
        return ""

    def _return_right(self) -> None:
        holder, self._holder = self._holder, None
        if holder is not None:
            _cancel(holder)
            self._send(ReleaseRequest(request="release"))
            self._post()

    def _send(self, request: PageRequest) -> int:
        number = next(self._numbers)
        self._exchange.steer(SteeringRequest(number, request))
        return number

    def _post(self, clients: Sequence[Client] | None = None) -> None:
        """Send the state of steering, if it is known, to these pages or to all."""
        if self._state is None:
            return
        holder = self._holder
        message = messages.SteeringMessage(
            state=self._state,
            holder=None if holder is None else holder.client.name,
            confirmed=holder is not None and holder.confirmed,
        )
        tell(self._clients() if clients is None else clients, message)


def _cancel(holder: _Holder) -> None:
    if holder.timer is not None:
        holder.timer.cancel()
        holder.timer = None


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # the user has no name here
        return str(os.getuid())
