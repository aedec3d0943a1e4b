"""Open a checkpoint, after all ranks together have verified all of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import google_crc32c
import numpy as np
import zarr

from uzushio._base.parallel.sync import collective, on_root
from uzushio._base.store.array import StoredState
from uzushio._base.store.checkpoint import folder as folders
from uzushio._base.store.checkpoint.manifest import Manifest, checksum, read_manifest
from uzushio._base.store.checkpoint.writing import ACTIONS, chunk_file
from uzushio._base.store.chunks import ChunkGrid
from uzushio.domain.box import Box, intersection
from uzushio.errors import CheckpointError

if TYPE_CHECKING:
    from mpi4py import MPI


@dataclass(frozen=True)
class Checkpoint:
    """Verified checkpoint."""

    path: Path
    manifest: Manifest
    #: Values of the chunks that this rank has verified, by array and index; a state takes them.
    verified: dict[tuple[str, tuple[int, ...]], np.ndarray] = field(default_factory=dict)

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
        """Return a state of some arrays, which have other names in the checkpoint.

        The first state has the verified chunks in memory: their files are not read again.
        """
        arrays = {name: _open_array(self.path, "state", stored) for name, stored in names.items()}
        mine = [key for key in self.verified if key[0] in names.values()]
        kept = {key: self.verified.pop(key) for key in mine}

        def read(name: str, start: tuple[int, ...], shape: tuple[int, ...]) -> np.ndarray:
            if name not in arrays:
                raise CheckpointError(f"checkpoint {self.path} holds no array '{name}'.")
            array, wanted = arrays[name], Box(start, shape)
            grid = ChunkGrid(array.shape, array.chunks)
            if any((names[name], index) not in kept for index in grid.within(wanted)):
                return np.asarray(array[wanted.slices()])
            values = np.empty(shape, array.dtype)
            for index in grid.within(wanted):
                chunk = grid.box(index)
                part = intersection(chunk, wanted)
                values[part.slices(start)] = kept[names[name], index][part.slices(chunk.start)]
            return values

        shapes = {name: self.manifest.shape(stored) for name, stored in names.items()}
        return StoredState(shapes, attributes, read)

    def averages(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Return the arguments of `TimeAverage.restore` (for rank 0)."""
        names = self.manifest.statistics.get("dims", {})
        arrays = {
            name: np.asarray(_open_array(self.path, "statistics", name)[...]) for name in names
        }
        return arrays, dict(self.manifest.statistics)


def open_checkpoint(
    where: Path | str,
    comm: MPI.Comm,
    fallback: bool = False,
    tell: Callable[[str], None] = lambda text: None,
) -> Checkpoint:
    """Find and verify the checkpoint to restart from (collective).

    Args:
        where: folder of a run, of which the newest is taken, or of one checkpoint.
        comm: the ranks, which share the reading.
        fallback: use the checkpoint before a damaged one.
        tell: called with a sentence for each damaged checkpoint.

    Raises:
        CheckpointError: on all ranks, naming the damaged file.
    """
    paths = on_root(comm, lambda: folders.candidates(Path(where)))
    for path, older in zip(paths, [*paths[1:], None], strict=True):
        try:
            return _verified(path, comm)
        except CheckpointError as error:
            if older is None:
                raise CheckpointError(f"{error} There is no older checkpoint.") from error
            if not fallback:
                raise CheckpointError(
                    f"{error} With --restart-fallback, {older.name} is used instead."
                ) from error
            tell(f"{error} Going back to {older.name}.")
    raise AssertionError("candidates are never empty")


def _verified(path: Path, comm: MPI.Comm) -> Checkpoint:
    """Read all of a checkpoint, each rank its share of the chunks."""
    checkpoint = Checkpoint(path, on_root(comm, lambda: _checked_manifest(path)))
    with collective(comm):
        for name in checkpoint.manifest.arrays:
            _check_chunks(checkpoint, name, comm)
        if comm.rank == 0:
            _check_averages(checkpoint)
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


def _check_chunks(checkpoint: Checkpoint, name: str, comm: MPI.Comm) -> None:
    """Read this rank's share of the chunks of an array, and compare their CRC32C.

    Shares are consecutive, so that most chunks are read by the rank that needs them.
    """
    path, manifest = checkpoint.path, checkpoint.manifest
    array = _open_array(path, "state", name)
    if [array.dtype.str, *array.shape] != manifest.arrays[name]:
        raise CheckpointError(
            f"checkpoint {path} is damaged: state/{name}/zarr.json contradicts the manifest."
        )
    grid = ChunkGrid(array.shape, array.chunks)
    indices = [*grid.indices]
    first, end = (len(indices) * rank // comm.size for rank in (comm.rank, comm.rank + 1))
    for index in indices[first:end]:
        file, box = chunk_file(name, index), grid.box(index)
        place = f"{file} ({box} of '{name}')"
        try:
            values = np.asarray(array[box.slices()])
        except (ValueError, OSError, RuntimeError) as error:
            raise CheckpointError(
                f"checkpoint {path} is damaged: {place} has a wrong checksum."
            ) from error
        if file not in manifest.files:
            raise CheckpointError(f"checkpoint {path} is damaged: {file} is not in its manifest.")
        _, crc = manifest.files[file]
        if crc is not None and _checksum(values, grid.chunk) != crc:
            raise _not_the_written(path, place)
        checkpoint.verified[name, index] = values


def _checksum(values: np.ndarray, chunk: tuple[int, ...]) -> int:
    """Return the CRC32C of the chunk of some values, which is padded with zeros."""
    whole = np.zeros(chunk, values.dtype)
    whole[tuple(map(slice, values.shape))] = values
    return int(google_crc32c.value(whole.tobytes()))


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
