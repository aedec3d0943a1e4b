"""Fields over time in a Zarr v3 group, written by all ranks, each its own chunks."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from uzushio.errors import OutputError
from uzushio.extracts.frame import Frame, Variable
from uzushio.extracts.spread import Spread, common
from uzushio.parallel.collective import collective
from uzushio.staging.box import Box, Triple

#: Attribute of a group that this module wrote; others are not touched.
MARK = "uzushio_extract"
_AXES = ("z", "y", "x")
_CHUNK = 8 << 20  #: bytes of a chunk, at most, unless told otherwise


@contextmanager
def _blamed(path: Path) -> Iterator[None]:
    """Say where it was that the system refused something, where it did not say so itself."""
    try:
        yield
    except OSError as error:
        if error.filename is not None or error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error


def is_ours(path: Path) -> bool:
    """Whether a path is a group that this module wrote."""
    import zarr

    try:
        return MARK in zarr.open_group(path, mode="r").attrs
    except (OSError, ValueError):
        return False


class ZarrSeries:
    """A store that grows by a step at a time, and that xarray opens at any moment.

    Each array has a chunk or more for each step. Chunks do not depend on who holds what: the rank
    that has most of a chunk gets the rest of it from its neighbours and writes it. A step counts
    once the consolidated metadata say so, which are one file that is replaced in the end: after
    a crash the store holds the steps before.
    """

    def __init__(self, path: Path, frame: Frame, chunks: Triple | None = None) -> None:
        """Know what to write; nothing is touched yet.

        Args:
            path: of the group; ends in .zarr by custom.
            frame: points and quantities.
            chunks: points of a chunk along z, y, x; None: chosen by their bytes.
        """
        self.path, self.frame = path, frame
        self._chunks = chunks
        self._steps: list[int] | None = None
        self.bytes = 0  #: that this rank wrote, before compression

    def chunk(self, variable: Variable) -> Triple:
        """Points of a chunk along z, y, x."""
        if self._chunks is not None:
            z, y, x = (min(a, b) for a, b in zip(self._chunks, self.frame.count, strict=True))
            return z, y, x
        size = [*self.frame.count]
        each = variable.dtype.itemsize * variable.components
        while int(np.prod(size)) * each > _CHUNK and max(size) > 1:
            longest = max(range(3), key=lambda axis: size[axis])
            size[longest] = -(-size[longest] // 2)
        return size[0], size[1], size[2]

    def append(
        self, index: int, time: float, spread: Spread, values: Mapping[str, Sequence[np.ndarray]]
    ) -> None:
        """Add a step (collective). Steps of the same number or later ones are replaced.

        Args:
            index: the solver's number of the step.
            time: of it.
            spread: which boxes of the frame's points the ranks hold.
            values: of each variable, on the boxes of this rank.

        Raises:
            OutputError: on all ranks: the path holds something else, or cannot be written.
        """
        comm = spread.comm
        with collective(comm), _blamed(self.path):
            if comm.rank == 0:
                self._make_room(index)
        for name, variable in self.frame.variables.items():
            owned = self._owned(spread, variable)
            arrays = spread.exchange(values[name], owned, variable.dtype, variable.shape)
            with collective(comm), _blamed(self.path):
                if arrays:
                    self._write(name, owned[comm.rank], arrays)
        with collective(comm), _blamed(self.path):
            if comm.rank == 0:
                self._commit(index, time)

    def _owned(self, spread: Spread, variable: Variable) -> list[list[Box]]:
        """For each rank the chunks that it writes: those of which it has most."""
        size, most = self.chunk(variable), dict[Triple, tuple[int, int]]()
        for rank, boxes in enumerate(spread.table):
            shares: dict[Triple, int] = {}
            for box in boxes:
                ranges = [
                    range(s // n, -(-e // n))
                    for s, e, n in zip(box.start, box.stop, size, strict=True)
                ]
                for z in ranges[0]:
                    for y in ranges[1]:
                        for x in ranges[2]:
                            both = common(self._place((z, y, x), size), box)
                            if both is not None:
                                shares[z, y, x] = shares.get((z, y, x), 0) + both.size
            for place, share in shares.items():
                if share > most.get(place, (0, 0))[0]:
                    most[place] = (share, rank)
        owned: list[list[Box]] = [[] for _ in spread.table]
        for place, (_, rank) in most.items():
            owned[rank].append(self._place(place, size))
        return owned

    def _place(self, chunk: Triple, size: Triple) -> Box:
        """The points of a chunk."""
        start = [i * n for i, n in zip(chunk, size, strict=True)]
        count = [
            min(n, whole - s) for n, whole, s in zip(size, self.frame.count, start, strict=True)
        ]
        return Box((start[0], start[1], start[2]), (count[0], count[1], count[2]))

    def _write(self, name: str, boxes: Sequence[Box], arrays: Sequence[np.ndarray]) -> None:
        import zarr

        array: Any = zarr.open_array(self.path / name, mode="r+")
        last = () if self.frame.once else (array.shape[0] - 1,)
        for box, values in zip(boxes, arrays, strict=True):
            place = tuple(part for a, part in enumerate(box.slices()) if a in self.frame.kept)
            array[(*last, *place)] = values.reshape(
                [n for a, n in enumerate(values.shape) if a not in self.frame.dropped]
            )
            self.bytes += values.nbytes

    # ---- rank 0 -------------------------------------------------------------------------------

    def _make_room(self, index: int) -> None:
        """Make all arrays one step longer than the steps that stay."""
        if self._steps is None:
            self._steps = self._found(index)
        self._steps = [step for step in self._steps if step < index]
        group = self._open() if self.path.exists() else None
        if group is None or not self._steps:
            group = self._create()
        room = len(self._steps) + 1
        if self.frame.once:
            return
        for name in ("time", "step", *self.frame.variables):
            array = group[name]
            if array.shape[0] != room:
                array.resize((room, *array.shape[1:]))

    def _found(self, index: int) -> list[int]:
        """Numbers of the steps that are there, if they can be gone on with."""
        if not self.path.exists():
            return []
        if not is_ours(self.path):
            raise OutputError(
                f"{self.path} is there, and no pipeline wrote it; move it away, or write to "
                "another name."
            )
        group = self._open(whole_steps=True)
        steps = [int(step) for step in group["step"][:]]
        if any(step < index for step in steps) and not self._same(group):
            raise OutputError(
                f"{self.path} holds {len(steps)} steps of other fields or points; move it away, "
                "or write to another name."
            )
        return steps

    def _same(self, group: Any) -> bool:
        """Whether a store has the same points and quantities."""
        for name, variable in self.frame.variables.items():
            if name not in group:
                return False
            array = group[name]
            if array.shape[1:] != self._shape(variable) or array.dtype != variable.dtype:
                return False
        if self.frame.lines is None:
            return True
        return all(
            np.array_equal(np.asarray(group[axis][...]).ravel(), line)
            for axis, line in zip(_AXES, self.frame.lines, strict=True)
        )

    def _shape(self, variable: Variable) -> tuple[int, ...]:
        return (*(self.frame.count[axis] for axis in self.frame.kept), *variable.shape)

    def _open(self, whole_steps: bool = False) -> Any:
        """The group as it is, or as it was when its last step was whole."""
        import zarr

        return zarr.open_group(
            self.path, mode="r+", use_consolidated=None if whole_steps else False
        )

    def _create(self) -> Any:
        import zarr

        if self.path.exists():
            shutil.rmtree(self.path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        group = zarr.open_group(self.path, mode="w", attributes={**self.frame.attributes, MARK: 1})
        once = self.frame.once
        for name, dtype in (("time", np.float64), ("step", np.int64)):
            group.create_array(
                name,
                shape=() if once else (0,),
                chunks="auto" if once else (1024,),
                dtype=dtype,
                dimension_names=() if once else ("time",),
            )
        for axis, line in zip(range(3), self.frame.lines or (), strict=False):
            kept = axis in self.frame.kept
            array = group.create_array(
                _AXES[axis],
                shape=(len(line),) if kept else (),
                chunks=(max(len(line), 1),) if kept else "auto",
                dtype=np.float64,
                dimension_names=(_AXES[axis],) if kept else (),
            )
            array[...] = line if kept else float(line[0])
        for name, variable in self.frame.variables.items():
            self._create_field(group, name, variable)
        return group

    def _create_field(self, group: Any, name: str, variable: Variable) -> None:
        size = self.chunk(variable)
        ahead = 0 if self.frame.once else 1
        names = [*["time"][:ahead], *(_AXES[axis] for axis in self.frame.kept)]
        names += ["component"] if variable.components > 1 else []
        nothing = np.nan if np.issubdtype(variable.dtype, np.floating) else 0
        group.create_array(
            name,
            shape=(*[0][:ahead], *self._shape(variable)),
            chunks=(*[1][:ahead], *(size[axis] for axis in self.frame.kept), *variable.shape),
            dtype=variable.dtype,
            fill_value=variable.dtype.type(nothing),
            dimension_names=tuple(names),
            attributes={**variable.attributes, "coordinates": " ".join(self._beside())},
        )

    def _beside(self) -> list[str]:
        """Coordinates that xarray would not find by the names of axes."""
        lines = self.frame.dropped if self.frame.lines is not None else ()
        return ["step", *(["time"] if self.frame.once else []), *(_AXES[axis] for axis in lines)]

    def _commit(self, index: int, time: float) -> None:
        """Make the step count."""
        import zarr

        assert self._steps is not None
        group = self._open()
        place = ... if self.frame.once else len(self._steps)
        group["time"][place] = time
        group["step"][place] = index
        with warnings.catch_warnings():
            # Zarr warns that consolidated metadata are not in the specification yet; without
            # them, xarray warns everybody who opens the store.
            warnings.simplefilter("ignore")
            zarr.consolidate_metadata(str(self.path))
        self._steps.append(index)
