"""Views, the pages that show them, and the effect of each message; on the gateway's event loop."""

from __future__ import annotations

import asyncio
import math
import secrets
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

from aiohttp import web

from uzushio._base.config.yaml_file import KeyPath
from uzushio.errors import CaseError
from uzushio.viewer import messages, read_only
from uzushio.viewer.client import Client, tell
from uzushio.viewer.color_maps import color_maps
from uzushio.viewer.document import MAX_SAMPLES, ViewDocument, sections_schema
from uzushio.viewer.document_limits import RefusedChange
from uzushio.viewer.encoder import EncodedPicture
from uzushio.viewer.exchange import DrawnPicture, Exchange
from uzushio.viewer.page_movie import begin_movie, discard_movie, end_movie
from uzushio.viewer.plot_state import PlotState
from uzushio.viewer.plots_message import plots_message
from uzushio.viewer.shared_view import SharedView
from uzushio.viewer.steering_right import SteeringRight
from uzushio.viewer.stream_state import Status, StreamDescription

#: Maximum number of views; those that no page shows are removed, the oldest first.
MAX_VIEWS = 32
#: Seconds between the change of a view's step and its plots.
PLOTS_SECONDS = 0.3


class Session:
    """All views and pages of a gateway.

    Args:
        document: the views; those that are in it at the beginning stay, and the first one is the
            start of each page's view.
        exchange: state shared with the drawing loop.
        threads: threads that encode.
    """

    def __init__(
        self, document: ViewDocument, exchange: Exchange, threads: ThreadPoolExecutor
    ) -> None:
        self.document, self.views = document, dict[str, SharedView]()
        self._exchange, self._threads = exchange, threads
        self._loaded = list(document.views)
        self._description: StreamDescription | None = None
        self._status: Status | None = None
        self._plots: tuple[PlotState, ...] = ()
        exchange.want_plots(document.requested_plots())
        self._pages, self._pictures = count(1), count(1)
        self._steering = SteeringRight(exchange, lambda: self.clients)
        self._greeting = {
            "session": secrets.token_hex(8),
            "max_message": messages.MAX_MESSAGE,
            "document_schema": sections_schema(),
            "maps": color_maps(),
        }

    # ---- pages

    @property
    def clients(self) -> list[Client]:
        """All pages."""
        return [client for view in self.views.values() for client in view.clients]

    def join(
        self,
        socket: web.WebSocketResponse,
        view: str,
        size: tuple[int, int] | None,
        max_rate: float,
        background: str = "",
        read_only: bool = False,
    ) -> Client:
        """Add a page.

        Args:
            socket: socket of the page.
            view: name of the view that the page had before; empty if none. It gets another one if
                that is shown by a page.
            size: size of its picture, if it is known.
            max_rate: maximum messages per second, for its information.
            background: background of a new view whose settings do not come from a file; empty for
                the default.
            read_only: whether the page may only look.
        """
        taken = {name for client in self.clients for name in (client.own, client.view.name)}
        name = next(name for n in self._pages if (name := f"page{n}") not in taken)
        client = Client(name, self._view(view if view and view not in taken else name), socket)
        client.size, client.background, client.read_only = size, background, read_only
        client.view.clients.append(client)
        hello = messages.Hello(
            page=name,
            view=client.own,
            key=client.key,
            read_only=read_only,
            max_rate=max_rate,
            **self._greeting,
        )
        tell([client], hello)
        if self._description is not None:
            tell([client], messages.DescriptionMessage(stream=self._description))
        if self._status is not None:
            tell([client], messages.StatusMessage(status=self._status))
        self._steering.join(client)
        self._start(client.view)
        self._viewers_changed()
        return client

    def leave(self, client: Client, lost: bool = False) -> None:
        """Remove a page; its view stays for a page that connects again.

        Args:
            client: the page.
            lost: the connection ended without the page being closed.
        """
        self._leave_view(client)
        client.video.close()
        discard_movie(client)
        self._steering.leave(client, lost)
        self._viewers_changed()

    def handle(self, client: Client, message: messages.FromPage) -> None:
        """Apply a message of a page.

        Raises:
            RefusedChange: it has no effect, for the reason in the error.
        """
        view = client.view
        read_only.check_message(client, message)
        if isinstance(message, messages.Ack):
            if not client.acknowledge(message.sequence, message.seconds):
                raise RefusedChange(f"no picture {message.sequence} waits for an acknowledgement")
        elif isinstance(message, messages.Video):
            client.offer_video(message.decodes)
        elif isinstance(message, messages.Steer):
            self._steering.handle(client, message)
        elif isinstance(message, messages.Resume):
            self._steering.resume(client, message.key)
        elif isinstance(message, messages.Plots):
            client.plots = message.shown
            self._send_plots([client])
        elif isinstance(message, messages.Record):
            begin_movie(client, message)
        elif isinstance(message, messages.StopRecording):
            end_movie(client)
        elif isinstance(message, messages.Follow):
            self._follow(client, message.view or client.own)
        elif isinstance(message, messages.Drag):
            view.dragging = message.active
        elif isinstance(message, messages.Size):
            client.size = message.width, message.height
            self._resize(view)
        elif view.name not in self.document.views:
            raise RefusedChange("there is no view yet: the stream has not delivered its first step")
        elif isinstance(message, messages.DocumentPatch):
            changes = [(tuple(change.path), change.value) for change in message.changes]
            self.change(client, changes, message.base, message.number)
        elif isinstance(message, messages.Pointer):
            view.probe = None
            if message.x is not None and message.y is not None:
                view.probe = (message.x, message.y), client
            view.request(self.document)
        elif isinstance(message, messages.Save):
            limits = {} if view.picture is None else view.picture.picture.limits
            text = self.document.save(view.name, limits)
            tell([client], messages.Saved(name=f"{view.name}.yaml", text=text))
        elif isinstance(message, messages.Pause | messages.Live | messages.Seek):
            self._show_step(view, message, client)

    async def load(self, client: Client, message: messages.Load) -> None:
        """Replace a page's view by one of a pipeline file.

        Raises:
            RefusedChange: the file is not valid, or has no such view.
        """
        read_only.check_message(client, message)
        name = client.view.name
        try:
            changes = await asyncio.to_thread(
                self.document.changes_of, message.text, name, message.view
            )
        except CaseError as error:
            raise RefusedChange(str(error)) from error
        self.change(client, changes, self.document.revision)

    def change(
        self,
        client: Client,
        changes: Sequence[tuple[KeyPath, Any]],
        base: int,
        number: int | None = None,
    ) -> None:
        """Apply changes of the document, a patch with its number; raises `RefusedChange`."""
        try:
            read_only.check_changes(client, changes)
            self.document.apply(client.view.name, changes, base, client.name)
        except RefusedChange:
            tell([client], self._state(client.view))
            raise
        if number is not None:
            client.patch = number
        common = any(path[0] in ("sources", "actions") for path, _ in changes)
        if common:
            self._exchange.want_plots(self.document.requested_plots())
        for view in self.views.values() if common else (client.view,):
            if view.clients and view.name in self.document.views:
                view.changed(self.document)
                tell(view.clients, self._state(view))

    def _follow(self, client: Client, name: str) -> None:
        if name not in self.views and name != client.own:
            raise RefusedChange(f"there is no view '{name}' to follow")
        self._leave_view(client)
        view = self._view(name)
        view.clients.append(client)
        client.show(view)
        self._start(view)
        self._plots_changed(view)
        self._viewers_changed()

    def _resize(self, view: SharedView) -> None:
        """Give a view the size of its first page, or the largest that has its shape."""
        client = view.clients[0]
        if client.size is None or view.name not in self.document.views:
            return
        settings = self.document.views[view.name].settings
        samples = client.size[0] * client.size[1] * settings.samples**2
        shrink = min(1.0, math.sqrt(MAX_SAMPLES / samples))
        size = tuple(max(16, int(side * shrink)) for side in client.size)
        if settings.size != size:
            path: KeyPath = ("views", view.name, "size")
            self.change(client, [(path, list(size))], self.document.revision)

    def _show_step(
        self,
        view: SharedView,
        message: messages.Pause | messages.Live | messages.Seek,
        client: Client,
    ) -> None:
        if isinstance(message, messages.Seek):
            view.step = message.step
        elif isinstance(message, messages.Live):
            view.step = None
        elif view.picture is not None:
            view.step = view.picture.picture.step
        view.request(self.document)
        tell(view.clients, self._state(view, client.name))
        self._plots_changed(view)

    def _view(self, name: str) -> SharedView:
        """Return a view, made at the first call."""
        if name not in self.views:
            idle = [name for name, view in self.views.items() if not view.clients]
            for unused in idle[: max(0, len(self.views) + 1 - MAX_VIEWS)]:
                del self.views[unused]
                if unused not in self._loaded:
                    self.document.remove(unused)
            self.views[name] = SharedView(name, self._exchange)
        return self.views[name]

    def _start(self, view: SharedView) -> None:
        """Request the first picture for a page, and send it the state of the view."""
        if view.name not in self.document.views:
            if self._loaded:
                start: Mapping[str, Any] = self.document.views[self._loaded[0]].values
            elif self._description is not None:
                start = self._description.start
                if start and view.clients and view.clients[0].background:
                    start = {"background": view.clients[0].background, **start}
            else:
                return
            try:
                self.document.add(view.name, start)
            except RefusedChange as error:
                tell(view.clients, messages.ErrorMessage(path=[], message=str(error), revision=0))
                return
        self._resize(view)
        view.request(self.document)
        tell(view.clients, self._state(view))

    def _leave_view(self, client: Client) -> None:
        view = client.view
        view.clients.remove(client)
        view.dragging = False
        if view.probe is not None and view.probe[1] is client:
            view.probe = None
        if view.clients:
            view.credit_changed()
        else:
            view.picture = None
            self._exchange.drop(view.name)

    def _state(self, view: SharedView, by: str | None = None) -> messages.ViewMessage:
        entry = self.document.views[view.name]
        return messages.ViewMessage(
            view=view.name,
            revision=entry.revision,
            sources=self.document.source_values,
            actions=self.document.plot_values,
            settings=entry.values,
            changed_by=by or entry.changed_by,
            patches={client.name: client.patch for client in view.clients},
            step=view.step,
        )

    def _viewers_changed(self) -> None:
        names = {
            view.name: [client.name for client in view.clients] for view in self.views.values()
        }
        shown = {name: pages for name, pages in names.items() if pages}
        tell(self.clients, messages.Viewers(views=shown))

    # ---- drawing side

    def publish(self) -> None:
        """Send the results of the drawing side to the pages."""
        events = self._exchange.take_events()
        if events.description is not None:
            self._description, self.document.stream = events.description, events.stream
            tell(self.clients, messages.DescriptionMessage(stream=events.description))
            for view in self.views.values():
                if view.name not in self.document.views:
                    self._start(view)
        if events.status is not None:
            self._status = events.status
            tell(self.clients, messages.StatusMessage(status=events.status))
        if events.plots is not None:
            self._plots = events.plots
            self._send_plots(self.clients)
        if events.steering is not None:
            self._steering.update(events.steering)
        for answer in events.steering_answers:
            self._steering.answer(answer)
        for name, picture in events.pictures.items():
            if name in self.views and name in self.document.views:
                self._show(self.views[name], picture)
        for name, failure in events.failures.items():
            if name in self.views:
                self.views[name].fail(failure)
        for name, (_, value) in events.probes.items():
            if name in self.views and (asked := self.views[name].probe) is not None:
                probe = messages.ProbeMessage(
                    view=name, position=value.position, values=dict(value.values)
                )
                tell([asked[1]], probe)

    def _show(self, view: SharedView, drawn: DrawnPicture) -> None:
        view.failure = None
        view.picture = EncodedPicture(drawn, next(self._pictures), self._threads)
        view.adapt(drawn, self.document)
        for client in view.clients:
            if client.recording is not None:
                client.recording.add(drawn)
        view.credit_changed()
        limits = messages.Limits(
            view=view.name, step=drawn.step, limits=dict(drawn.limits), notes=list(drawn.notes)
        )
        view.refuse(drawn)
        tell(view.clients, limits)  # wakes each page, which then sends the picture

    def _plots_changed(self, view: SharedView) -> None:
        """Send the plots of the view's step to its pages soon, once for several changes of it."""
        if any(client.plots for client in view.clients) and not view.plots_due:
            view.plots_due = True
            asyncio.get_running_loop().call_later(PLOTS_SECONDS, self._send_plots_of, view)

    def _send_plots_of(self, view: SharedView) -> None:
        view.plots_due = False
        self._send_plots(view.clients)

    def _send_plots(self, clients: Sequence[Client]) -> None:
        """Send the plots to those of the pages that show them."""
        texts: dict[int | None, str] = {}
        for client in clients:
            if client.plots:
                step = client.view.step
                if step not in texts:
                    texts[step] = plots_message(self._plots, step).model_dump_json()
                client.post("plots", texts[step])
