"""Action `acoustics`: far field of sound by a permeable Ffowcs Williams–Hawkings surface."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from uzushio._base.config.section import Section
from uzushio._base.files import free_name
from uzushio._base.parallel.sync import collective
from uzushio._base.store.array import DistributedArray, State, StoredState
from uzushio.errors import PipelineError
from uzushio.pipeline.acoustics import radiation
from uzushio.pipeline.acoustics.observers import ArcSettings
from uzushio.pipeline.acoustics.radiation import Ambient, Radiation
from uzushio.pipeline.acoustics.results import Results
from uzushio.pipeline.acoustics.sampling import Sampler
from uzushio.pipeline.acoustics.surfaces import Length, Point, SurfaceSettings
from uzushio.pipeline.action import Action
from uzushio.pipeline.actions.probe import Name
from uzushio.pipeline.figure import FigureSettings
from uzushio.pipeline.need import Need, Part
from uzushio.pipeline.table import Table

if TYPE_CHECKING:
    from uzushio.pipeline.context import Context, Setup
    from uzushio.pipeline.stream import Stream


class AmbientSettings(Section):
    """Uniform state around the surface, in the stream's units."""

    density: Length
    sound_speed: Length
    pressure: float = Field(0.0, description="subtracted from the pressure")
    velocity: Point = Field((0.0, 0.0, 0.0), description="of the mean flow; subsonic")

    @model_validator(mode="after")
    def _is_subsonic(self) -> Self:
        if (mach := float(np.linalg.norm(self.velocity)) / self.sound_speed) >= 1.0:
            raise ValueError(f"'velocity' has the Mach number {mach:.3g}, and must be subsonic")
        return self


class AcousticsSettings(FigureSettings):
    """Fields, surface, ambient state and observers."""

    density: str | Length = Field("density", description="field, or a constant")
    velocity: str | tuple[str, str, str] = Field(
        "velocity", description="vector, or its three components"
    )
    pressure: str = Field("pressure", description="field")
    ambient: AmbientSettings
    surface: SurfaceSettings
    interpolation: Literal["linear", "cubic"] = Field("cubic", description="of the fields")
    points: dict[Name, Point] | list[Point] = Field(
        {}, description="x, y, z of observers, with names or without"
    )
    arcs: dict[Name, ArcSettings] = Field({}, description="arcs of observers by name")
    interval: Length | None = Field(
        None, description="time between samples; between the first two steps if not given"
    )
    bandwidth: Length | None = Field(None, description="of the spectra, Hz; else eight segments")
    band: tuple[float, float] | None = Field(None, description="of overall levels, Hz; else all")
    pascals: Length = Field(1.0, description="the stream's unit of pressure in Pa, for levels")
    seconds: Length = Field(1.0, description="the stream's unit of time in s, for frequencies")

    @model_validator(mode="after")
    def _some(self) -> Self:
        if not self.points and not self.arcs:
            raise ValueError("needs observers: 'points' or 'arcs'")
        return self

    @property
    def observers(self) -> dict[str, np.ndarray]:
        """Positions by name."""
        points = self.points
        if not isinstance(points, dict):
            points = {f"p{number}": point for number, point in enumerate(points)}
        found = {name: np.array(point) for name, point in points.items()}
        for name, arc in self.arcs.items():
            for degrees, place in zip(arc.degrees, arc.places, strict=True):
                found[f"{name} {degrees:g}°"] = place
        return found


