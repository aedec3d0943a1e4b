"""Multiblock grids in PLOT3D files: three-dimensional, whole, without blanking."""

from __future__ import annotations

import mmap
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import numpy as np

from uzushio._base.error_text import system_sentence
from uzushio._base.files import atomic_file
from uzushio.errors import GridError, OutputError
from uzushio.grids.grid import Grid, GridZone
from uzushio.grids.mapped import components_of

Form = Literal["text", "fortran", "binary"]
_MAX_BLOCKS = 1 << 20
_MAX_VERTICES = 1 << 40
#: Longest record of Fortran that has one marker; gfortran and Intel divide longer ones.
_MAX_RECORD = (1 << 31) - 9


def read_plot3d(path: Path | str) -> Grid:
    """Read the zones of a PLOT3D grid: text, Fortran's unformatted records, or binary without.

    Byte order, precision (float or double), and whether the number of blocks is given are found
    from the size of the file. Zones are named block_1, block_2, …; a neutral map file
    (`read_neutral_map`) or `find_connections` adds the connections.

    Raises:
        GridError: the file is none of these.
    """
    path = Path(path)
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            start = file.read(4096)
        if not start:
            raise GridError("the file is empty.")
        arrays = _read_text(path) if _is_text(start) else _read_binary(path, size)
    except GridError as error:
        raise GridError(f"{path}: {error}") from None
    except OSError as error:
        raise GridError(system_sentence(error)) from None
    return Grid([GridZone(f"block_{n}", x) for n, x in enumerate(arrays, 1)])


def write_plot3d(grid: Grid, path: Path | str, form: Form = "fortran") -> None:
    """Write the coordinates of a grid as a multiblock PLOT3D file in double precision.

    Args:
        grid: the grid; a neutral map file (`write_neutral_map`) has its patches and connections.
        path: the file.
        form: "text", "fortran" (unformatted records) or "binary" (without records).

    Raises:
        OutputError: the file cannot be written.
    """
    sizes = np.array([np.add(zone.cells, 1) for zone in grid.zones], dtype=np.int32)
    try:
        with atomic_file(Path(path)) as fresh, fresh.open("wb") as file:
            parts: list[np.ndarray] = [np.array([len(sizes)], dtype=np.int32), sizes.ravel()]
            for part in (
                *parts,
                *(np.stack(components_of(z.vertices)).ravel() for z in grid.zones),
            ):
                if form == "text":
                    rows = (part[n : n + 6] for n in range(0, len(part), 6))
                    lines = (" ".join(repr(v) for v in row.tolist()) for row in rows)
                    file.write(("\n".join(lines) + "\n").encode())
                elif form == "binary":
                    file.write(part.tobytes())
                else:
                    _write_record(file.write, part.tobytes())
    except OSError as error:
        raise OutputError(f"{path} cannot be written ({error.strerror or error}).") from None


def _write_record(write: Callable[[bytes], object], data: bytes) -> None:
    for start in range(0, len(data), _MAX_RECORD):
        part = data[start : start + _MAX_RECORD]
        # Negative: parts follow the leading marker, or are before the trailing one.
        head = -len(part) if start + len(part) < len(data) else len(part)
        tail = -len(part) if start > 0 else len(part)
        write(np.int32(head).tobytes())
        write(part)
        write(np.int32(tail).tobytes())


def _is_text(start: bytes) -> bool:
    return not set(start) - set(b" \t\r\n+-.0123456789eEdD*,")


def _read_text(path: Path) -> list[np.ndarray]:
    text = path.read_text(encoding="ascii").replace(",", " ")
    if "*" in text:
        text = " ".join(_repeated(word) for word in text.split())
    if "D" in text or "d" in text:
        text = text.replace("D", "e").replace("d", "e")
    try:
        values = np.array(text.split(), dtype=np.float64)
    except ValueError as error:
        raise GridError(f"it has a word that is no number ({error}).") from None
    del text
    if len(values) < 3:
        raise GridError("the text has no grid.")
    for header in (1, 0):  # with the number of blocks, or of one block without
        blocks = int(values[0]) if header else 1
        numbers = values[header : header + 3 * blocks]
        if not 0 < blocks <= _MAX_BLOCKS or len(numbers) < 3 * blocks:
            continue
        sizes = numbers.astype(np.int64).reshape(-1, 3)
        if (sizes == numbers.reshape(-1, 3)).all() and _count(sizes) == len(values) - header - len(
            numbers
        ):
            return list(_zones(sizes, values[header + len(numbers) :]))
    raise GridError(
        f"its {len(values)} numbers are not those of a three-dimensional whole grid without "
        "blanking."
    )


