"""Solver of compressible flows, an implementation of the contract of `uzushio.solvers.contract`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import numpy as np

from uzushio import _core
from uzushio._base.parallel.affinity import thread_count
from uzushio._base.parallel.sync import collective
from uzushio.case.model import Case
from uzushio.errors import CaseError, StepCollapsedError
from uzushio.solvers.block_solver.series import NAME as SERIES
from uzushio.solvers.block_solver.series import Series
from uzushio.solvers.block_solver.solver import BlockSolver
from uzushio.solvers.contract import Reading, SolverDivergedError, State, StoredState
from uzushio.solvers.jet.case import Boundary, Gas, JetCase, Profile
from uzushio.solvers.jet.case import State as FlowState
from uzushio.solvers.jet.initial import InitialStates

if TYPE_CHECKING:
    from mpi4py import MPI

#: What a series has of each boundary condition, per time.
_FLOWS = ("mass", "momentum_x", "momentum_y", "momentum_z", "energy")
_AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}

#: Share of a run's largest stable step below which it ends.
_COLLAPSED = 1e-5


class JetSolver(BlockSolver):
    """Compressible multi-component flow: finite volumes on multiblock curvilinear grids."""

    case_model: ClassVar[type[Case]] = JetCase
    _largest_stable = 0.0  # of this run's steps

    @classmethod
    def compiled(cls, case: Case) -> Any:
        """Return the compiled solver before its set-up."""
        return _core.jet.JetSolver(parameters(cast(JetCase, case)))

    def __init__(self, case: Case, comm: MPI.Comm) -> None:
        """Decompose the mesh and allocate (collective)."""
        super().__init__(case, comm)
        self._patches = sorted(cast(JetCase, case).boundaries)
        self._series = Series([f"{what}/{patch}" for patch in self._patches for what in _FLOWS])

    @property
    def threads(self) -> int:
        """Threads of a rank, which share the rows of its blocks."""
        return thread_count()

    def begin(self) -> Self:
        """Set the initial states (collective)."""
        with collective(self.comm):
            states = InitialStates(cast(JetCase, self.case))
            zones = self.core.zones()
            for number, (zone, box) in enumerate(self._blocks):
                centres = np.array(self.core.centres(number))
                values = states.values(zone, zones[zone]["cells"], box, centres)
                try:
                    self.core.set_states(number, values)
                except ValueError as error:
                    raise CaseError(f"initial: {error}.") from error
        self.core.start(0.0)
        return self

    def step(self, longest: float = float("inf")) -> None:
        """Advance one step towards a time that is `longest` away (collective)."""
        stable = self.core.stable_dt
        self._largest_stable = max(self._largest_stable, stable)
        if stable < _COLLAPSED * self._largest_stable:
            _, place = min(self.comm.allgather(self.core.limiting_cell()))
            raise StepCollapsedError(
                f"After step {self.step_index}, at time {self.time:.6g}, the stable step has "
                f"fallen from {self._largest_stable:.3g} to {stable:.3g}: {place}."
            )
        try:
            super().step(longest)
        except SolverDivergedError as error:
            places = self.comm.allgather(self.core.impossible_state())
            first = next((place for place in places if place), None)
            if first is None:
                raise
            raise SolverDivergedError(
                f"After step {self.step_index}, at time {self.time:.6g}: {first}. Use a smaller "
                "time.cfl, finer cells there, or numerics.scheme upwind."
            ) from error
        if self._patches and self._series.is_due(self.step_index):
            with self.sections.section("series"):
                flows = self.patch_flows()
                values = [flows[patch][what] for patch in self._patches for what in _FLOWS]
                self._series.add(self.step_index, self.time, values)

    def patch_flows(self) -> dict[str, dict[str, float]]:
        """Return what left the grid through each boundary condition, per time (collective).

        Means over the last step: mass, momentum (through a wall it is the force on the wall, of
        pressure and friction; of an outflow, its thrust) and energy (through a wall at rest, heat).
        """
        return {
            patch: {
                "mass": float(sum(values[:-4])),
                **dict(zip(_FLOWS[1:], map(float, values[-4:]), strict=True)),
            }
            for patch, values in self.core.outflows().items()
        }

    def state(self) -> State:
        """Return the evolved fields and the series of flows through boundaries (collective)."""
        state = super().state()
        arrays, notes = self._series.stored(self.comm.rank)
        return replace(
            state,
            arrays={**state.arrays, **arrays},
            attributes={**state.attributes, SERIES: notes},
        )

    def _resume(self, stored: StoredState, begin: Callable[[float], None]) -> None:
        super()._resume(stored, begin)
        self._series.restore(stored)

    def monitor(self) -> Mapping[str, Reading]:
        """Return the step, the kinetic energy and the mass (collective)."""
        integrals = self.core.integrals()
        mass = float(sum(integrals[: len(cast(JetCase, self.case).gas.species)]))
        return {
            **super().monitor(),
            "energy": Reading(float(integrals[-2])),
            "mass": Reading(mass, format=".10g"),
        }

    def summary(self) -> Mapping[str, Any]:
        """Return integrals, and the fluxes out of the grid by boundary condition (collective)."""
        gas = cast(JetCase, self.case).gas
        names = [*gas.species, "momentum_x", "momentum_y", "momentum_z", "energy"]
        values = map(float, self.core.integrals())
        integrals = dict(zip([*names, "kinetic_energy", "entropy"], values, strict=True))
        if len(gas.species) > 1 or gas.data is not None:
            del integrals["entropy"]  # only that of one perfect gas is known
        return {
            **super().summary(),
            "integrals": integrals,
            "outflows": {
                patch: dict(zip(names, map(float, values), strict=True))
                for patch, values in self.core.outflows().items()
            },
        }


def parameters(case: JetCase) -> Any:
    """Return the parameters of the compiled solver.

    Raises:
        CaseError: the grid is not usable, or has a patch without a boundary condition.
    """
    core = _core.jet
    grid = case.grid.grid()
    patches = grid.conditions()
    for name in case.boundaries:
        if name not in patches:
            known = ", ".join(patches) or "none: all faces are connected"
            raise CaseError(f"boundaries: the grid has no patch '{name}'; there are: {known}.")
    missing = [name for name in patches if name not in case.boundaries]
    if missing:
        raise CaseError(f"boundaries: give a condition for the patch '{missing[0]}' of the grid.")
    return core.JetParameters(
        mesh=grid.mesh(),
        gas=_gas(case.gas),
        conditions={name: _condition(case, boundary) for name, boundary in case.boundaries.items()},
        sponges=[
            core.Sponge(
                sponge.origin,
                _AXES[sponge.axis],
                sponge.radial,
                sponge.begin,
                sponge.end,
                sponge.strength,
                _state(case.gas, case.states[sponge.state]),
            )
            for sponge in case.sponges.values()
        ],
        acceleration=case.acceleration,
        scheme=case.numerics.scheme,
        reconstruction=case.numerics.reconstruction,
        subgrid=case.les.model if case.les else "none",
        subgrid_prandtl=case.les.prandtl if case.les else 0.9,
        subgrid_schmidt=case.les.schmidt if case.les else 0.9,
    )


def _gas(gas: Gas) -> Any:
    core = _core.jet
    polynomials = gas.polynomials()
    species = [] if polynomials else gas.species.items()
    prandtl = gas.prandtl or 0.72
    return core.Gas(
        [
            core.Species(name, one.constant, one.constant / (one.gamma - 1.0), one.formation_energy)
            for name, one in species
        ],
        viscosity=gas.viscosity,
        reference_temperature=gas.reference_temperature,
        sutherland=-1.0 if gas.sutherland is None else gas.sutherland,
        prandtl=prandtl,
        schmidt=gas.lewis * prandtl if gas.lewis else gas.schmidt or 0.7,
        polynomials=polynomials,
        transport=gas.kinetic_theory(),
        lewis=gas.lewis or 0.0,
    )


def _state(gas: Gas, state: FlowState) -> Any:
    fractions = state.mass_fractions or {next(iter(gas.species)): 1.0}
    return _core.jet.State(
        state.velocity,
        state.pressure,
        state.temperature,
        [fractions.get(name, 0.0) for name in gas.species],
    )


def _condition(case: JetCase, boundary: Boundary) -> Any:
    core = _core.jet
    if boundary.state is not None:
        state = _state(case.gas, case.states[boundary.state])
    else:  # of a wall: velocity and temperature
        fractions = [1.0] + [0.0] * (len(case.gas.species) - 1)
        state = core.State(boundary.velocity, 1.0, boundary.temperature or 1.0, fractions)
    return core.PatchCondition(
        boundary.type,
        state,
        _profile(case, boundary.profile),
        0.25 if boundary.relaxation is None else boundary.relaxation,
        boundary.length or 1.0,
        -1.0 if boundary.transverse is None else boundary.transverse,
    )


def _profile(case: JetCase, profile: Profile | None) -> Any:
    if profile is None:
        return None
    return _core.jet.JetProfile(
        profile.centre,
        _AXES[profile.axis],
        profile.radius,
        profile.thickness,
        _state(case.gas, case.states[profile.surroundings]),
    )
