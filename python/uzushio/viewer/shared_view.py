"""View with the pages that show it."""

from __future__ import annotations

import asyncio
import math

import numpy as np

from uzushio.render.annotate import letter_height
from uzushio.render.view import View
from uzushio.viewer import messages
from uzushio.viewer.client import Client, tell
from uzushio.viewer.document import ViewDocument
from uzushio.viewer.encoder import EncodedPicture
from uzushio.viewer.exchange import DrawnPicture, DrawRequest, Exchange, Failure
from uzushio.viewer.link import SCALES

#: Seconds after the last change until a picture is drawn in full size and quality.
REST_SECONDS = 0.15
#: Minimum columns and rows of a picture while dragging.
_MIN_SIDE = 16


class SharedView:
    """View with the pages that show it; the first of them sets its size and scale.

    Attributes:
        name: name of the view in the document.
        clients: pages that show it.
        picture: the newest picture.
        step: the step that it shows; None: the newest.
        probe: position of the pointer, and the page that has it.
        failure: revision and message of the last picture, if it could not be drawn.
        refused: revision of the last picture, and the layers that are left out of it.
        plots_due: whether its pages are to receive the plots soon, because its step has changed.
        dragging: whether a page is dragging.
        moving: whether pictures are drawn at reduced size.
        scale: reduction of the picture's sides while moving.
    """

    def __init__(self, name: str, exchange: Exchange) -> None:
        self.name, self._exchange = name, exchange
        self.clients: list[Client] = []
        self.picture: EncodedPicture | None = None
        self.step: int | None = None
        self.probe: tuple[tuple[float, float], Client] | None = None
        self.failure: tuple[int, str] | None = None
        self.refused: tuple[int, object] = 0, ()
        self.plots_due = False
        self.dragging = False
        self.moving = False
        self.scale = 2
        self._seconds = {0.0: 0.0}  # of the last picture by its share of the full size's pixels
        self._timer: asyncio.TimerHandle | None = None

    def credit_changed(self) -> None:
        """Notify the drawing side whether a page can receive a picture."""
        recordings = [client.recording for client in self.clients]
        ready = any(client.has_credit for client in self.clients)
        busy = any(recording is not None and recording.busy for recording in recordings)
        self._exchange.set_ready(self.name, ready and not busy)

    def request(self, document: ViewDocument) -> None:
        """Request the picture of the view's present state."""
        entry = document.views[self.name]
        settings = entry.settings
        if self.moving and self.scale > 1:
            settings = _reduced(settings, self.scale)
        self._exchange.want(
            DrawRequest(
                self.name,
                entry.revision,
                document.sources,
                settings,
                not self.moving,
                self.step,
                None if self.probe is None else self.probe[0],
            )
        )
        self.credit_changed()

    def full_picture(self, document: ViewDocument) -> EncodedPicture | None:
        """Return the picture of the view's present state in full size; None before it is drawn."""
        if self.picture is None or self.name not in document.views:
            return None
        drawn = self.picture.picture
        newest = drawn.request.revision == document.views[self.name].revision
        full = newest and drawn.request.final and self.step in (None, drawn.step)
        return self.picture if full else None

    def changed(self, document: ViewDocument) -> None:
        """Request a picture after a change: while dragging a small one, and later the full one."""
        if self._timer is not None:
            self._timer.cancel()
        self.moving = self.dragging
        if self.moving:
            self._timer = asyncio.get_running_loop().call_later(REST_SECONDS, self._rest, document)
        self.request(document)

    def adapt(self, drawn: DrawnPicture, document: ViewDocument) -> None:
        """Choose the pages' codec and the scale for the next picture while dragging."""
        width, height = document.views[self.name].settings.size
        scale = min(SCALES, key=lambda candidate: abs(candidate - width / drawn.pixels.shape[1]))
        page = max((client.link.page for client in self.clients[:1]), default=0.0)
        self._seconds[scale**-2] = max(sum(drawn.seconds.values()), page)
        # The time of drawing is about linear in the number of pixels.
        shares, seconds = zip(*sorted(self._seconds.items()), strict=True)
        draw = {scale: float(np.interp(scale**-2, shares, seconds)) for scale in SCALES}
        for client in self.clients:
            client.link.choose_codec(width * height)
        if self.clients:
            self.scale = self.clients[0].link.scale(width * height, draw, self.scale)

    def fail(self, failure: Failure) -> None:
        """Send the pages the reason of a missing picture, once for each reason and revision."""
        reason = failure.request.revision, failure.message
        if self.failure != reason:
            self.failure = reason
            message = messages.ErrorMessage(
                path=list(failure.path), message=failure.message, revision=reason[0]
            )
            tell(self.clients, message, failure.path)

    def refuse(self, drawn: DrawnPicture) -> None:
        """Send the pages the reasons of layers that are left out, once for each revision."""
        reasons = drawn.request.revision, drawn.refused
        if drawn.refused and self.refused != reasons:
            for path, text in drawn.refused:
                message = messages.ErrorMessage(
                    path=list(path), message=text, revision=drawn.request.revision
                )
                tell(self.clients, message, path)
        self.refused = reasons

    def _rest(self, document: ViewDocument) -> None:
        self.moving = False
        if self.clients and self.name in document.views:
            self.request(document)


def _reduced(settings: View, scale: int) -> View:
    """Return a view whose picture, magnified, has text and margins as large as before."""
    size = tuple(max(_MIN_SIDE, math.ceil(side / scale)) for side in settings.size)
    text_size = letter_height(settings) / scale
    return settings.model_copy(update={"size": size, "text_size": text_size})
