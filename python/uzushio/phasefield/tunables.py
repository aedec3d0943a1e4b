"""What can be tuned of an assimilation with the phase field: tiles, time blocking, caches, threads.

The model of cost counts, for the rank that has the most to do, points that are updated (those that
two ranks update count twice), bytes that move to and from memory, and messages.
"""

from __future__ import annotations

import math
import os
import time
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from uzushio.assimilation.case import load_assimilation
from uzushio.assimilation.observations import Observations
from uzushio.assimilation.tunables import groups, runs_an_iteration
from uzushio.phasefield.case import BlockingSection, PhaseFieldCase
from uzushio.phasefield.model import Blocking, Model, schemes
from uzushio.phasefield.parameters import Parameters
from uzushio.tuning.subject import Machine, Parameter, Point, Rule, Subject, Value, Workload

if TYPE_CHECKING:
    from mpi4py import MPI

#: Steps of a block that are tried. All of them divide the steps of a workload.
BLOCKS = (1, 2, 3, 4, 6, 8, 12, 16, 24)
_STEPS = 48
#: Bytes of all trajectories of a workload, above which it takes fewer steps.
_MOST = 1 << 29

#: Where blocks have more than one step.
_BLOCKED: Mapping[str, tuple[Value, ...]] = {"blocking.scheme": ("pa1", "pa2", "diamond")}

#: Bytes that move between memory and a core for a point.
_TRAJECTORY = _OBSERVED = 8.0
#: Of one pass over the field, which reads one buffer and writes the other.
_PASS = 24.0
#: Of a block of states computed again: its first one, and the adjoint in and out.
_REPLAY = 32.0
#: Columns by which such a part moves to the left a step.
_SHIFT = 8
#: Of the cache of level 2, what a part of the field should take at most.
_SHARE = 0.5


@dataclass(frozen=True)
class Window:
    """What of a case the cost depends on.

    Attributes:
        shape: points of the grid, (ny, nx).
        steps: of a forward run.
        every: steps between observations.
        periodic: whether the grid is.
    """

    shape: tuple[int, int]
    steps: int
    every: int = 1
    periodic: bool = False


