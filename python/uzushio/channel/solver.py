"""Channel-flow solver, an implementation of the contract of `uzushio.solver`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np

from uzushio.case.model import Case
from uzushio.channel import fft_plans, initial, timing
from uzushio.channel import statistics as averages
from uzushio.channel.case import STABLE_CFL, ChannelCase
from uzushio.channel.decomposition import (
    MAX_ARRAYS,
    arrays,
    core,
    core_parameters,
    decompose,
    kept_modes,
)
from uzushio.channel.interpolation import Interpolation
from uzushio.domain.box import Box
from uzushio.errors import CaseError
from uzushio.solver import (
    DistributedArray,
    Estimate,
    Offer,
    Parameter,
    Reading,
    Sample,
    Solver,
    SolverDivergedError,
    SolverField,
    SolverMesh,
    State,
    StoredState,
    Traffic,
)

if TYPE_CHECKING:
    import xarray as xr
    from mpi4py import MPI

COMPONENTS = ("u", "v", "w", "p")
#: A flow has diverged if its CFL number exceeds the stable one by this factor.
DIVERGED = 3.0


class ChannelSolver(Solver):
    """Direct numerical simulation of turbulent or laminar flow between two walls."""

    case_model: ClassVar[type[Case]] = ChannelCase
    figure_modules: ClassVar[tuple[str, ...]] = ("uzushio.channel.figures",)

    @classmethod
    def estimate(cls, case: Case, ranks: int) -> Estimate:
        """Estimate memory, messages and files of the case on `ranks` ranks."""
        case = cast(ChannelCase, case)
        py, pz = decompose(case, ranks)
        grid = case.grid
        try:
            needs = core.estimate(core_parameters(case, py, pz))
        except ValueError as error:
            raise CaseError(f"grid: {error}.") from None
        faces = grid.wall_faces()
        plus = case.flow.expected_u_tau / case.flow.viscosity
        heights = np.diff(faces)
        held = arrays(case, needs.bytes, ranks)
        crowded = [f"more than {MAX_ARRAYS:.0f} arrays: a rank has few planes or rows"]
        kept_x, kept_y = kept_modes(case)
        return Estimate(
            grid=f"{grid.nx} x {grid.ny} x {grid.nz} points in {grid.lx:.4g} x {grid.ly:.4g} x 2, "
            f"on {py} x {pz} ranks in y and z",
            memory_per_rank=needs.bytes,
            field_arrays=held,
            traffic={
                kind: Traffic(messages, sent)
                for kind, (_, messages, sent) in needs.traffic.items()
                if messages
            },
            notes=(
                f"resolution in wall units if u_tau = {case.flow.expected_u_tau:.3g}: "
                f"dx+ = {grid.lx / grid.nx * plus:.1f}, dy+ = {grid.ly / grid.ny * plus:.1f}, "
                f"dz+ = {heights.min() * plus:.2f} to {heights.max() * plus:.1f}",
                *(crowded if held > MAX_ARRAYS else []),
            ),
            checkpoint_bytes=16 * len(COMPONENTS) * grid.nz * (2 * kept_y - 1) * kept_x,
            field_bytes=dict.fromkeys(COMPONENTS, 8 * grid.nx * grid.ny * grid.nz),
            step_length=timing.step_length(case),
        )

    @classmethod
    def seconds_per_step(cls, case: Case, ranks: int) -> float:
        """Estimate the time of a step on the busiest rank from the measured time of a small box."""
        return timing.seconds_per_step(cast(ChannelCase, case), ranks)

    def __init__(self, case: Case, comm: MPI.Comm) -> None:
        """Allocate, plan and set the initial field (collective)."""
        self.case = cast(ChannelCase, case)
        self.comm = comm
        self.step_index, self.time = 0, 0.0
        self.dt = 0.0
        self._cfl = self.case.time.cfl
        self._max_dt = self.case.time.dt or float("inf")
        self._drive = self.case.flow.drive
        self._steered: dict[str, float] = {}
        self._recall_plans()
        self.core = core.Solver(
            core_parameters(self.case, *decompose(self.case, comm.size)), comm.handle
        )
        self._keep_plans()
        self._physical: Any = None
        for mode in initial.modes(self.case):
            self.core.add_mode(mode.kx, mode.ky, mode.u, mode.v, mode.w)
        self.core.project()
        self.core.reset_counters()
        self._first_step = 0
        faces = self.case.grid.wall_faces()
        self.centres = 0.5 * (faces[1:] + faces[:-1])
        self._cells = averages.spectra_cells(self.case)

    def _recall_plans(self) -> None:
        """Plan the transforms as earlier runs on this machine did (collective)."""
        known = self.comm.bcast(fft_plans.recall() if self.comm.rank == 0 else "")
        if known:
            core.import_wisdom(known)

    def _keep_plans(self) -> None:
        wisdom = core.wisdom()
        if self.comm.rank == 0 and wisdom != fft_plans.recall():
            fft_plans.keep(wisdom)

    def step(self, longest: float = float("inf")) -> None:
        """Advance one step of at most `longest` (collective)."""
        cfl = float("inf") if self._cfl is None else self._cfl
        last_cfl = self.dt * self.core.fastest_rate
        dt = self.core.step(cfl, min(self._max_dt, longest))
        if not np.isfinite(dt) or dt * self.core.fastest_rate > DIVERGED * STABLE_CFL:
            now = dt * self.core.fastest_rate
            raise SolverDivergedError(
                self._describe_divergence(now if np.isfinite(now) else last_cfl)
            )
        self.dt = dt
        self.time += dt
        self.step_index += 1

    def _describe_divergence(self, last_cfl: float) -> str:
        """Describe where the CFL number is largest, and the likely cause (collective)."""
        grid = self.case.grid
        u, v, w = (np.abs(self.physical(name)) for name in "uvw")
        heights = np.diff(grid.wall_faces())[slice(*self.core.planes), np.newaxis, np.newaxis]
        with np.errstate(all="ignore"):
            rate = u * grid.nx / grid.lx + v * grid.ny / grid.ly + w / (np.pi * heights)
        rate[~np.isfinite(rate)] = np.inf
        worst = np.unravel_index(np.argmax(rate), rate.shape)
        k, j, i = (int(n) for n in worst)
        k, j = k + self.core.planes[0], j + self._output().rows[0]
        rate_there, k, j, i = max(self.comm.allgather((float(rate[worst]), k, j, i)))
        value = "not finite" if np.isinf(rate_there) else "growing without limit"
        place = f"x = {i * grid.lx / grid.nx:.4g}, y = {j * grid.ly / grid.ny:.4g}, z = "
        place += f"{self.centres[k]:.4g} (cell {i}, {j}, {k})"
        if last_cfl > STABLE_CFL:
            cause = (
                f"the time step is too long: the CFL number was {last_cfl:.3g}, stable is up to "
                f"{STABLE_CFL:.2f}; lower time.dt or give time.cfl instead"
            )
        elif self.step_index == 0:
            cause = "the initial field or the checkpoint is bad, or initial.amplitude is too large"
        else:
            cause = (
                f"not the time step (CFL number {last_cfl:.3g}): the grid is too coarse for the "
                "Reynolds number, or a value was corrupted"
            )
        return (
            f"The velocity is {value} in step {self.step_index + 1}, at time {self.time:.6g}, at "
            f"{place}. Likely cause: {cause}."
        )

    def monitor(self) -> Mapping[str, Reading]:
        """Return CFL number, bulk velocity and wall shear (collective)."""
        return {
            "CFL": Reading(self.dt * self.core.fastest_rate, format=".3f"),
            "bulk velocity": Reading(self.core.bulk_velocity(), format=".4f"),
            "wall shear": Reading(self.core.wall_shear(), format=".4f"),
        }

    def _output(self) -> Any:
        if self._physical is None:
            self._physical = core.PhysicalOutput(self.core)
        return self._physical

    def physical(self, name: str) -> np.ndarray:
        """Return this rank's part of u, v, w or p in physical space, (z, y, x) (collective).

        w is at the upper faces of the cells, the others at their centres.
        """
        planes, rows = self.core.planes, self._output().rows
        values = np.empty((planes[1] - planes[0], rows[1] - rows[0], self.case.grid.nx))
        self._output().write(self.core, name, values)
        return values

    def _walls(self, mesh: str) -> tuple[int, int]:
        """Return the number of wall planes of this rank below and above those of the core."""
        return _walls(mesh, self.core.planes, self.case.grid.nz)

    @classmethod
    def offer(cls, case: Case) -> Offer:
        """Return meshes, fields and attributes of the case, all on one rank."""
        case = cast(ChannelCase, case)
        flow = dict.fromkeys(("dt", "pressure_gradient", "bulk_velocity", "wall_shear"), 0.0)
        meshes = _meshes(case, (0, case.grid.nz), (0, case.grid.ny))
        return Offer(meshes, _fields(case), {**_numbers(case), **flow})

    def meshes(self) -> Mapping[str, SolverMesh]:
        """Return the points of u, v and p (centres) and of w (faces), both with the walls."""
        return _meshes(self.case, self.core.planes, self._output().rows)

    def fields(self) -> Mapping[str, SolverField]:
        """Return velocity and pressure."""
        return _fields(self.case)

    def write_field(self, name: str, out: Sequence[np.ndarray]) -> None:
        """Transform u, v, w or p of this rank to `out`, (z, y, x), plane by plane (collective).

        On the walls the velocity is 0, and the pressure is that of the nearest centres: in the
        scheme its gradient across a wall is 0.
        """
        below, above = self._walls("faces" if name == "w" else "centres")
        (values,) = out
        inside = values[below : len(values) - above]
        self._output().write(self.core, name, inside)
        for wall in [0] * below + [-1] * above:
            values[wall] = inside[wall] if name == "p" else 0.0

    def attributes(self) -> Mapping[str, int | float | str]:
        """Return the flow's parameters and its present mean quantities (collective)."""
        return {
            **_numbers(self.case),
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
            raise SolverDivergedError(self._describe_divergence(cfl))
        return State(
            self._arrays(),
            {
                "step": self.step_index,
                "time": self.time,
                "steered": self._steered,
                "faces": self.case.grid.wall_faces().tolist(),
                "box": [self.case.grid.lx, self.case.grid.ly],
                # With the same FFT plans a restart repeats the run bit for bit.
                "wisdom": self.comm.bcast(core.wisdom()),
            },
            self._axes(),
        )

    def _arrays(self) -> dict[str, DistributedArray]:
        shape = (self.case.grid.nz, 2, 2 * self.core.modes_y - 1, self.core.modes_x)
        start = (self.core.planes[0], 0, 0, self.core.waves[0])
        return {
            name: DistributedArray(
                shape,
                np.dtype(np.float64),
                [(start, self.core.spectral(name))],
                ("z_faces" if name == "w" else "z", "part", "ky", "kx"),
            )
            for name in COMPONENTS
        }

    def _axes(self) -> dict[str, np.ndarray]:
        """Return the coordinates of the state; wave numbers are in radians per length."""
        grid, my = self.case.grid, self.core.modes_y
        ky = np.concatenate([np.arange(my), np.arange(1 - my, 0)])
        return {
            "z": self.centres,
            "z_faces": grid.wall_faces()[1:],
            "ky": 2 * np.pi / grid.ly * ky,
            "kx": 2 * np.pi / grid.lx * np.arange(self.core.modes_x),
        }

    def restore(self, stored: StoredState) -> None:
        """Continue from a checkpoint of the same grid (collective)."""
        attributes = stored.attributes
        mine = self._arrays()
        grid = self.case.grid
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
        bulk, found = self.comm.allreduce(bulk), self.core.bulk_velocity()
        if self.core.waves[0] == 0 and found != 0.0:
            self.core.spectral("u")[:, 0, 0, 0] *= bulk / found
        self._resume(attributes)
        self.core.project()
        self.core.reset_counters()

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
        start = (self.core.planes[0], self._output().rows[0])
        pieces = self.comm.gather((start, u[:, :, 0], self._rows_of_plane(u, near_wall)))
        mean = self._mean_profile()
        if pieces is None:
            return
        from uzushio.channel import figures  # matplotlib: slow to import, and for one rank only

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
        yield from figures.draw(
            folder,
            title=self.case.title,
            time=self.time,
            slices=slices,
            statistics=statistics,
            formats=self.case.output.figures or (),
        )

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
        """Return numbers of the final flow, and a step's cost on the busiest rank (collective)."""
        flow = {
            "bulk_velocity": self.core.bulk_velocity(),
            "wall_shear": self.core.wall_shear(),
            "kinetic_energy": self.core.kinetic_energy(),
            "divergence": self.core.divergence(),
        }
        steps = self.step_index - self._first_step
        if not steps:
            return flow
        seconds, traffic = self.core.timings(), self.core.traffic()
        return {
            **flow,
            "seconds_per_step": {
                section: max(self.comm.allgather(spent)) / steps
                for section, spent in seconds.items()
            },
            "sent_per_step": {
                kind: {
                    unit: max(self.comm.allgather(count)) / steps
                    for unit, count in zip(("exchanges", "messages", "bytes"), sent, strict=True)
                }
                for kind, sent in traffic.items()
            },
            "bytes_per_rank": max(self.comm.allgather(self.core.bytes)),
        }


def _walls(mesh: str, planes: tuple[int, int], cells: int) -> tuple[int, int]:
    """Return the number of wall planes of a rank below and above those of the core.

    No centre lies on a wall. Of the faces, the core has the upper wall but not the lower one.
    """
    first, end = planes
    return int(first == 0), int(end == cells and mesh == "centres")


def _meshes(
    case: ChannelCase, planes: tuple[int, int], rows: tuple[int, int]
) -> dict[str, SolverMesh]:
    """Return the points of a rank that has some planes and rows of cells."""
    grid = case.grid
    faces = grid.wall_faces()
    centres = np.concatenate([faces[:1], 0.5 * (faces[1:] + faces[:-1]), faces[-1:]])
    x = np.arange(grid.nx) * grid.lx / grid.nx
    y = np.arange(grid.ny) * grid.ly / grid.ny
    meshes = {}
    for name, z in (("centres", centres), ("faces", faces)):
        below, above = _walls(name, planes, grid.nz)
        start = (planes[0] + 1 - below, rows[0], 0)
        count = (planes[1] - planes[0] + below + above, rows[1] - rows[0], grid.nx)
        meshes[name] = SolverMesh((len(z), len(y), len(x)), (z, y, x), (Box(start, count),))
    return meshes


def _fields(case: ChannelCase) -> dict[str, SolverField]:
    """Return velocity and pressure."""
    unit = case.flow.velocity_unit
    return {
        "u": SolverField(("centres",), unit=unit, description="streamwise velocity"),
        "v": SolverField(("centres",), unit=unit, description="spanwise velocity"),
        "w": SolverField(("faces",), unit=unit, description="wall-normal velocity"),
        "p": SolverField(("centres",), unit=f"{unit}^2", description="pressure over density"),
    }


def _numbers(case: ChannelCase) -> dict[str, int | float | str]:
    """Return the flow's parameters in a case."""
    grid, flow = case.grid, case.flow
    return {
        **flow.model_dump(exclude_none=True),
        "viscosity": flow.viscosity,
        "periodic": "x y",
        "length_unit": "h",
        "time_unit": f"h/{flow.velocity_unit}",
        "lx": grid.lx,
        "ly": grid.ly,
    }
