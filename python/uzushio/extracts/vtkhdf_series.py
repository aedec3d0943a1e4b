"""Time series of fields as VTKHDF, readable by ParaView and vtkHDFReader also while it grows.

During the run, FILE is small and replaced atomically with each step; its virtual datasets refer to
the files in FILE.parts, whose metadata do not change after their creation: values are written to
allocated extents. So after a crash FILE contains all steps before it. `merge` makes one plain file
at the end.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np

from uzushio._base.parallel.sync import collective
from uzushio._base.store.chunks import ChunkGrid
from uzushio._base.store.distribution import Distribution, Transfer, receive_all
from uzushio._base.store.schema import StoreSchema
from uzushio._base.store.series import count_before
from uzushio.domain.box import Box
from uzushio.domain.fields import Field
from uzushio.errors import OutputError
from uzushio.extracts import hdf5_extent
from uzushio.extracts.slabs import bytes_per_step, slab_chunk, slabs
from uzushio.extracts.vtkhdf_layout import (
    Kind,
    cells_of,
    large_arrays,
    large_shapes,
    shape,
    write_geometry,
    write_steps,
)

#: Capacity of the first file of parts in steps; each following one has twice the capacity.
_FIRST_CAPACITY = 8
#: Maximum size of a file of parts in bytes, unless one step is larger.
_MAX_PART_BYTES = 1 << 30
_GEOMETRY = "geometry.h5"
_METADATA = "uzushio"  #: group beside VTK's, with data for restarts


@dataclass(frozen=True)
class _PartFile:
    """File of parts with the steps `first` to `first + capacity`."""

    name: str
    first: int
    capacity: int
    merged: bool = False  #: merged file of an earlier run: a single step has no time axis


class VtkhdfSeries:
    """VTKHDF file that grows by steps; rank 0 writes its metadata, and all ranks its values."""

    def __init__(self, path: Path, schema: StoreSchema, kind: Kind, begun: bool = False) -> None:
        """Set path and schema; no file is opened.

        Args:
            path: path of the file; ParaView requires the suffix .vtkhdf or .hdf.
            schema: points and variables.
            kind: kind of VTK data, see `vtkhdf_layout.kind_of`.
            begun: whether this job has appended steps already; they are kept.
        """
        self.path, self.schema, self.kind, self.begun = path, schema, kind, begun
        self.parts = path.with_name(f"{path.name}.parts")
        self._steps: list[int] = []
        self._times: list[float] = []
        self._part_files: list[_PartFile] = []
        self._open = False
        self.bytes = 0  #: bytes of values written by all ranks

    def append(
        self,
        index: int,
        time: float,
        distribution: Distribution,
        values: Mapping[str, Sequence[np.ndarray]],
        corners: Sequence[np.ndarray] = (),
    ) -> None:
        """Append a step (collective).

        The first call removes existing steps with this or a later number, of an earlier job.

        Args:
            index: the solver's number of the step.
            time: time of the step.
            distribution: boxes of the points on the ranks.
            values: arrays of each variable on the boxes of this rank.
            corners: coordinates x, y, z of the points, (z, y, x, 3), float64, if the schema has no
                lines. Only those of the first step are written.

        Raises:
            OutputError: on all ranks: the path is another file, or cannot be written.
        """
        comm = distribution.comm
        with collective(comm):
            if comm.rank == 0:
                self._ensure_capacity(index)
        if comm.bcast(not (self.parts / _GEOMETRY).exists() if comm.rank == 0 else None):
            self._write_corners(distribution, corners)
        for variable in self.schema.variables.values():
            self._write(distribution, variable, values[variable.name])
        with collective(comm):
            if comm.rank == 0:
                self._commit(index, time)

    def _write(
        self, distribution: Distribution, variable: Field, values: Sequence[np.ndarray]
    ) -> None:
        """Write a variable's values to their extent (collective)."""
        extent: hdf5_extent.Hdf5Extent | None = None
        with collective(distribution.comm):
            if distribution.comm.rank == 0:
                part = self._part_files[-1]
                each = bytes_per_step(self.schema, variable)
                extent = hdf5_extent.Hdf5Extent.of(self.parts / part.name, _place(variable.name))
                extent = extent.part((len(self._steps) - part.first) * each, each)
        self._scatter(distribution, variable, values, extent)

    def _scatter(
        self,
        distribution: Distribution,
        variable: Field,
        values: Sequence[np.ndarray],
        extent: hdf5_extent.Hdf5Extent | None,
    ) -> None:
        """Write all values to an extent, which rank 0 knows (collective).

        Each rank writes slabs of which it has the largest share, at their places in the file.
        """
        comm, count, dtype = distribution.comm, self.schema.count, variable.dtype
        extent = comm.bcast(extent)
        value = variable.components * dtype.itemsize
        grid = ChunkGrid(count, slab_chunk(self.schema, variable, comm.size))
        wanted = grid.owned(distribution.table, value, every=True)

        def put(box: Box, slab: np.ndarray) -> None:
            assert extent is not None
            first = int(np.ravel_multi_index(box.start, count)) * value
            extent.part(first, slab.nbytes).write(slab)

        with collective(comm):
            transfer = Transfer(distribution, values, wanted, dtype, variable.value_shape)
        with collective(comm):
            receive_all(transfer, put)
        self.bytes += bytes_per_step(self.schema, variable)

    def _gather(
        self,
        distribution: Distribution,
        variable: Field,
        values: Sequence[np.ndarray],
        take: Callable[[Box, np.ndarray], None],
    ) -> None:
        """Pass all values to `take` on rank 0, in one array (collective)."""
        comm, wanted = distribution.comm, [[self.schema.whole]]
        wanted += [[] for _ in range(comm.size - 1)]
        with collective(comm):
            transfer = Transfer(distribution, values, wanted, variable.dtype, variable.value_shape)
        with collective(comm):
            receive_all(transfer, take)

    def _write_corners(self, distribution: Distribution, corners: Sequence[np.ndarray]) -> None:
        """Write the large arrays of the geometry (collective)."""
        points = Field("Points", components=3)
        path, rank = self.parts / _GEOMETRY, distribution.comm.rank
        whole: list[np.ndarray] = []
        if self.schema.lines is None and self.kind == "UnstructuredGrid":
            self._gather(distribution, points, corners, lambda _, all: whole.append(all))
        extents: list[hdf5_extent.Hdf5Extent] = []
        with collective(distribution.comm):
            if rank == 0 and self.kind == "StructuredGrid":
                hdf5_extent.create(
                    path, {_geometry("Points"): ((*self.schema.count, 3), points.dtype)}
                )
                extents = [hdf5_extent.Hdf5Extent.of(path, _geometry("Points"))]
            elif rank == 0:
                arrays = large_arrays(self.schema, self.kind, whole[0] if whole else None)
                wanted = {
                    _geometry(name): (values.shape, values.dtype) for name, values in arrays.items()
                }
                hdf5_extent.create(path, wanted)
                for name, array in arrays.items():
                    hdf5_extent.Hdf5Extent.of(path, _geometry(name)).write(array)
        if self.kind == "StructuredGrid":
            self._scatter(distribution, points, corners, extents[0] if extents else None)

    # ---- rank 0 -------------------------------------------------------------------------------

    def _ensure_capacity(self, index: int) -> None:
        """Create a file of parts if another step does not fit; first open an existing series."""
        if not self._open:
            self._resume(None if self.begun else index)
            self._open = self.begun = True
        keep = len(self._steps)
        self.parts.mkdir(parents=True, exist_ok=True)
        if (
            not self._part_files
            or keep >= self._part_files[-1].first + self._part_files[-1].capacity
        ):
            variables = self.schema.variables.values()
            step = max(1, sum(bytes_per_step(self.schema, variable) for variable in variables))
            capacity = max(
                1, min(_FIRST_CAPACITY << len(self._part_files), _MAX_PART_BYTES // step)
            )
            name = f"{len(self._part_files):04d}-{keep:08d}.h5"
            wanted = {
                _place(variable.name): (
                    shape(self.schema, variable, self.kind, capacity),
                    variable.dtype,
                )
                for variable in variables
            }
            hdf5_extent.create(self.parts / name, wanted)
            self._part_files.append(_PartFile(name, keep, capacity))

    def truncate(self, step: int) -> None:
        """Remove the steps after `step` (rank 0).

        Raises:
            OutputError: the path is another file. OSError: it cannot be written.
        """
        if self.path.exists():
            self._resume(step + 1)
            self.merge()

    def _truncate(self, keep: int) -> None:
        """Remove all steps except the first `keep`."""
        del self._steps[keep:], self._times[keep:]
        if keep:
            self._replace(self._virtual)
        else:
            self.path.unlink(missing_ok=True)
        while self._part_files and self._part_files[-1].first >= keep:
            (self.parts / self._part_files.pop().name).unlink(missing_ok=True)

    def _resume(self, index: int | None) -> None:
        """Continue an existing series with its steps before the first one from `index` on."""
        if not self.path.exists():
            shutil.rmtree(self.parts, ignore_errors=True)
            return
        try:
            with h5py.File(self.path, "r") as file:
                same, steps = self._same(file), file[_METADATA]["steps"][...].tolist()
                times = file["VTKHDF/Steps/Values"][...].tolist()
                metadata = file[_METADATA]
                rows = zip(
                    metadata["sections"].asstr(), metadata["first"], metadata["room"], strict=True
                )
                sections = [
                    _PartFile(name, int(first), int(capacity), "merged" in name)
                    for name, first, capacity in rows
                ]
        except (OSError, KeyError) as error:
            raise OutputError(
                f"{self.path} exists and was not written by a pipeline; move it away, or write to "
                "another name."
            ) from error
        keep = len(steps) if index is None else count_before(steps, index)
        if keep == 0:
            shutil.rmtree(self.parts, ignore_errors=True)
            self.path.unlink()
            return
        if not same:
            raise OutputError(
                f"{self.path} has {len(steps)} steps of other fields or points; move it away, or "
                "write to another name."
            )
        self._steps, self._times, self._part_files = steps, times, sections
        if not sections:
            self._resume_merged()
        if keep < len(steps):
            self._truncate(keep)

    def _resume_merged(self) -> None:
        """Use a merged file as file of parts."""
        shutil.rmtree(self.parts, ignore_errors=True)
        self.parts.mkdir()
        self._part_files = [_PartFile("merged.h5", 0, len(self._steps), merged=True)]
        (self.parts / "merged.h5").hardlink_to(self.path)
        if large_shapes(self.schema, self.kind):
            (self.parts / _GEOMETRY).hardlink_to(self.path)
        self._replace(self._virtual)

    def _same(self, file: h5py.File) -> bool:
        """Whether a file has the same points and variables."""
        metadata, group = file[_METADATA], file["VTKHDF/PointData"]
        if (
            tuple(metadata.attrs["count"]) != self.schema.count
            or metadata.attrs["kind"] != self.kind
        ):
            return False
        if sorted(group) != sorted(self.schema.variables):
            return False
        if any(
            group[name].dtype != variable.dtype for name, variable in self.schema.variables.items()
        ):
            return False
        return all(
            np.array_equal(metadata[axis][...], line)
            for axis, line in zip("zyx", self.schema.lines or (), strict=False)
        )

    def _commit(self, index: int, time: float) -> None:
        """Add the step to the file."""
        self._steps.append(index)
        self._times.append(time)
        try:
            self._replace(self._virtual)
        except BaseException:
            del self._steps[-1], self._times[-1]
            raise

    def _replace(self, add: Callable[[h5py.Group, str, tuple[int, ...], np.dtype], None]) -> None:
        """Write a new file, and rename it when it is complete."""
        with hdf5_extent.new_file(self.path) as file:
            group = file.create_group("VTKHDF")
            write_geometry(group, self.schema, self.kind, cells_of(self.schema))
            for name, (size, dtype) in large_shapes(self.schema, self.kind).items():
                add(group, name, size, dtype)
            group.create_group("PointData")
            group.create_group("CellData")
            for name, variable in self.schema.variables.items():
                size = shape(self.schema, variable, self.kind, len(self._steps))
                add(group, f"PointData/{name}", size, variable.dtype)
                group["PointData"][name].attrs.update(variable.attributes)
            write_steps(group, self.schema, self.kind, self._times)
            self._write_metadata(file.create_group(_METADATA), add == self._virtual)

    def _write_metadata(self, metadata: h5py.Group, with_sections: bool) -> None:
        """Write the data for restarts."""
        metadata.attrs.update(self.schema.attributes)
        metadata.attrs["count"], metadata.attrs["kind"] = self.schema.count, self.kind
        metadata["steps"] = np.array(self._steps, np.int64)
        for axis, line in zip("zyx", self.schema.lines or (), strict=False):
            metadata[axis] = line
        sections = self._part_files if with_sections else []
        names = [section.name for section in sections]
        metadata.create_dataset(
            "sections", data=names, dtype=h5py.string_dtype(), shape=(len(names),)
        )
        metadata["first"] = np.array([section.first for section in sections], np.int64)
        metadata["room"] = np.array([section.capacity for section in sections], np.int64)

    def _virtual(
        self, group: h5py.Group, name: str, size: tuple[int, ...], dtype: np.dtype
    ) -> None:
        """Create a virtual dataset of an array in the parts."""
        place, folder = f"VTKHDF/{name}", self.parts.name
        if not name.startswith("PointData/"):
            layout = h5py.VirtualLayout(size, dtype)
            layout[...] = _source(f"{folder}/{_GEOMETRY}", place, size)
            group.create_virtual_dataset(name, layout)
            return
        count = len(self._steps)
        rows = size[0] // count  # of a step
        layout = h5py.VirtualLayout(size, dtype)
        for part, after in zip(
            self._part_files,
            [*(part_file.first for part_file in self._part_files[1:]), count],
            strict=True,
        ):
            here = min(after, count) - part.first
            if here < 1:
                continue
            source_shape = (part.capacity * rows, *size[1:])
            if part.merged and part.capacity == 1 and self.kind != "UnstructuredGrid":
                source_shape = size[1:]
            source = _source(f"{folder}/{part.name}", place, source_shape)
            first = part.first * rows
            part = source if source_shape == size[1:] else source[: here * rows]
            layout[first : first + here * rows] = part
        if count == 1 and self.kind != "UnstructuredGrid":
            layout = self._only_step(size[1:], dtype, place)
        group.create_virtual_dataset(name, layout)

    def _only_step(self, size: tuple[int, ...], dtype: np.dtype, place: str) -> h5py.VirtualLayout:
        """Return the layout of a single step, which has no time axis."""
        part = self._part_files[0]
        layout = h5py.VirtualLayout(size, dtype)
        alone = part.merged and part.capacity == 1  # the file of one step
        within = size if alone else (part.capacity, *size)
        source = _source(f"{self.parts.name}/{part.name}", place, within)
        layout[...] = source if alone else source[0]
        return layout

    def merge(self) -> None:
        """Merge the parts to one plain file; called only on rank 0, without communication.

        Raises:
            OSError: no space; the series stays as it is and readable.
        """
        if not self._steps or not self._part_files:
            return
        with h5py.File(self.path, "r") as old:

            def copy(group: h5py.Group, name: str, size: tuple[int, ...], dtype: np.dtype) -> None:
                source = old["VTKHDF"][name]
                target = group.create_dataset(name, source.shape, dtype)
                for rows in slabs(source.shape, dtype):
                    target[rows] = source[rows]

            self._replace(copy)
        shutil.rmtree(self.parts, ignore_errors=True)
        self._part_files, self._steps, self._times, self._open = [], [], [], False


def _source(file: str, place: str, size: tuple[int, ...]) -> h5py.VirtualSource:
    """Return a virtual source; percent signs, which HDF5 would format, are escaped."""
    return h5py.VirtualSource(file.replace("%", "%%"), place.replace("%", "%%"), size)


def _place(name: str) -> str:
    return f"VTKHDF/PointData/{name}"


def _geometry(name: str) -> str:
    return f"VTKHDF/{name}"
