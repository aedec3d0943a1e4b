"""Time series of fields in a Zarr v3 group; one rank writes a chunk."""

from __future__ import annotations

import math
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from uzushio._base.parallel.sync import collective, maximum
from uzushio._base.store.chunks import ChunkGrid, consolidate
from uzushio._base.store.distribution import Distribution, Transfer, receive_all
from uzushio._base.store.schema import StoreSchema, unit_attributes
from uzushio.domain.box import Box, Index
from uzushio.domain.fields import Field
from uzushio.errors import OutputError

if TYPE_CHECKING:
    from mpi4py import MPI

#: Attribute of groups written by this module; other groups are not changed.
MARK = "uzushio_extract"
_AXES = ("z", "y", "x")
_MAX_CHUNK_BYTES = 8 << 20  #: default maximum of the bytes of a chunk
#: Default maximum of the bytes of a chunk of several steps, which each of them writes again.
_MAX_REPLACED_BYTES = 128 << 10


@contextmanager
def _naming_path(path: Path) -> Iterator[None]:
    """Add the path to an OSError without file name."""
    try:
        yield
    except OSError as error:
        if error.filename is not None or error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error


def is_extract(path: Path) -> bool:
    """Whether a path is a group written by this module."""
    import zarr

    try:
        return MARK in zarr.open_group(path, mode="r").attrs
    except (OSError, ValueError):
        return False


def count_before(steps: Sequence[int], index: int) -> int:
    """Return the number of steps before the first one with a number of at least `index`."""
    return next((place for place, step in enumerate(steps) if step >= index), len(steps))