class Acoustics(Action[AcousticsSettings]):
    """NAME.csv with the pressure at observers; spectra and overall levels at the end.

    Each rank radiates what its own points of the grids contribute to the surface. Four levels of
    the surface in time are kept.
    """

    settings_model: ClassVar[type[Section]] = AcousticsSettings
    _radiation: Radiation | None = None
    _start: tuple[float, np.ndarray] | None = None  # time and values of the first level
    _table: Table | None = None
    _last: tuple[int, float] | None = None  # number and time of the last step
    _steps: int = 0
    _placed: bool = False  # whether this rank's levels are at its own positions

    def __init__(self, settings: AcousticsSettings, name: str, setup: Setup) -> None:
        super().__init__(settings, name, setup)
        self._results = Results(setup, name, settings)

    def files(self) -> Sequence[str]:
        """Return tables and figures."""
        return self._results.files

    def prepare(self, stream: Stream) -> Sequence[Need]:
        """Find the fields, the surface and the observers."""
        settings = self.settings
        meshes = self._fields(stream)
        grids = [stream.grid_of(fields[-1]) for fields in meshes]
        self._surface = settings.surface.surface()
        places = np.array([*settings.observers.values()])
        self._check_observers(places)
        self._ambient = Ambient(settings.ambient.sound_speed, np.array(settings.ambient.velocity))
        self._reach = np.array(
            [
                (distance.min(), distance.max())
                for place in places
                for distance in (
                    radiation.distances(place, self._surface.points, self._ambient.mach)[-1],
                )
            ]
        )
        order = {"linear": 2, "cubic": 4}[settings.interpolation]
        self._sampler = Sampler(grids, self._surface.points, order)
        self._placed = False
        self._needs: list[Need | None] = []
        for number, (fields, grid) in enumerate(zip(meshes, grids, strict=True)):
            curved = grid.coordinates is None
            need = Need(
                tuple(dict.fromkeys(reversed(fields))),
                cells=curved and not grid.of_elements,
                region=self._sampler.region(number),
                corners=curved,
            )
            self._needs.append(need if self._sampler.uses(number) else None)
        self._names = meshes
        begun = self._table is not None and self._table.begun
        columns = [f"pressure at {name}" for name in settings.observers]
        self._table = Table(self.setup.folder / f"{self.name}.csv", columns, begun)
        self._results.references = [one.curve(self.setup.base) for one in settings.compare]
        self._results.units = (stream.time_unit, stream.quantity(meshes[0][-1]).unit)
        return [need for need in self._needs if need is not None]

    def _fields(self, stream: Stream) -> list[list[str]]:
        """Return the fields of each mesh: density if it is one, velocity, pressure."""
        given = self.settings
        names = [given.density] if isinstance(given.density, str) else []
        names += [given.velocity] if isinstance(given.velocity, str) else [*given.velocity]
        parts = [list(stream.parts(name)) for name in [*names, given.pressure]]
        if isinstance(given.velocity, str):
            vector = parts.pop(-2)
            for part in vector:
                if (count := stream.quantity(part).components) != 3:
                    raise PipelineError(
                        f"velocity: '{part}' has {count} components, not 3; name a vector, or "
                        "three fields"
                    )
            parts[-1:-1] = [[f"{part}.{axis}" for part in vector] for axis in "xyz"]
        for one in parts:
            for part in one:
                stream.scalar(part)
        meshes = [[stream.quantity(part).mesh for part in one] for one in parts]
        if any(len(one) != len(meshes[-1]) for one in meshes) or (
            len(meshes[-1]) > 1 and any(one != meshes[-1] for one in meshes)
        ):
            raise PipelineError("density, velocity and pressure are not on the same meshes")
        return [list(of_mesh) for of_mesh in zip(*parts, strict=True)]

    def _check_observers(self, places: np.ndarray) -> None:
        names, shape = [*self.settings.observers], self.settings.surface.shape
        if (inside := shape.encloses(places)).any():
            number = int(np.flatnonzero(inside)[0])
            at = ", ".join(f"{value:g}" for value in places[number])
            raise PipelineError(
                f"the observer {names[number]} at ({at}) lies inside or on the surface; observers "
                "must lie outside"
            )

    def run(self, context: Context) -> None:
        """Add a level of the surface, and write the samples that are complete."""
        comm = context.comm
        if self._last is not None and not context.time > self._last[1]:
            raise PipelineError(
                f"The time of step {context.index} is {context.time:.17g} and that of step "
                f"{self._last[0]} before it {self._last[1]:.17g}; acoustics needs increasing times."
            )
        parts = [[] if need is None else context.parts(need) for need in self._needs]
        with context.section("surface"):
            if self._sampler.update(comm, parts) or not self._placed:
                self._place()
            with collective(comm):
                values = self._sources(self._sampler(parts, self._quantities, 9))
                if not np.isfinite(values).all():
                    row = self._sampler.rows[np.flatnonzero(~np.isfinite(values).all(axis=0))[0]]
                    at = ", ".join(f"{value:g}" for value in self._surface.points[row])
                    raise PipelineError(
                        f"The fields have no finite values at the position ({at}) of the surface."
                    )
        self._last = (context.index, context.time)
        self._steps += 1
        with context.section("radiate"):
            if self._start is None and self._radiation is None:
                self._start = (context.time, values)
                return
            if self._start is not None:
                self._begin(context.time)
            assert self._radiation is not None
            self._radiation.add(context.time, values)
        self._write(context.index, int(self._radiation.complete.min()))

    def _begin(self, time: float) -> None:
        """Begin the samples when the time of the second level is known."""
        assert self._start is not None
        first, values = self._start
        self._start = None
        self._radiation = self._new(first, self.settings.interval or time - first)
        self._radiation.points = self._surface.points[self._sampler.rows]
        self._radiation.add(first, values)

    def _new(self, origin: float, interval: float) -> Radiation:
        places = np.array([*self.settings.observers.values()])
        return Radiation(places, self._reach, self._ambient, origin, interval)

    def _quantities(self, number: int, part: Part, at: tuple[np.ndarray, ...]) -> np.ndarray:
        """Return ρ u − ρ0 U and ρ u u + p − ρ0 U U − p0 (xx, yy, zz, xy, yz, zx), (points, 9)."""
        ambient, names = self.settings.ambient, self._names[number]
        found = [part.owned(name)[at].astype(np.float64) for name in names]
        density: Any = self.settings.density
        if isinstance(density, str):
            density = found.pop(0)
        out = np.empty((len(at[0]), 9))
        mean = ambient.velocity
        for i in range(3):
            out[:, i] = density * found[i] - ambient.density * mean[i]
            j = (i + 1) % 3
            out[:, 3 + i] = density * found[i] ** 2 + found[3] - ambient.pressure
            out[:, 3 + i] -= ambient.density * mean[i] ** 2
            out[:, 6 + i] = density * found[i] * found[j] - ambient.density * mean[i] * mean[j]
        return out

    def _sources(self, sampled: np.ndarray) -> np.ndarray:
        """Return Q and L times area from the sampled quantities, (4, positions)."""
        rows = self._sampler.rows
        n, area = self._surface.normals[rows].T, self._surface.areas[rows]
        mass, stress = sampled.T[:3], sampled.T[3:]
        out = np.empty((4, len(rows)))
        out[0] = (mass * n).sum(axis=0)
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            out[1 + i] = stress[i] * n[i] + stress[3 + i] * n[j] + stress[3 + k] * n[k]
            out[1 + i] -= self._ambient.velocity[i] * out[0]
        return np.asarray(out * area)

    def _place(self) -> None:
        """Move the levels to the positions of this rank (collective)."""
        comm, rows, held = self.setup.comm, self._sampler.rows, self._radiation
        count, self._placed = len(self._surface.areas), True
        levels = held.levels if held else [self._start[1]] if self._start else []
        before, self._rows = getattr(self, "_rows", rows), rows
        if held is not None:
            held.points = self._surface.points[rows]
        if not levels or not comm.allreduce(int(not np.array_equal(before, rows))):
            return
        from mpi4py import MPI

        owner = np.full(count, comm.size)
        owner[rows] = comm.rank
        comm.Allreduce(owner.copy(), owner, MPI.MIN)
        mine = owner[rows] == comm.rank
        for number, level in enumerate(levels):
            whole = np.zeros((4, count))
            whole[:, before] = level
            comm.Allreduce(whole.copy(), whole)
            levels[number] = whole[:, rows] * mine
        if self._start is not None:
            self._start = (self._start[0], levels[0])

    def _write(self, step: int, stop: int) -> None:
        """Write the samples before `stop` (collective)."""
        held, comm = self._radiation, self.setup.comm
        assert held is not None and self._table is not None
        first, complete = held.first, held.complete
        sums = held.take(stop)
        if not sums.shape[1]:
            return
        whole = np.empty_like(sums) if comm.rank == 0 else None
        comm.Reduce(sums, whole)
        with collective(comm):
            if whole is not None:
                samples = first + np.arange(whole.shape[1])
                known = (samples >= held.begins[:, None]) & (samples < complete[:, None])
                rows = np.where(known, whole / (4.0 * np.pi), np.nan).T
                times = held.origin + samples * held.interval
                self._table.add(step, times.tolist(), rows)

    def state(self) -> State | None:
        """Return the levels of the surface and the incomplete samples."""
        held = self._radiation
        if held is None or self._last is None:
            return None
        comm = self.setup.comm
        levels = np.zeros((len(held.levels), 4, len(self._surface.areas)))
        for number, level in enumerate(held.levels):
            levels[number][:, self._rows] = level
        held.extend(max(comm.allgather(held.first + held.sums.shape[1])))
        arrays = {}
        for name, values in (("levels", levels), ("sums", held.sums)):
            whole = np.empty_like(values) if comm.rank == 0 else None
            comm.Reduce(values, whole)
            parts = [] if whole is None else [((0,) * values.ndim, whole)]
            arrays[name] = DistributedArray(values.shape, np.dtype(np.float64), parts)
        notes = self._notes() | {
            "times": list(held.times),
            "origin": held.origin,
            "interval": held.interval,
            "until": held.until,
            "first": held.first,
            "last": list(self._last),
            "steps": self._steps,
        }
        return State(arrays, notes)

    def _notes(self) -> dict[str, Any]:
        """Return the settings on which the series depends, as JSON."""
        keys = {"density", "velocity", "pressure", "ambient", "surface", "interpolation"}
        keys |= {"points", "arcs", "interval"}
        return {"settings": self.settings.model_dump(mode="json", include=keys, by_alias=True)}

    def restore(self, stored: StoredState) -> None:
        """Continue the series; the levels go to the ranks of their positions at the next step."""
        notes, comm = stored.attributes, self.setup.comm
        if notes.get("settings") != self._notes()["settings"]:
            return
        held = self._radiation = self._new(notes["origin"], notes["interval"])
        held.times, held.until, held.first = list(notes["times"]), notes["until"], notes["first"]
        self._last, self._steps = tuple(notes["last"]), notes["steps"]
        with collective(comm):
            shapes, here = stored.shapes, comm.rank == 0
            self._rows = np.arange(shapes["levels"][2] if here else 0)
            held.levels = [np.zeros((4, 0)) for _ in held.times]
            if here:
                held.levels = list(stored.read("levels", (0, 0, 0), shapes["levels"]))
                held.sums = np.array(stored.read("sums", (0, 0), shapes["sums"]))
        self._placed = False

    def truncate(self, step: int) -> None:
        """Remove later samples; keep a series that is not continued under another name."""
        path = self.setup.folder / f"{self.name}.csv"
        if self._steps:
            super().truncate(step)
        elif path.exists():
            kept = free_name(path)
            path.rename(kept)
            self.setup.say(
                f"The series {self.name} begins anew, because the checkpoint has none of these "
                f"settings; the one before is {kept.name}."
            )

    def finish(self) -> None:
        """Write the last samples, spectra and overall levels."""
        comm = self.setup.comm
        if self._last is None:
            return
        held = self._radiation
        if held is None or len(held.times) < radiation.LEVELS:
            self.setup.say(
                f"{self.name} has {self._steps} steps of the surface, and needs at least "
                f"{radiation.LEVELS}."
            )
            return
        held.end()
        # Steps after the last one would change these rows; a restart removes them by their number.
        self._write(self._last[0] + 1, int(held.complete.max()))
        with collective(comm):
            if comm.rank == 0:
                assert self._table is not None
                self._results.write(self._table.values[:, 1:], held.interval)

    def summary(self) -> Mapping[str, Any]:
        """Return files, counts and overall levels."""
        return {
            "files": self._results.files,
            "steps": self._steps,
            "positions": len(self._surface.areas),
            "levels_db": self._results.levels,
        }
