"""Workload of a tuning: iterations of the optimiser on groups of ranks."""

from __future__ import annotations

import math
import time
import weakref
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from uzushio._base.observations import Observations
from uzushio.assimilation.phasefield.cost_model import Window
from uzushio.assimilation.tunables import runs_an_iteration
from uzushio.solvers.phasefield.blocking import Blocking
from uzushio.solvers.phasefield.model import Model
from uzushio.solvers.phasefield.parameters import Parameters
from uzushio.tuning.subject import Point, Workload

if TYPE_CHECKING:
    from mpi4py import MPI


class SweepWorkload(Workload):
    """Iteration of the optimiser: values of J in groups, one adjoint, its gradient."""

    def __init__(
        self,
        window: Window,
        known: Parameters,
        steps: int,
        candidates: int | None,
        comm: MPI.Intracomm,
    ) -> None:
        self._window, self._known, self._steps, self._comm = window, known, steps, comm
        self._candidates = candidates
        self._groups: dict[int, tuple[MPI.Comm, MPI.Comm]] = {}
        self._values: weakref.WeakValueDictionary[int, np.ndarray] = weakref.WeakValueDictionary()

    def ready(self, point: Point) -> Callable[[], object]:
        """Allocate a model and its memory and run an iteration, so that pages are mapped."""
        inside, across = self._split(int(point["blocking.oblt"]))
        model = Model(inside, self._window.shape, self._known, blocking_of(point))
        runs = runs_an_iteration(across.size, self._candidates)
        work = _Iteration(model, self._observations(model), self._steps, runs, across)
        work.run()
        return work.run

    def calibrate(self) -> Mapping[str, float]:
        """Return the time of a thread for a row and for each of its points, in the cache."""
        long, short = (self._rows_of(columns) for columns in (512, 32))
        seconds = {}
        for direction in ("forward", "backward"):
            point = max(1e-12, (long[direction] - short[direction]) / (512 - 32))
            seconds[f"{direction} point"] = point
            seconds[f"{direction} row"] = max(0.0, short[direction] - 32 * point)
        return seconds

    def _rows_of(self, columns: int) -> dict[str, float]:
        """Return the time of a row of `columns` points in both directions on the slowest rank."""
        from mpi4py import MPI

        steps, shape = 8, (32, columns)
        blocking = Blocking(1, 1, 1, 1, "plain")
        model = Model(MPI.COMM_SELF, shape, self._known, blocking)
        trajectory = model.trajectory(steps)
        observed = Observations(list(range(1, steps + 1)), np.full((steps, *shape), 0.4), 1.0)
        model.forward(_start(shape), [1.0], 0, steps, trajectory, observed)
        minimum = {"forward": math.inf, "backward": math.inf}
        for _ in range(200):
            field, adjoint = _start(shape), np.zeros(shape)
            began = time.perf_counter()
            model.forward(field, [1.0], 0, steps, None, observed)
            middle = time.perf_counter()
            model.adjoint(adjoint, [1.0], 0, steps, trajectory, observed)
            minimum["forward"] = min(minimum["forward"], middle - began)
            minimum["backward"] = min(minimum["backward"], time.perf_counter() - middle)
        rows = steps * shape[0]
        return {name: self._comm.allreduce(minimum[name], MPI.MAX) / rows for name in minimum}

    def _split(self, groups: int) -> tuple[MPI.Comm, MPI.Comm]:
        """Return the communicators within a group and across groups, as those of `Groups`."""
        if groups not in self._groups:
            comm, each = self._comm, self._comm.size // groups
            inside = comm.Split(comm.rank // each, comm.rank)
            across = comm.Split(comm.rank % each, comm.rank)
            self._groups[groups] = inside, across
        return self._groups[groups]

    def _observations(self, model: Model) -> Observations:
        """Return observations of this rank's part; points with equal parts share the memory."""
        steps = range(1, self._steps + 1, self._window.every)
        shape = (len(steps), *model.own_shape)
        count = math.prod(shape)
        values = self._values.get(count)
        if values is None:
            values = np.full(count, 0.4)
            self._values[count] = values
        return Observations(list(steps), values.reshape(shape), 1.0)


class _Iteration:
    """One iteration on one group of ranks."""

    def __init__(
        self,
        model: Model,
        observations: Observations,
        steps: int,
        runs: float,
        across: MPI.Comm,
    ) -> None:
        self._model, self._observations, self._across = model, observations, across
        whole, rest = divmod(max(1, round(steps * (runs - 1.0))), steps)
        self._steps, self._further_runs = steps, [steps] * whole + [rest] * (rest > 0)
        self._trajectory = model.checkpoints(steps)
        self._start = _start(model.own_shape)
        self._field, self._adjoint = np.empty_like(self._start), np.zeros(model.own_shape)

    def run(self) -> None:
        """Compute the further values of J that a mean search needs, then J with its gradient."""
        model, observed = self._model, self._observations
        for steps in self._further_runs:
            np.copyto(self._field, self._start)
            model.forward(self._field, [1.0], 0, steps, self._trajectory, observed)
        np.copyto(self._field, self._start)
        model.forward(self._field, [1.0], 0, self._steps, self._trajectory)
        self._adjoint.fill(0.0)
        model.forcing(self._field, self._steps, observed, self._adjoint)
        misfit, _ = model.misfit_and_adjoint(
            self._adjoint, [1.0], 0, self._steps, self._trajectory, observed
        )
        self._across.allgather(misfit)
        if self._across.size > 1:
            self._across.Bcast(self._adjoint, root=0)


def blocking_of(point: Point) -> Blocking:
    """Return the blocking of a point's groups."""
    prefix = "blocking."
    of_group = {name: value for name, value in point.items() if name != f"{prefix}oblt"}
    return Blocking(**{name.removeprefix(prefix): value for name, value in of_group.items()})  # type: ignore[arg-type]


def _start(shape: tuple[int, int]) -> np.ndarray:
    """Return random values between 0 and 1."""
    return np.random.default_rng(0).uniform(0.2, 0.8, shape)
