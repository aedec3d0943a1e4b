"""Drawing loop of all view ranks: newest revisions of views, of the newest or a kept step."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from uzushio._base.error_text import capitalised
from uzushio._base.parallel.sync import TimedCollective, maximum
from uzushio._job.run_attributes import RunPace
from uzushio.domain.axes import Bounds
from uzushio.errors import OtherRankError, StagingError, UzushioError, ViewerError
from uzushio.pipeline.drawing import notes_of
from uzushio.render.view import View
from uzushio.viewer.budget import GivenUpError
from uzushio.viewer.command_channel import CommandChannel
from uzushio.viewer.describe import default_view, description
from uzushio.viewer.exchange import DrawnPicture, DrawRequest, Exchange
from uzushio.viewer.held_steps import HeldStep, RewindBuffer
from uzushio.viewer.plot_link import PlotLink, PlotWork
from uzushio.viewer.probe import probe
from uzushio.viewer.scene import MissingFieldError, Scene
from uzushio.viewer.steering_link import SteeringLink
from uzushio.viewer.steps import LiveSteps, Steps
from uzushio.viewer.stream_state import Status

if TYPE_CHECKING:
    from collections.abc import Callable

    from uzushio._job.job import Job
    from uzushio.staging.step import Step

#: Seconds between two polls for a new step, with and without a page that shows it.
_POLL_INTERVAL, _IDLE_INTERVAL = 0.02, 0.2
#: Seconds between two reports of the state of the link.
_REPORT_INTERVAL = 0.5
#: Timeout of the other ranks after a picture, seconds; then the job ends.
_WAIT_LIMIT = 120.0


@dataclass(frozen=True)
class _Command:
    """Work of one round on all ranks.

    Attributes:
        request: to draw, or None.
        views: names of the watched views, with a request.
        poll: whether to poll for a new step.
        plots: work for the plots, or None.
    """

    request: DrawRequest | None = None
    views: tuple[str, ...] = ()
    poll: bool = False
    plots: PlotWork | None = None


class ViewLoop:
    """Drawing loop; all ranks call `run`.

    Rank 0 takes requests from the exchange and broadcasts them; between rounds the other ranks
    sleep. Steps are read as they come, for the views that are watched, and released at once.

    Args:
        job: job of the command, for its signals.
        steps: source of the stream's steps.
        scene: draws.
        exchange: requests and pictures; used on rank 0.
        rewind_bytes: maximum bytes of kept steps, of all ranks together.
        title: name of the run or of the contact.
        first: request that the first page will make (on rank 0), whose fields are read before it
            comes; None: that of the default view.
    """

    def __init__(
        self,
        job: Job,
        steps: Steps,
        scene: Scene,
        exchange: Exchange,
        rewind_bytes: int,
        title: str,
        first: DrawRequest | None = None,
    ) -> None:
        self._job, self._steps, self._scene, self._exchange = job, steps, scene, exchange
        self._comm, self._title, self._first = job.comm, title, first
        self._commands = CommandChannel(job.comm)
        self._timed = TimedCollective(job.comm)
        self._kept = RewindBuffer(job.comm, rewind_bytes)
        self._steering = SteeringLink(steps, exchange)
        self._plots = PlotLink(job.comm, steps, exchange)
        self._polled = self._reported = -np.inf
        self._writer = steps.writer
        self._ranges: dict[str, tuple[float, float]] = {}
        self._bounds: dict[str, Bounds] = {}

    def run(self, stopped: Callable[[], bool] = lambda: False) -> int:
        """Draw until a signal; return it, or 0 if `stopped` returns true on rank 0."""
        end = self._job.vote.add(stopped, rank=0)
        while True:
            command = self._commands.share(self._next_command())
            if received := self._job.take_vote():
                return received
            if end.agreed:
                return 0
            if command.plots is not None:
                self._plots.work(command.plots, self._kept.newest)
            if command.poll:
                self._poll_step()
            if command.request is not None:
                self._scene.keep_views({*command.views, command.request.view})
                self._scene.budget.begin(partial(self._is_shared, command))
                self._serve(command.request)

    def _is_shared(self, command: _Command) -> bool:
        """Return whether several views are watched: on rank 0 at this time."""
        watched = self._exchange.watched() if self._comm.rank == 0 else command.views
        return len(watched) > 1

    def _next_command(self) -> _Command | None:
        """Wait for work (rank 0)."""
        if self._comm.rank:
            return None
        self._steering.work()
        now = time.monotonic()
        if now - self._reported > _REPORT_INTERVAL:
            self._report()
        interval = _POLL_INTERVAL if self._exchange.watched() else _IDLE_INTERVAL
        left = self._polled + interval - now
        if left > 0.0:
            request = self._exchange.take(0.0)
            plots = self._plots.next_work(idle=request is None)
            if request is None and plots is None:
                request = self._exchange.take(left)
            views = tuple(request.view for request in self._exchange.watched()) if request else ()
            return _Command(request, views, plots=plots)
        self._polled = now  # the newest request is taken after the step was read
        return _Command(poll=True, plots=self._plots.next_work(idle=False))

    # ---- steps

    def _poll_step(self) -> None:
        """Keep a new step, if there is one (collective)."""
        state, stored = self._steps.state, self._steps.stored
        step = self._steps.poll()
        if step is None:
            if self._steps.state != state:
                self._reported = -np.inf
            if self._steps.stored != stored:
                self._describe()
            return
        new_writer, self._writer = self._steps.writer != self._writer, self._steps.writer
        changed = self._scene.update_stream(step, new_writer)
        watched = self._watched()
        if changed:
            assert self._scene.stream is not None
            self._plots.update_stream(self._scene.stream)
            self._ranges.clear()
            self._bounds.clear()
            self._kept.clear()
        for request in watched:
            self._prepare(request)
        try:
            held = self._scene.read(step)
            self._plots.add(held)
        except StagingError as error:
            self._steps.lose(error)
            return
        self._steps.release()
        self._kept.add(held, {request.step for request in watched if request.step is not None})
        if self._find_ranges(held) or changed or self._steps.stored != stored:
            self._describe()
        if self._comm.rank == 0:
            self._exchange.advance(step.index)
            self._report()

    def _watched(self) -> list[DrawRequest]:
        """Return the newest request of each view; a first view if there are none (collective)."""
        first = [] if self._first is None else [self._first]
        mine = self._exchange.watched() or first if self._comm.rank == 0 else None
        watched: list[DrawRequest] = self._comm.bcast(mine)
        if not watched:
            watched = self._default_view()
        self._scene.keep_views([request.view for request in watched])
        return watched

    def _default_view(self) -> list[DrawRequest]:
        """Return the request of a page without a view of its own."""
        assert self._scene.stream is not None
        start = default_view(self._scene.stream)
        return [DrawRequest("", 0, {}, View.model_validate(start))] if start else []

    def _prepare(self, request: DrawRequest) -> None:
        """Plan a view before a step is read; its errors are reported when it is drawn."""
        try:
            with self._timed.block(f"the view {request.view}", _WAIT_LIMIT):
                self._scene.prepare(request.view, request.settings, request.sources)
        except UzushioError:
            return

    def _find_ranges(self, held: HeldStep) -> bool:
        """Find the ranges of fields that were read first; return whether there are (collective)."""
        names = [name for name in held.step.fields if name not in self._ranges]
        ends = np.full((len(names), 2), -np.inf)
        for n, name in enumerate(names):
            values = held.values[name][1] if name in held.values else np.empty(0)
            finite = values[np.isfinite(values)] if values.dtype.kind in "iuf" else values[:0]
            if finite.size:
                ends[n] = -float(finite.min()), float(finite.max())
        self._comm.Allreduce(ends.copy(), ends, maximum())
        ranges = {
            name: (-float(low), float(high))
            for name, (low, high) in zip(names, ends, strict=True)
            if np.isfinite(low)
        }
        self._ranges |= ranges
        return self._find_bounds(held) or bool(ranges)

    def _find_bounds(self, held: HeldStep) -> bool:
        """Find the bounds of curvilinear meshes whose coordinates were read first (collective)."""
        meshes = [
            (name, mesh.coordinate_field)
            for name, mesh in held.step.meshes.items()
            if mesh.coordinate_field is not None and name not in self._bounds
        ]
        ends = np.full((len(meshes), 2, 3), -np.inf)
        for n, (_, field) in enumerate(meshes):
            values = held.values[field][1].reshape(-1, 3) if field in held.values else ()
            if len(values):
                ends[n] = -np.min(values, axis=0), np.max(values, axis=0)
        self._comm.Allreduce(ends.copy(), ends, maximum())
        known = len(self._bounds)
        for (name, _), (low, high) in zip(meshes, ends, strict=True):
            if np.isfinite(low).all():
                x, y, z = zip((-low).tolist(), high.tolist(), strict=True)
                self._bounds[name] = x, y, z
        return len(self._bounds) > known

    # ---- pictures

    def _serve(self, request: DrawRequest) -> None:
        """Draw a request, or state why not (collective)."""
        try:
            with self._timed.block(f"the picture of the view {request.view}", _WAIT_LIMIT):
                held = self._held(request)
                self._scene.prepare(request.view, request.settings, request.sources)
                if request.only_probe:
                    self._probe_only(request)
                    return
                self._draw(request, held)
        except GivenUpError as error:
            self._exchange.give_up(request, str(error), self._scene.budget.spent)
        except StagingError as error:
            self._steps.lose(error)
            self._fail(request, error)
        except Exception as error:
            self._fail(request, error)

    def _held(self, request: DrawRequest) -> HeldStep:
        """Return the step of a request; stored steps are read again (collective)."""
        index = request.step
        held = self._kept.newest if index is None else self._kept.get(index)
        if held is None and index is not None:
            step = self._steps.fetch(index)
            if step is not None:
                return self._read_stored(step, None, request)
        if held is None:
            raise ViewerError(
                f"Step {index} is no longer kept; choose another step, or show the newest one."
                if index is not None
                else "No step has arrived yet."
            )
        return held

    def _read_stored(self, step: Step, held: HeldStep | None, request: DrawRequest) -> HeldStep:
        """Read a stored step for the view of a request, and keep it (collective)."""
        self._scene.prepare(request.view, request.settings, request.sources)
        held = self._scene.read(step, held)
        self._steps.release()
        self._kept.add(held, {held.index}, newest=False)
        if self._find_ranges(held):
            self._describe()
        return held

    def _draw(self, request: DrawRequest, held: HeldStep) -> None:
        began = time.perf_counter()
        try:
            picture = self._scene.draw(request.view, held)
        except MissingFieldError as error:
            step = self._steps.fetch(held.index)
            if step is None:
                raise self._not_kept(request, error) from error
            held = self._read_stored(step, held, request)
            picture = self._scene.draw(request.view, held)
        if self._scene.find_ranges(request.view):
            self._describe()
        probed = None
        if request.probe is not None:
            probed = probe(self._comm, self._scene, request)
        if picture is None:
            return
        seconds = picture.seconds
        after = sum(seconds.get(stage, 0.0) for stage in ("composite", "annotate"))
        refused = self._scene.refused(request.view)
        left_out = [f"Layer {layer.number + 1} is left out: {layer.message}" for layer in refused]
        self._exchange.put(
            DrawnPicture(
                request,
                picture.pixels,
                picture.step,
                picture.time,
                picture.limits,
                (*notes_of(picture), *left_out),
                {
                    "read": held.seconds,
                    "draw": max(0.0, time.perf_counter() - began - after),
                    "composite": after,
                },
                probed,
                tuple((layer.path, layer.message) for layer in refused),
            )
        )

    def _not_kept(self, request: DrawRequest, error: MissingFieldError) -> ViewerError:
        """Return the error for a step that was released before the view needed a field of it."""
        text = capitalised(error).rstrip(".")
        if request.step is None and self._steps.state == "live":
            return ViewerError(f"{text}; the next step brings it.")
        return ViewerError(f"{text}; show a newer step, or leave the field out.")

    def _probe_only(self, request: DrawRequest) -> None:
        probed = probe(self._comm, self._scene, request)
        if self._comm.rank == 0 and probed is not None:
            self._exchange.put_probe(replace(request, only_probe=True), probed)

    def _fail(self, request: DrawRequest, error: Exception) -> None:
        """State why a request is not drawn: in the message of the rank that failed (collective)."""
        expected = isinstance(error, UzushioError)
        text = str(error) if expected else f"{type(error).__name__}: {error}"
        texts = self._comm.gather("" if isinstance(error, OtherRankError) else text)
        if texts is None:
            return
        paths = (getattr(cause, "path", ()) for cause in (error, error.__cause__))
        path = next(filter(None, paths), ())
        self._exchange.fail(request, next(filter(None, texts), text), path)

    # ---- messages

    def _describe(self) -> None:
        stream, held = self._scene.stream, self._kept.newest
        if stream is None or held is None or self._comm.rank:
            return
        self._exchange.describe(
            description(
                *(stream, held.step, self._title, self._ranges, self._bounds, self._steps),
                self._scene.ranges,
            ),
            stream,
        )

    def _report(self) -> None:
        """Report the state of the link (rank 0)."""
        self._reported = time.monotonic()
        newest, steps = self._kept.newest, self._steps
        live = steps if isinstance(steps, LiveSteps) else None
        pace = RunPace() if live is None or newest is None else RunPace.of(newest.step.attributes)
        age = None if live is None else live.age
        left = None if age is None or pace.seconds_left is None else pace.seconds_left - age
        measured = None if live is None else live.seconds_per_step
        self._exchange.report(
            Status(
                steps.state,
                steps.text,
                None if newest is None else newest.index,
                None if newest is None else newest.step.time,
                age,
                None if live is None else live.rate,
                None if live is None else live.dropped,
                pace.seconds_waited,
                measured if pace.seconds_per_step is None else pace.seconds_per_step,
                None if left is None else max(0.0, left),
                pace.end_step,
                kept=tuple(sorted(self._kept.numbers)),
            )
        )
