"""Channel-flow solver, an implementation of the contract of `uzushio.solvers.contract`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import numpy as np

from uzushio.case.model import Case
from uzushio.errors import CaseError
from uzushio.solvers.channel import diverged, fft_plans, initial, published, stored_modes, timing
from uzushio.solvers.channel import statistics as averages
from uzushio.solvers.channel.case import STABLE_CFL, ChannelCase
from uzushio.solvers.channel.decomposition import (
    core,
    core_parameters,
    decompose,
)
from uzushio.solvers.channel.estimate import estimated
from uzushio.solvers.channel.interpolation import Interpolation
from uzushio.solvers.channel.prediction import Prediction
from uzushio.solvers.contract import (
    Estimate,
    Field,
    Mesh,
    Offer,
    Parameter,
    Reading,
    Sample,
    Solver,
    State,
    StoredState,
)

if TYPE_CHECKING:
    import xarray as xr
    from mpi4py import MPI

#: A flow has diverged if its CFL number exceeds the stable one by this factor.
DIVERGED = 3.0


class ChannelSolver(Solver):
    """Direct numerical simulation of turbulent or laminar flow between two walls."""

    case_model: ClassVar[type[Case]] = ChannelCase
    figure_modules: ClassVar[tuple[str, ...]] = ("uzushio.solvers.channel.figures",)

    @classmethod
    def estimate(cls, case: Case, ranks: int) -> Estimate:
        """Estimate memory, messages and files of the case on `ranks` ranks."""
        return estimated(cast(ChannelCase, case), ranks)

    @classmethod
    def seconds_per_step(cls, case: Case, ranks: int) -> float:
        """Estimate the time of a step on the busiest rank from the measured time of a small box."""
        return timing.seconds_per_step(cast(ChannelCase, case), ranks)

    def __init__(self, case: Case, comm: MPI.Comm) -> None:
        """Allocate and plan (collective)."""
        self.case = cast(ChannelCase, case)
        self.comm = comm
        self.step_index, self.time = 0, 0.0
        self.dt = 0.0
        self._cfl = self.case.time.cfl
        self._max_dt = self.case.time.step_limit
        self._drive = self.case.flow.drive
        self._steered: dict[str, float] = {}
        # Earlier runs on this machine measured the transforms.
        known = self.comm.bcast(fft_plans.load() if self.comm.rank == 0 else "")
        if known:
            core.import_wisdom(known)
        chosen = _agreed(self.case, comm)
        self.core = core.Solver(
            core_parameters(self.case, chosen.py, chosen.pz, chosen.scheme),
            comm.handle,
            self.sections.core,
        )
        if self.comm.rank == 0:
            fft_plans.store(core.wisdom())
        self._physical: Any = None
        self._first_step = 0
        faces = self.case.grid.wall_faces()
        self.centres = 0.5 * (faces[1:] + faces[:-1])
        self._cells = averages.spectra_cells(self.case)

    @property
    def threads(self) -> int:
        """Threads of a rank, which share its planes and modes."""
        return int(self.core.threads)

    def begin(self) -> Self:
        """Set the initial field, without divergence (collective)."""
        for mode in initial.modes(self.case):
            self.core.add_mode(mode.kx, mode.ky, mode.u, mode.v, mode.w)
        self.core.project()
        self.core.reset_traffic()
        return self

    def step(self, longest: float = float("inf")) -> None:
        """Advance one step towards a time that is `longest` away (collective)."""
        cfl = float("inf") if self._cfl is None else self._cfl
        last_cfl = self.dt * self.core.fastest_rate
        dt = self.core.step(cfl, self._max_dt, longest)
        if not np.isfinite(dt) or dt * self.core.fastest_rate > DIVERGED * STABLE_CFL:
            now = dt * self.core.fastest_rate
            raise diverged.error(self, now if np.isfinite(now) else last_cfl)
        self.dt = dt
        self.time += dt
        self.step_index += 1

    def monitor(self) -> Mapping[str, Reading]:
        """Return CFL number, bulk velocity and wall shear (collective).

        If ranks share planes, also the share of the time of all-to-alls that computing hides.
        """
        return {
            "CFL": Reading(self.dt * self.core.fastest_rate, format=".3f"),
            "bulk velocity": Reading(self.core.bulk_velocity(), format=".4f"),
            "wall shear": Reading(self.core.wall_shear(), format=".4f"),
            **{name: Reading(100 * share, "%", ".0f") for name, share in self._hidden().items()},
        }

    def _hidden(self) -> dict[str, float]:
        """Return the hidden share of the time of all-to-alls, if there are any (collective)."""
        hidden, exposed = np.asarray(self.comm.allreduce(np.array(self.core.transpose_seconds)))
        return {"transposes hidden": hidden / (hidden + exposed)} if exposed > 0.0 else {}

    def _output(self) -> Any:
        if self._physical is None:
            self._physical = core.PhysicalOutput(self.core)
        return self._physical

    @property
    def physical_start(self) -> tuple[int, int]:
        """First plane and row of this rank in physical space (collective at first use)."""
        return self.core.planes[0], self._output().rows[0]

    def physical(self, name: str) -> np.ndarray:
        """Return this rank's part of u, v, w or p in physical space, (z, y, x) (collective).

        w is at the upper faces of the cells, the others at their centres.
        """
        planes, rows = self.core.planes, self._output().rows
        values = np.empty((planes[1] - planes[0], rows[1] - rows[0], self.case.grid.nx))
        self._output().write(self.core, name, values)
        return values

    @classmethod
    def offer(cls, case: Case) -> Offer:
        """Return meshes, fields and attributes of the case, all on one rank."""
        case = cast(ChannelCase, case)
        flow = dict.fromkeys(("dt", "pressure_gradient", "bulk_velocity", "wall_shear"), 0.0)
        meshes = published.meshes(case, (0, case.grid.nz), (0, case.grid.ny))
        return Offer(meshes, published.fields(case), {**published.numbers(case), **flow})

    def meshes(self) -> Mapping[str, Mesh]:
        """Return the points of u, v and p (centres) and of w (faces), both with the walls."""
        return published.meshes(self.case, self.core.planes, self._output().rows)

    def fields(self) -> Mapping[str, Field]:
        """Return velocity and pressure."""
        return published.fields(self.case)

    def write_field(self, name: str, out: Sequence[np.ndarray]) -> None:
        """Transform u, v, w or p of this rank to `out`, (z, y, x), plane by plane (collective).

        On the walls the velocity is 0, and the pressure is that of the nearest centres: in the
        scheme its gradient across a wall is 0.
        """
        mesh = "faces" if name == "w" else "centres"
        below, above = published.walls(mesh, self.core.planes, self.case.grid.nz)
        (values,) = out
        inside = values[below : len(values) - above]
        self._output().write(self.core, name, inside)
        for wall in [0] * below + [-1] * above:
            values[wall] = inside[wall] if name == "p" else 0.0

    def attributes(self) -> Mapping[str, int | float | str]:
        """Return the flow's parameters and its present mean quantities (collective)."""
        return {
            **published.numbers(self.case),
            "dt": self.dt,
            "pressure_gradient": self.core.pressure_gradient,
            "bulk_velocity": self.core.bulk_velocity(),
            "wall_shear": self.core.wall_shear(),
        }

    def state(self) -> State:
        """Return the Fourier modes (z, re/im, y, x) and what else a restart needs (collective).

        Raises:
            SolverDivergedError: on every rank, so that a diverged state is never stored.
        """
        cfl = self.dt * self.core.measure_rate() if self.dt > 0.0 else 0.0
        if not cfl <= DIVERGED * STABLE_CFL:
            raise diverged.error(self, cfl)
        return State(
            stored_modes.arrays(self.core, self.case.grid),
            {
                "step": self.step_index,
                "time": self.time,
                "steered": self._steered,
                "faces": self.case.grid.wall_faces().tolist(),
                "box": [self.case.grid.lx, self.case.grid.ly],
                # With the same FFT plans a restart repeats the run bit for bit.
                "wisdom": self.comm.bcast(core.wisdom()),
            },
            stored_modes.axes(self.core, self.case.grid),
        )

    def restore(self, stored: StoredState) -> None:
        """Continue from a checkpoint of the same grid (collective)."""
        attributes = stored.attributes
        grid = self.case.grid
        mine = stored_modes.arrays(self.core, grid)
        same = list(attributes.get("box", [])) == [grid.lx, grid.ly]
        same = same and list(attributes.get("faces", [])) == grid.wall_faces().tolist()
        for name, array in mine.items():
            same = same and stored.shapes.get(name) == array.shape
        if not same:
            raise CaseError(
                "The checkpoint is of another grid: keep the sections grid and numerics.dealiasing "
                "of the run that wrote it, or continue from it on this grid with --interpolate."
            )
        for name, array in mine.items():
            stored.fill(name, array)
        self._resume(attributes)
        self.core.use_wisdom(attributes["wisdom"])
        self.core.exchange_ghosts()

    def interpolate(self, stored: StoredState) -> None:
        """Continue from a checkpoint of another grid in the same box (collective).

        Fourier modes of both grids are kept. Along z the velocity is interpolated by cubic
        polynomials. The mean flow is scaled to the stored bulk velocity, and the divergence
        removed.
        """
        attributes, grid = stored.attributes, self.case.grid
        box = [grid.lx, grid.ly]
        if list(attributes.get("box", [])) != box or "faces" not in attributes:
            raise CaseError(
                f"The checkpoint is of a box of {attributes.get('box')}, the case of one of {box} "
                "(lx, ly): only between grids in the same box is a flow interpolated."
            )
        faces = grid.wall_faces()
        interpolation = Interpolation(stored, np.array(attributes["faces"]), faces)
        (first, end), (wave, _) = self.core.planes, self.core.waves
        for name in "uvw":
            interpolation.fill(name, self.core.spectral(name), first, wave)
        bulk = 0.0
        if self.core.waves[0] == 0:
            bulk = interpolation.bulk_velocity(faces[first], faces[end])
        bulk, current = self.comm.allreduce(bulk), self.core.bulk_velocity()
        if self.core.waves[0] == 0 and current != 0.0:
            self.core.spectral("u")[:, 0, 0, 0] *= bulk / current
        self._resume(attributes)
        self.core.project()
        self.core.reset_traffic()

    def _resume(self, attributes: Mapping[str, Any]) -> None:
        """Restore the step, the time and the steered parameters from a checkpoint."""
        self.step_index, self.time = int(attributes["step"]), float(attributes["time"])
        self._first_step = self.step_index
        for name, value in attributes["steered"].items():
            if name in self.parameters():
                self.steer(name, value)

    def parameters(self) -> Mapping[str, Parameter]:
        """Return the drive of the flow and the length of a step, or the CFL number."""
        rate = self.case.flow.reynolds_bulk is not None
        drive = "bulk_velocity" if rate else "pressure_gradient"
        steerable = {drive: Parameter(self._drive, 0.0, 100.0 * self.case.flow.drive, "1", "drive")}
        if self._cfl is not None:
            steerable["cfl"] = Parameter(self._cfl, 1e-3, STABLE_CFL, "1", "CFL number of a step")
        else:
            steerable["dt"] = Parameter(
                self._max_dt, 1e-3 * self._max_dt, 100 * self._max_dt, "h/U", "time step"
            )
        return steerable

    def _steer(self, name: str, value: float) -> None:
        self._steered[name] = value
        if name == "cfl":
            self._cfl = value
        elif name == "dt":
            self._max_dt = value
        else:
            self._drive = value
            self.core.set_drive(value)

    def sample(self) -> Mapping[str, Sample]:
        """Return moments over planes, and spectra (collective)."""
        return averages.samples(self.core.samples(self._cells))

    def statistics(self, mean: Mapping[str, Sample], samples: int) -> xr.Dataset:
        """Return profiles of the mean flow, stresses, energy budget and spectra."""
        return averages.dataset(self.case, mean, samples)

    def figures(self, folder: Path, statistics: xr.Dataset | None) -> Iterator[Path]:
        """Draw the cross-section, the plane near the wall and the profiles (collective)."""
        u = self.physical("u")
        u_tau = float(np.sqrt(max(self.core.wall_shear(), 0.0))) or self.case.flow.expected_u_tau
        plus = u_tau / self.case.flow.viscosity
        near_wall = int(np.argmin(np.abs(self.centres * plus - 15.0)))
        mine = self.physical_start, u[:, :, 0], self._rows_of_plane(u, near_wall)
        pieces = self.comm.gather(mine)
        mean = self._mean_profile()
        if pieces is None:
            return
        from uzushio.solvers.channel import (
            figures,  # matplotlib: slow to import, and for one rank only
        )

        grid = self.case.grid
        cross = np.empty((grid.nz, grid.ny))
        wall = np.empty((grid.ny, grid.nx))
        for (k, j), section, rows in pieces:
            cross[k : k + section.shape[0], j : j + section.shape[1]] = section
            if rows is not None:
                wall[j : j + len(rows)] = rows
        slices = figures.Slices(
            x=np.arange(grid.nx) * grid.lx / grid.nx,
            y=np.arange(grid.ny) * grid.ly / grid.ny,
            z=self.centres,
            cross_section=cross,
            cross_section_x=0.0,
            wall_parallel=wall,
            mean=mean,
            wall_parallel_z=float(self.centres[near_wall]),
            u_tau=u_tau,
            viscosity=self.case.flow.viscosity,
        )
        yield from figures.draw(folder, self.case, self.time, slices, statistics)

    def _rows_of_plane(self, field: np.ndarray, k: int) -> np.ndarray | None:
        first, end = self.core.planes
        return field[k - first] if first <= k < end else None

    def _mean_profile(self) -> np.ndarray:
        """Return the plane means of u, shape (nz,) (collective)."""
        mean = np.zeros(self.case.grid.nz)
        if self.core.waves[0] == 0:
            mean[slice(*self.core.planes)] = self.core.spectral("u")[:, 0, 0, 0]
        return np.asarray(self.comm.allreduce(mean))

    def summary(self) -> Mapping[str, Any]:
        """Return numbers of the final flow, and messages of the busiest rank (collective)."""
        flow = {
            "bulk_velocity": self.core.bulk_velocity(),
            "wall_shear": self.core.wall_shear(),
            "kinetic_energy": self.core.kinetic_energy(),
            "divergence": self.core.divergence(),
        }
        steps = self.step_index - self._first_step
        if not steps:
            return flow
        traffic = self.core.traffic()
        return {
            **flow,
            "sent_per_step": {
                kind: {
                    unit: max(self.comm.allgather(count)) / steps
                    for unit, count in zip(("exchanges", "messages", "bytes"), sent, strict=True)
                }
                for kind, sent in traffic.items()
            },
            **{name.replace(" ", "_"): share for name, share in self._hidden().items()},
            "bytes_per_rank": max(self.comm.allgather(self.core.bytes)),
        }


def _agreed(case: ChannelCase, comm: MPI.Comm) -> Prediction:
    """Return process grid and scheme as rank 0 chooses them, which knows the ranks of its node."""
    chosen: Prediction = comm.bcast(decompose(case, comm.size))  # errors are those of all ranks
    return chosen