def _repeated(word: str) -> str:
    """Return a word of Fortran's list-directed output, as 3*0.5, in full."""
    count, star, value = word.partition("*")
    if not star:
        return word
    if not count.isdigit() or int(count) > _MAX_BLOCKS:
        raise GridError(f"it has a word that is no number ({word}).")
    return " ".join([value] * int(count))


def _read_binary(path: Path, size: int) -> list[np.ndarray]:
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        for order in ("<", ">") if sys.byteorder == "little" else (">", "<"):
            for read in (_fortran, _plain):
                for header in (True, False):
                    grid = read(data, size, order, header)
                    if grid is not None:
                        return grid
    raise GridError(
        "it is no PLOT3D grid that is read: three-dimensional, whole, without blanking, as text, "
        "unformatted Fortran, or binary."
    )


def _fortran(data: mmap.mmap, size: int, order: str, header: bool) -> list[np.ndarray] | None:
    """Return the zones of a file of records; None if it is not one."""
    records = _records(data, size, order)
    if records is None or len(records) < (3 if header else 2):
        return None
    if header and records[0] != [(4, 4)]:
        return None
    first = records[1 if header else 0]
    if len(first) != 1 or first[0][1] % 12:
        return None
    sizes = np.frombuffer(data, f"{order}i4", first[0][1] // 4, first[0][0]).astype(np.int64)
    sizes = sizes.reshape(-1, 3)
    rest = records[2 if header else 1 :]
    if not header and len(sizes) > 1:
        return None
    if len(rest) != len(sizes) or (sizes < 2).any():
        return None
    zones: list[np.ndarray] = []
    for block, parts in zip(sizes.tolist(), rest, strict=True):
        count = 3 * block[0] * block[1] * block[2]
        length = sum(n for _, n in parts)
        if length not in (4 * count, 8 * count):
            return None
        joined = b"".join(data[start : start + n] for start, n in parts)
        values = np.frombuffer(joined, f"{order}f{length // count}")
        zones += _zones(np.array([block]), values)
    return zones


def _records(data: mmap.mmap, size: int, order: str) -> list[list[tuple[int, int]]] | None:
    """Return the places and lengths of the parts of each record; None if markers do not fit."""
    records: list[list[tuple[int, int]]] = []
    at, goes_on = 0, False
    while at < size:
        if at + 8 > size:
            return None
        marker = int(np.frombuffer(data, f"{order}i4", 1, at)[0])
        length = abs(marker)
        if length == 0 or at + 8 + length > size:
            return None
        tail = int(np.frombuffer(data, f"{order}i4", 1, at + 4 + length)[0])
        if abs(tail) != length:
            return None
        if goes_on:
            records[-1].append((at + 4, length))
        else:
            records.append([(at + 4, length)])
        goes_on = marker < 0
        at += 8 + length
    return None if goes_on else records


def _plain(data: mmap.mmap, size: int, order: str, header: bool) -> list[np.ndarray] | None:
    """Return the zones of a binary file without records; None if it is not one."""
    start = 4 if header else 0
    if size < start + 12:
        return None
    blocks = int(np.frombuffer(data, f"{order}i4", 1, 0)[0]) if header else 1
    head = start + 12 * blocks
    if not 0 < blocks <= _MAX_BLOCKS or head >= size:
        return None
    sizes = np.frombuffer(data, f"{order}i4", 3 * blocks, start).astype(np.int64).reshape(-1, 3)
    count = _count(sizes)
    if count == 0 or size - head not in (4 * count, 8 * count):
        return None
    width = (size - head) // count
    values = np.frombuffer(data[head:], f"{order}f{width}")
    return list(_zones(sizes, values))


def _count(sizes: np.ndarray) -> int:
    """Return the number of coordinates of blocks; 0 if they cannot be blocks."""
    if (sizes < 2).any() or (sizes > _MAX_VERTICES).any():
        return 0
    return sum(3 * a * b * c for a, b, c in sizes.tolist())


def _zones(sizes: np.ndarray, values: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the vertices of each block, (k, j, i, 3), from values in the order of the file."""
    at = 0
    for i, j, k in sizes.tolist():
        count = 3 * i * j * k
        xyz = values[at : at + count].reshape(3, k, j, i)
        yield np.ascontiguousarray(np.moveaxis(xyz, 0, -1), dtype=np.float64)
        at += count
