"""Link between the pages and the plots: requests, reports, and plots of all stored steps."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from uzushio.errors import StagingError
from uzushio.viewer.exchange import Exchange
from uzushio.viewer.held_steps import HeldStep
from uzushio.viewer.live_plots import LivePlots
from uzushio.viewer.plot_record import MAX_STEPS
from uzushio.viewer.plot_state import PlotRequest
from uzushio.viewer.steps import Steps

if TYPE_CHECKING:
    from mpi4py import MPI

    from uzushio.pipeline.stream import Stream

#: Minimum seconds between two reports of the plots.
_REPORT_INTERVAL = 0.5


@dataclass(frozen=True)
class PlotWork:
    """Work of one round on all ranks: changed plots, or the number of a stored step to add."""

    request: PlotRequest | None = None
    stored: int | None = None


class PlotLink:
    """Plots of a stream's steps.

    Steps of a running stream are added as they come. Stored steps are added from the first one on,
    one in each round; of many steps, `MAX_STEPS` at even intervals.

    Args:
        comm: ranks that read the steps.
        steps: source of the stream's steps.
        exchange: requests of pages, and the plots; used on rank 0.
    """

    def __init__(self, comm: MPI.Comm, steps: Steps, exchange: Exchange) -> None:
        self._steps, self._exchange, self._rank = steps, exchange, comm.rank
        self._plots = LivePlots(comm)
        self._reported = -np.inf
        self._waiting: deque[int] = deque()  # numbers of stored steps (rank 0)

    def next_work(self, idle: bool) -> PlotWork | None:
        """Report changed plots, and return the work of the next round (rank 0).

        Args:
            idle: whether stored steps can be added now.
        """
        now = time.monotonic()
        if self._plots.changed and now - self._reported > _REPORT_INTERVAL:
            self._reported = now
            self._exchange.report_plots(self._plots.states())
        request = self._exchange.take_plots()
        if request is not None:
            self._wait_for_all()
            return PlotWork(request)
        if idle and self._waiting:
            return PlotWork(stored=self._waiting.popleft())
        return None

    def work(self, work: PlotWork, newest: HeldStep | None) -> None:
        """Change the plots, or add a stored step (collective).

        Args:
            work: result of `next_work` on rank 0.
            newest: the newest step, with which changed plots begin if it holds their values.
        """
        if work.request is not None:
            self._plots.change(work.request)
            if newest is not None and not self._steps.stored:
                self._plots.add(newest, readable=False)
        if work.stored is None:
            return
        try:
            step = self._steps.fetch(work.stored)
            if step is not None:
                self._plots.add(HeldStep(step))
                self._steps.release()
        except StagingError as error:
            self._steps.lose(error)

    def update_stream(self, stream: Stream) -> None:
        """Use the content of a stream."""
        self._plots.update_stream(stream)
        self._wait_for_all()

    def add(self, held: HeldStep) -> None:
        """Add a new step that is not released (collective); raises `StagingError`."""
        if self._steps.stored:
            if self._rank == 0:
                self._waiting.append(held.index)
            return
        self._plots.add(held)

    def _wait_for_all(self) -> None:
        """Begin again with the first stored step."""
        numbers = [number for number, _ in self._steps.stored]
        places = np.linspace(0, len(numbers) - 1, min(len(numbers), MAX_STEPS)).round().astype(int)
        self._waiting = deque(numbers[place] for place in places)
