"""Solver of thermal flows, an implementation of the contract of `uzushio.solver`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import fsum
from typing import TYPE_CHECKING, Any, ClassVar, cast

from uzushio import _core
from uzushio.block_solver import BlockSolver
from uzushio.case.model import Case
from uzushio.errors import CaseError
from uzushio.parallel.sync import collective
from uzushio.solver import Estimate, Reading, SolverDivergedError
from uzushio.thermal.bodies import Stl
from uzushio.thermal.case import AXES, Boundary, ThermalCase
from uzushio.thermal.initial import InitialFields

if TYPE_CHECKING:
    from mpi4py import MPI

_CORE_AXES = {"x": "i", "y": "j", "z": "k"}


class ThermalSolver(BlockSolver):
    """Incompressible flow with scalars in a box; second order on a staggered grid."""

    case_model: ClassVar[type[Case]] = ThermalCase

    @classmethod
    def compiled(cls, case: Case) -> Any:
        """Return the compiled solver before its set-up."""
        return _core.thermal.FlowSolver(parameters(cast(ThermalCase, case)))

    @classmethod
    def estimate(cls, case: Case, ranks: int) -> Estimate:
        """Return the estimate of a block solver, with notes on open surfaces."""
        notes = []
        for name, body in cast(ThermalCase, case).bodies.items():
            if isinstance(body, Stl) and (count := body.surface().open_sides):
                notes.append(
                    f"the surface of bodies.{name} is open: {count:,} sides of its triangles have "
                    "no second triangle. Fluid is on both sides of it where a path leads there."
                )
        return replace(super().estimate(case, ranks), notes=tuple(notes))

    def __init__(self, case: Case, comm: MPI.Comm) -> None:
        """Allocate, and set the initial fields without divergence (collective)."""
        super().__init__(case, comm)
        self._scalars = list(cast(ThermalCase, case).scalars)
        self._bodies = list(cast(ThermalCase, case).bodies)
        with collective(comm):
            self._set_initial_fields(InitialFields(cast(ThermalCase, case)))
        try:
            self.core.start(0.0)
        except _core.thermal.Diverged as error:
            raise SolverDivergedError(f"At the start: {error}.") from None

    def _set_initial_fields(self, initial: InitialFields) -> None:
        for number, (_, lower, _) in enumerate(self._blocks):
            for axis in range(self.core.dimension):
                values = self.core.values("face_velocity", number, axis)[0]
                values[...] = initial.velocity(axis, lower, values.shape)
            for name in self._scalars:
                values = self.core.values(name, number)[0]
                values[...] = initial.scalar(name, lower, values.shape)

    def step(self, longest: float = float("inf")) -> None:
        """Advance one step of at most `longest` (collective)."""
        try:
            super().step(longest)
        except _core.thermal.Diverged as error:
            raise SolverDivergedError(f"After step {self.step_index}: {error}.") from None

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


def parameters(case: ThermalCase) -> Any:
    """Return the parameters of the compiled solver.

    Raises:
        CaseError: the boundary conditions contradict each other.
    """
    core = _core.thermal
    faces = {
        f"{_CORE_AXES[side[0]]}{side[1:]}": core.FaceCondition(
            one.type, one.velocity, [_scalar_condition(core, one, name) for name in case.scalars]
        )
        for side, one in case.boundaries.items()
    }
    scalars = [
        core.Scalar(
            name,
            one.diffusivity,
            [-one.expansion * g for g in case.fluid.gravity],
            one.reference,
            one.unit,
        )
        for name, one in case.scalars.items()
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
            core.Body(name, one.surface(), [one.condition(scalar) for scalar in case.scalars])
            for name, one in case.bodies.items()
        ],
        seeds=case.seeds,
        subgrid=core.SubgridModel(case.les.model, case.les.constant, case.les.prandtl)
        if case.les
        else None,
        scheme=numerics.scheme,
        solver=numerics.solver,
        tolerance=numerics.tolerance,
        max_iterations=numerics.max_iterations,
    )


def _scalar_condition(core: Any, boundary: Boundary, name: str) -> Any:
    if name in boundary.values:
        return core.ScalarCondition(True, boundary.values[name])
    return core.ScalarCondition(False, boundary.fluxes.get(name, 0.0))
