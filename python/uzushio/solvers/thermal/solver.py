"""Solver of thermal flows, an implementation of the contract of `uzushio.solvers.contract`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from math import fsum, prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import numpy as np

from uzushio import _core
from uzushio._base.parallel.affinity import thread_count
from uzushio._base.parallel.sync import collective
from uzushio.case.model import Case
from uzushio.errors import CaseError
from uzushio.solvers.block_solver.series import NAME as SERIES
from uzushio.solvers.block_solver.series import Series
from uzushio.solvers.block_solver.solver import BlockSolver
from uzushio.solvers.contract import (
    Estimate,
    Reading,
    Sample,
    SolverDivergedError,
    State,
    StoredState,
)
from uzushio.solvers.thermal.bodies import Stl
from uzushio.solvers.thermal.case import AXES, Boundary, ThermalCase
from uzushio.solvers.thermal.initial import InitialFields
from uzushio.solvers.thermal.pressure_estimate import pressure_arrays, stall_notes
from uzushio.solvers.thermal.slices import conducts
from uzushio.solvers.thermal.symmetry import rests_symmetric
from uzushio.solvers.thermal.timing import minimum_step, smaller
from uzushio.solvers.thermal.wall_units import add_wall_units

if TYPE_CHECKING:
    import xarray as xr
    from mpi4py import MPI

#: Number of initial values that are computed at a time.
_SLAB = 1 << 18
_CORE_AXES = {"x": "i", "y": "j", "z": "k"}


class ThermalSolver(BlockSolver):
    """Incompressible flow with scalars in a box; second order on a staggered grid."""

    case_model: ClassVar[type[Case]] = ThermalCase
    figure_modules: ClassVar[tuple[str, ...]] = ("uzushio.solvers.thermal.figures",)

    @classmethod
    def compiled(cls, case: Case) -> Any:
        """Return the compiled solver before its set-up."""
        return _core.thermal.FlowSolver(parameters(cast(ThermalCase, case)))

    @classmethod
    def estimate(cls, case: Case, ranks: int) -> Estimate:
        """Return the estimate of a block solver, with that of the pressure solver and of bodies."""
        case = cast(ThermalCase, case)
        _check_blocks(case, ranks)
        notes = []
        for name, body in case.bodies.items():
            if isinstance(body, Stl) and (count := body.surface().open_sides):
                notes.append(
                    f"the surface of bodies.{name} is open: {count:,} sides of its triangles have "
                    "no second triangle. Fluid is on both sides of it where a path leads there."
                )
        if rests_symmetric(case):
            notes.append(
                "the flow and its bodies are symmetric and begin without disturbances: vortices "
                "are shed late, by rounding errors. 'initial.noise' (velocity: 0.01, say) begins "
                "with some."
            )
        estimated = super().estimate(case, ranks)
        arrays = pressure_arrays(case, ranks)
        if case.bodies:
            arrays += 1 + len(case.grid.axes)  # phase of cells, open faces
        field = estimated.memory_per_rank / estimated.field_arrays
        return replace(
            estimated,
            memory_per_rank=estimated.memory_per_rank + round(arrays * field),
            field_arrays=estimated.field_arrays + arrays,
            notes=stall_notes(case),
            result_notes=tuple(notes),
        )

    @classmethod
    def seconds_per_step(cls, case: Case, ranks: int) -> float | None:
        """Return the time of a step on the busiest rank, by its cells, from steps on fewer cells.

        None if the flow cannot be computed with fewer cells, because of a small body.
        """
        from mpi4py import MPI

        small = smaller(cast(ThermalCase, case))
        try:
            seconds = minimum_step(cls(small, MPI.COMM_SELF).begin().core)
        except (CaseError, SolverDivergedError):
            return None
        busiest = cls._make(case).estimate(ranks)["cells"]
        return float(seconds * busiest / prod(axis.cells for axis in small.grid.axes))

    def __init__(self, case: Case, comm: MPI.Comm) -> None:
        """Allocate (collective)."""
        _check_blocks(cast(ThermalCase, case), comm.size)
        super().__init__(case, comm)
        self._scalars = list(cast(ThermalCase, case).scalars)
        self._bodies = list(cast(ThermalCase, case).bodies)
        self._transfers = _transfers(cast(ThermalCase, case))
        self._series = Series(["energy", *self._transfers, *self._force_names()])

    @property
    def threads(self) -> int:
        """Threads of a rank, which share the rows of its blocks and of the pressure solver."""
        return thread_count()

    def begin(self) -> Self:
        """Set the initial fields, without divergence (collective)."""
        with collective(self.comm):
            self._set_initial_fields(InitialFields(cast(ThermalCase, self.case)))
        with _diverging("At the start"):
            self.core.start(0.0)
        return self

    def _set_initial_fields(self, initial: InitialFields) -> None:
        for number, (_, box) in enumerate(self._blocks):
            k, j, i = box.start
            for axis in range(self.core.dimension):
                for first, values in _slabs(self.core.values("face_velocity", number, axis)[0]):
                    values[...] = initial.velocity(axis, (k + first, j, i), values.shape)
            for name in self._scalars:
                for first, values in _slabs(self.core.values(name, number)[0]):
                    values[...] = initial.scalar(name, (k + first, j, i), values.shape)

    def step(self, longest: float = float("inf")) -> None:
        """Advance one step towards a time that is `longest` away (collective)."""
        with _diverging(f"After step {self.step_index}"):
            super().step(longest)
        if self._series.is_due(self.step_index):
            with self.sections.section("series"):
                self._series.add(self.step_index, self.time, self._sampled())

    def _sampled(self) -> list[float]:
        """Return the energy, the transfers of scalars and the forces on bodies (collective)."""
        names = {name.split("/")[1] for name in self._transfers}
        fluxes = {
            f"flux/{scalar}/{place}": value
            for scalar in self._scalars
            if scalar in names
            for fluxes in (self.fluxes(scalar), self.body_fluxes(scalar))
            for place, value in fluxes.items()
        }
        forces = [value for force in self.body_forces().values() for value in force]
        transfers = [fluxes[name] for name in self._transfers]
        return [self.core.kinetic_energy(), *transfers, *forces]

    def _force_names(self) -> list[str]:
        axes = AXES[: self.core.dimension]
        return [f"force/{body}/{axis}" for body in self._bodies for axis in axes]

    def state(self) -> State:
        """Return all declared fields and the series of samples (collective)."""
        state = super().state()
        arrays, notes = self._series.stored(self.comm.rank)
        return replace(
            state,
            arrays={**state.arrays, **arrays},
            attributes={**state.attributes, SERIES: notes},
        )

    def _resume(self, stored: StoredState, begin: Callable[[float], None]) -> None:
        with _diverging("At the restart"):
            super()._resume(stored, begin)
        self._series.restore(stored)

    def attributes(self) -> Mapping[str, int | float | str]:
        """Return the last step's length, periodic axes, units of lengths and time, and bodies."""
        case = cast(ThermalCase, self.case)
        periodic = {"periodic": " ".join(case.periodic)} if case.periodic else {}
        units = {"length_unit": case.units.length, "time_unit": case.units.time}
        names = [name for name in case.scalars if conducts(case, name)]
        bodies = {"body_mask": "fluid"} if case.bodies else {}
        if names:
            bodies["conducted"] = " ".join(names)
        return {**super().attributes(), **periodic, **units, **bodies}

    def statistics(self, mean: Mapping[str, Sample], samples: int) -> xr.Dataset:
        """Return means, r.m.s. and covariances, and those in wall units where a wall is."""
        dataset = super().statistics(mean, samples)
        add_wall_units(cast(ThermalCase, self.case), dataset)
        return dataset

    def figures(self, folder: Path, statistics: xr.Dataset | None) -> Iterator[Path]:
        """Draw planes and profiles of the flow, its history and its averages (collective)."""
        from uzushio.solvers.thermal.slices import planes

        case = cast(ThermalCase, self.case)
        self._update_derived()
        shown = ["velocity", *self._scalars, "fluid"]
        arrays = [
            array for array in self._arrays(False, output=True) if array.field["name"] in shown
        ]
        arrays.sort(key=lambda array: shown.index(array.field["name"]))
        slices = planes(case, arrays, self.comm)
        if self.comm.rank != 0:
            return
        from uzushio.solvers.thermal import (
            figures,  # matplotlib: slow to import, and for one rank only
        )

        yield from figures.draw(folder, case, self.time, slices, self._series, statistics)

    def monitor(self) -> Mapping[str, Reading]:
        """Return the step, the energy, the divergence and the force on bodies (collective)."""
        forces = self.body_forces().values()
        return {
            **super().monitor(),
            "energy": Reading(self.core.kinetic_energy()),
            "divergence": Reading(self.core.max_divergence()),
            **{
                f"force_{axis}": Reading(fsum(force[number] for force in forces))
                for number, axis in enumerate(AXES[: self.core.dimension])
                if forces
            },
        }

    def summary(self) -> Mapping[str, Any]:
        """Return energy, divergence, forces, fluxes at boundaries and bodies (collective)."""
        return {
            **super().summary(),
            "kinetic_energy": self.core.kinetic_energy(),
            "max_divergence": self.core.max_divergence(),
            "fluxes": {name: self.fluxes(name) for name in self._scalars},
            "forces": self.body_forces(),
            "body_fluxes": {name: self.body_fluxes(name) for name in self._scalars},
        }

    def body_forces(self) -> dict[str, list[float]]:
        """Return the forces of the flow on the bodies, over the density (collective).

        The part of the pressure gradient that `fluid.force` stands for is not in it.
        """
        values = self.core.body_forces()
        dimension = self.core.dimension
        return {
            name: [float(x) for x in force[:dimension]]
            for name, force in zip(self._bodies, values, strict=True)
        }

    def body_fluxes(self, scalar: str) -> dict[str, float]:
        """Return the mean fluxes of a scalar from the bodies into the flow (collective)."""
        values = self.core.body_fluxes(self._scalars.index(scalar))
        return dict(zip(self._bodies, map(float, values), strict=True))

    def fluxes(self, scalar: str) -> dict[str, float]:
        """Return the mean diffusive fluxes of a scalar into the box by boundary (collective)."""
        values = self.core.scalar_fluxes(self._scalars.index(scalar))
        sides = [f"{axis}-{end}" for axis in AXES for end in ("min", "max")]
        boundaries = cast(ThermalCase, self.case).boundaries
        return {
            side: value for side, value in zip(sides, values, strict=True) if side in boundaries
        }


