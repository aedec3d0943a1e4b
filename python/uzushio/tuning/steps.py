"""Workload of solvers: time steps of a case from its initial field."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol, TypeVar

from uzushio.case.model import Case
from uzushio.tuning.subject import Point, Workload

if TYPE_CHECKING:
    from mpi4py import MPI

CaseKind = TypeVar("CaseKind", bound=Case)

#: Seconds of a repetition, and the maximum of its steps: short repetitions scatter more.
_SECONDS, _MAX_STEPS = 0.1, 20


class Steps(Protocol):
    """Solver that has its initial field."""

    def step(self) -> None:
        """Advance one step (collective)."""


class StepWorkload(Workload):
    """Steps of a solver.

    Args:
        begin: makes the solver of a point with its initial field (collective).
        steps: steps of a repetition.
        default: values of runs without tuning.
        comm: the ranks.
    """

    def __init__(
        self, begin: Callable[[Point], Steps], steps: int, default: Point, comm: MPI.Intracomm
    ) -> None:
        self._begin, self._steps, self._default, self._comm = begin, steps, default, comm

    def ready(self, point: Point) -> Callable[[], object]:
        """Allocate and plan a solver, and run a step, so that pages are mapped."""
        solver = self._begin(point)
        solver.step()

        def work() -> None:
            for _ in range(self._steps):
                solver.step()

        return work

    def calibrate(self) -> Mapping[str, float]:
        """Return the minimum seconds of a step with the default values, as `step`."""
        from mpi4py import MPI

        solver, took = self._begin(self._default), []
        for _ in range(4):
            began = time.perf_counter()
            solver.step()
            took.append(time.perf_counter() - began)
        return {"step": float(self._comm.allreduce(min(took), MPI.MAX))}


def steps_of(seconds: float) -> int:
    """Return the steps of a repetition whose steps take about so many seconds each."""
    return max(1, min(_MAX_STEPS, round(_SECONDS / seconds)))


def with_point(case: CaseKind, point: Point) -> CaseKind:
    """Return a case with the values of a point."""
    sections: dict[str, dict[str, object]] = {}
    for name, value in point.items():
        section, _, key = name.partition(".")
        sections.setdefault(section, {})[key] = value
    return case.model_copy(
        update={
            name: getattr(case, name).model_copy(update=values) for name, values in sections.items()
        }
    )
