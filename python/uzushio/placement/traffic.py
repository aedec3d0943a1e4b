"""Recorded traffic: files with the bytes that each rank sends to each other one.

A file is a sparse matrix in Matrix Market format (https://math.nist.gov/MatrixMarket/formats.html),
which `scipy.io.mmread` and MATLAB read too. It has a header, comments with `%`, a line
with rows, columns and entries, then a line `source target bytes` for each pair, numbered from 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from uzushio._base.files import atomic_write
from uzushio.errors import PlacementError
from uzushio.placement.machines.description import read_text
from uzushio.placement.machines.machine import Floats, Indices
from uzushio.placement.patterns import Pattern, Phase

_HEADER = "%%MatrixMarket matrix coordinate real general"


def read_traffic(paths: Sequence[Path], ranks: int | None = None) -> Pattern:
    """Return the pattern of recorded traffic, a phase for each file, named after it.

    Args:
        paths: files.
        ranks: number of ranks of the job; None: that of the files.

    Raises:
        PlacementError: no such file, a matrix that is not square or has another number of ranks.
    """
    phases = []
    for path in paths:
        size, phase = _read(path)
        ranks = size if ranks is None else ranks
        if size != ranks:
            raise PlacementError(
                f"{path} is the traffic of {size} ranks, but the job has {ranks}; record it with "
                "as many."
            )
        phases.append(phase)
    if not phases or ranks is None:
        raise PlacementError("recorded traffic needs at least one file.")
    return Pattern(ranks, tuple(phases))


def write_traffic(path: Path, ranks: int, source: Indices, target: Indices, sent: Floats) -> None:
    """Write traffic that was recorded.

    Args:
        path: file, by convention `*.mtx`.
        ranks: number of ranks.
        source: ranks that send, (pairs,).
        target: ranks that receive, (pairs,).
        sent: bytes, (pairs,).
    """
    lines = [
        _HEADER,
        "% bytes from a rank (row) to a rank (column)",
        f"{ranks} {ranks} {len(sent)}",
    ]
    rows = zip(source.tolist(), target.tolist(), sent.tolist(), strict=True)
    lines += [f"{start + 1} {end + 1} {count:.17g}" for start, end, count in rows]
    atomic_write(path, "\n".join(lines) + "\n")


def _read(path: Path) -> tuple[int, Phase]:
    lines = read_text(path).splitlines()
    words = lines[0].lower().split() if lines else []
    if (
        words[:3] != ["%%matrixmarket", "matrix", "coordinate"]
        or words[4:] != ["general"]
        or (words[3] not in ("real", "integer"))
    ):
        raise PlacementError(f"{path} is no traffic: its first line must be {_HEADER!r}.")
    content = [line for line in lines[1:] if line.strip() and not line.startswith("%")]
    try:
        rows, columns, count = map(int, content[0].split())
        values = np.array([line.split() for line in content[1:]], dtype=float).reshape(-1, 3)
    except (ValueError, IndexError) as error:
        raise PlacementError(
            f"{path} is damaged: after the comments come a line of three sizes and lines of "
            "source, target and bytes."
        ) from error
    if rows != columns:
        raise PlacementError(
            f"{path} has {rows} rows and {columns} columns; traffic is square, a row and a column "
            "for each rank."
        )
    if len(values) != count:
        raise PlacementError(f"{path} announces {count} entries and has {len(values)}.")
    ends, sent = values[:, :2].astype(np.int64) - 1, values[:, 2]
    if ((ends < 0) | (ends >= rows) | (ends != values[:, :2] - 1)).any():
        raise PlacementError(f"{path} has a rank that is not between 1 and {rows}.")
    if not (np.isfinite(sent) & (sent >= 0)).all():
        raise PlacementError(f"{path} has bytes that are negative or no number.")
    other = ends[:, 0] != ends[:, 1]
    return rows, Phase(path.stem, ends[other, 0], ends[other, 1], sent[other])
