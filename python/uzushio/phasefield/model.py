"""The phase field on the ranks of a communicator."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from uzushio import _core
from uzushio.assimilation.observations import Observations
from uzushio.errors import ModelError
from uzushio.parallel.collective import collective, together_or_end
from uzushio.phasefield.observations import check
from uzushio.phasefield.parameters import Parameters

if TYPE_CHECKING:
    from mpi4py import MPI

Field = NDArray[np.float64]


@dataclass(frozen=True)
class Blocking:
    """How sweeps are cut over ranks, steps and caches. No value depends on it, only the time.

    Attributes:
        x_tile: ranks along x; 0 lets the model choose.
        y_tile: ranks along y; 0 lets the model choose.
        fblt: steps between two exchanges of forward sweeps.
        bblt: steps between two exchanges of backward sweeps.
        scheme: ``plain``, ``pa1``, ``pa2`` or ``diamond``; see docs/theory/time-blocking.md.
        threads: threads of a rank.
        cache_rows: rows of a part that stays in the cache; 0 lets the sweep choose.
        cache_columns: columns of such a part; 0 lets the sweep choose.
        cache_steps: steps that are made of such a part at once; 0 lets the sweep choose.
        overlap: compute what does not depend on an exchange while it is under way.
        replay: adjoint sweeps keep the first state of each block of bblt steps, and compute the
            others again in the cache; see docs/theory/time-blocking.md. Not with diamond.
    """

    x_tile: int = 0
    y_tile: int = 0
    fblt: int = 1
    bblt: int = 1
    scheme: str = "plain"
    threads: int = 1
    cache_rows: int = 0
    cache_columns: int = 0
    cache_steps: int = 0
    overlap: bool = True
    replay: bool = True

    def tiles(self, ranks: int, shape: tuple[int, int]) -> tuple[int, int]:
        """Ranks along x and y: those asked for, or those with the shortest edges between them.

        Raises:
            ModelError: they do not make up the number of ranks.
        """
        x, y = self.x_tile, self.y_tile
        if x < 0 or y < 0:
            raise ModelError(f"blocking: x_tile {x} and y_tile {y} must not be negative.")
        if x and y:
            choices = [(x, y)]
        elif x or y:
            other = ranks // (x or y)
            choices = [(x, other) if x else (other, y)]
        else:
            choices = [(n, ranks // n) for n in range(1, ranks + 1) if ranks % n == 0]
        fitting = [(x, y) for x, y in choices if x * y == ranks]
        if not fitting:
            raise ModelError(
                f"blocking: x_tile x y_tile is {self.x_tile} x {self.y_tile}; it must be the "
                f"{ranks} ranks of the job (0 lets the model choose)."
            )
        # Long rows are the faster ones: among cuts of the same length the one along y wins.
        return min(fitting, key=lambda n: ((n[0] - 1) * shape[0] + (n[1] - 1) * shape[1], n[0]))

    def every(self, ranks: int, shape: tuple[int, int], periodic: bool) -> int:
        """Steps from one state that `Model.new_checkpoints` keeps to the next."""
        if not self.replay or self.scheme == "diamond":
            return 1
        x, y = self.tiles(ranks, shape)
        ny, nx = shape
        cut = [nx // x] * (x > 1 or periodic) + [ny // y] * (y > 1 or periodic)
        # A replay's halo is nearly as thick as two blocks, and must fit a tile.
        most = int(_core.phasefield.max_replayed)
        return max(1, min([self.bblt, most, *(side // 2 + 1 for side in cut)]))


class Counters(NamedTuple):
    """What this rank has done in all sweeps so far."""

    messages: int
    """Sent to other ranks."""
    bytes: int
    """In them."""
    points: int
    """Updates of a point, redundant ones among them."""
    redundant: int
    """Updates that another rank made too."""


def schemes() -> list[str]:
    """Return the names that `Blocking.scheme` may have."""
    names: list[str] = _core.phasefield.schemes()
    return names


class Trajectory:
    """A field at consecutive steps, for the sweeps that need it.

    Made by `Model.new_trajectory` or, for `Model.adjoint` alone, by `Model.new_checkpoints`. Its
    memory is taken at once and stays: use it again rather than making another.
    """

    def __init__(self, core: Any, model: Model) -> None:
        self._core = core
        self._model = model  # whose layout the memory has

    @property
    def bytes(self) -> int:
        """Memory of it on this rank."""
        return int(self._core.bytes)

    @property
    def steps(self) -> int:
        """Steps that there is room for."""
        return int(self._core.steps)

    @property
    def every(self) -> int:
        """Steps from one field that it keeps to the next; the others are computed again."""
        return int(self._core.every)

    def append(self, phi: Field) -> None:
        """Put a field, this rank's own part, behind the last one that it holds. Not collective.

        Raises:
            ModelError: there is no room, or the shape is another one.
        """
        try:
            self._model._check(0, 0, phi=phi)
            self._core.append(phi)
        except (RuntimeError, TypeError) as error:
            raise ModelError(f"phase field: {error}.") from error

    def field(self, step: int) -> Field:
        """A copy of the field of a step that it keeps, this rank's own part.

        Raises:
            ModelError: it does not keep that step.
        """
        try:
            field: Field = self._core.field(step)
        except IndexError as error:
            raise ModelError(f"{error}.") from error
        return field


class Model:
    """Sweeps of the phase field over this rank's part of the grid.

    All methods but `largest_step`, `new_trajectory`, `new_checkpoints`, `forcing`, `weigh` and
    `counters` are collective; a rank that fails alone in one, as for want of memory, ends the job.
    Fields are float64 arrays (rows, cols) of the own part, C-contiguous.

    Args:
        comm: The ranks; the model works in a duplicate of it.
        shape: Points of the grid, (ny, nx).
        parameters: What is known of the model.
        blocking: How the work is cut.

    Raises:
        ModelError: The blocking does not fit the grid or the ranks. On all ranks.
    """

    def __init__(
        self,
        comm: MPI.Comm,
        shape: tuple[int, int],
        parameters: Parameters,
        blocking: Blocking | None = None,
    ) -> None:
        self.comm = comm
        self.shape = (int(shape[0]), int(shape[1]))
        self.parameters = parameters
        blocking = blocking or Blocking()
        x_tile, y_tile = blocking.tiles(comm.size, self.shape)
        options = _core.phasefield.Blocking()
        options.x_tile, options.y_tile = x_tile, y_tile
        options.forward_steps, options.backward_steps = blocking.fblt, blocking.bblt
        options.scheme, options.threads = blocking.scheme, blocking.threads
        options.overlap = blocking.overlap
        options.replayed = blocking.every(comm.size, self.shape, parameters.boundary == "periodic")
        for name in ("cache_rows", "cache_columns", "cache_steps"):
            if getattr(blocking, name):
                setattr(options, name, getattr(blocking, name))
        self.blocking = replace(blocking, x_tile=x_tile, y_tile=y_tile)
        try:
            self._core = _core.phasefield.Model(
                comm.handle,
                self.shape[1],
                self.shape[0],
                parameters.diffusion_number,
                parameters.reaction_number,
                parameters.boundary == "periodic",
                options,
            )
        except ValueError as error:
            raise ModelError(f"phase field: {error}.") from error
        self._ranks = comm.Dup()
        weakref.finalize(self, self._ranks.Free).atexit = False
        (y0, y1), (x0, x1) = self._core.own
        self._own = (slice(y0, y1), slice(x0, x1))
        self._observed: weakref.WeakKeyDictionary[Observations, Any] = weakref.WeakKeyDictionary()

    @property
    def own(self) -> tuple[slice, slice]:
        """This rank's rows and columns of the grid."""
        return self._own

    @property
    def own_shape(self) -> tuple[int, int]:
        """Rows and columns of this rank's part."""
        y, x = self._own
        return y.stop - y.start, x.stop - x.start

    @property
    def last_sum(self) -> tuple[float, float]:
        """What the last sweep, misfit or dot returned, in doubled precision: (high, low).

        The values of a run in pieces, added so, are rounded to the same however it is cut.
        """
        high, low = self._core.last_sum
        return high, low

    def largest_step(self, *m: float) -> float:
        """The longest stable step, equation (3), for the worst of the values of m."""
        return self.parameters.largest_step(*m)

    @property
    def bytes(self) -> int:
        """Memory of the sweeps on this rank; trajectories and observations come on top."""
        return int(self._core.bytes)

    def counters(self) -> Counters:
        """What this rank has done so far."""
        return Counters(*(int(count) for count in self._core.counters()))

    def roughen(self, strength: float) -> Callable[[Field], None]:
        """Return the multiplication of a field, in place, with 1 - strength ∇² (collective).

        ∇² is that of a step, in units of the grid: this is a step of negative diffusion.
        """
        options = _core.phasefield.Blocking()
        options.x_tile, options.y_tile = self.blocking.x_tile, self.blocking.y_tile
        options.forward_steps = options.backward_steps = 1
        options.scheme, options.threads = "plain", self.blocking.threads
        periodic = self.parameters.boundary == "periodic"
        core = _core.phasefield.Model(
            self.comm.handle, self.shape[1], self.shape[0], -strength, 0.0, periodic, options
        )

        def roughened(field: Field) -> None:
            with collective(self.comm):
                self._check(0, 1, field=field)
            core.forward(field, 1.0, 0, 1, None, None)

        return roughened

    def new_trajectory(self, steps: int) -> Trajectory:
        """Return memory for a field at `steps` consecutive steps."""
        if steps < 0:
            raise ModelError(f"phase field: a trajectory of {steps} steps; give 0 or more.")
        return Trajectory(self._core.new_trajectory(int(steps)), self)

    def new_checkpoints(self, steps: int) -> Trajectory:
        """Return memory for the states of consecutive steps as `adjoint` alone needs them.

        The first of each block of backward sweeps is kept, and the others are computed again,
        unless `Blocking.replay` says not to, or the scheme cannot. Blocks are shorter where tiles
        are too thin for the halo that this needs, of twice a block's steps.
        """
        if steps < 0:
            raise ModelError(f"phase field: checkpoints of {steps} steps; give 0 or more.")
        return Trajectory(self._core.new_checkpoints(int(steps)), self)

    @property
    def every(self) -> int:
        """Steps from one state that is kept in `new_checkpoints` to the next."""
        return int(self._core.every)

    @property
    def last_misfit(self) -> tuple[float, float]:
        """The misfit that the last `adjoint` was asked for, in doubled precision: (high, low)."""
        high, low = self._core.last_misfit
        return high, low

    def forward(
        self,
        phi: Field,
        m: float,
        first: int,
        last: int,
        trajectory: Trajectory | None = None,
        observations: Observations | None = None,
    ) -> float:
        """Step φ from step `first` to `last`, equation (2).

        Args:
            phi: φ of step `first`; φ of step `last` afterwards.
            m: The parameter that is estimated.
            first: Where to begin.
            last: Where to end.
            trajectory: Keeps φ of steps `first` to `last` - 1, or of those that it is made for.
            observations: Whose misfit is wanted.

        Returns:
            The misfit (4) of the observed steps in (first, last], the same on all ranks; it is not
            finite where φ is not.
        """
        seen = self._bind(observations)
        with collective(self.comm):
            self._check(first, last, phi=phi)
            core = self._room(trajectory, first, last, some=True)
        with self._sweeping():
            misfit: float = self._core.forward(phi, float(m), first, last, core, seen)
        return misfit

    def misfit(self, phi: Field, step: int, observations: Observations) -> float:
        """Return the misfit (4) of one step; 0 if it was not observed."""
        seen = self._bind(observations)
        with collective(self.comm):
            self._check(step, step, phi=phi)
        with self._sweeping():
            misfit: float = self._core.misfit(phi, step, seen)
        return misfit

    def forcing(self, phi: Field, step: int, observations: Observations, out: Field) -> None:
        """Add w (φ − y) of a step to `out`; nothing if it was not observed. Not collective."""
        self._check(step, step, phi=phi, out=out)
        self._weigh(step, observations, out, phi)

    def weigh(self, dphi: Field, step: int, observations: Observations, out: Field) -> None:
        """Add w dφ of a step to `out`; nothing if it was not observed. Not collective."""
        self._check(step, step, dphi=dphi, out=out)
        self._weigh(step, observations, out, dphi, difference=False)

    def adjoint(
        self,
        lam: Field,
        m: float,
        first: int,
        last: int,
        trajectory: Trajectory,
        observations: Observations | None = None,
        adjoint_trajectory: Trajectory | None = None,
        misfit: bool = False,
    ) -> float:
        """Step λ back from step `last` to `first`, equations (5) and (6).

        Args:
            lam: λ of step `last`, its forcing included; λ of step `first` afterwards, that of
                step `first` included.
            m: As in the forward sweep.
            first: Where to end.
            last: Where to begin.
            trajectory: φ of the steps `first` to `last` - 1.
            observations: What was seen.
            adjoint_trajectory: Keeps λ of steps `first` + 1 to `last`, for `second_order`; only
                with a trajectory of `new_trajectory`.
            misfit: Sum the misfit (4) of the observed steps in [first, last) too: `last_misfit`.
                It is that of `forward`, to the bit, and saves a second look at the observations.

        Returns:
            These steps' part of ∂J/∂m, the same on all ranks.
        """
        seen = self._bind(observations)
        with collective(self.comm):
            self._check(first, last, lam=lam)
            held = self._held(trajectory, first, last, some=adjoint_trajectory is None)
            core = self._room(adjoint_trajectory, first, last)
        with self._sweeping():
            slope: float = self._core.adjoint(lam, float(m), first, last, held, seen, core, misfit)
        return slope

    def tangent(
        self,
        dphi: Field,
        dm: float,
        m: float,
        first: int,
        last: int,
        trajectory: Trajectory,
        tangent_trajectory: Trajectory | None = None,
    ) -> None:
        """Step a perturbation (dφ, dm) from step `first` to `last`, equation (7).

        Args:
            dphi: dφ of step `first`; dφ of step `last` afterwards.
            dm: Of the parameter.
            m: As in the forward sweep.
            first: Where to begin.
            last: Where to end.
            trajectory: φ of the steps `first` to `last` - 1.
            tangent_trajectory: Keeps dφ of steps `first` to `last` - 1.
        """
        with collective(self.comm):
            self._check(first, last, dphi=dphi)
            held = self._held(trajectory, first, last)
            core = self._room(tangent_trajectory, first, last)
        with self._sweeping():
            self._core.tangent(dphi, float(dm), float(m), first, last, held, core)

    def second_order(
        self,
        mu: Field,
        dm: float,
        m: float,
        first: int,
        last: int,
        trajectory: Trajectory,
        tangent_trajectory: Trajectory,
        adjoint_trajectory: Trajectory | None = None,
        observations: Observations | None = None,
    ) -> float:
        """Step dλ back from step `last` to `first`, equations (8) and (9).

        Args:
            mu: dλ of step `last`, with w dφ of that step (`weigh`); dλ of step `first` afterwards,
                that of step `first` included.
            dm: The perturbation of the parameter.
            m: As in the forward sweep.
            first: Where to end.
            last: Where to begin.
            trajectory: φ of the steps `first` to `last` - 1.
            tangent_trajectory: dφ of the same steps, from `tangent`.
            adjoint_trajectory: λ, from `adjoint`; None for Gauss and Newton's part alone.
            observations: What was seen.

        Returns:
            These steps' part of the product's component for m, the same on all ranks.
        """
        seen = self._bind(observations)
        with collective(self.comm):
            self._check(first, last, mu=mu)
            held = self._held(trajectory, first, last)
            moved = self._held(tangent_trajectory, first, last)
            lam = (
                None if adjoint_trajectory is None else self._held(adjoint_trajectory, first, last)
            )
        with self._sweeping():
            slope: float = self._core.second_order(
                mu, float(dm), float(m), first, last, held, moved, lam, seen
            )
        return slope

    def dot(self, a: Field, b: Field) -> float:
        """Return the sum of a b over all ranks, in doubled precision, rounded once."""
        with collective(self.comm):
            self._check(0, 0, a=a, b=b)
        with self._sweeping():
            product: float = self._core.dot(a, b)
        return product

    def _sweeping(self) -> AbstractContextManager[None]:
        return together_or_end(self._ranks, "a sweep of the phase field")

    def _weigh(
        self,
        step: int,
        observations: Observations,
        out: Field,
        values: Field,
        difference: bool = True,
    ) -> None:
        if step not in observations.steps:
            return
        n = list(observations.steps).index(step)
        weight = observations.weight_of(n)
        part = values - observations.values[n] if difference else values
        if np.ndim(weight):
            out += np.where(np.asarray(weight) > 0, weight * part, 0.0)
        else:
            out += weight * part

    def _check(self, first: int, last: int, **fields: Field) -> None:
        if not 0 <= first <= last:
            raise ModelError(f"phase field: steps {first} to {last}; give 0 <= first <= last.")
        for name, field in fields.items():
            if field.shape != self.own_shape or field.dtype != np.float64:
                raise ModelError(
                    f"phase field: {name} has shape {field.shape} and type {field.dtype}; this "
                    f"rank's part is {self.own_shape} of float64."
                )
            if not field.flags.c_contiguous:
                raise ModelError(f"phase field: the rows of {name} must follow each other.")

    def _room(
        self, trajectory: Trajectory | None, first: int, last: int, some: bool = False
    ) -> Any:
        if trajectory is None:
            return None
        self._mine(trajectory)
        self._whole(trajectory, some)
        if trajectory.steps < last - first:
            raise ModelError(
                f"phase field: a trajectory of {trajectory.steps} steps has no room for the "
                f"{last - first} from {first} to {last}."
            )
        return trajectory._core

    def _held(self, trajectory: Trajectory, first: int, last: int, some: bool = False) -> Any:
        self._mine(trajectory)
        self._whole(trajectory, some)
        if first < last and not self._core.fits(trajectory._core, first, last):
            raise ModelError(
                f"phase field: the trajectory does not hold the steps {first} to {last - 1}; run "
                f"the sweep that writes it over them first (over just these, with the scheme "
                f"diamond on several ranks)."
            )
        return trajectory._core

    def _whole(self, trajectory: Trajectory, some: bool) -> None:
        if trajectory.every > 1 and not some:
            raise ModelError(
                "phase field: this sweep needs all states; use a trajectory of new_trajectory."
            )

    def _mine(self, trajectory: Trajectory) -> None:
        if trajectory._model is not self:
            raise ModelError("phase field: the trajectory is another model's.")

    def _bind(self, observations: Observations | None) -> Any:
        """The core's view of observations; neighbours' edges come at the first time."""
        if observations is None:
            return None
        known = self._observed.get(observations)
        if known is None:
            with collective(self.comm):
                check(observations, self.own_shape)
            weight = observations.weight
            field = weight if isinstance(weight, np.ndarray) and weight.ndim else None
            if field is not None and field.ndim == 2:
                field = field[np.newaxis]
            with self._sweeping():
                known = self._core.observe(
                    list(observations.steps),
                    observations.values,
                    field,
                    1.0 if field is not None else float(weight),
                )
            self._observed[observations] = known
        return known
