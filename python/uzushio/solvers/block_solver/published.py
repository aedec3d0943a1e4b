"""Meshes and fields of a compiled core in the form of `uzushio.solvers.contract`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from uzushio.domain.axes import Lines
from uzushio.domain.box import Box
from uzushio.domain.fields import Association
from uzushio.solvers.contract import Field, Mesh

_ASSOCIATION: dict[str, Association] = {"cell": "element", "vertex": "vertex"}

#: Zone of a block, and its cells along k, j, i.
ZoneBlock = tuple[int, Box]


def fields(core: Any) -> dict[str, Field]:
    """Return the declared fields at cells and vertices."""
    zones = tuple(zone["name"] for zone in core.zones())
    return {
        field["name"]: Field(
            field["name"],
            zones,
            _ASSOCIATION[field["centring"]],
            components=field["components"],
            attributes={key: field[key] for key in ("unit", "description")},
        )
        for field in core.fields()
        if field["centring"] in _ASSOCIATION
    }


def meshes(core: Any, blocks: Sequence[ZoneBlock]) -> dict[str, Mesh]:
    """Return one mesh per zone, with these blocks."""
    by_name = {}
    for number, zone in enumerate(core.zones()):
        name = zone["name"]
        given = lines(core, number, zone["cells"]) if zone["rectilinear"] else None
        by_name[name] = Mesh(
            name,
            Box((0, 0, 0), zone["cells"]),
            core.dimension,
            coordinates=given,
            coordinate_field=f"{name}/xyz" if given is None else None,
            blocks=tuple(box for of, box in blocks if of == number),
            blocks_of="element",
        )
    return by_name


def lines(core: Any, zone: int, cells: Sequence[int]) -> Lines | None:
    """Return the coordinates of a rectilinear zone's vertices along z, y, x.

    None if they are not ascending: such a zone is published as a curvilinear one.
    """
    lines = []
    for axis, count in enumerate(cells):
        shape = [1, 1, 1]
        shape[axis] = count + (axis >= 3 - core.dimension)
        points = np.empty((*shape, 3))
        core.write_vertices(zone, (0, 0, 0), points)
        lines.append(points[..., 2 - axis].ravel())
    if any((np.diff(line) <= 0).any() for line in lines):
        return None
    return lines[0], lines[1], lines[2]


def are_close(first: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether the vertices of zones are the same up to rounding."""
    if first.keys() != other.keys():
        return False
    values = [np.array([[*corners[name]] for name in sorted(first)]) for corners in (first, other)]
    size = float(np.ptp(values[0].reshape(-1, 3), axis=0).max())
    rounding = 4.0 * np.finfo(float).eps * float(np.abs(values[0]).max())
    return bool(np.allclose(values[0], values[1], rtol=0, atol=1e-9 * size + rounding))
