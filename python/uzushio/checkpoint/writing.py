"""Write a checkpoint: each group of ranks that share planes sends them to one writer."""

from __future__ import annotations

import math
import os
import shutil
import warnings
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import zarr
from zarr.codecs import Crc32cCodec

from uzushio import __version__
from uzushio.checkpoint import folder as folders
from uzushio.checkpoint.gather import Box, Gatherer, boxes_of
from uzushio.checkpoint.manifest import (
    Entry,
    Manifest,
    checksum,
    read_manifest,
    seal_all,
    sync_all,
    write_manifest,
)
from uzushio.errors import OutputError
from uzushio.parallel.collective import collective
from uzushio.solver import DistributedArray, State

if TYPE_CHECKING:
    from mpi4py import MPI

#: What the group at the root, which has no arrays of its own, says of itself: xarray shows it.
_ROOT = (
    "Checkpoint: its arrays are in groups. xarray.open_zarr(PATH, group='state') opens what the "
    "solver goes on from, group='statistics' the averages; uzushio.open_checkpoint(PATH) returns a "
    "solver's fields in physical space."
)


@dataclass(frozen=True)
class Snapshot:
    """What a checkpoint holds. `averages` and `notes` come from `TimeAverage.stored`."""

    solver: str
    case: str
    step: int
    time: float
    state: State
    averages: Mapping[str, np.ndarray] = field(default_factory=dict)
    notes: Mapping[str, Any] = field(default_factory=dict)


def write(
    run: Path,
    snapshot: Snapshot,
    keep: int,
    comm: MPI.Comm,
    like: Path | None = None,
    same: Collection[str] = (),
) -> Path:
    """Write a checkpoint into the folder of a run and remove what is no longer kept (collective).

    Until its manifest is in place, nothing of the new checkpoint counts and no old one is touched.

    Args:
        run: folder of the run.
        snapshot: what to write.
        keep: checkpoints that are kept.
        comm: all ranks.
        like: a checkpoint on the disk that some arrays are the same as in.
        same: their names. Both checkpoints share their files (hard links), where the file system
            can; else they are written again.

    Returns:
        The folder of the checkpoint.

    Raises:
        OutputError: on all ranks, after removing what was written of it.
    """
    path = folders.path_of(run, snapshot.step)
    arrays, needed = dict(snapshot.state.arrays), 0
    try:
        linked: set[str] = set()
        with collective(comm):
            if comm.rank == 0:
                linked = _link(path, like, same)
        linked = comm.bcast(linked)
        arrays = {name: array for name, array in arrays.items() if name not in linked}
        needed = sum(math.prod(a.shape) * a.data.dtype.itemsize for a in arrays.values())
        boxes = {name: boxes_of(array, comm) for name, array in arrays.items()}
        # A plane of zeros is stored too, so that a chunk that is not there is a lost one.
        with zarr.config.set({"array.write_empty_chunks": True}):
            with collective(comm):
                if comm.rank == 0:
                    _create(path, snapshot, arrays, needed)
            gatherer = Gatherer(comm)
            with collective(comm):
                for name, array in arrays.items():
                    gatherer.reserve(array, boxes[name])
            mine: dict[str, Entry] = {}
            with collective(comm):
                mine = _write_arrays(path, arrays, boxes, gatherer)
        written = comm.gather(mine)
        with collective(comm):
            if written is not None:
                planes = {name: entry for one in written for name, entry in one.items()}
                if like is not None and linked:
                    planes |= _entries(like, linked)
                write_manifest(path, _manifest(path, snapshot, planes))
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
    """Make the folder, and in it all of `same` that can be linked; returns which those are."""
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
        except OSError:  # as of file systems without links
            shutil.rmtree(target, ignore_errors=True)
            break
        linked.add(name)
    return linked


def _create(
    path: Path, snapshot: Snapshot, arrays: Mapping[str, DistributedArray], needed: int
) -> None:
    """Make arrays without their planes, and the averages."""
    free = shutil.disk_usage(path).free
    if free < needed:
        raise OutputError(
            f"only {free:,} bytes are free there; free some space, or choose another folder with "
            "--out."
        )
    root = zarr.open_group(path, mode="a", zarr_format=3, attributes={"description": _ROOT})
    state = root.create_group("state")
    for name, array in arrays.items():
        _create_array(state, name, array.shape, (1, *array.shape[1:]), array.data.dtype, array.dims)
    for name, values in snapshot.state.coordinates.items():
        _create_array(state, name, values.shape, values.shape, values.dtype, (name,))[...] = values
    averages = root.create_group("statistics")
    dims = snapshot.notes.get("dims", {})
    for name, values in snapshot.averages.items():
        axes = tuple(dims.get(name, ()))
        target = _create_array(averages, name, values.shape, values.shape, values.dtype, axes)
        target[...] = values
    _consolidate(path)


