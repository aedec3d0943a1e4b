"""Tunable parameters of an assimilation with the phase field: tiles, blocking, caches, threads."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, cast

from uzushio.assimilation.case import load_assimilation
from uzushio.assimilation.phasefield.case import BlockingSection, PhaseFieldCase
from uzushio.assimilation.phasefield.cost_model import SweepCost, Window
from uzushio.assimilation.phasefield.workload import SweepWorkload, blocking_of
from uzushio.assimilation.tunables import groups, runs_an_iteration
from uzushio.solvers.phasefield.blocking import Blocking, schemes
from uzushio.solvers.phasefield.parameters import Parameters
from uzushio.tuning.subject import Machine, Parameter, Point, Rule, Subject, Value, Workload

if TYPE_CHECKING:
    from mpi4py import MPI

#: Candidate steps of a block. All of them divide the steps of a workload.
BLOCKS = (1, 2, 3, 4, 6, 8, 12, 16, 24)
_STEPS = 48
#: Maximum bytes of a workload's trajectories.
_MAX_BYTES = 1 << 29

#: Schemes whose blocks have more than one step.
_BLOCKED: Mapping[str, tuple[Value, ...]] = {"blocking.scheme": ("pa1", "pa2", "diamond")}


class PhaseFieldSubject(Subject):
    """Forward and backward sweeps over the observation window, on groups of ranks.

    Args:
        window: observation window of the case.
        parameters: parameters of the phase field.
        ranks: number of ranks of the job.
        cores: number of cores that they share; default: all of this node.
        candidates: number of steps that a line search tries at once; default: one for each group.
    """

    room = "phasefield"
    #: Measured scatter of measured over predicted times on two ranks: a factor of 1.4 at
    #: 1600 x 1600 points, 1.5 at 256 x 256, which fits the cache.
    trust = 1.5

    def __init__(
        self,
        window: Window,
        parameters: Parameters,
        ranks: int,
        cores: int | None = None,
        candidates: int | None = None,
    ) -> None:
        self.ranks, self.window, self.known = ranks, window, parameters
        self._candidates = candidates
        ny, nx = window.shape
        # Trajectories of the steps must fit into memory.
        fitting = (n for n in (_STEPS, _STEPS // 2) if 8 * n * nx * ny <= _MAX_BYTES)
        self.steps = min(window.steps, next(fitting, _STEPS // 2))
        self.size = {"ny": ny, "nx": nx, "steps": window.steps, "every": window.every}
        cores = cores or os.cpu_count() or 1
        divisors = tuple(n for n in range(1, ranks + 1) if ranks % n == 0)
        x_tile, y_tile = Blocking().tiles(ranks, window.shape)
        defaults = BlockingSection()
        self.parameters = (
            groups("blocking.oblt", ranks),
            Parameter("blocking.x_tile", divisors, x_tile, "ranks of a group along x", unset=0),
            Parameter("blocking.y_tile", divisors, y_tile, "ranks of a group along y", unset=0),
            Parameter("blocking.scheme", tuple(schemes()), defaults.scheme, "of time blocking"),
            _steps("blocking.fblt", defaults.fblt, "of a forward block", window),
            _steps("blocking.bblt", defaults.bblt, "of a backward block", window),
            Parameter("blocking.threads", _counts(max(1, cores // ranks)), 1, "of a rank"),
            _cache("blocking.cache_rows", (0, 4, 16, 32, 64), "of a tile in the cache"),
            _cache("blocking.cache_columns", (0, 512, 2048), "of such a tile"),
            _cache("blocking.cache_steps", (0, 8, 24), "computed on it at once"),
        )
        tiles = ("blocking.x_tile", "blocking.y_tile")
        self.rules = (
            Rule(("blocking.oblt", *tiles), self._do_not_cover),
            Rule(("blocking.scheme", "blocking.fblt"), _unblocked),
            Rule(("blocking.scheme", "blocking.bblt"), _unblocked),
            Rule((*tiles, "blocking.scheme", "blocking.fblt"), self._too_small),
            Rule((*tiles, "blocking.scheme", "blocking.bblt"), self._too_small),
            Rule(("blocking.scheme", "blocking.fblt", "blocking.bblt"), _unequal),
        )

    def workload(self, comm: MPI.Intracomm) -> Workload:
        """Return the workload on the ranks of `comm`."""
        return SweepWorkload(self.window, self.known, self.steps, self._candidates, comm)

    def memory(self, point: Point) -> int:
        """Return the bytes of trajectories, fields and buffers; observations are shared."""
        ny, nx = self.window.shape
        kept = self.steps / self._every(point)
        return int(8 * (kept + 8) * nx * ny * int(point["blocking.oblt"]))

    def _every(self, point: Point) -> int:
        """Return the interval of stored states."""
        ranks = int(point["blocking.x_tile"]) * int(point["blocking.y_tile"])
        return blocking_of(point).every(ranks, self.window.shape, self.window.periodic)

    def predict(self, point: Point, machine: Machine) -> float:
        """Return the predicted time; see `cost_model`."""
        every, scheme = self._every(point), str(point["blocking.scheme"])
        forward, backward = (
            SweepCost(self.window, point, scheme, int(point[name]), every)
            for name in ("blocking.fblt", "blocking.bblt")
        )
        runs = runs_an_iteration(int(point["blocking.oblt"]), self._candidates)
        seconds = runs * forward.seconds(machine, "forward")
        seconds += backward.seconds(machine, "backward")
        # Halos of the stored states, which redundant points read.
        width = backward.block if every == 1 else 2.0 * every
        halos = width * backward.border * 8.0 / every if backward.redundant else 0.0
        seconds += halos / machine.bandwidth
        if point["blocking.oblt"] != 1:
            seconds += 8.0 * forward.tile_points / machine.bandwidth / self.steps
        return seconds * self.steps

    def _do_not_cover(self, groups: int, x_tile: int, y_tile: int) -> str | None:
        if groups * x_tile * y_tile == self.ranks:
            return None
        return (
            f"oblt {groups} groups of {x_tile} x {y_tile} tiles do not make up {self.ranks} ranks"
        )

    def _too_small(self, x_tile: int, y_tile: int, scheme: str, steps: int) -> str | None:
        ny, nx = self.window.shape
        cut = self.window.periodic
        sides = [nx // x_tile] if x_tile > 1 or cut else []
        sides += [ny // y_tile] if y_tile > 1 or cut else []
        maximum = min(sides, default=2 * steps)
        if steps <= (maximum // 2 if scheme == "diamond" else maximum):
            return None
        return (
            f"blocks of {steps} steps do not fit {x_tile} x {y_tile} tiles of {nx} x {ny} points: "
            f"the maximum is {maximum} steps, {maximum // 2} with diamond"
        )


def _unblocked(scheme: str, steps: int) -> str | None:
    """Scheme plain has one exchange per step."""
    if scheme != "plain" or steps == 1:
        return None
    return f"with scheme plain fblt and bblt must be 1, not {steps}"


def _steps(name: str, preferred: int, meaning: str, window: Window) -> Parameter:
    """Return the parameter of a block's steps; its default is the largest that fits."""
    blocks = tuple(n for n in BLOCKS if n <= window.steps)
    default = max(n for n in blocks if n <= preferred)
    return Parameter(name, blocks, default, meaning, "steps", _BLOCKED, idle=1)


