"""Write a checkpoint: one rank writes a chunk, and receives the parts of it from others."""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import zarr

from uzushio import __version__
from uzushio._base.parallel.sync import collective, on_root
from uzushio._base.store.array import DistributedArray, State
from uzushio._base.store.checkpoint import folder as folders
from uzushio._base.store.checkpoint.chunk_file import ChunkFormat, ChunkWriter
from uzushio._base.store.checkpoint.manifest import (
    Entry,
    Manifest,
    read_manifest,
    seal_all,
    sync_all,
    write_manifest,
)
from uzushio._base.store.chunks import ChunkGrid, consolidate
from uzushio._base.store.distribution import Distribution, Transfer, receive_all
from uzushio.domain.box import Box
from uzushio.errors import OutputError

if TYPE_CHECKING:
    from mpi4py import MPI

#: Description of the root group, which has no arrays; xarray shows it.
_ROOT = (
    "Checkpoint: its arrays are in groups. xarray.open_zarr(PATH, group='state') opens the state "
    "of the solver, group='statistics' the averages; uzushio.open_checkpoint(PATH) returns a "
    "solver's fields in physical space."
)


#: Size of a chunk of several planes, and minimum number of such chunks of an array.
_CHUNK_BYTES, _MIN_CHUNKS = 4 << 20, 32
#: Group of the states of actions, inside that of the solver, and key of their attributes in the
#: notes.
ACTIONS = "actions"


@dataclass(frozen=True)
class Snapshot:
    """Content of a checkpoint.

    `averages` and `notes` come from `TimeAverage.stored`; `actions` are the states of the actions
    of the run's pipeline, by their names.
    """

    solver: str
    case: str
    step: int
    time: float
    state: State
    averages: Mapping[str, np.ndarray] = field(default_factory=dict)
    notes: Mapping[str, Any] = field(default_factory=dict)
    actions: Mapping[str, State] = field(default_factory=dict)

    @property
    def arrays(self) -> dict[str, DistributedArray]:
        """Arrays of the solver and of the actions, by their names in the checkpoint."""
        arrays = dict(self.state.arrays)
        for action, state in self.actions.items():
            arrays |= {
                f"{ACTIONS}/{action}/{name}": values for name, values in state.arrays.items()
            }
        return arrays


def write(
    run: Path,
    snapshot: Snapshot,
    keep: int,
    comm: MPI.Comm,
    like: Path | None = None,
    same: Collection[str] = (),
    compression: str | None = None,
) -> Path:
    """Write a checkpoint into the folder of a run, and remove the oldest ones (collective).

    Until its manifest is in place, the new checkpoint is incomplete and no old one is removed.

    Args:
        run: folder of the run.
        snapshot: content.
        keep: number of checkpoints that are kept.
        comm: all ranks.
        like: earlier checkpoint with some of the same arrays.
        same: names of these arrays. Both checkpoints share their files by hard links; a file
            system without links has copies.
        compression: lossless compression of the state, one of `COMPRESSIONS`; None: none.

    Returns:
        The folder of the checkpoint.

    Raises:
        OutputError: on all ranks, after the incomplete checkpoint is removed.
    """
    path = folders.path_of(run, snapshot.step)
    arrays, needed = snapshot.arrays, 0
    try:
        linked = on_root(comm, lambda: _link(path, like, same))
        arrays = {name: array for name, array in arrays.items() if name not in linked}
        needed = sum(array.nbytes for array in arrays.values())
        # A chunk of zeros is stored too, so that a missing chunk is a lost one.
        with zarr.config.set({"array.write_empty_chunks": True}), collective(comm):
            if comm.rank == 0:
                _create(path, snapshot, arrays, needed, compression)
        sealed: dict[str, Entry] = {}
        with ChunkWriter() as writer:
            transfers = _transfers(arrays, comm)
            with collective(comm):
                _write_arrays(path, arrays, transfers, writer, compression)
                sealed = writer.wait()
        written = comm.gather(sealed)
        with collective(comm):
            if written is not None:
                chunks = {file: entry for entries in written for file, entry in entries.items()}
                if like is not None and linked:
                    chunks |= _entries(like, linked)
                write_manifest(path, _manifest(path, snapshot, chunks, compression))
    except Exception as error:
        if comm.rank == 0:
            folders.discard(path)
        if isinstance(error, OutputError):
            raise OutputError(
                f"the checkpoint of step {snapshot.step} ({needed:,} bytes) cannot be written into "
                f"{path.parent}: {error} The checkpoints before it are kept."
            ) from error
        raise
    with collective(comm):
        if comm.rank == 0:
            folders.prune(run, keep)
    return path


