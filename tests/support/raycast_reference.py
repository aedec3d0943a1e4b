"""The ray caster's rules in NumPy and double precision, without its optimisations.

One array operation handles one segment of all rays. The rules are those of
`docs/theory/raycast.md`; tests compare the ray caster with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from uzushio.raycast.block import Block
from uzushio.raycast.camera import Camera
from uzushio.raycast.ghosts import segment_limits
from uzushio.raycast.layers import ColorTable, Isosurface, Lighting, Scene, Slice, Transfer, Volume

OPAQUE_ENOUGH = 0.5


@dataclass
class Rays:
    """Rays of all pixels, row by row; vectors are (x, y, z)."""

    origin: np.ndarray
    direction: np.ndarray
    enter: np.ndarray
    length: np.ndarray  # inside the domain; 0 for those that miss it
    cosine: np.ndarray  # with the view direction


def rays_of(scene: Scene, camera: Camera, width: int, height: int) -> Rays:
    pixel = 2 * camera.half_height / height
    right = (np.arange(width) + 0.5 - width / 2) * pixel
    up = (height / 2 - np.arange(height) - 0.5) * pixel
    right, up = (a.ravel() for a in np.meshgrid(right, up))
    offset = right[:, None] * camera.axes[0] + up[:, None] * camera.axes[1]
    origin = np.zeros_like(offset) + camera.position
    if camera.parallel_height is None:
        direction = offset + camera.axes[2]
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    else:
        origin += offset
        direction = np.zeros_like(offset) + camera.axes[2]
    lo = np.array([c[0] for c in scene.domain[::-1]])
    hi = np.array([c[-1] for c in scene.domain[::-1]])
    safe = np.where(np.abs(direction) < 1e-30, 1e-30, direction)
    a, b = (lo - origin) / safe, (hi - origin) / safe
    enter = np.maximum(np.minimum(a, b).max(axis=1), 0)
    leave = np.maximum(a, b).min(axis=1)
    return Rays(origin, direction, enter, np.maximum(leave - enter, 0), direction @ camera.axes[2])


class Values:
    """Interpolation in a block."""

    def __init__(self, block: Block, scene: Scene) -> None:
        self.block = block
        self.domain = scene.domain[::-1]

    def cell(self, points: np.ndarray) -> np.ndarray:
        """Return global cells, (x, y, z), of points."""
        cells = [
            np.clip(np.searchsorted(x, p, side="right") - 1, 0, len(x) - 2)
            for x, p in zip(self.domain, points.T, strict=True)
        ]
        return np.stack(cells, axis=1)

    def owned(self, points: np.ndarray) -> np.ndarray:
        start = np.array(self.block.cells[0][::-1])
        cells = self.cell(points) - start
        return ((cells >= 0) & (cells < self.block.cells[1][::-1])).all(axis=1)

    def _stored(self, cells: np.ndarray) -> np.ndarray:
        start = np.array(self.block.start[::-1])
        shape = np.array([len(c) for c in self.block.coordinates[::-1]])
        return np.clip(cells, start, start + shape - 2)

    def value(self, name: str, points: np.ndarray) -> np.ndarray:
        cells = self._stored(self.cell(points))
        weights = [
            (p - x[c]) / (x[c + 1] - x[c])
            for x, p, c in zip(self.domain, points.T, cells.T, strict=True)
        ]
        return self._interpolate(name, cells, weights)

    def corners(self, name: str, cells: np.ndarray) -> list[np.ndarray]:
        """Return values at the corners of global cells."""
        array = self.block.fields[name].astype(float)
        i, j, k = (cells - np.array(self.block.start[::-1])).T
        return [array[k + dk, j + dj, i + di] for dk in (0, 1) for dj in (0, 1) for di in (0, 1)]

    def _interpolate(self, name: str, cells: np.ndarray, weights: list[Any]) -> np.ndarray:
        array = self.block.fields[name]
        i, j, k = (cells - np.array(self.block.start[::-1])).T
        total = np.zeros(len(i))
        for dk in (0, 1):
            for dj in (0, 1):
                for di in (0, 1):
                    weight = np.ones(len(i))
                    for w, d in zip(weights, (di, dj, dk), strict=True):
                        weight = weight * (w if d else 1 - w)
                    total += weight * array[k + dk, j + dj, i + di]
        return total

    def gradient(self, name: str, points: np.ndarray) -> np.ndarray:
        """Return central differences at the mesh's points, interpolated."""
        cells = self._stored(self.cell(points))
        weights = [
            (p - x[c]) / (x[c + 1] - x[c])
            for x, p, c in zip(self.domain, points.T, cells.T, strict=True)
        ]
        start = np.array(self.block.start[::-1])
        shape = np.array([len(c) for c in self.block.coordinates[::-1]])
        result = []
        for axis, x in enumerate(self.domain):
            parts = []
            for side in (0, 1):
                node = cells[:, axis] + side
                below = np.maximum(node - 1, start[axis])
                above = np.minimum(node + 1, start[axis] + shape[axis] - 1)
                flat = list(weights)
                flat[axis] = np.zeros(len(node))
                ends = []
                for at in (below, above):
                    moved = cells.copy()
                    # A node at the upper end is reached as the upper one of its cell.
                    moved[:, axis] = np.minimum(at, start[axis] + shape[axis] - 2)
                    flat[axis] = (at - moved[:, axis]).astype(float)
                    ends.append(self._interpolate(name, moved, flat))
                parts.append((ends[1] - ends[0]) / (x[above] - x[below]))
            w = weights[axis]
            result.append((1 - w) * parts[0] + w * parts[1])
        return np.stack(result, axis=1)


