"""Meshes and fields of a compiled core in the form of `uzushio.solvers.contract`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from uzushio.domain.box import Box, Triple
from uzushio.solvers.fields import Association, SolverField, SolverMesh

_ASSOCIATION: dict[str, Association] = {"cell": "element", "vertex": "vertex"}

#: Zone, lower and upper bounds (i, j, k) of the cells of a block.
CellBox = tuple[int, tuple[int, ...], tuple[int, ...]]


def fields(core: Any) -> dict[str, SolverField]:
    """Return the declared fields at cells and vertices."""
    zones = tuple(zone["name"] for zone in core.zones())
    return {
        field["name"]: SolverField(
            zones,
            _ASSOCIATION[field["centring"]],
            field["components"],
            field["unit"],
            field["description"],
        )
        for field in core.fields()
        if field["centring"] in _ASSOCIATION
    }


def meshes(core: Any, blocks: Sequence[CellBox]) -> dict[str, SolverMesh]:
    """Return one mesh per zone, with these blocks."""
    return {
        zone["name"]: SolverMesh(
            _vertices(core, zone["cells"]),
            lines(core, number, zone["cells"]) if zone["rectilinear"] else None,
            tuple(_box(lower, upper) for of, lower, upper in blocks if of == number),
            "element",
            core.dimension,
        )
        for number, zone in enumerate(core.zones())
    }


def _vertices(core: Any, cells: Sequence[int]) -> Triple:
    """Return the number of vertices along z, y, x."""
    x, y, z = (n + 1 if axis < core.dimension else n for axis, n in enumerate(cells))
    return z, y, x


def _box(lower: Sequence[int], upper: Sequence[int]) -> Box:
    """Convert a box of the core, whose axes are x, y, z."""
    return Box.between(reversed(lower), reversed(upper))


def lines(
    core: Any, zone: int, cells: Sequence[int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Return the coordinates of a rectilinear zone's vertices along z, y, x.

    None if they are not ascending: such a zone is published as a curvilinear one.
    """
    lines = []
    for axis, count in enumerate(_vertices(core, cells)):
        shape = [1, 1, 1]
        shape[axis] = count
        points = np.empty((*shape, 3))
        core.write_vertices(zone, (0, 0, 0), points)
        lines.append(points[..., 2 - axis].ravel())
    if any((np.diff(line) <= 0).any() for line in lines):
        return None
    return lines[0], lines[1], lines[2]


def are_close(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether the vertices of zones are the same up to rounding."""
    if one.keys() != other.keys():
        return False
    values = [np.array([[*corners[name]] for name in sorted(one)]) for corners in (one, other)]
    size = float(np.ptp(values[0].reshape(-1, 3), axis=0).max())
    rounding = 4.0 * np.finfo(float).eps * float(np.abs(values[0]).max())
    return bool(np.allclose(values[0], values[1], rtol=0, atol=1e-9 * size + rounding))