@contextmanager
def _diverging(when: str) -> Iterator[None]:
    """Raise the compiled solver's error as `SolverDivergedError`, which begins with `when`."""
    try:
        yield
    except _core.thermal.Diverged as error:
        raise SolverDivergedError(f"{when}: {error}.") from None


def _slabs(values: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Yield the first index and the values of planes: fields need no second array while set."""
    count = max(1, _SLAB // max(1, values[0].size))
    for first in range(0, len(values), count):
        yield first, values[first : first + count]


def _transfers(case: ThermalCase) -> list[str]:
    """Return the names of fluxes that are not given: where scalars have values, or conduct."""
    return [
        f"flux/{scalar}/{place}"
        for scalar in case.scalars
        for place in (
            *(
                side
                for side, boundary in case.boundaries.items()
                if boundary.type == "wall" and scalar in boundary.values
            ),
            *(
                name
                for name, body in case.bodies.items()
                if scalar in body.values or scalar in body.conduction
            ),
        )
    ]


def parameters(case: ThermalCase) -> Any:
    """Return the parameters of the compiled solver.

    Raises:
        CaseError: the boundary conditions contradict each other.
    """
    core = _core.thermal
    faces = {
        f"{_CORE_AXES[side[0]]}{side[1:]}": core.FaceCondition(
            boundary.type,
            boundary.velocity,
            [_scalar_condition(core, boundary, name) for name in case.scalars],
        )
        for side, boundary in case.boundaries.items()
    }
    scalars = [
        core.Scalar(
            name,
            scalar.diffusivity,
            [-scalar.expansion * g for g in case.fluid.gravity],
            scalar.reference,
            scalar.unit,
        )
        for name, scalar in case.scalars.items()
    ]
    axes = case.grid.axes
    vertices = [axis.positions().tolist() for axis in axes]
    numerics = case.numerics
    known = _core.linalg.solver_names()
    if numerics.solver not in known:
        raise CaseError(
            f"numerics.solver: there is no solver '{numerics.solver}'; there are: "
            f"{', '.join(known)}."
        )
    return core.FlowParameters(
        dimension=len(axes),
        vertices=vertices + [[0.0, 1.0]] * (3 - len(axes)),
        periodic=[axis in case.periodic for axis in AXES],
        faces=faces,
        viscosity=case.fluid.viscosity,
        force=case.fluid.force,
        scalars=scalars,
        bodies=[
            core.Body(name, body.surface(), [body.condition(scalar) for scalar in case.scalars])
            for name, body in case.bodies.items()
        ],
        seeds=case.seeds,
        subgrid=core.SubgridModel(case.les.model, case.les.constant, case.les.prandtl)
        if case.les
        else None,
        scheme=numerics.scheme,
        solver=numerics.solver,
        tolerance=numerics.tolerance,
        max_iterations=numerics.max_iterations,
        counts=case.decomposition.counts,
    )


def _check_blocks(case: ThermalCase, ranks: int) -> None:
    """Raise `CaseError` if the blocks of the case are not one for each rank."""
    counts = case.decomposition.counts
    if any(counts) and prod(counts) != ranks:
        words = " x ".join(map(str, counts))
        raise CaseError(
            f"decomposition.px x py x pz = {words} = {prod(counts)} does not have the {ranks} "
            f"ranks of the job; start {prod(counts)} ranks, or leave it out."
        )


def _scalar_condition(core: Any, boundary: Boundary, name: str) -> Any:
    if name in boundary.values:
        return core.ScalarCondition(True, boundary.values[name])
    return core.ScalarCondition(False, boundary.fluxes.get(name, 0.0))
