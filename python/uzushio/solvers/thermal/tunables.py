"""Tunable parameters of a thermal flow: blocks along the axes, and the solver of the pressure."""

from __future__ import annotations

import hashlib
import json
import math
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, cast

from uzushio._base.parallel.affinity import thread_count
from uzushio.case.model import load_case
from uzushio.solvers.thermal.case import AXES, ThermalCase
from uzushio.tuning.steps import StepWorkload, steps_of, with_point
from uzushio.tuning.subject import Machine, Parameter, Point, Rule, Subject, Value, Workload

if TYPE_CHECKING:
    from mpi4py import MPI

_SOLVER = "numerics.solver"
#: Direct solvers, which differ by rounding, and iterative ones, which reach the same residual.
_DIRECT = ("auto", "fft", "fft/partitioned")
_ITERATIVE = ("auto", "cg", "cg/fft", "multigrid", "pipelined_cg")
#: Sections of the case that change the work of a step.
_WORK = {"grid", "scalars", "periodic", "boundaries", "bodies", "seeds", "les", "numerics", "time"}
#: Rough seconds of a step for a cell of a rank, stages of a step, ghost layers.
_CELL, _STAGES, _GHOSTS = 1e-7, 3, 2


class ThermalSubject(Subject):
    """Steps of a thermal flow from its initial fields.

    Args:
        case: the case.
        ranks: number of ranks of the job.
    """

    room = "thermal"
    #: The model knows neither the transforms nor the convergence of the pressure solvers.
    trust = 3.2

    def __init__(self, case: ThermalCase, ranks: int) -> None:
        self.case, self.ranks = case, ranks
        self._cells = [axis.cells for axis in case.grid.axes]
        self.steps = steps_of(_CELL * math.prod(self._cells) / ranks)
        # A step of another flow on the same grid may need more iterations.
        work = case.model_dump(mode="json", include=_WORK)
        work["numerics"].pop("solver")
        work["time"] = work["time"]["scheme"]
        digest = hashlib.sha256(json.dumps(work, sort_keys=True).encode()).hexdigest()[:16]
        self.size: dict[str, Value] = {
            "cells": math.prod(self._cells),
            "work": digest,
            "threads": thread_count(),
        }
        counts = (0, *(n for n in range(1, ranks + 1) if ranks % n == 0))
        self._names = tuple(f"decomposition.p{axis}" for axis in AXES[: len(self._cells)])
        first, *others = (
            Parameter(name, counts, 0, f"blocks along {name[-1]}", unset=0) for name in self._names
        )
        chosen = {self._names[0]: counts[1:]}
        solvers = _ITERATIVE if case.bodies else _DIRECT if ranks > 1 else _DIRECT[:1]
        self.parameters = (
            first if ranks > 1 else Parameter(self._names[0], (0,), 0, unset=0),
            *(
                Parameter(option.name, counts, 0, option.meaning, "", chosen, unset=0)
                for option in others
            ),
            Parameter(_SOLVER, solvers, "auto", "of the pressure", unset="auto"),
        )
        self.rules = (Rule(self._names, self._does_not_fit),)

    def workload(self, comm: MPI.Intracomm) -> Workload:
        """Return the workload on the ranks of `comm`."""
        from uzushio.solvers.thermal.solver import ThermalSolver

        def begin(point: Point) -> ThermalSolver:
            return ThermalSolver(with_point(self.case, point), comm).begin()

        return StepWorkload(begin, self.steps, self.default(), comm)

    @cached_property
    def _memory(self) -> int:
        from uzushio.solvers.thermal.solver import ThermalSolver

        case = with_point(self.case, self.default())
        return ThermalSolver.estimate(case, self.ranks).memory_per_rank * self.ranks

    def memory(self, point: Point) -> int:
        """Return the bytes of the fields and the default solver on all ranks."""
        return self._memory

    def predict(self, point: Point, machine: Machine) -> float:
        """Return the measured time of a step by cells of a rank, and that of messages besides."""
        counts = [int(point[name]) for name in self._names]
        even = math.prod(self._cells) / self.ranks
        if not counts[0]:  # about a cube
            parts = [even ** (1 / len(self._cells))] * len(self._cells)
        else:
            parts = [math.ceil(n / count) for n, count in zip(self._cells, counts, strict=True)]
        cells, layers = math.prod(parts), _GHOSTS * (len(parts) + len(self.case.scalars))
        sides = sum(
            2 * cells / part for part, n in zip(parts, self._cells, strict=True) if part < n
        )
        moved = 0.0 if point[_SOLVER] == "fft/partitioned" or self.ranks == 1 else 2 * cells
        sent = 8 * _STAGES * (layers * sides + moved)
        step = machine.rates["step"] * cells / even + sent / machine.bandwidth
        return float(step * self.steps)

    def _does_not_fit(self, *counts: int) -> str | None:
        if not any(counts):
            return None
        if math.prod(counts) != self.ranks:
            return (
                f"{' x '.join(map(str, counts))} blocks are not one for each of {self.ranks} ranks"
            )
        for axis, count, cells in zip(AXES, counts, self._cells, strict=False):
            if count > cells:
                return f"{count} blocks along {axis} are more than its {cells} cells"
        return None


def declare(file: Path, overrides: list[str], ranks: int) -> ThermalSubject:
    """Return the tunable parameters of a case with `solver: thermal`."""
    return ThermalSubject(cast(ThermalCase, load_case(file, overrides)), ranks)
