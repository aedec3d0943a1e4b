"""Open a checkpoint, after all ranks together have verified all of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import zarr

from uzushio._base.parallel.sync import TimedCollective, collective, on_root
from uzushio._base.store.array import DistributedArray, StoredState
from uzushio._base.store.checkpoint import folder as folders
from uzushio._base.store.checkpoint.chunk_file import ChunkFormat, read_chunk
from uzushio._base.store.checkpoint.manifest import Manifest, checksum, read_manifest
from uzushio._base.store.checkpoint.writing import ACTIONS, chunk_file
from uzushio._base.store.chunks import ChunkGrid
from uzushio._base.store.scatter import Scatter
from uzushio.domain.box import Box, intersection
from uzushio.errors import CheckpointError

if TYPE_CHECKING:
    from mpi4py import MPI


#: Maximum bytes of the chunks of an array that `StoredArray.read` keeps, or two chunks.
_MAX_KEPT_BYTES = 32 << 20


@dataclass(frozen=True)
class Checkpoint:
    """Checkpoint whose manifest and files agree; reading a chunk compares its checksum."""

    path: Path
    manifest: Manifest
    comm: MPI.Comm

    def state(self) -> StoredState:
        """Return the state for `Solver.restore`; any rank may read any box."""
        own = (name for name in self.manifest.arrays if not name.startswith(f"{ACTIONS}/"))
        return self._stored({name: name for name in own}, self.manifest.attributes)

    def actions(self) -> dict[str, StoredState]:
        """Return the states of the actions of the run's pipeline, by their names."""
        states = {}
        for action, attributes in self.manifest.statistics.get(ACTIONS, {}).items():
            prefix = f"{ACTIONS}/{action}/"
            own = (name for name in self.manifest.arrays if name.startswith(prefix))
            names = {name.removeprefix(prefix): name for name in own}
            states[action] = self._stored(names, attributes)
        return states

    def _stored(self, names: Mapping[str, str], attributes: Mapping[str, Any]) -> StoredState:
        """Return a state of some arrays, which have other names in the checkpoint."""
        arrays = {name: StoredArray(self, stored) for name, stored in names.items()}

        def known(name: str) -> StoredArray:
            if name not in arrays:
                raise CheckpointError(f"checkpoint {self.path} holds no array '{name}'.")
            return arrays[name]

        def read(name: str, start: tuple[int, ...], shape: tuple[int, ...]) -> np.ndarray:
            return known(name).read(Box(start, shape))

        shapes = {name: self.manifest.shape(stored) for name, stored in names.items()}
        return StoredState(
            shapes, attributes, read, lambda name, array: known(name).fill(array, self.comm)
        )

    def averages(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Return the arguments of `TimeAverage.restore` (for rank 0)."""
        names = self.manifest.statistics.get("dims", {})
        arrays = {
            name: np.asarray(_open_array(self.path, "statistics", name)[...]) for name in names
        }
        return arrays, dict(self.manifest.statistics)


class StoredArray:
    """Array of the state in a checkpoint, read chunk by chunk."""

    def __init__(self, checkpoint: Checkpoint, name: str) -> None:
        """Open an array; raises `CheckpointError` if its metadata contradict the manifest."""
        path = checkpoint.path
        array = _open_array(path, "state", name)
        if [array.dtype.str, *array.shape] != checkpoint.manifest.arrays[name]:
            raise CheckpointError(
                f"checkpoint {path} is damaged: state/{name}/zarr.json contradicts the manifest."
            )
        self.grid = ChunkGrid(array.shape, array.chunks)
        self._path, self._name, self._files = path, name, checkpoint.manifest.files
        compressed = next((c.cname.value for c in array.compressors if hasattr(c, "cname")), None)
        self._format = ChunkFormat(array.chunks, array.dtype, compressed)
        kept = max(2, _MAX_KEPT_BYTES // max(1, self._format.nbytes))
        self._chunk = lru_cache(kept)(self.chunk)

    def chunk(self, index: tuple[int, ...], memory: np.ndarray | None = None) -> np.ndarray:
        """Read a chunk, without its padding; raises `CheckpointError`."""
        file, box = chunk_file(self._name, index), self.grid.box(index)
        place = f"{file} ({box} of '{self._name}')"
        if file not in self._files:
            raise CheckpointError(
                f"checkpoint {self._path} is damaged: {file} is not in its manifest."
            )
        try:
            values, crc = read_chunk(self._path / file, self._format, memory)
        except (ValueError, OSError) as error:
            raise CheckpointError(
                f"checkpoint {self._path} is damaged: {place} has a wrong checksum."
            ) from error
        if self._files[file][1] not in (None, crc):
            raise _not_the_written(self._path, place)
        return values[tuple(map(slice, box.count))]

    def read(self, wanted: Box) -> np.ndarray:
        """Read a box on this rank alone; keeps the last chunks in memory."""
        values = np.empty(wanted.count, self._format.dtype)
        for index in self.grid.within(wanted):
            chunk = self.grid.box(index)
            part = intersection(chunk, wanted)
            values[part.slices(wanted.start)] = self._chunk(index)[part.slices(chunk.start)]
        return values

    def fill(self, array: DistributedArray, comm: MPI.Comm) -> None:
        """Read the parts of an array; each needed chunk is read by one rank (collective)."""
        scatter = Scatter(comm, self.grid, array.boxes, self._format.dtype)
        with collective(comm):
            scatter.run(self.chunk, array.values)

    def verify(self, comm: MPI.Comm) -> None:
        """Read this rank's share of the chunks, and compare their checksums."""
        indices = [*self.grid.indices]
        first, end = (len(indices) * rank // comm.size for rank in (comm.rank, comm.rank + 1))
        for index in indices[first:end]:
            self.chunk(index)


def open_checkpoint(
    where: Path | str,
    comm: MPI.Comm,
    fallback: bool = False,
    tell: Callable[[str], None] = lambda text: None,
    use: Callable[[Checkpoint], None] | None = None,
) -> Checkpoint:
    """Find and verify the checkpoint to restart from (collective).

    Args:
        where: folder of a run, of which the newest is taken, or of one checkpoint.
        comm: the ranks, which share the reading.
        fallback: use the checkpoint before a damaged one.
        tell: called with a sentence for each damaged checkpoint.
        use: takes the state, with `StoredState.fill` (collective). Chunks are then verified as
            they are read, and no chunk is read for its checksum alone. None: the ranks read all
            chunks once to verify them.

    Raises:
        CheckpointError: on all ranks, naming the damaged file.
    """
    paths = on_root(comm, lambda: folders.candidates(Path(where)))
    for path, older in zip(paths, [*paths[1:], None], strict=True):
        try:
            return _verified(path, comm, use)
        except CheckpointError as error:
            if older is None:
                raise CheckpointError(f"{error} There is no older checkpoint.") from error
            if not fallback:
                raise CheckpointError(
                    f"{error} With --restart-fallback, {older.name} is used instead."
                ) from error
            tell(f"{error} Going back to {older.name}.")
    raise AssertionError("candidates are never empty")


def _verified(path: Path, comm: MPI.Comm, use: Callable[[Checkpoint], None] | None) -> Checkpoint:
    """Verify a checkpoint: all chunks, each rank its share, or those that `use` reads."""
    checkpoint = Checkpoint(path, on_root(comm, lambda: _checked_manifest(path)), comm)
    with collective(comm):
        for name in checkpoint.manifest.arrays:
            array = StoredArray(checkpoint, name)
            if use is None or name.startswith(f"{ACTIONS}/"):
                array.verify(comm)
        if comm.rank == 0:
            _check_averages(checkpoint)
    if use is not None:
        # A solver may read by `StoredState.read`, which fails on one rank alone.
        with TimedCollective(comm).block("the reading of a checkpoint"):
            use(checkpoint)
    return checkpoint


def _checked_manifest(path: Path) -> Manifest:
    """Return the manifest, after a comparison with the name of the folder and with the files."""
    manifest = read_manifest(path)
    if folders.step_of(path) not in (None, manifest.step):
        raise CheckpointError(
            f"checkpoint {path} is damaged: its manifest is of step {manifest.step}."
        )
    _check_files(path, manifest)
    return manifest


def _check_files(path: Path, manifest: Manifest) -> None:
    """Compare the files with the manifest; Zarr would read a lost chunk as zeros.

    The checksums of chunks of the state are compared when they are read.
    """
    for name, (size, crc) in manifest.files.items():
        try:
            actual_size = os.stat(path / name).st_size
        except OSError as error:
            reason = error.strerror or "not readable"
            raise CheckpointError(f"checkpoint {path} is damaged: {name}: {reason}.") from error
        if actual_size != size:
            raise CheckpointError(
                f"checkpoint {path} is damaged: {name} is truncated or altered "
                f"({actual_size:,} bytes instead of {size:,})."
            )
        chunk = name.startswith("state/") and not name.endswith("zarr.json")
        if not chunk and crc is not None and checksum(path / name) != crc:
            raise _not_the_written(path, name)


def _not_the_written(path: Path, what: str) -> CheckpointError:
    return CheckpointError(
        f"checkpoint {path} is damaged: {what} is not what was written there, but of another "
        "array, place or checkpoint."
    )


def _check_averages(checkpoint: Checkpoint) -> None:
    try:
        checkpoint.averages()
    except (ValueError, OSError, RuntimeError) as error:
        raise CheckpointError(
            f"checkpoint {checkpoint.path} is damaged: its statistics cannot be read ({error})."
        ) from error


def _open_array(path: Path, group: str, name: str) -> zarr.Array[Any]:
    try:
        return zarr.open_array(path / group / name, mode="r", zarr_format=3)
    except (ValueError, KeyError, OSError, TypeError) as error:
        raise CheckpointError(
            f"checkpoint {path} is damaged: {group}/{name}/zarr.json cannot be read ({error})."
        ) from error
