"""Neutral map files (NMF): patches and connections of the blocks of a PLOT3D grid.

Format of NASA Langley's GEOLAB (W. T. Jones). A line is a type, a block, one of its faces and the
range of vertices along the face's primary and secondary axis; a connection has two of them, and
whether the primary axis of one runs along the secondary one of the other. Ranges may descend.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from uzushio._base.error_text import system_sentence
from uzushio._base.files import atomic_write
from uzushio.errors import GridError, OutputError
from uzushio.grids.grid import Grid
from uzushio.grids.patch import FACES, Patch
from uzushio.grids.point_ranges import Points, connection_of, donor_points, patch_of, points_of

#: Faces 1 to 6 of the format with their primary and secondary axes.
_FACES = {
    1: ("k-min", 0, 1),
    2: ("k-max", 0, 1),
    3: ("i-min", 1, 2),
    4: ("i-max", 1, 2),
    5: ("j-min", 2, 0),
    6: ("j-max", 2, 0),
}
_NUMBERS = {face: (number, *axes) for number, (face, *axes) in _FACES.items()}
#: The second one is not part of the format: vertices of the connection differ by a translation.
_CONNECTED, _PERIODIC = "ONE_TO_ONE", "PERIODIC"
_WORDS = re.compile(r"'[^']*'|\"[^\"]*\"|\S+")


def read_neutral_map(grid: Grid, path: Path | str) -> None:
    """Add the patches and connections of a neutral map file to a grid.

    A patch has the name of its type, as "viscous_solid". Connections of the type PERIODIC have the
    translation between their vertices.

    Raises:
        GridError: the file is none, or of another grid.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise GridError(system_sentence(error)) from None
    lines = list(_lines(text))
    try:
        _read_sizes(grid, lines)
        for number, words in lines[1 + len(grid.zones) :]:
            _read_line(grid, f"line {number}", words)
    except GridError as error:
        raise GridError(f"{path}: {error}") from None


def write_neutral_map(grid: Grid, path: Path | str) -> None:
    """Write the patches and connections of a grid as a neutral map file.

    Raises:
        OutputError: the file cannot be written.
    """
    numbers = {zone.name: n for n, zone in enumerate(grid.zones, 1)}
    rows = ["# Block  IDIM  JDIM  KDIM", str(len(grid.zones))]
    rows += [_row(n, *(c + 1 for c in zone.cells)) for n, zone in enumerate(grid.zones, 1)]
    rows.append("# Type  B1 F1  S1 E1  S2 E2  B2 F2  S1 E1  S2 E2  Swap")
    for zone in grid.zones:
        for patch, name in zone.boundaries:
            points = points_of(patch, zone.cells)
            rows.append(_row(f"'{name}'", *_side(numbers[zone.name], patch.face, points.tolist())))
    for c in grid.connections:
        here = points_of(c.patch, grid.zone(c.zone).cells).tolist()
        there = donor_points(c, grid.zone(c.donor).cells).tolist()
        _, primary, _ = _NUMBERS[c.patch.face]
        swap = abs(c.transform[primary]) - 1 != _NUMBERS[c.donor_patch.face][1]
        rows.append(
            _row(
                f"'{_PERIODIC if any(c.translation) else _CONNECTED}'",
                *_side(numbers[c.zone], c.patch.face, here),
                *_side(numbers[c.donor], c.donor_patch.face, there),
                "TRUE" if swap else "FALSE",
            )
        )
    try:
        atomic_write(Path(path), "\n".join(rows) + "\n")
    except OSError as error:
        raise OutputError(f"{path} cannot be written ({error.strerror or error}).") from None


def _lines(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the words of each line that is not a comment."""
    for number, line in enumerate(text.splitlines(), 1):
        words = _WORDS.findall(line.partition("#")[0].partition("!")[0])
        if words:
            yield number, words


def _read_sizes(grid: Grid, lines: list[tuple[int, list[str]]]) -> None:
    """Raise `GridError` unless the file's blocks are the grid's zones."""
    count = len(grid.zones)
    if not lines or lines[0][1] != [str(count)] or len(lines) < 1 + count:
        line = " ".join(lines[0][1]) if lines else "no line"
        raise GridError(f"the number of blocks is {count}; the file has {line}.")
    for zone, (number, words) in zip(grid.zones, lines[1 : 1 + count], strict=True):
        if _integers(f"line {number}", words)[1:] != [c + 1 for c in zone.cells]:
            raise GridError(
                f"line {number}: {' '.join(words)}; {zone.name} has "
                f"{' x '.join(str(c + 1) for c in zone.cells)} vertices."
            )


def _read_line(grid: Grid, where: str, words: list[str]) -> None:
    kind = words[0].strip("'\"")
    connected = kind.upper().replace("-", "_")
    if connected not in (_CONNECTED, _PERIODIC) or len(words) < 13:
        if len(words) < 7 or connected == _CONNECTED:
            raise GridError(f"{where}: {len(words)} words are too few for '{kind}'.")
        zone, _, (begin, end), _ = _range(grid, where, _integers(where, words[1:7]))
        patch = patch_of(where, begin, end, grid.zone(zone).cells)
        grid.zone(zone).boundaries.append((patch, kind))
        return
    numbers = _integers(where, words[1:13])
    zone, face, here, axes = _range(grid, where, numbers[:6])
    donor, donor_face, there, donor_axes = _range(grid, where, numbers[6:])
    if len(words) > 13 and words[13].upper().strip("'\".") in ("TRUE", "T"):
        donor_axes = donor_axes[::-1]
    transform = [0, 0, 0]
    upper = [Patch(f, ((0, 0), (0, 0))) for f in (face, donor_face)]
    same = upper[0].is_upper == upper[1].is_upper
    transform[upper[0].axis] = (upper[1].axis + 1) * (-1 if same else 1)
    for a, b in zip(axes, donor_axes, strict=True):
        ascends = (here[1][a] > here[0][a]) == (there[1][b] > there[0][b])
        transform[a] = (b + 1) * (1 if ascends else -1)
    given = (0.0, 0.0, 0.0) if connected == _PERIODIC else None
    grid.connections.append(connection_of(where, grid, zone, donor, here, there, transform, given))


def _range(grid: Grid, where: str, numbers: list[int]) -> tuple[str, str, Points, list[int]]:
    """Return zone, face, range of points, and primary and secondary axis of six numbers."""
    block, number, *ends = numbers
    if not 1 <= block <= len(grid.zones) or number not in _FACES:
        raise GridError(f"{where}: there is no face {number} of block {block}.")
    zone = grid.zones[block - 1]
    face, primary, secondary = _FACES[number]
    axis = FACES.index(face) // 2
    level = zone.cells[axis] + 1 if face.endswith("max") else 1
    begin, end = [0, 0, 0], [0, 0, 0]
    begin[axis] = end[axis] = level
    begin[primary], end[primary], begin[secondary], end[secondary] = ends
    return zone.name, face, (begin, end), [primary, secondary]


def _side(block: int, face: str, points: list[list[int]]) -> list[int]:
    number, primary, secondary = _NUMBERS[face]
    begin, end = points
    return [block, number, begin[primary], end[primary], begin[secondary], end[secondary]]


def _integers(where: str, words: list[str]) -> list[int]:
    try:
        return [int(word) for word in words]
    except ValueError:
        raise GridError(f"{where}: '{' '.join(words)}' are not whole numbers.") from None


def _row(*words: object) -> str:
    return "  ".join(str(word) for word in words)
