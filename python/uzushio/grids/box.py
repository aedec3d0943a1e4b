"""Grids of boxes: stretched, wavy, of several zones with axes in different directions."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np

from uzushio.domain.box import Triple
from uzushio.errors import GridError
from uzushio.grids.grid import Grid, GridZone
from uzushio.grids.matching import find_connections
from uzushio.grids.patch import Patch, inverse
from uzushio.grids.spacing import uniform

Mapping = Literal["none", "wavy", "warped"]
Orientations = Literal["same", "rotated", "any"]


def box_grid(
    cells: Triple,
    lengths: Sequence[float] = (1.0, 1.0, 1.0),
    *,
    origin: Sequence[float] = (0.0, 0.0, 0.0),
    stretching: Sequence[float] = (0.0, 0.0, 0.0),
    zones: Triple = (1, 1, 1),
    periodic: str = "",
    mapping: Mapping = "none",
    amplitude: float = 0.05,
    orientations: Orientations = "same",
) -> Grid:
    """Make a grid of a box.

    Its boundaries are named x-min, x-max, … z-max.

    Args:
        cells: number of cells along x, y, z.
        lengths: lengths along x, y, z.
        origin: the corner with the least coordinates.
        stretching: along each axis: 0: uniform; larger: finer at both ends (tanh).
        zones: number of zones along x, y, z.
        periodic: axes that are periodic, as "xz".
        mapping: "wavy" displaces x, y and z by amplitude × length × sin(2πξ) sin(2πη) sin(2πζ) at
            the relative positions ξ, η, ζ. "warped" is the mapping of a published test of
            free-stream preservation (A. M. Rueda-Ramírez et al., J. Comput. Phys. 444 (2021)
            110580, arXiv 2012.12040), there with the amplitude 0.125. Boundaries stay in their
            planes.
        amplitude: amplitude of the mapping, relative to the lengths.
        orientations: axes of the zones: "same": along x, y, z; "rotated": in other directions, all
            zones right-handed; "any": every other zone left-handed as well.

    Raises:
        GridError: zones without cells, or cells that the mapping inverts.
    """
    if any(n < p or p < 1 for n, p in zip(cells, zones, strict=True)):
        raise GridError(f"{_by(cells)} cells cannot be divided into {_by(zones)} zones.")
    if not all(length > 0 and np.isfinite(length) for length in lengths):
        raise GridError("the lengths of a box are positive.")
    if wrong := sorted(set(periodic) - set("xyz")):
        raise GridError(f"there is no axis '{wrong[0]}'; the axes of a box are x, y and z.")
    lines = [uniform(n, g) for n, g in zip(cells, stretching, strict=True)]
    vertices = _mapped(lines, lengths, origin, mapping, amplitude)
    parts = [_parts(n, p) for n, p in zip(cells, zones, strict=True)]
    grid, turned = Grid([]), {}
    transforms = list(_transforms(orientations))
    for number, (z, y, x) in enumerate(itertools.product(parts[2], parts[1], parts[0])):
        part = vertices[z[0] : z[1] + 1, y[0] : y[1] + 1, x[0] : x[1] + 1]
        name = "box" if zones == (1, 1, 1) else f"box_{number + 1}"
        turned[name] = transforms[5 * number % len(transforms)]
        grid.zones.append(GridZone(name, reoriented(part, turned[name])))
    find_connections(grid)
    for axis in sorted(set(periodic)):
        period = [0.0, 0.0, 0.0]
        period["xyz".index(axis)] = float(lengths["xyz".index(axis)])
        find_connections(grid, (period[0], period[1], period[2]))
    grid.name_open_patches(lambda zone, patch: _side(patch, turned[zone.name]))
    grid.check()
    return grid


def reoriented(vertices: np.ndarray, transform: Triple) -> np.ndarray:
    """Return vertices (k, j, i, 3) of a zone with other axes.

    Args:
        vertices: coordinates of the vertices of the zone.
        transform: entry a is the new axis, from 1, along which axis a runs; negative if reversed.
    """
    back = [abs(entry) - 1 for entry in inverse(transform)]
    turned = vertices.transpose(2 - back[2], 2 - back[1], 2 - back[0], 3)
    for entry in transform:
        if entry < 0:
            turned = np.flip(turned, 2 - (-entry - 1))
    return np.ascontiguousarray(turned)


def _transforms(orientations: Orientations) -> Iterator[Triple]:
    """Yield transforms of axes: the identity, rotations, or rotations and reflections by turns."""
    every = [
        (a * p[0], b * p[1], c * p[2])
        for p in itertools.permutations((1, 2, 3))
        for a, b, c in itertools.product((1, -1), repeat=3)
    ]
    if orientations == "same":
        yield (1, 2, 3)
        return
    rotations = [t for t in every if _determinant(t) > 0]
    if orientations == "rotated":
        yield from rotations
        return
    reflections = [t for t in every if _determinant(t) < 0]
    for pair in zip(rotations, reflections, strict=True):
        yield from pair


def _determinant(transform: Triple) -> float:
    matrix = np.zeros((3, 3))
    for a, entry in enumerate(transform):
        matrix[abs(entry) - 1, a] = np.sign(entry)
    return float(np.linalg.det(matrix))


def _side(patch: Patch, transform: Triple) -> str:
    """Return the side of the box at which a boundary patch of a turned zone lies."""
    entry = inverse(transform)[patch.axis]
    return f"{'xyz'[abs(entry) - 1]}-{'max' if patch.is_upper == (entry > 0) else 'min'}"


def _parts(cells: int, count: int) -> list[tuple[int, int]]:
    ends = [cells * n // count for n in range(count + 1)]
    return list(itertools.pairwise(ends))


def _mapped(
    lines: list[np.ndarray],
    lengths: Sequence[float],
    origin: Sequence[float],
    mapping: Mapping,
    amplitude: float,
) -> np.ndarray:
    """Return the vertices of the box, (k, j, i, 3)."""
    z, y, x = np.meshgrid(*reversed(lines), indexing="ij")
    if mapping == "wavy":
        wave = amplitude * np.prod([np.sin(2 * np.pi * s) for s in (x, y, z)], axis=0)
        x, y, z = x + wave, y + wave, z + wave
    elif mapping == "warped":

        def cosine(count: float, s: np.ndarray) -> np.ndarray:
            return np.asarray(np.cos(count * np.pi * (2 * s - 1)))

        y = y + amplitude * cosine(1.5, x) * cosine(0.5, y) * cosine(0.5, z)
        x = x + amplitude * cosine(0.5, x) * cosine(2.0, y) * cosine(0.5, z)
        z = z + amplitude * cosine(0.5, x) * cosine(1.0, y) * cosine(0.5, z)
    return np.asarray(np.stack([x, y, z], axis=-1) * np.asarray(lengths) + np.asarray(origin))


def _by(numbers: Sequence[int]) -> str:
    return " x ".join(map(str, numbers))