def _consolidate(path: Path) -> None:
    """Put the metadata of all arrays into one file, without which xarray warns."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the specification does not have this yet
        zarr.consolidate_metadata(str(path))


def _create_array(
    group: zarr.Group,
    name: str,
    shape: tuple[int, ...],
    chunks: tuple[int, ...],
    dtype: np.dtype,
    dims: tuple[str, ...] = (),
) -> zarr.Array[Any]:
    return group.create_array(
        name,
        shape=shape,
        chunks=tuple(max(1, extent) for extent in chunks),
        dtype=dtype,
        compressors=[Crc32cCodec()],
        fill_value=0,
        # xarray opens no array without names.
        dimension_names=dims or tuple(f"{name}_{axis}" for axis in range(len(shape))),
        # Flat names: one folder for an array instead of three for each plane.
        chunk_key_encoding={"name": "default", "separator": "."},
    )


def _write_arrays(
    path: Path,
    arrays: Mapping[str, DistributedArray],
    boxes: Mapping[str, list[Box]],
    gatherer: Gatherer,
) -> dict[str, Entry]:
    """Write this rank's planes, or send them to the rank that does, and wait for the disk.

    A writer that fails still takes what the others send, so that none of them waits for ever.

    Returns:
        Entries for the manifest of the planes that this rank wrote.
    """
    failure: Exception | None = None
    written: list[str] = []
    for name, array in arrays.items():
        target: zarr.Array[Any] | None = None
        for first, planes in gatherer.planes(array, boxes[name]):
            if failure is not None:
                continue
            try:
                target = target or zarr.open_array(path / "state" / name, mode="r+", zarr_format=3)
                target[first : first + len(planes)] = planes
                written += [
                    f"state/{name}/{chunk_name(first + plane, planes.ndim)}"
                    for plane in range(len(planes))
                ]
            except Exception as error:  # raised when all is received
                failure = error
    if failure is not None:
        raise failure
    return dict(zip(written, seal_all([path / name for name in written]), strict=True))


def _entries(checkpoint: Path, names: Collection[str]) -> dict[str, Entry]:
    """What the manifest of a checkpoint lists of some arrays."""
    files = read_manifest(checkpoint).files
    return {
        file: entry
        for file, entry in files.items()
        if file.rpartition("/")[0].removeprefix("state/") in names
    }


def chunk_name(plane: int, dimensions: int) -> str:
    """The file of a plane in the folder of its array."""
    return ".".join(["c", str(plane), *["0"] * (dimensions - 1)])


def _manifest(path: Path, snapshot: Snapshot, planes: Mapping[str, Entry]) -> Manifest:
    """List what was written, after checking that no plane is missing.

    Args:
        path: of the checkpoint.
        snapshot: what is in it.
        planes: entries of all chunks of the state; the writers have waited for the disk.
    """
    made = [(Path(folder), names) for folder, _, names in os.walk(path)]
    there = {str((folder / name).relative_to(path)) for folder, names in made for name in names}
    for name, array in snapshot.state.arrays.items():
        for plane in range(array.shape[0]):
            file = f"state/{name}/{chunk_name(plane, len(array.shape))}"
            if file not in there or file not in planes:
                raise OutputError(
                    f"{path / file} was written but is not there; check the file system."
                )
    others = sorted(there - planes.keys())
    sync_all([*(path / name for name in others), *(folder for folder, _ in made)])
    return Manifest(
        solver=snapshot.solver,
        case=snapshot.case,
        version=__version__,
        step=snapshot.step,
        time=snapshot.time,
        attributes=snapshot.state.attributes,
        statistics=snapshot.notes,
        arrays={
            name: [array.data.dtype.str, *array.shape]
            for name, array in snapshot.state.arrays.items()
        },
        files={
            **planes,
            **{name: ((path / name).stat().st_size, checksum(path / name)) for name in others},
        },
    )