def default_chunk(count: Index, value_bytes: int) -> Index:
    """Return the points of a chunk along z, y, x, of at most `_MAX_CHUNK_BYTES`."""
    size = [*count]
    while int(np.prod(size)) * value_bytes > _MAX_CHUNK_BYTES and max(size) > 1:
        longest = max(range(3), key=lambda axis: size[axis])
        size[longest] = -(-size[longest] // 2)
    return tuple(size)


def rounded(values: np.ndarray, tolerance: float) -> tuple[np.ndarray, float]:
    """Round numbers to multiples of a power of two; return them, and the maximum error.

    The power is the largest of at most twice the tolerance, so that no error exceeds it and many
    bits are zero. NaN, infinities, integers and numbers too large for the multiples are unchanged.
    """
    step = math.ldexp(1.0, math.frexp(tolerance)[1])
    if not np.issubdtype(values.dtype, np.floating):
        return values, 0.0
    of = np.finfo(values.dtype)
    if not of.smallest_subnormal <= step <= of.max:
        return values, 0.0
    scale, limit = values.dtype.type(step), step / of.eps
    inside = np.abs(values) < limit  # not NaN either
    result = values.copy()
    result[inside] = np.rint(values[inside] / scale) * scale
    wide = np.longdouble
    errors = np.abs(result[inside].astype(wide) - values[inside].astype(wide))
    return result, float(errors.max(initial=0.0))


class ZarrSeries:
    """Store that grows by steps, and that xarray can open at any time.

    Chunks do not depend on the distribution: the rank with the largest share of a chunk receives
    the rest from other ranks and writes it. A small step shares its chunk with the following ones,
    and the chunk's file is replaced with each of them. A step is complete when the consolidated
    metadata, a single file, are replaced: after a crash the store contains the steps before.
    """

    def __init__(
        self,
        path: Path,
        schema: StoreSchema,
        chunks: Index | None = None,
        steps_per_chunk: int | None = None,
        begun: bool = False,
        compression: str | None = None,
        tolerance: float | None = None,
        exact: Collection[str] = (),
    ) -> None:
        """Set path and schema; no file is opened.

        Args:
            path: path of the group, by convention with the suffix .zarr.
            schema: points and variables.
            chunks: points of a chunk along z, y, x; None: chosen by the size in bytes.
            steps_per_chunk: steps in a chunk of a new store; None: chosen by the size in bytes.
            begun: whether this job has appended steps already; they are kept.
            compression: "lz4" or "zstd" by Blosc, after a shuffle of bits; None: as Zarr's default,
                or "zstd" if there is a tolerance.
            tolerance: maximum absolute error of numbers, which are rounded so that they compress
                better; None: stored as they are.
            exact: variables that are stored as they are nevertheless.
        """
        self.path, self.schema, self.begun = path, schema, begun
        self._compression, self.tolerance, self._exact = compression, tolerance, exact
        self.max_errors: dict[str, float] = {}  #: measured by all ranks, by variable
        self._chunks, self._steps_per_chunk = chunks, steps_per_chunk
        self._steps: list[int] | None = None
        self.bytes = 0  #: bytes written by all ranks, before compression

    def chunk(self, variable: Field) -> Index:
        """Return the points of a chunk along z, y, x."""
        if self._chunks is not None:
            return tuple(map(min, self._chunks, self.schema.count))
        return default_chunk(self.schema.count, variable.dtype.itemsize * variable.components)

    def _steps_of_chunk(self, variable: Field) -> int:
        """Return the number of steps of a variable in a chunk."""
        if self._steps_per_chunk is not None:
            return self._steps_per_chunk
        points = int(np.prod(self.chunk(variable)))
        return max(
            1, _MAX_REPLACED_BYTES // (points * variable.components * variable.dtype.itemsize)
        )

    def append(
        self,
        index: int,
        time: float,
        distribution: Distribution,
        values: Mapping[str, Sequence[np.ndarray]],
    ) -> None:
        """Append a step (collective).

        The first call removes existing steps with this or a later number, of an earlier job.

        Args:
            index: the solver's number of the step.
            time: time of the step.
            distribution: boxes of the points on the ranks.
            values: arrays of each variable on the boxes of this rank.

        Raises:
            OutputError: on all ranks: the path is another store, or cannot be written.
        """
        comm = distribution.comm
        with collective(comm), _naming_path(self.path):
            if comm.rank == 0:
                self._ensure_capacity(index)
        for variable in self.schema.variables.values():
            self._write(variable, distribution, values[variable.name])
        with collective(comm), _naming_path(self.path):
            if comm.rank == 0:
                self._commit(index, time)

    def _write(
        self, variable: Field, distribution: Distribution, values: Sequence[np.ndarray]
    ) -> None:
        """Write this rank's chunks of a variable's last step (collective)."""
        import zarr

        comm, dtype, components = distribution.comm, variable.dtype, variable.value_shape
        grid = ChunkGrid(self.schema.count, self.chunk(variable))
        owned = grid.owned(distribution.table, variable.components * dtype.itemsize)
        array: Any = None
        with collective(comm), _naming_path(self.path):
            transfer = Transfer(distribution, values, owned, dtype, components)
            if owned[comm.rank]:
                array = zarr.open_array(self.path / variable.name, mode="r+")

        errors = [0.0]
        tolerance = None if variable.name in self._exact else self.tolerance

        def put(box: Box, values: np.ndarray) -> None:
            if tolerance is not None:
                values, error = rounded(values, tolerance)
                errors.append(error)
            last = () if self.schema.once else (array.shape[0] - 1,)
            place = tuple(part for a, part in enumerate(box.slices()) if a in self.schema.kept)
            array[(*last, *place)] = values.squeeze(self.schema.dropped)

        with collective(comm), _naming_path(self.path):
            receive_all(transfer, put)
        if tolerance is not None:
            error = comm.allreduce(max(errors), maximum())
            self.max_errors[variable.name] = max(error, self.max_errors.get(variable.name, 0.0))
        self.bytes += self.schema.whole.size * variable.components * dtype.itemsize

    def truncate(self, step: int) -> None:
        """Remove the steps after `step` (rank 0); raises OSError."""
        if not is_extract(self.path):
            return
        steps = self._open(whole_steps=True)["step"][...].reshape(-1).tolist()
        keep = count_before(steps, step + 1)
        if keep == len(steps):
            return
        if keep == 0:
            shutil.rmtree(self.path)
            return
        group = self._open()
        for _, array in group.arrays():
            if (array.metadata.dimension_names or ("",))[0] == "time":
                array.resize((keep, *array.shape[1:]))
        consolidate(self.path)

    # ---- rank 0 -------------------------------------------------------------------------------

    def _ensure_capacity(self, index: int) -> None:
        """Resize all arrays to one step more than the steps before `index`."""
        if self._steps is None:
            self._steps = self._stored_steps(index)
        self.begun = True
        group = self._open() if self.path.exists() else None
        if group is None or not self._steps:
            group = self._create()
        room = len(self._steps) + 1
        if self.schema.once:
            return
        for name in ("time", "step", *self.schema.variables):
            array = group[name]
            if array.shape[0] != room:
                array.resize((room, *array.shape[1:]))

    def _stored_steps(self, index: int) -> list[int]:
        """Return the numbers of the steps to keep; raises `OutputError` for another store."""
        if not self.path.exists():
            return []
        if not is_extract(self.path):
            raise OutputError(
                f"{self.path} exists and was not written by a pipeline; move it away, or write to "
                "another name."
            )
        group = self._open(whole_steps=True)
        steps = [int(step) for step in group["step"][:]]
        kept = steps if self.begun else steps[: count_before(steps, index)]
        if kept and not self._same(group):
            raise OutputError(
                f"{self.path} has {len(steps)} steps of other fields or points; move it away, or "
                "write to another name."
            )
        return kept

    def _same(self, group: Any) -> bool:
        """Whether a store has the same points and variables."""
        for name, variable in self.schema.variables.items():
            if name not in group:
                return False
            array = group[name]
            if array.shape[1:] != self._shape(variable) or array.dtype != variable.dtype:
                return False
        if self.schema.lines is None:
            return True
        return all(
            np.array_equal(np.asarray(group[axis][...]).ravel(), line)
            for axis, line in zip(_AXES, self.schema.lines, strict=True)
        )

    def _shape(self, variable: Field) -> tuple[int, ...]:
        return (*(self.schema.count[axis] for axis in self.schema.kept), *variable.value_shape)

    def _open(self, whole_steps: bool = False) -> Any:
        """Open the group; with `whole_steps`, in the state of its last complete step."""
        import zarr

        return zarr.open_group(
            self.path, mode="r+", use_consolidated=None if whole_steps else False
        )

    def _create(self) -> Any:
        import zarr

        if self.path.exists():
            shutil.rmtree(self.path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        group = zarr.open_group(self.path, mode="w", attributes={**self.schema.attributes, MARK: 1})
        once = self.schema.once
        for name, dtype in (("time", np.float64), ("step", np.int64)):
            group.create_array(
                name,
                shape=() if once else (0,),
                chunks="auto" if once else (1024,),
                dtype=dtype,
                dimension_names=() if once else ("time",),
                attributes=unit_attributes(self.schema.units.get(name, "")),
            )
        for axis, line in zip(range(3), self.schema.lines or (), strict=False):
            kept = axis in self.schema.kept
            array = group.create_array(
                _AXES[axis],
                shape=(len(line),) if kept else (),
                chunks=(max(len(line), 1),) if kept else "auto",
                dtype=np.float64,
                dimension_names=(_AXES[axis],) if kept else (),
                attributes=unit_attributes(self.schema.units.get(_AXES[axis], "")),
            )
            array[...] = line if kept else float(line[0])
        for name, variable in self.schema.variables.items():
            self._create_field(group, name, variable)
        return group

    def _create_field(self, group: Any, name: str, variable: Field) -> None:
        size = self.chunk(variable)
        ahead = 0 if self.schema.once else 1
        names = [*["time"][:ahead], *(_AXES[axis] for axis in self.schema.kept)]
        names += ["component"] if variable.components > 1 else []
        nothing = np.nan if np.issubdtype(variable.dtype, np.floating) else 0
        group.create_array(
            name,
            shape=(*[0][:ahead], *self._shape(variable)),
            chunks=(
                *[self._steps_of_chunk(variable)][:ahead],
                *(size[axis] for axis in self.schema.kept),
                *variable.value_shape,
            ),
            dtype=variable.dtype,
            compressors=self._compressors(variable),
            fill_value=variable.dtype.type(nothing),
            dimension_names=tuple(names),
            attributes={**variable.attributes, "coordinates": " ".join(self._coordinate_names())},
        )

    def _compressors(self, variable: Field) -> Any:
        """Return the compressors of a variable in Zarr."""
        if self._compression is None and self.tolerance is None:
            return "auto"
        from zarr.codecs import BloscCodec

        name: Any = self._compression or "zstd"
        return BloscCodec(
            typesize=variable.dtype.itemsize, cname=name, clevel=5, shuffle="bitshuffle"
        )

    def ratio(self) -> float:
        """Return the bytes of the values of all steps over those of their files (rank 0)."""
        arrays = [self._open()[name] for name in self.schema.variables]
        stored = sum(
            file.stat().st_size
            for name in self.schema.variables
            for file in (self.path / name).rglob("*")
            if file.is_file() and file.name != "zarr.json"
        )
        return float(sum(array.nbytes for array in arrays) / max(1, stored))

    def _coordinate_names(self) -> list[str]:
        """Return the coordinates that xarray does not find by the names of axes."""
        lines = self.schema.dropped if self.schema.lines is not None else ()
        return ["step", *(["time"] if self.schema.once else []), *(_AXES[axis] for axis in lines)]

    def _commit(self, index: int, time: float) -> None:
        """Complete the step by its number, its time and the consolidated metadata."""
        assert self._steps is not None
        group = self._open()
        place = ... if self.schema.once else len(self._steps)
        group["time"][place] = time
        group["step"][place] = index
        for name, error in self.max_errors.items():
            attributes = group[name].attrs
            error = max(error, attributes.get("max_error", 0.0))
            attributes.update(tolerance=self.tolerance, max_error=error)
        consolidate(self.path)
        self._steps.append(index)


def write_whole(
    comm: MPI.Comm,
    path: Path,
    schema: StoreSchema,
    distribution: Distribution,
    values: Mapping[str, Sequence[np.ndarray]],
    step: tuple[int, float] = (0, 0.0),
) -> None:
    """Write a store of one step, given by index and time (collective).

    An existing store is replaced after the new one is complete.
    """
    fresh = path.with_name(f".{path.name}.new")
    with collective(comm):
        if comm.rank == 0:
            shutil.rmtree(fresh, ignore_errors=True)
    ZarrSeries(fresh, schema).append(*step, distribution, values)
    with collective(comm):
        if comm.rank == 0:
            shutil.rmtree(path, ignore_errors=True)
            fresh.rename(path)
