"""Tunable parameters of a channel flow: process grid, solves along z, all-to-alls of planes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from uzushio._base.config.quantities import show_size
from uzushio._base.parallel.affinity import thread_count
from uzushio.case.model import load_case
from uzushio.solvers.channel.case import ChannelCase
from uzushio.solvers.channel.decomposition import (
    SCHEMES,
    TRANSPOSES,
    estimate_needs,
    kept_modes,
    predictions,
)
from uzushio.solvers.channel.prediction import predict, ranks_per_node
from uzushio.tuning.steps import StepWorkload, steps_of, with_point
from uzushio.tuning.subject import Machine, Parameter, Point, Rule, Subject, Value, Workload

if TYPE_CHECKING:
    from mpi4py import MPI

OnlyIf = Mapping[str, tuple[Value, ...]]

_PY, _PZ = "decomposition.py", "decomposition.pz"
_SCHEME, _TRANSPOSES = "numerics.scheme", "numerics.transposes"
_PRECISION = "numerics.transpose_precision"


class ChannelSubject(Subject):
    """Steps of a channel flow from its initial field.

    Transposes in single precision are tried only if the case has `transpose_precision: auto`.

    Args:
        case: the case.
        ranks: number of ranks of the job.

    Raises:
        CaseError: no process grid fits the grid.
    """

    room = "channel"
    #: The first model of the channel's time left out a factor of 1.3 (docs/performance/tuning.md).
    trust = 1.5

    def __init__(self, case: ChannelCase, ranks: int) -> None:
        self.case, self.ranks = case, ranks
        grid = case.grid
        self.size: dict[str, Value] = {
            "nx": grid.nx,
            "ny": grid.ny,
            "nz": grid.nz,
            "dealiasing": case.numerics.dealiasing,
            "precision": case.numerics.transpose_precision,
            "threads": thread_count(),
        }
        self._memory_limit = case.decomposition.memory_per_rank
        if self._memory_limit is not None:
            self.size["memory_per_rank"] = self._memory_limit
        chosen = predictions(case, ranks)[0]
        self.steps = steps_of(chosen.seconds)
        divisors = tuple(n for n in range(1, ranks + 1) if ranks % n == 0)
        shared, cut = {_PY: divisors[1:]}, {_PZ: divisors[1:]}
        self._limits = min(kept_modes(case)[0], grid.ny), grid.nz
        self.parameters = [
            Parameter(_PY, divisors, chosen.py, "ranks that share a plane"),
            Parameter(_PZ, divisors, chosen.pz, "ranks between the walls"),
            _choice(_SCHEME, SCHEMES, chosen.scheme, cut, SCHEMES[0]),
            _choice(_TRANSPOSES, tuple(TRANSPOSES), "auto", shared, "auto"),
        ]
        if case.numerics.transpose_precision == "auto":
            precision = _choice(_PRECISION, ("double", "single"), "double", shared, "double")
            self.parameters.append(replace(precision, off="double"))
        self.rules = (
            Rule((_PY, _PZ), self._does_not_fit),
            Rule((_PY, _PZ, _SCHEME, _TRANSPOSES), self._is_too_large),
        )

    def workload(self, comm: MPI.Intracomm) -> Workload:
        """Return the workload on the ranks of `comm`."""
        from uzushio.solvers.channel.solver import ChannelSolver

        def begin(point: Point) -> ChannelSolver:
            return ChannelSolver(with_point(self.case, point), comm).begin()

        return StepWorkload(begin, self.steps, self.default(), comm)

    def memory(self, point: Point) -> int:
        """Return the bytes of the solver's arrays on all ranks."""
        case, (py, pz) = with_point(self.case, point), _grid(point)
        return int(estimate_needs(case, py, pz, str(point[_SCHEME])).bytes) * self.ranks

    def predict(self, point: Point, machine: Machine) -> float:
        """Return the predicted time of the steps, with the constants of the case's network."""
        case, grid, scheme = with_point(self.case, point), _grid(point), str(point[_SCHEME])
        need = estimate_needs(case, *grid, scheme)
        node, threads = ranks_per_node(case, self.ranks), thread_count()
        prediction = predict(case, grid, scheme, need.bytes, need.traffic, node, threads)
        return prediction.seconds * self.steps

    def _does_not_fit(self, py: int, pz: int) -> str | None:
        max_py, max_pz = self._limits
        if py * pz != self.ranks:
            return f"py {py} x pz {pz} do not make up {self.ranks} ranks"
        if py > max_py or pz > max_pz:
            return f"py is at most {max_py} (modes in x) and pz at most {max_pz} (cells in z)"
        return None

    def _is_too_large(self, py: int, pz: int, scheme: str, transposes: str) -> str | None:
        case = with_point(self.case, {_TRANSPOSES: transposes})
        try:
            need = estimate_needs(case, py, pz, scheme).bytes
        except ValueError as error:  # a rank has more values than MPI can count
            return str(error)
        if self._memory_limit is None or need <= self._memory_limit:
            return None
        return f"{py} x {pz} ranks need {show_size(need)} each"


def _choice(
    name: str, values: tuple[Value, ...], default: Value, only_if: OnlyIf, idle: Value
) -> Parameter:
    """Return a parameter whose value "auto" in a case leaves the choice to the tuner."""
    return Parameter(name, values, default, "", "", only_if, idle, unset="auto")


def _grid(point: Point) -> tuple[int, int]:
    return int(point[_PY]), int(point[_PZ])


def declare(file: Path, overrides: list[str], ranks: int) -> ChannelSubject:
    """Return the tunable parameters of a case with `solver: channel`."""
    return ChannelSubject(cast(ChannelCase, load_case(file, overrides)), ranks)
