"""State shared by the drawing loop and the gateway's thread, on rank 0."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uzushio._base.config.yaml_file import KeyPath
from uzushio.pipeline.sources import SourceSettings
from uzushio.pipeline.stream import Stream
from uzushio.render.cameras import Vector
from uzushio.render.view import View
from uzushio.viewer.plot_state import PlotRequest, PlotState
from uzushio.viewer.steering_state import SteeringAnswer, SteeringRequest, SteeringState
from uzushio.viewer.stream_state import Status, StreamDescription


@dataclass(frozen=True)
class DrawRequest:
    """Picture that a view needs.

    Attributes:
        view: name of the view; pages that follow each other share one.
        revision: revision of the view in the document; increases with each change of it or of
            `sources`.
        sources: section `sources` of the document, validated.
        settings: the view with the size to draw, which is reduced while dragging.
        final: full size and quality; False while dragging.
        step: a kept or stored step; None: the newest.
        probe: position of the pointer from the left and the top of the picture, each 0 to 1.
        only_probe: the picture is drawn already; the values under the pointer are missing.
    """

    view: str
    revision: int
    sources: Mapping[str, SourceSettings]
    settings: View
    final: bool = True
    step: int | None = None
    probe: tuple[float, float] | None = None
    only_probe: bool = False


@dataclass(frozen=True)
class ProbeValue:
    """Values under the pointer.

    Attributes:
        position: position of the first visible point, along x, y and z; None: nothing is there.
        values: values of the view's fields at this position.
    """

    position: Vector | None
    values: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class DrawnPicture:
    """Picture of a view; its pixels are not written to after `Exchange.put`.

    Attributes:
        request: the request that was drawn.
        pixels: red, green, blue (and an unused fourth channel); shape (height, width, 3 or 4).
        step: number of its step.
        time: time of that step.
        limits: limits of the colours of each legend, by label.
        notes: sentences for the user.
        seconds: wall-clock time of `read`, `draw` and `composite` (with annotation).
        probe: values under the pointer, if the request has a pointer.
        refused: layers that are left out: path of the control that caused it, and the reason.
    """

    request: DrawRequest
    pixels: NDArray[np.uint8] = field(repr=False)
    step: int
    time: float
    limits: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)
    probe: ProbeValue | None = None
    refused: tuple[tuple[KeyPath, str], ...] = ()


@dataclass(frozen=True)
class Failure:
    """Reason why a request was not drawn.

    Attributes:
        request: the request.
        message: for the user.
        path: path in the document of the control that caused it, as ("views", "a", "layers", 0,
            "field"); empty if it is not known.
    """

    request: DrawRequest
    message: str
    path: KeyPath = ()


@dataclass
class Events:
    """Results of the drawing side since the last call of `Exchange.take_events`.

    The newest of each kind and view, and all answers to requests to the run.
    """

    pictures: dict[str, DrawnPicture] = field(default_factory=dict)
    probes: dict[str, tuple[DrawRequest, ProbeValue]] = field(default_factory=dict)
    failures: dict[str, Failure] = field(default_factory=dict)
    description: StreamDescription | None = None
    stream: Stream | None = None
    status: Status | None = None
    steering: SteeringState | None = None
    steering_answers: list[SteeringAnswer] = field(default_factory=list)
    plots: tuple[PlotState, ...] | None = None


#: Factor of the time that all views rest that were given up, while others are watched.
REST = 4.0


@dataclass
class _View:
    """Request of a view, and keys of its parts that were taken.

    Attributes:
        given_up: key of the settings of the last picture that was given up.
    """

    request: DrawRequest
    ready: bool = False
    taken: Any = None
    probed: Any = None
    turn: int = 0
    given_up: Any = None


class Exchange:
    """Requests from the gateway to the drawing loop, and pictures back.

    The newest of each kind and view is kept, and all requests to the run (steering) with answers.
    The lock is held for assignments alone. All methods may be called from any thread.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._views: dict[str, _View] = {}
        self._newest: int | None = None
        self._turns = 0
        self._rests = 0.0  # time until which views that were given up rest
        self._events = Events()
        self._steering: list[SteeringRequest] = []
        self._plots: PlotRequest | None = None
        self._notify: Callable[[], None] | None = None

    # ---- drawing side

    def take(self, limit: float) -> DrawRequest | None:
        """Wait for a request that is due, and take it.

        A request is due if a viewer of the view can receive a picture, and the view's revision,
        size or step differs from that of the request taken last. Views take turns.

        Args:
            limit: timeout in seconds; 0 to return at once.

        Returns:
            The request, or None after the timeout.
        """
        with self._changed:
            self._changed.wait_for(lambda: any(map(self._due, self._views.values())), limit)
            due = [view for view in self._views.values() if self._due(view)]
            if not due:
                return None
            view = min(due, key=lambda candidate: candidate.turn)
            self._turns += 1
            view.turn = self._turns
            only_probe = not self._picture_due(view)
            view.taken, view.probed = self._key(view.request), self._probe_key(view.request)
            return replace(view.request, only_probe=only_probe)

    def watched(self) -> list[DrawRequest]:
        """Return the newest request of each view: their fields are read with the next step."""
        with self._changed:
            return [view.request for view in self._views.values()]

    def advance(self, step: int) -> None:
        """State the newest step, which views without a step of their own show."""
        with self._changed:
            self._newest = step
            self._changed.notify_all()

    def put(self, picture: DrawnPicture) -> None:
        """Pass a picture to the viewers of its view."""
        with self._new_events() as events:
            events.pictures[picture.request.view] = picture
            if picture.probe is not None:
                events.probes[picture.request.view] = picture.request, picture.probe

    def put_probe(self, request: DrawRequest, value: ProbeValue) -> None:
        """Pass the values under the pointer, for a request with `only_probe`."""
        with self._new_events() as events:
            events.probes[request.view] = request, value

    def fail(self, request: DrawRequest, message: str, path: KeyPath = ()) -> None:
        """Pass the reason why a request is not drawn; it is due again after a change."""
        with self._new_events() as events:
            events.failures[request.view] = Failure(request, message, path)

    def give_up(self, request: DrawRequest, message: str, seconds: float) -> None:
        """Pass the reason why a picture was given up after some seconds.

        The view is not drawn again before its settings or its step change, also not with newer
        steps. While other views are watched, all that were given up rest `REST` times as long.
        """
        with self._changed:
            if (view := self._views.get(request.view)) is not None:
                view.given_up = self._settings_key(request)
                self._rests = time.monotonic() + REST * seconds
        self.fail(request, message)

    def describe(self, description: StreamDescription, stream: Stream | None = None) -> None:
        """Pass the content of the stream; with `stream`, new derived fields are checked."""
        with self._new_events() as events:
            events.description, events.stream = description, stream

    def report(self, status: Status) -> None:
        """Pass the state of the link."""
        with self._new_events() as events:
            events.status = status

    def take_steering(self) -> list[SteeringRequest]:
        """Return and remove the requests to the run, in their order."""
        with self._changed:
            steering, self._steering = self._steering, []
        return steering

    def report_steering(self, state: SteeringState) -> None:
        """Pass the steerable parameters and the holder of the right to steer."""
        with self._new_events() as events:
            events.steering = state

    def answer_steering(self, answer: SteeringAnswer) -> None:
        """Pass the answer to a request to the run."""
        with self._new_events() as events:
            events.steering_answers.append(answer)

    def take_plots(self) -> PlotRequest | None:
        """Return the requested plots, if they have changed since the last call."""
        with self._changed:
            plots, self._plots = self._plots, None
        return plots

    def report_plots(self, plots: tuple[PlotState, ...]) -> None:
        """Pass all plots."""
        with self._new_events() as events:
            events.plots = plots

    # ---- gateway's side

    def listen(self, notify: Callable[[], None] | None) -> None:
        """Call `notify`, on the drawing side's thread, after each event."""
        self._notify = notify
        self._tell()

    def take_events(self) -> Events:
        """Return and remove the results since the last call."""
        with self._changed:
            events, self._events = self._events, Events()
        return events

    def want(self, request: DrawRequest) -> None:
        """Set the newest request of a view."""
        with self._changed:
            view = self._views.setdefault(request.view, _View(request))
            view.request = request
            self._changed.notify_all()

    def set_ready(self, view: str, ready: bool) -> None:
        """State whether a viewer of a view can receive a picture."""
        with self._changed:
            if view in self._views and self._views[view].ready != ready:
                self._views[view].ready = ready
                self._changed.notify_all()

    def steer(self, request: SteeringRequest) -> None:
        """Add a request to the run; it is answered once."""
        with self._changed:
            self._steering.append(request)

    def want_plots(self, request: PlotRequest) -> None:
        """Set the plots that the pages request."""
        with self._changed:
            self._plots = request

    def drop(self, view: str) -> None:
        """Remove a view that has no viewers."""
        with self._changed:
            self._views.pop(view, None)

    # ----

    @contextmanager
    def _new_events(self) -> Iterator[Events]:
        """Return the results, to be changed in the block, and notify the gateway after it."""
        with self._changed:
            yield self._events
        self._tell()

    def _tell(self) -> None:
        notify = self._notify
        if notify is not None:
            notify()

    @staticmethod
    def _settings_key(request: DrawRequest) -> Any:
        return request.revision, request.settings.size, request.final, request.step

    def _key(self, request: DrawRequest) -> Any:
        """Return a key of the picture of a request."""
        step = self._newest if request.step is None else request.step
        return *self._settings_key(request)[:-1], step

    def _probe_key(self, request: DrawRequest) -> Any:
        return None if request.probe is None else (self._key(request), request.probe)

    def _picture_due(self, view: _View) -> bool:
        known = self._newest is not None or view.request.step is not None
        if view.given_up is not None and len(self._views) > 1 and time.monotonic() < self._rests:
            return False
        given_up = view.given_up == self._settings_key(view.request)
        return known and view.ready and not given_up and self._key(view.request) != view.taken

    def _due(self, view: _View) -> bool:
        probe = self._probe_key(view.request)
        drawn = view.taken is not None and self._key(view.request) == view.taken
        return self._picture_due(view) or (drawn and probe is not None and probe != view.probed)