def _link(path: Path, like: Path | None, same: Collection[str]) -> set[str]:
    """Make the folder, and link the arrays `same` into it; returns those that are linked."""
    if path.exists():
        folders.remove(path)
    path.mkdir(parents=True)
    linked: set[str] = set()
    if like is None or like == path:
        return linked
    for name in same:
        source, target = like / "state" / name, path / "state" / name
        try:
            target.mkdir(parents=True)
            for file in source.iterdir():
                os.link(file, target / file.name)
        except OSError:  # a file system without links, for example
            shutil.rmtree(target, ignore_errors=True)
            break
        linked.add(name)
    return linked


def _create(
    path: Path,
    snapshot: Snapshot,
    arrays: Mapping[str, DistributedArray],
    needed: int,
    compression: str | None,
) -> None:
    """Create the arrays without their chunks, and write the averages."""
    free = shutil.disk_usage(path).free
    if free < needed:
        raise OutputError(
            f"only {free:,} bytes are free there; free some space, or choose another folder with "
            "--out."
        )
    root = zarr.open_group(path, mode="a", zarr_format=3, attributes={"description": _ROOT})
    state = root.create_group("state")
    for name, array in arrays.items():
        _create_array(state, name, array.shape, _format(array, compression), array.dims)
    for name, values in snapshot.state.coordinates.items():
        _create_array(state, name, values.shape, _whole(values), (name,))[...] = values
    averages = root.create_group("statistics")
    dims = snapshot.notes.get("dims", {})
    for name, values in snapshot.averages.items():
        axes = tuple(dims.get(name, ()))
        target = _create_array(averages, name, values.shape, _whole(values), axes)
        target[...] = values
    consolidate(path)


def _create_array(
    group: zarr.Group,
    name: str,
    shape: tuple[int, ...],
    of: ChunkFormat,
    dims: tuple[str, ...] = (),
) -> zarr.Array[Any]:
    return group.create_array(
        name,
        shape=shape,
        chunks=tuple(max(1, extent) for extent in of.chunk),
        dtype=of.dtype,
        compressors=of.compressors,
        fill_value=0,
        # xarray does not open arrays whose axes have no names.
        dimension_names=dims or tuple(f"{name}_{axis}" for axis in range(len(shape))),
        # Flat names: one folder for an array instead of several for each chunk.
        chunk_key_encoding={"name": "default", "separator": "."},
    )