def _cache(name: str, values: tuple[int, ...], meaning: str) -> Parameter:
    """Return the parameter of an extent of tiles in the cache; 0: automatic."""
    return Parameter(name, values, 0, meaning, "", _BLOCKED, unset=0)


def _unequal(scheme: str, fblt: int, bblt: int) -> str | None:
    """Scheme diamond has equal blocks in both directions."""
    if scheme != "diamond" or fblt == bblt:
        return None
    return f"with scheme diamond fblt and bblt must be equal; they are {fblt} and {bblt}"


def _counts(maximum: int) -> tuple[int, ...]:
    """Return the candidate numbers of threads: 1 to 4, powers of two, and the maximum."""
    powers = (2**n for n in range(2, maximum.bit_length()))
    return tuple(sorted({n for n in (1, 2, 3, 4, *powers, maximum) if n <= maximum}))


def declare(file: Path, overrides: list[str], ranks: int) -> PhaseFieldSubject:
    """Return the tunable parameters of a case with `model: phasefield`."""
    case = cast(PhaseFieldCase, load_assimilation(file, overrides))
    grid, observed = case.grid, case.observations
    periodic = grid.boundary == "periodic"
    every = observed.every if observed.store is None else 1
    window = Window((grid.ny, grid.nx), case.time.steps, every, periodic)
    return PhaseFieldSubject(window, case.known, ranks, candidates=case.optimiser.candidates)