def segment_ends(scene: Scene, rays: Rays, width: int) -> np.ndarray:
    """Return the positions of segment ends, shape (rays, maximum number of segments + 1).

    Rays of 4 × 4 pixels have the same segments. For the default step, a segment is halved while it
    is longer than a cell that one of these rays meets in it.
    """
    step, in_cells = segment_limits(scene.domain, scene.layers, scene.step)
    row, column = np.divmod(np.arange(len(rays.length)), width)
    packet = row // 4 * ((width + 3) // 4) + column // 4
    begin = rays.origin + rays.enter[:, None] * rays.direction
    longest = np.zeros(packet.max() + 1)
    np.maximum.at(longest, packet, rays.length)
    # The rays of each packet; each that misses the domain is replaced by one that does not.
    members = np.full((len(longest), 16), -1)
    for ray in np.flatnonzero(rays.length > 0):
        members[packet[ray], row[ray] % 4 * 4 + column[ray] % 4] = ray
    members = np.where(members < 0, members.max(axis=1, keepdims=True), members)

    def fit(number: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return which segments [a, b] of packets are as short as the cells that they meet."""
        result = np.ones(len(number), dtype=bool)
        for x, start, d in zip(scene.domain[::-1], begin.T, rays.direction.T, strict=True):
            some = members[number]
            at = np.stack([start[some] + end[:, None] * d[some] for end in (a, b)])
            cells = np.clip(np.searchsorted(x, at, side="right") - 1, 0, len(x) - 2)
            widths = np.diff(x)
            smallest = np.full((len(widths), len(widths)), np.inf)  # from one cell to another
            for cell in range(len(widths)):
                smallest[cell, cell:] = np.minimum.accumulate(widths[cell:])
            least = smallest[cells.min(axis=(0, 2)), cells.max(axis=(0, 2))]
            result &= (b - a) * np.abs(d[some]).max(axis=1) <= 1.01 * in_cells * least
        return result

    counts = np.ceil(longest / step).astype(int)
    number = np.repeat(np.arange(len(counts)), counts)
    k = np.arange(len(number)) - np.repeat(np.cumsum(counts) - counts, counts)
    a, b = k * step, (k + 1) * step
    segments = [(np.arange(len(counts)), counts * step)]
    while len(number):
        whole = fit(number, a, b)
        segments.append((number[whole], a[whole]))
        number, a, b = number[~whole], a[~whole], b[~whole]
        middle = (a + b) / 2
        number = np.tile(number, 2)
        a, b = np.concatenate([a, middle]), np.concatenate([middle, b])
    number, ends = (np.concatenate(parts) for parts in zip(*segments, strict=True))
    table = np.repeat((counts * step)[:, None], np.bincount(number).max(), axis=1)
    order = np.lexsort((ends, number))
    first = np.searchsorted(number[order], number[order])
    table[number[order], np.arange(len(order)) - first] = ends[order]
    return table[packet]


def crossings(values: Values, rays: Rays, name: str, iso: float) -> np.ndarray:
    """Return each ray's crossings with a surface in order, then infinity; shape (rays, maximum).

    They are exact for the trilinear field: rays are divided at the faces of cells, where the field
    is a cubic polynomial along the ray, and this at its extrema, between which it is monotonic.
    """
    start = rays.origin + rays.enter[:, None] * rays.direction
    cuts = [np.zeros((len(start), 1)), rays.length[:, None]]
    for x, at, d in zip(values.domain, start.T, rays.direction.T, strict=True):
        safe = np.where(np.abs(d) < 1e-30, 1e-30, d)
        cuts.append(np.clip((x - at[:, None]) / safe[:, None], 0, rays.length[:, None]))
    faces = np.sort(np.concatenate(cuts, axis=1), axis=1)
    begin, width = faces[:, :-1].ravel(), np.diff(faces, axis=1).ravel()
    ray = np.repeat(np.arange(len(start)), faces.shape[1] - 1)
    some = width > 1e-12 * np.maximum(rays.length[ray], 1e-300)
    rank = np.arange(len(some)) % (faces.shape[1] - 1)
    begin, width, ray, rank = begin[some], width[some], ray[some], rank[some]

    def point(s: Any) -> np.ndarray:
        return start[ray] + (begin + s * width)[:, None] * rays.direction[ray]

    cells = values._stored(values.cell(point(0.5)))
    corners = np.stack(values.corners(name, cells))
    some = (corners.min(axis=0) < iso) & (corners.max(axis=0) >= iso)  # with NaN neither is true
    begin, width, ray, rank, cells = begin[some], width[some], ray[some], rank[some], cells[some]

    def value(s: Any) -> np.ndarray:
        weights = [
            (p - x[c]) / (x[c + 1] - x[c])
            for x, p, c in zip(values.domain, point(s).T, cells.T, strict=True)
        ]
        return values._interpolate(name, cells, weights) - iso

    # The cubic through four values, and where its derivative vanishes.
    nodes = np.arange(4) / 3
    known = np.stack([value(s) for s in nodes])
    c = np.linalg.solve(np.vander(nodes, increasing=True), known)
    with np.errstate(invalid="ignore", divide="ignore"):
        root = np.sqrt(np.maximum(c[2] ** 2 - 3 * c[1] * c[3], 0))
        q = -(c[2] + np.where(c[2] < 0, -root, root))
        extrema = np.stack([q / (3 * c[3]), c[1] / q])
        inside = (extrema > 0) & (extrema < 1) & (c[2] ** 2 > 3 * c[1] * c[3])
    pieces = np.sort(np.where(inside, extrema, 1.0), axis=0)
    ends = np.concatenate([np.zeros((1, len(ray))), pieces, np.ones((1, len(ray)))])
    plane_distances = []
    for low, high in pairwise(ends):
        low, high = low.copy(), high.copy()
        at_low = value(low)
        here = ((at_low < 0) != (value(high) < 0)) & (high > low)
        for _ in range(40):
            middle = (low + high) / 2
            same = (value(middle) < 0) == (at_low < 0)
            low, high = np.where(same, middle, low), np.where(same, high, middle)
        plane_distances.append(np.where(here, begin + low * width, np.inf))
    result = np.full((len(start), 3 * (faces.shape[1] - 1)), np.inf)
    for n, distances in enumerate(plane_distances):
        result[ray, 3 * rank + n] = distances
    result.sort(axis=1)
    return result[:, : max(1, int(np.isfinite(result).sum(axis=1).max()))]


def colors_of(table: ColorTable, values: np.ndarray) -> np.ndarray:
    rows = np.asarray(table.rgba, dtype=float)
    span = table.hi - table.lo
    position = (values - table.lo) / span if span > 0 else np.where(values > table.lo, 1.0, 0.0)
    if table.logarithmic:
        position = np.log(np.maximum(values, table.lo) / table.lo) / np.log(table.hi / table.lo)
    bad = ~np.isfinite(values)
    known = np.where(bad, 0, np.clip(position, 0, 1)) * (len(rows) - 1)
    low = np.minimum(known.astype(int), max(len(rows) - 2, 0))
    high = np.minimum(low + 1, len(rows) - 1)
    part = (known - low)[:, None]
    result = (1 - part) * rows[low] + part * rows[high]
    if table.below is not None:
        result[values < table.lo] = table.below
    if table.above is not None:
        result[values > table.hi] = table.above
    result[bad] = table.nan
    return result


def extinction(opacity: Any, unit: float) -> Any:
    return -np.log1p(-np.minimum(opacity, 0.9999)) / unit


def mean_medium(
    transfer: Transfer, unit: float, a: np.ndarray, b: np.ndarray, samples: int = 64
) -> tuple[np.ndarray, np.ndarray]:
    """Return mean extinction, and colour weighted by it, for uniform values between a and b."""
    points = transfer.points
    value = a + ((np.arange(samples) + 0.5) / samples)[:, None] * (b - a)
    here = extinction(np.interp(value, points[:, 0], points[:, 4]), unit) / samples
    tau = here.sum(axis=0)
    color = np.stack(
        [(here * np.interp(value, points[:, 0], points[:, c])).sum(axis=0) for c in (1, 2, 3)],
        axis=1,
    )
    color /= np.maximum(tau, 1e-300)[:, None]
    bad = ~(np.isfinite(a) & np.isfinite(b))
    tau[bad] = extinction(transfer.nan[3], unit)
    color[bad] = transfer.nan[:3]
    return tau, color


def lit(color: np.ndarray, light: Lighting | None, normal: Any, rays: np.ndarray) -> np.ndarray:
    if light is None:
        return color
    length = np.maximum(np.linalg.norm(normal, axis=1), 1e-300)
    cosine = np.abs((normal * rays).sum(axis=1)) / length
    scale = light.ambient + light.diffuse * cosine
    return np.clip(color * scale[:, None] + light.specular * cosine[:, None] ** light.power, 0, 1)


class Canvas:
    """Premultiplied colours, front to back."""

    def __init__(self, pixels: int) -> None:
        self.color = np.zeros((pixels, 4))
        self.depth = np.full(pixels, np.inf)

    def add(self, index: np.ndarray, color: np.ndarray, alpha: np.ndarray, t: np.ndarray) -> None:
        left = 1 - self.color[index, 3]
        self.color[index, :3] += (left * alpha)[:, None] * color
        before = self.color[index, 3]
        self.color[index, 3] += left * alpha
        reached = (before < OPAQUE_ENOUGH) & (self.color[index, 3] >= OPAQUE_ENOUGH)
        self.depth[index[reached]] = t[reached]


def reference_cast(
    scene: Scene, camera: Camera, width: int, height: int, blocks: Sequence[Block]
) -> tuple[np.ndarray, np.ndarray, list[int]]:
    """Return image (height, width, 4), depth, and numbers of rays that hit each layer."""
    rays = rays_of(scene, camera, width, height)
    canvas = Canvas(width * height)
    hits = [np.zeros(width * height, dtype=bool) for _ in scene.layers]
    for block in blocks:
        if not block.empty:
            _Cast(scene, rays, Values(block, scene), canvas, hits, width).all()
    image = canvas.color.reshape(height, width, 4)
    depth = (canvas.depth * rays.cosine).reshape(height, width)
    return image, depth, [int(h.sum()) for h in hits]


class _Cast:
    def __init__(
        self,
        scene: Scene,
        rays: Rays,
        values: Values,
        canvas: Canvas,
        hits: list[np.ndarray],
        width: int,
    ) -> None:
        self.width = width
        self.scene, self.rays, self.values = scene, rays, values
        self.canvas, self.hits = canvas, hits
        self.marching = any(not isinstance(layer, Slice) for layer in scene.layers)
        self.crossings = {
            (number, iso): crossings(values, rays, layer.field, iso)
            for number, layer in enumerate(scene.layers)
            if isinstance(layer, Isosurface)
            for iso in layer.values
        }
        self.slices = []
        for number, layer in enumerate(scene.layers):
            if isinstance(layer, Slice):
                normal = np.array(layer.normal, dtype=float)
                along = rays.direction @ normal
                toward = (np.array(layer.origin) - rays.origin) @ normal
                t = np.full(len(along), np.inf)  # rays parallel to the plane never meet it
                np.divide(toward, along, out=t, where=along != 0)
                t -= rays.enter
                t[~((t >= 0) & (t <= rays.length) & (rays.length > 0))] = np.inf
                self.slices.append((number, layer, t))

    def points(self, index: np.ndarray, t: np.ndarray) -> np.ndarray:
        """Return points; `t` is the distance from the entry point into the domain."""
        rays = self.rays
        return rays.origin[index] + (rays.enter[index] + t)[:, None] * rays.direction[index]

    def all(self) -> None:
        if not self.marching:
            index = np.flatnonzero(self.rays.length > 0)
            self.segment(index, np.zeros(len(index)), self.rays.length[index], own=True)
            return
        ends = segment_ends(self.scene, self.rays, self.width)
        for k in range(ends.shape[1] - 1):
            index = np.flatnonzero(ends[:, k] < self.rays.length)
            begin = ends[index, k]
            end = np.minimum(ends[index, k + 1], self.rays.length[index])
            mine = self.values.owned(self.points(index, (begin + end) / 2))
            self.segment(index[mine], begin[mine], end[mine], own=False)

    def segment(self, index: np.ndarray, begin: np.ndarray, end: np.ndarray, own: bool) -> None:
        """Draw everything between `begin` and `end` of some rays, in order of distance."""
        if len(index) == 0:
            return
        events: list[tuple[int, Any, np.ndarray, float]] = []
        for number, layer, t in self.slices:
            inside = (t[index] >= begin) & (t[index] <= end)
            inside &= (t[index] < end) | (end >= self.rays.length[index])
            if own:
                at = np.where(inside, t[index], 0.0)
                inside &= self.values.owned(self.points(index, at))
            events.append((number, layer, np.where(inside, t[index], np.inf), 0.0))
        volumes = []
        for number, layer in enumerate(self.scene.layers):
            if isinstance(layer, Slice):
                continue
            if isinstance(layer, Volume):
                volumes.append((number, layer))
                continue
            for iso in layer.values:
                t = self.crossings[number, iso][index]
                t = np.where((t >= begin[:, None]) & (t < end[:, None]), t, np.inf)
                events += [(number, layer, some, iso) for some in t.T if np.isfinite(some).any()]
        at = begin.copy()
        while True:
            times = np.stack([t for _, _, t, _ in events] + [end])
            which = times.argmin(axis=0)
            until = times.min(axis=0)
            self.media(volumes, index, at, until)
            if not (which < len(events)).any():
                return
            for e, (number, layer, t, iso) in enumerate(events):
                now = which == e
                if now.any():
                    self.surface(number, layer, index[now], t[now], iso)
                    t[now] = np.inf
            at = until

    def media(
        self, volumes: list[Any], index: np.ndarray, begin: np.ndarray, end: np.ndarray
    ) -> None:
        """Integrate volumes between two positions of each ray."""
        if not volumes:
            return
        total, mixed = np.zeros(len(index)), np.zeros((len(index), 3))
        for number, layer in volumes:
            a = self.values.value(layer.field, self.points(index, begin))
            b = self.values.value(layer.field, self.points(index, end))
            unit = layer.unit_distance or self.scene.step
            tau, color = mean_medium(layer.transfer, unit, a, b)
            if layer.shading is not None:
                normal = self.values.gradient(layer.field, self.points(index, (begin + end) / 2))
                color = lit(color, layer.shading, normal, self.rays.direction[index])
            total += tau
            mixed += tau[:, None] * color
            self.hits[number][index[(tau > 0) & (end > begin)]] = True
        alpha = 1 - np.exp(-total * (end - begin))
        color = mixed / np.maximum(total, 1e-300)[:, None]
        self.canvas.add(index, color, alpha, self.rays.enter[index] + begin)

    def surface(
        self, number: int, layer: Any, index: np.ndarray, t: np.ndarray, iso: float
    ) -> None:
        points = self.points(index, t)
        if isinstance(layer, Slice):
            color = colors_of(layer.colors, self.values.value(layer.field, points))
        elif layer.color is not None:
            color = np.tile(np.array(layer.color, dtype=float), (len(index), 1))
        else:
            value = np.full(len(index), iso)
            if layer.color_field is not None:
                value = self.values.value(layer.color_field, points)
            color = colors_of(layer.colors, value)
        rgb, alpha = color[:, :3], color[:, 3] * layer.opacity
        if isinstance(layer, Isosurface):
            normal = self.values.gradient(layer.field, points) if layer.lighting else None
            rgb = lit(rgb, layer.lighting, normal, self.rays.direction[index])
        self.canvas.add(index, rgb, alpha, self.rays.enter[index] + t)
        self.hits[number][index[alpha > 0]] = True