def _grid(array: DistributedArray) -> ChunkGrid:
    """Return the chunks of an array: planes of the first axis unless it has its own.

    Several planes where one is small, as a file for each would wait for the disk too often, but
    not so many that ranks would have no chunk to write.
    """
    if array.chunks:
        return ChunkGrid(array.shape, array.chunks)
    plane = array.nbytes // max(1, array.shape[0]) if array.shape else 1
    planes = max(1, min(_CHUNK_BYTES // max(1, plane), array.shape[0] // _MIN_CHUNKS))
    return ChunkGrid(array.shape, (planes, *array.shape[1:]))


def _format(array: DistributedArray, compression: str | None) -> ChunkFormat:
    return ChunkFormat(_grid(array).chunk, np.dtype(array.dtype), compression)


def _whole(values: np.ndarray) -> ChunkFormat:
    """Return the format of an array of a single chunk."""
    return ChunkFormat(values.shape, values.dtype)


def _transfers(arrays: Mapping[str, DistributedArray], comm: MPI.Comm) -> dict[str, Transfer]:
    """Plan the messages to the writers of all arrays' chunks (collective).

    All arrays together: each time that ranks wait for each other costs a time slice of the system
    where other programs use the cores.
    """
    tables = comm.allgather([array.boxes for array in arrays.values()])
    transfers = {}
    with collective(comm):
        for (name, array), table in zip(arrays.items(), zip(*tables, strict=True), strict=True):
            owned = _grid(array).owned(table, array.dtype.itemsize, covered=True)
            boxes = Distribution(comm, table=table)
            transfers[name] = Transfer(boxes, array.values, owned, array.dtype, covered=True)
    return transfers


def _write_arrays(
    path: Path,
    arrays: Mapping[str, DistributedArray],
    transfers: dict[str, Transfer],
    writer: ChunkWriter,
    compression: str | None,
) -> None:
    """Write this rank's chunks, and send values to the other writers (collective).

    A rank that fails to write one array takes part in the messages of the others nevertheless.

    Raises:
        Exception: the first failure, on this rank alone.
    """
    failure: Exception | None = None
    for name, array in arrays.items():
        put = partial(_put, path, name, _grid(array), _format(array, compression), writer)
        try:
            receive_all(transfers.pop(name), put)  # and release its memory
        except Exception as error:
            failure = failure or error
    if failure is not None:
        raise failure


def _put(
    path: Path,
    name: str,
    grid: ChunkGrid,
    of: ChunkFormat,
    writer: ChunkWriter,
    box: Box,
    values: np.ndarray,
) -> None:
    """Write the chunks of a box of whole chunks."""
    indices = [*grid.within(box)]
    chunks = (values[grid.box(index).slices(box.start)] for index in indices)
    files = [chunk_file(name, index) for index in indices]
    writer.write(path, [*zip(files, chunks, strict=True)], of)


def _entries(checkpoint: Path, names: Collection[str]) -> dict[str, Entry]:
    """Return the entries of some arrays in the manifest of a checkpoint."""
    files = read_manifest(checkpoint).files
    return {
        file: entry
        for file, entry in files.items()
        if file.rpartition("/")[0].removeprefix("state/") in names
    }


def chunk_file(name: str, index: Sequence[int]) -> str:
    """Return the path of a chunk inside a checkpoint."""
    return f"state/{name}/{'.'.join(map(str, ('c', *index)))}"


def _manifest(
    path: Path, snapshot: Snapshot, chunks: Mapping[str, Entry], compression: str | None
) -> Manifest:
    """List the files of a checkpoint, after a check that no chunk is missing.

    Args:
        path: folder of the checkpoint.
        snapshot: content of the checkpoint.
        chunks: entries of all chunks of the state, which are on the disk.
        compression: compression of the chunks.
    """
    made = [(Path(folder), names) for folder, _, names in os.walk(path)]
    there = {str((folder / name).relative_to(path)) for folder, names in made for name in names}
    for name, array in snapshot.arrays.items():
        for index in _grid(array).indices:
            file = chunk_file(name, index)
            if file not in there or file not in chunks:
                raise OutputError(
                    f"{path / file} was written but is not there; check the file system."
                )
    files = {**chunks, **seal_all(path, sorted(there - chunks.keys()))}
    sync_all([folder for folder, _ in made])
    return Manifest(
        solver=snapshot.solver,
        case=snapshot.case,
        version=__version__,
        step=snapshot.step,
        time=snapshot.time,
        attributes=snapshot.state.attributes,
        statistics={
            **snapshot.notes,
            ACTIONS: {name: state.attributes for name, state in snapshot.actions.items()},
        },
        arrays={
            name: [np.dtype(array.dtype).str, *array.shape]
            for name, array in snapshot.arrays.items()
        },
        files=files,
        compression=_ratio(snapshot, chunks, compression),
    )


def _ratio(
    snapshot: Snapshot, chunks: Mapping[str, Entry], compression: str | None
) -> dict[str, Any] | None:
    """Return the name of a compression, and the bytes of the values over those of the files."""
    if compression is None:
        return None
    values = sum(array.nbytes for array in snapshot.arrays.values())
    return {"name": compression, "ratio": values / max(1, sum(size for size, _ in chunks.values()))}
