"""Fields over time as VTKHDF, which ParaView and VTK's vtkHDFReader open, also while it grows.

While steps come, FILE is small and is replaced whole with each step; by HDF5's virtual datasets
it points into the files in FILE.parts, whose structure never changes after they were made: values
are written into room that is there already. So after a crash at any moment FILE shows the steps
before it. `merge` makes one plain file of all in the end.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np

from uzushio.errors import OutputError
from uzushio.extracts import hdf5_room
from uzushio.extracts.frame import Frame, Variable
from uzushio.extracts.spread import Spread
from uzushio.extracts.vtkhdf_layout import (
    Kind,
    cells_of,
    large_arrays,
    shape,
    write_geometry,
    write_steps,
)
from uzushio.parallel.collective import collective

#: Steps in the first file of parts; each next one has room for twice as many.
_FIRST = 8
#: Bytes of a file of parts beyond which the next one is not made larger.
_LARGE = 1 << 30
_GEOMETRY = "geometry.h5"
_OURS = "uzushio"  #: group beside VTK's, with what readers do not need


@dataclass(frozen=True)
class _Section:
    """A file of parts, with room for the steps `first` to `first + room`."""

    name: str
    first: int
    room: int
    merged: bool = False  #: a series of before, taken up again: an only step has no axis of time


class VtkhdfSeries:
    """A VTKHDF file that grows by a step at a time; rank 0 writes it, a few planes at a time."""

    def __init__(self, path: Path, frame: Frame, kind: Kind) -> None:
        """Know what to write; nothing is touched yet.

        Args:
            path: of the file; ParaView wants it to end in .vtkhdf or .hdf.
            frame: points and quantities.
            kind: of VTK's data, see `vtkhdf_layout.kind_of`.
        """
        self.path, self.frame, self.kind = path, frame, kind
        self.parts = path.with_name(f"{path.name}.parts")
        self._steps: list[int] = []
        self._times: list[float] = []
        self._sections: list[_Section] = []
        self._open = False
        self.bytes = 0  #: of values that rank 0 wrote

    def append(
        self,
        index: int,
        time: float,
        spread: Spread,
        values: Mapping[str, Sequence[np.ndarray]],
        corners: Sequence[np.ndarray] = (),
    ) -> None:
        """Add a step (collective). Steps of the same number or later ones are replaced.

        Args:
            index: the solver's number of the step.
            time: of it.
            spread: which boxes of the frame's points the ranks hold.
            values: of each variable, on the boxes of this rank.
            corners: coordinates x, y, z of the points, (z, y, x, 3), float64, if the frame has no
                lines. Those of the first step count.

        Raises:
            OutputError: on all ranks: the path holds something else, or cannot be written.
        """
        comm = spread.comm
        with collective(comm):
            if comm.rank == 0:
                self._make_room(index)
        if comm.bcast(not (self.parts / _GEOMETRY).exists() if comm.rank == 0 else None):
            self._write_corners(spread, corners)
        for variable in self.frame.variables.values():
            self._write(spread, variable, values[variable.name])
        with collective(comm):
            if comm.rank == 0:
                self._commit(index, time)

    def _write(self, spread: Spread, variable: Variable, values: Sequence[np.ndarray]) -> None:
        """Put a variable's values into their room, past HDF5 (collective)."""
        room: hdf5_room.Room | None = None
        with collective(spread.comm):
            if spread.comm.rank == 0:
                section = self._sections[-1]
                each = _bytes(self.frame, variable)
                room = hdf5_room.Room.of(self.parts / section.name, _place(variable.name))
                room = room.part((len(self._steps) - section.first) * each, each)
        slabs = spread.slabs(values, self.frame.whole, variable.dtype, variable.shape)
        self._pour(spread, slabs, room)

    def _pour(self, spread: Spread, slabs: object, room: hdf5_room.Room | None) -> None:
        for _, slab in slabs:  # type: ignore[attr-defined]
            with collective(spread.comm):
                if slab is not None and room is not None:
                    room.write(slab)
                    self.bytes += slab.nbytes

    def _write_corners(self, spread: Spread, corners: Sequence[np.ndarray]) -> None:
        """Write what of the geometry is as large as a field (collective)."""
        points = Variable("Points", np.dtype(np.float64), 3)
        path, room = self.parts / _GEOMETRY, None
        whole: np.ndarray | None = None
        if self.frame.lines is None and self.kind == "UnstructuredGrid":
            slabs = list(
                spread.slabs(corners, self.frame.whole, points.dtype, points.shape, 1 << 62)
            )
            whole = slabs[0][1]
        with collective(spread.comm):
            if spread.comm.rank == 0 and self.kind == "StructuredGrid":
                hdf5_room.make(path, {_geometry("Points"): ((*self.frame.count, 3), points.dtype)})
                room = hdf5_room.Room.of(path, _geometry("Points"))
            elif spread.comm.rank == 0:
                arrays = large_arrays(self.frame, self.kind, whole)
                wanted = {_geometry(name): (one.shape, one.dtype) for name, one in arrays.items()}
                hdf5_room.make(path, wanted)
                for name, array in arrays.items():
                    hdf5_room.Room.of(path, _geometry(name)).write(array)
        if self.kind == "StructuredGrid":
            slabs_ = spread.slabs(corners, self.frame.whole, points.dtype, points.shape)
            self._pour(spread, slabs_, room)

    # ---- rank 0 -------------------------------------------------------------------------------

    def _make_room(self, index: int) -> None:
        """Forget the steps that are done again, and have a file with room for one more."""
        if not self._open:
            self._take_up(index)
            self._open = True
        keep = sum(step < index for step in self._steps)
        if keep < len(self._steps):
            self._forget(keep)
        self.parts.mkdir(parents=True, exist_ok=True)
        if not self._sections or keep >= self._sections[-1].first + self._sections[-1].room:
            variables = self.frame.variables.values()
            step = max(1, sum(_bytes(self.frame, one) for one in variables))
            room = max(1, min(_FIRST << len(self._sections), _LARGE // step))
            name = f"{len(self._sections):04d}-{keep:08d}.h5"
            wanted = {
                _place(one.name): (shape(self.frame, one, self.kind, room), one.dtype)
                for one in variables
            }
            hdf5_room.make(self.parts / name, wanted)
            self._sections.append(_Section(name, keep, room))

    def _forget(self, keep: int) -> None:
        """Keep the first steps only: they are done again after a restart."""
        del self._steps[keep:], self._times[keep:]
        if keep:
            self._replace(self._virtual)
        else:
            self.path.unlink(missing_ok=True)
        while self._sections and self._sections[-1].first >= keep:
            (self.parts / self._sections.pop().name).unlink(missing_ok=True)

    def _take_up(self, index: int) -> None:
        """Look at what is there already, and go on with it if it has steps before this one."""
        if not self.path.exists():
            shutil.rmtree(self.parts, ignore_errors=True)
            return
        try:
            with h5py.File(self.path, "r") as file:
                same, steps = self._same(file), file[_OURS]["steps"][...].tolist()
                times = file["VTKHDF/Steps/Values"][...].tolist()
                ours = file[_OURS]
                rows = zip(ours["sections"].asstr(), ours["first"], ours["room"], strict=True)
                sections = [
                    _Section(name, int(first), int(room), "merged" in name)
                    for name, first, room in rows
                ]
        except (OSError, KeyError) as error:
            raise OutputError(
                f"{self.path} is there, and no pipeline wrote it; move it away, or write to "
                "another name."
            ) from error
        if not steps or steps[0] >= index:
            shutil.rmtree(self.parts, ignore_errors=True)
            return
        if not same:
            raise OutputError(
                f"{self.path} holds {len(steps)} steps of other fields or points; move it away, "
                "or write to another name."
            )
        self._steps, self._times, self._sections = steps, times, sections
        if not sections:
            self._take_up_merged()

    def _take_up_merged(self) -> None:
        """Make a file of parts of a series that was finished."""
        shutil.rmtree(self.parts, ignore_errors=True)
        self.parts.mkdir()
        self._sections = [_Section("merged.h5", 0, len(self._steps), merged=True)]
        (self.parts / "merged.h5").hardlink_to(self.path)
        if self._large():
            (self.parts / _GEOMETRY).hardlink_to(self.path)
        self._replace(self._virtual)

    def _same(self, file: h5py.File) -> bool:
        """Whether a file has the same points and quantities."""
        ours, group = file[_OURS], file["VTKHDF/PointData"]
        if tuple(ours.attrs["count"]) != self.frame.count or ours.attrs["kind"] != self.kind:
            return False
        if sorted(group) != sorted(self.frame.variables):
            return False
        if any(group[name].dtype != one.dtype for name, one in self.frame.variables.items()):
            return False
        return all(
            np.array_equal(ours[axis][...], line)
            for axis, line in zip("zyx", self.frame.lines or (), strict=False)
        )

    def _commit(self, index: int, time: float) -> None:
        """Make the step count."""
        self._steps.append(index)
        self._times.append(time)
        try:
            self._replace(self._virtual)
        except BaseException:
            del self._steps[-1], self._times[-1]
            raise

    def _replace(self, add: Callable[[h5py.Group, str, tuple[int, ...], np.dtype], None]) -> None:
        """Write the file anew, and put it into its place when it is whole."""
        fresh = self.path.with_name(f".{self.path.name}.new")
        with hdf5_room.whole_or_not(fresh):
            with h5py.File(fresh, "w") as file:
                group = file.create_group("VTKHDF")
                write_geometry(group, self.frame, self.kind, cells_of(self.frame))
                for name, (size, dtype) in self._large().items():
                    add(group, name, size, dtype)
                group.create_group("PointData")
                group.create_group("CellData")
                for name, one in self.frame.variables.items():
                    size = shape(self.frame, one, self.kind, len(self._steps))
                    add(group, f"PointData/{name}", size, one.dtype)
                    group["PointData"][name].attrs.update(one.attributes)
                write_steps(group, self.frame, self.kind, self._times)
                self._write_ours(file.create_group(_OURS), add == self._virtual)
            fresh.rename(self.path)

    def _write_ours(self, ours: h5py.Group, with_sections: bool) -> None:
        """What is needed to go on with the file."""
        ours.attrs.update(self.frame.attributes)
        ours.attrs["count"], ours.attrs["kind"] = self.frame.count, self.kind
        ours["steps"] = np.array(self._steps, np.int64)
        for axis, line in zip("zyx", self.frame.lines or (), strict=False):
            ours[axis] = line
        sections = self._sections if with_sections else []
        names = [one.name for one in sections]
        ours.create_dataset("sections", data=names, dtype=h5py.string_dtype(), shape=(len(names),))
        ours["first"] = np.array([one.first for one in sections], np.int64)
        ours["room"] = np.array([one.room for one in sections], np.int64)

    def _large(self) -> dict[str, tuple[tuple[int, ...], np.dtype]]:
        """Shape and type of the arrays of geometry.h5."""
        if self.kind == "StructuredGrid":
            return {"Points": ((*self.frame.count, 3), np.dtype(np.float64))}
        if self.kind != "UnstructuredGrid":
            return {}
        cells, corners = cells_of(self.frame), 1 << sum(n > 1 for n in self.frame.count)
        return {
            "Points": ((self.frame.whole.size, 3), np.dtype(np.float64)),
            "Connectivity": ((cells * corners,), np.dtype(np.int64)),
            "Offsets": ((cells + 1,), np.dtype(np.int64)),
            "Types": ((cells,), np.dtype(np.uint8)),
        }

    def _virtual(
        self, group: h5py.Group, name: str, size: tuple[int, ...], dtype: np.dtype
    ) -> None:
        """An array that lies in the parts."""
        place, folder = f"VTKHDF/{name}", self.parts.name
        if not name.startswith("PointData/"):
            layout = h5py.VirtualLayout(size, dtype)
            layout[...] = _source(f"{folder}/{_GEOMETRY}", place, size)
            group.create_virtual_dataset(name, layout)
            return
        count = len(self._steps)
        rows = size[0] // count  # of a step
        layout = h5py.VirtualLayout(size, dtype)
        for section, after in zip(
            self._sections, [*(one.first for one in self._sections[1:]), count], strict=True
        ):
            here = min(after, count) - section.first
            if here < 1:
                continue
            source_shape = (section.room * rows, *size[1:])
            if section.merged and section.room == 1 and self.kind != "UnstructuredGrid":
                source_shape = size[1:]
            source = _source(f"{folder}/{section.name}", place, source_shape)
            first = section.first * rows
            part = source if source_shape == size[1:] else source[: here * rows]
            layout[first : first + here * rows] = part
        if count == 1 and self.kind != "UnstructuredGrid":
            layout = self._only_step(size[1:], dtype, place)
        group.create_virtual_dataset(name, layout)

    def _only_step(self, size: tuple[int, ...], dtype: np.dtype, place: str) -> h5py.VirtualLayout:
        """A single step, which has no axis of time."""
        section = self._sections[0]
        layout = h5py.VirtualLayout(size, dtype)
        source = _source(f"{self.parts.name}/{section.name}", place, (section.room, *size))
        layout[...] = source[0]
        return layout

    def merge(self) -> None:
        """Make one plain file of what there is; by rank 0 alone, without communication.

        Raises:
            OSError: there is no room for it; then all stays as it was, and can be read as well.
        """
        if not self._steps or not self._sections:
            return
        with h5py.File(self.path, "r") as old:

            def copy(group: h5py.Group, name: str, size: tuple[int, ...], dtype: np.dtype) -> None:
                source = old["VTKHDF"][name]
                target = group.create_dataset(name, source.shape, dtype)
                for rows in _slabs(source.shape, dtype):
                    target[rows] = source[rows]

            self._replace(copy)
        shutil.rmtree(self.parts, ignore_errors=True)
        self._sections, self._steps, self._times, self._open = [], [], [], False


def _source(file: str, place: str, size: tuple[int, ...]) -> h5py.VirtualSource:
    """An array of another file; HDF5 takes a percent sign for the beginning of a number."""
    return h5py.VirtualSource(file.replace("%", "%%"), place.replace("%", "%%"), size)


def _place(name: str) -> str:
    return f"VTKHDF/PointData/{name}"


def _geometry(name: str) -> str:
    return f"VTKHDF/{name}"


def _bytes(frame: Frame, variable: Variable) -> int:
    """Of one step."""
    return frame.whole.size * variable.components * variable.dtype.itemsize


def _slabs(size: tuple[int, ...], dtype: np.dtype, limit: int = 64 << 20) -> list[slice]:
    """Ranges of the first axis of at most so many bytes."""
    if not size:
        return [slice(None)]
    each = int(np.prod(size[1:], initial=1)) * dtype.itemsize
    step = max(1, limit // max(each, 1))
    return [slice(at, at + step) for at in range(0, size[0], step)]
