"""Driver of a viewer's drawing loop: asks for pictures as the gateway does."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mpi4py import MPI
from pydantic import TypeAdapter

from uzushio._job.job import Job
from uzushio.pipeline.sources import SourceSettings
from uzushio.render.view import View
from uzushio.staging.contact import Contact
from uzushio.viewer.budget import Budget
from uzushio.viewer.exchange import DrawnPicture, DrawRequest, Exchange, ProbeValue
from uzushio.viewer.loop import ViewLoop
from uzushio.viewer.plot_state import PlotState
from uzushio.viewer.scene import Scene
from uzushio.viewer.steps import open_steps
from uzushio.viewer.stream_state import Status, StreamDescription


class RequestFailed(Exception):  # noqa: N818 - what a page shows
    """The loop gave a reason instead of a picture."""

    def __init__(self, message: str, path: tuple[Any, ...]) -> None:
        super().__init__(message)
        self.path = path


class Driver:
    """Requests of one page after the other, on a thread beside the drawing loop."""

    def __init__(self, exchange: Exchange) -> None:
        self.exchange = exchange
        self.description: StreamDescription | None = None
        self.statuses: list[Status] = []
        self.plots: dict[str, PlotState] = {}
        self._changed = threading.Event()
        self._revision = 0
        self._pictures: dict[str, DrawnPicture] = {}
        self._probes: list[ProbeValue] = []
        self._failures: dict[int, RequestFailed] = {}
        exchange.listen(self._changed.set)

    def want(
        self,
        view: Mapping[str, Any],
        sources: Mapping[str, Any] | None = None,
        name: str = "a",
        **more: Any,
    ) -> DrawRequest:
        """Ask for a picture, without waiting for it."""
        self._revision += 1
        settings = TypeAdapter(dict[str, SourceSettings]).validate_python(dict(sources or {}))
        request = DrawRequest(
            name, self._revision, settings, View.model_validate(dict(view)), **more
        )
        self.exchange.want(request)
        self.exchange.set_ready(name, True)
        return request

    def picture(self, view: Mapping[str, Any], *args: Any, **more: Any) -> DrawnPicture:
        """Return the picture of a view, or raise `RequestFailed`."""
        request = self.want(view, *args, **more)
        self.until(lambda: request.revision in self._failures or self._done(request), "a picture")
        if request.revision in self._failures:
            raise self._failures[request.revision]
        return self._pictures[request.view]

    def _done(self, request: DrawRequest) -> bool:
        picture = self._pictures.get(request.view)
        return picture is not None and picture.request.revision == request.revision

    def next_picture(self, after: int, name: str = "a") -> DrawnPicture:
        """Return a picture of a step after the given one, of the request made last."""
        self.until(lambda: name in self._pictures and self._pictures[name].step > after, "a step")
        return self._pictures[name]

    def probe(self, request: DrawRequest) -> ProbeValue:
        """Return the values under the pointer of a request for a drawn picture."""
        self._probes.clear()
        self.exchange.want(request)
        self.until(lambda: bool(self._probes), "values under the pointer")
        return self._probes[-1]

    def until(self, holds: Callable[[], bool], what: str, limit: float = 90.0) -> None:
        """Wait until something holds; fail after `limit` seconds."""
        end = time.monotonic() + limit
        while True:
            self._take_news()
            if holds():
                return
            left = end - time.monotonic()
            assert left > 0, f"no {what} within {limit} s: {self.statuses[-1:]} {self._failures}"
            self._changed.wait(min(left, 0.5))
            self._changed.clear()

    @property
    def drawn(self) -> int:
        """Step of the newest picture of the view "a"; -1 before the first."""
        return self._pictures["a"].step if "a" in self._pictures else -1

    @property
    def status(self) -> Status | None:
        """Newest state of the link."""
        self._take_news()
        return self.statuses[-1] if self.statuses else None

    def _take_news(self) -> None:
        events = self.exchange.take_events()
        self._pictures |= events.pictures
        self.plots = {plot.name: plot for plot in events.plots or ()} or self.plots
        self._probes += [value for _, value in events.probes.values()]
        for failure in events.failures.values():
            self._failures[failure.request.revision] = RequestFailed(failure.message, failure.path)
        self.description = events.description or self.description
        if events.status is not None:
            self.statuses.append(events.status)


def run_viewer(
    contact: str,
    comm: MPI.Comm,
    work: Callable[[Driver], None],
    rewind: int = 1 << 30,
    signals: bool = False,
    first: DrawRequest | None = None,
    **options: Any,
) -> int:
    """Run a drawing loop on all ranks and `work` on a thread of rank 0; raise its error."""
    errors: list[BaseException] = []
    ended = threading.Event()
    exchange = Exchange()

    def drive() -> None:
        try:
            work(Driver(exchange))
        except BaseException as error:
            errors.append(error)
        finally:
            ended.set()

    with Job(comm, signals=signals) as job:
        steps = open_steps(Contact(contact, **options), job.comm)
        scene = Scene(job.comm, Path(), Budget(job.stop.asked))
        if comm.rank == 0:
            threading.Thread(target=drive, daemon=True).start()
        received = ViewLoop(job, steps, scene, exchange, rewind, "test", first).run(ended.is_set)
        steps.close()
    if errors:
        raise errors[0]
    return received