class PhaseFieldSubject(Subject):
    """Sweeps forward and back over the observation window, on groups of ranks.

    Args:
        window: of the case.
        parameters: of the phase field.
        ranks: of the job.
        cores: that they share; all of this node if not given.
    """

    room = "phasefield"
    #: On two ranks measured over predicted times scattered by 1.4 to either side at 1600 x 1600
    #: points, and by 1.5 at 256 x 256, where all stays in the cache.
    trust = 1.5

    def __init__(
        self, window: Window, parameters: Parameters, ranks: int, cores: int | None = None
    ) -> None:
        self.ranks, self.window, self.known = ranks, window, parameters
        ny, nx = window.shape
        self.size = {"ny": ny, "nx": nx, "steps": window.steps, "every": window.every}
        cores = cores or os.cpu_count() or 1
        divisors = tuple(n for n in range(1, ranks + 1) if ranks % n == 0)
        x_tile, y_tile = Blocking().tiles(ranks, window.shape)
        usual = BlockingSection()
        self.parameters = (
            groups("blocking.oblt", ranks),
            Parameter("blocking.x_tile", divisors, x_tile, "ranks of a group along x", unsaid=0),
            Parameter("blocking.y_tile", divisors, y_tile, "ranks of a group along y", unsaid=0),
            Parameter("blocking.scheme", tuple(schemes()), usual.scheme, "of time blocking"),
            _steps("blocking.fblt", usual.fblt, "of a forward block", window),
            _steps("blocking.bblt", usual.bblt, "of a backward block", window),
            Parameter("blocking.threads", _counts(max(1, cores // ranks)), 1, "of a rank"),
            _cache("blocking.cache_rows", (0, 4, 16, 32, 64), "of a part in the cache"),
            _cache("blocking.cache_columns", (0, 512, 2048), "of it"),
            _cache("blocking.cache_steps", (0, 8, 24), "made of it at once"),
        )
        tiles = ("blocking.x_tile", "blocking.y_tile")
        self.rules = (
            Rule(("blocking.oblt", *tiles), self._do_not_cover),
            Rule(("blocking.scheme", "blocking.fblt"), _unblocked),
            Rule(("blocking.scheme", "blocking.bblt"), _unblocked),
            Rule((*tiles, "blocking.scheme", "blocking.fblt"), self._too_thin),
            Rule((*tiles, "blocking.scheme", "blocking.bblt"), self._too_thin),
            Rule(("blocking.scheme", "blocking.fblt", "blocking.bblt"), _unequal),
        )

    @property
    def steps(self) -> int:
        """Steps of the workload: all of the case's, if trajectories do not take too much memory."""
        ny, nx = self.window.shape
        fitting = (n for n in (_STEPS, _STEPS // 2) if 8 * n * nx * ny <= _MOST)
        return min(self.window.steps, next(fitting, _STEPS // 2))

    def workload(self, comm: MPI.Intracomm) -> Workload:
        """Forward, and back."""
        return _Sweeps(self, comm)

    def memory(self, point: Point) -> int:
        """Trajectories, fields and buffers; observations are shared by points."""
        ny, nx = self.window.shape
        kept = self.steps / self._every(point)
        return int(8 * (kept + 8) * nx * ny * int(point["blocking.oblt"]))

    def _every(self, point: Point) -> int:
        """Steps from one state that is kept to the next."""
        ranks = int(point["blocking.x_tile"]) * int(point["blocking.y_tile"])
        return _blocking(point).every(ranks, self.window.shape, self.window.periodic)

    def predict(self, point: Point, machine: Machine) -> float:
        """See the module."""
        every, scheme = self._every(point), str(point["blocking.scheme"])
        forward, backward = (
            _Sweep(self.window, point, scheme, int(point[name]), every)
            for name in ("blocking.fblt", "blocking.bblt")
        )
        runs = runs_an_iteration(int(point["blocking.oblt"]))
        seconds = runs * forward.seconds(machine, "forward")
        seconds += backward.seconds(machine, "backward")
        # Frames of the states that are kept, which the ranks' redundant points read.
        width = backward.block if every == 1 else 2.0 * every
        frames = width * backward.around * 8.0 / every if backward.redundant else 0.0
        seconds += frames / machine.bandwidth
        if point["blocking.oblt"] != 1:
            seconds += 8.0 * forward.tile_points / machine.bandwidth / self.steps
        return seconds * self.steps

    def _do_not_cover(self, groups: int, x_tile: int, y_tile: int) -> str | None:
        if groups * x_tile * y_tile == self.ranks:
            return None
        return (
            f"oblt {groups} groups of {x_tile} x {y_tile} tiles do not make up {self.ranks} ranks"
        )

    def _too_thin(self, x_tile: int, y_tile: int, scheme: str, steps: int) -> str | None:
        ny, nx = self.window.shape
        cut = self.window.periodic
        sides = [nx // x_tile] if x_tile > 1 or cut else []
        sides += [ny // y_tile] if y_tile > 1 or cut else []
        most = min(sides, default=2 * steps)
        if steps <= (most // 2 if scheme == "diamond" else most):
            return None
        return (
            f"blocks of {steps} steps need thicker tiles than {x_tile} x {y_tile} of "
            f"{nx} x {ny} points are: at most {most} steps are possible, {most // 2} with diamond"
        )


def _unblocked(scheme: str, steps: int) -> str | None:
    """An exchange a step."""
    if scheme != "plain" or steps == 1:
        return None
    return f"with scheme plain fblt and bblt must be 1, not {steps}"


def _steps(name: str, usual: int, meaning: str, window: Window) -> Parameter:
    """Steps of a block: as many as the case's default, or as fit."""
    blocks = tuple(n for n in BLOCKS if n <= window.steps)
    default = max(n for n in blocks if n <= usual)
    return Parameter(name, blocks, default, meaning, "steps", _BLOCKED, idle=1)


def _cache(name: str, values: tuple[int, ...], meaning: str) -> Parameter:
    """A side of the parts that stay in the cache; at 0 the sweep chooses."""
    return Parameter(name, values, 0, meaning, "", _BLOCKED, unsaid=0)


def _unequal(scheme: str, fblt: int, bblt: int) -> str | None:
    """The diamonds of both directions are the same."""
    if scheme != "diamond" or fblt == bblt:
        return None
    return f"with scheme diamond fblt and bblt must be equal; they are {fblt} and {bblt}"


def _counts(most: int) -> tuple[int, ...]:
    """Numbers of threads that are tried: all up to four, then doubling, and the most."""
    powers = (2**n for n in range(2, most.bit_length()))
    return tuple(sorted({n for n in (1, 2, 3, 4, *powers, most) if n <= most}))


class _Sweep:
    """What a step of a sweep in one direction takes, on the rank with the most to do."""

    def __init__(
        self, window: Window, point: Point, scheme: str, block: int, every: int = 1
    ) -> None:
        ny, nx = window.shape
        x_tile, y_tile = int(point["blocking.x_tile"]), int(point["blocking.y_tile"])
        self.width, self.height = math.ceil(nx / x_tile), math.ceil(ny / y_tile)
        self.tile_points = self.width * self.height
        self.block, self._scheme, self._window, self._point = block, scheme, window, point
        self._every = every
        # Sides with a neighbour. A direction that is periodic has two even if it is not cut.
        self._x = 2 if window.periodic else min(2, x_tile - 1)
        self._y = 2 if window.periodic else min(2, y_tile - 1)

    @property
    def around(self) -> float:
        """Points along the sides that have a neighbour."""
        return self._x * self.height + self._y * self.width

    @property
    def redundant(self) -> float:
        """Points of a block that a neighbour updates too: equation (7) of the seed, any sides."""
        b = self.block
        share = {"pa1": 1.0, "pa2": 0.5}.get(self._scheme, 0.0)
        corners = self._x * self._y * b * (b - 1) * (b - 2) / 6
        return share * (self.around * b * (b - 1) / 2 + corners)

    def seconds(self, machine: Machine, direction: str) -> float:
        """A step: computing, memory, messages.

        They are added up: one core does not compute at its full rate while it streams.
        """
        if direction == "backward" and self._every > 1:
            return self._replayed(machine)
        points = self.tile_points + self.redundant / self.block
        per_row, per_point = (machine.rates[f"{direction} {what}"] for what in ("row", "point"))
        # What neighbours along x are waited for is done apart, in short rows.
        rows = points / self._row_length() + 2 * self._x * self.height
        work = rows * per_row + points * per_point
        memory = _TRAJECTORY / self._every + self._pass(machine)
        if self._every == 1:
            memory += _OBSERVED / self._window.every
        threads = int(self._point["blocking.threads"])
        return (
            work / threads + points * memory / machine.memory + self._messages(machine) / self.block
        )

    def _replayed(self, machine: Machine) -> float:
        """A step back, with the step forward that is made again."""
        b = self._every
        forward, backward = (
            machine.rates[f"{direction} row"] / self._row_length()
            + machine.rates[f"{direction} point"]
            for direction in ("forward", "backward")
        )
        # On average a state is needed 1.5 (b - 1) points beyond the tile, and an adjoint b / 2.
        again = (self.tile_points + 1.5 * (b - 1) * self.around) * (1.0 - 1.0 / b)
        back = self.tile_points + 0.5 * b * self.around
        work = again * forward + back * backward
        memory = self.tile_points * (_OBSERVED / self._window.every + _REPLAY / b)
        threads = int(self._point["blocking.threads"])
        return work / threads + memory / machine.memory + self._messages(machine) / b

    def _part(self) -> tuple[int, int, int]:
        """Rows, columns and steps of a part in the cache."""
        rows, columns, steps = (
            int(self._point[f"blocking.cache_{side}"]) or usual
            for side, usual in (("rows", 8), ("columns", 1000), ("steps", 32))
        )
        return rows, columns, min(self.block, steps)

    def _row_length(self) -> float:
        """Columns that are updated in one go, on average."""
        _, columns, steps = self._part()
        if self.width <= columns:
            return self.width
        return self.width / math.ceil((self.width + _SHIFT * (steps - 1)) / columns)

    def _pass(self, machine: Machine) -> float:
        """Bytes a point that the field itself costs: one pass through memory for many steps."""
        rows, columns, steps = self._part()
        part = 2 * 8 * (rows + steps) * (min(columns, self.width) + _SHIFT * steps)
        fits = part <= _SHARE * (machine.caches[1] or 1 << 20)
        return _PASS / (steps if fits else min(2, steps))

    def _messages(self, machine: Machine) -> float:
        """An exchange: messages to all sides, with what the block needs."""
        if not self.around:
            return 0.0
        count = 3 if self._scheme == "diamond" else self._x + self._y
        values = self.block * (self.around + 2 * self.block * min(self._x, self._y))
        return count * machine.latency + 8.0 * values / machine.bandwidth


class _Sweeps(Workload):
    """What an iteration of the optimiser does: values of J in groups, one adjoint, its gradient."""

    def __init__(self, subject: PhaseFieldSubject, comm: MPI.Intracomm) -> None:
        self._subject, self._comm = subject, comm
        self._groups: dict[int, tuple[MPI.Comm, MPI.Comm]] = {}
        self._seen: weakref.WeakValueDictionary[int, np.ndarray] = weakref.WeakValueDictionary()

    def ready(self, point: Point) -> Callable[[], object]:
        """A model with its memory; all of that is touched."""
        subject = self._subject
        inside, across = self._split(int(point["blocking.oblt"]))
        model = Model(inside, subject.window.shape, subject.known, _blocking(point))
        work = _Iteration(model, self._observations(model), subject.steps, across)
        work.run()
        return work.run

    def calibrate(self) -> Mapping[str, float]:
        """Seconds of a thread for a row and for each of its points, within the cache."""
        long, short = (self._rows_of(columns) for columns in (512, 32))
        found = {}
        for direction in ("forward", "backward"):
            point = max(1e-12, (long[direction] - short[direction]) / (512 - 32))
            found[f"{direction} point"] = point
            found[f"{direction} row"] = max(0.0, short[direction] - 32 * point)
        return found

    def _rows_of(self, columns: int) -> dict[str, float]:
        """Seconds for a row of so many points, in both directions; the slowest rank's."""
        from mpi4py import MPI

        steps, shape = 8, (32, columns)
        blocking = Blocking(1, 1, 1, 1, "plain")
        model = Model(MPI.COMM_SELF, shape, self._subject.known, blocking)
        trajectory = model.new_trajectory(steps)
        seen = Observations(list(range(1, steps + 1)), np.full((steps, *shape), 0.4), 1.0)
        model.forward(_start(shape), 1.0, 0, steps, trajectory, seen)
        least = {"forward": math.inf, "backward": math.inf}
        for _ in range(200):
            field, adjoint = _start(shape), np.zeros(shape)
            began = time.perf_counter()
            model.forward(field, 1.0, 0, steps, None, seen)
            middle = time.perf_counter()
            model.adjoint(adjoint, 1.0, 0, steps, trajectory, seen)
            least["forward"] = min(least["forward"], middle - began)
            least["backward"] = min(least["backward"], time.perf_counter() - middle)
        rows = steps * shape[0]
        return {name: self._comm.allreduce(least[name], MPI.MAX) / rows for name in least}

    def _split(self, groups: int) -> tuple[MPI.Comm, MPI.Comm]:
        """The ranks of a group, and those with the same place in each; as `Groups` has them."""
        if groups not in self._groups:
            comm, each = self._comm, self._comm.size // groups
            inside = comm.Split(comm.rank // each, comm.rank)
            across = comm.Split(comm.rank % each, comm.rank)
            self._groups[groups] = inside, across
        return self._groups[groups]

    def _observations(self, model: Model) -> Observations:
        """Of this part of the grid; points with as large a part share the memory."""
        steps = range(1, self._subject.steps + 1, self._subject.window.every)
        shape = (len(steps), *model.own_shape)
        count = math.prod(shape)
        values = self._seen.get(count)
        if values is None:
            values = np.full(count, 0.4)
            self._seen[count] = values
        return Observations(list(steps), values.reshape(shape), 1.0)


class _Iteration:
    """One iteration on one group of ranks."""

    def __init__(
        self, model: Model, observations: Observations, steps: int, across: MPI.Comm
    ) -> None:
        self._model, self._observations, self._across = model, observations, across
        self._steps = steps
        self._again = max(1, round(steps * (runs_an_iteration(across.size) - 1)))
        self._trajectory = model.new_checkpoints(steps)
        self._start = _start(model.own_shape)
        self._field, self._adjoint = np.empty_like(self._start), np.zeros(model.own_shape)

    def run(self) -> None:
        """Part of a value of J for searches that need more than one, then J with its gradient."""
        model, seen = self._model, self._observations
        np.copyto(self._field, self._start)
        model.forward(self._field, 1.0, 0, self._again, self._trajectory, seen)
        np.copyto(self._field, self._start)
        model.forward(self._field, 1.0, 0, self._steps, self._trajectory)
        self._adjoint.fill(0.0)
        model.forcing(self._field, self._steps, seen, self._adjoint)
        model.adjoint(self._adjoint, 1.0, 0, self._steps, self._trajectory, seen, misfit=True)
        self._across.allgather(model.last_misfit)
        if self._across.size > 1:
            self._across.Bcast(self._adjoint, root=0)


def _blocking(point: Point) -> Blocking:
    """How a group of ranks cuts its sweeps."""
    prefix = "blocking."
    of_group = {name: value for name, value in point.items() if name != f"{prefix}oblt"}
    return Blocking(**{name.removeprefix(prefix): value for name, value in of_group.items()})  # type: ignore[arg-type]


def _start(shape: tuple[int, int]) -> np.ndarray:
    """A field between 0 and 1, with nothing that a processor finds easier than another."""
    return np.random.default_rng(0).uniform(0.2, 0.8, shape)


def declare(file: Path, overrides: list[str], ranks: int) -> PhaseFieldSubject:
    """What can be tuned of a case with `model: phasefield`."""
    case = cast(PhaseFieldCase, load_assimilation(file, overrides))
    grid, seen = case.grid, case.observations
    periodic = grid.boundary == "periodic"
    every = seen.every if seen.store is None else 1
    window = Window((grid.ny, grid.nx), case.time.steps, every, periodic)
    return PhaseFieldSubject(window, case.known, ranks)
