"""Position and values under the pointer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from uzushio._base.parallel.sync import minimum
from uzushio.domain.axes import bounds_of
from uzushio.pipeline.blocks import lines_of
from uzushio.pipeline.need import Part
from uzushio.render.cameras import Vector
from uzushio.render.plates import thickened
from uzushio.render.view import IsosurfaceLayer, SliceLayer, View, VolumeLayer
from uzushio.viewer.exchange import DrawRequest, ProbeValue

if TYPE_CHECKING:
    from mpi4py import MPI

    from uzushio.render.mesh_renderer import MeshSurfaces
    from uzushio.viewer.scene import Scene

#: Number of samples on the ray through the domain.
_SAMPLES = 512
#: Share of the light that a volume absorbs before the point that counts as visible.
_ABSORBED = 0.5

Points = NDArray[np.float64]


def probe(comm: MPI.Comm, scene: Scene, request: DrawRequest) -> ProbeValue | None:
    """Return the values under the pointer in a view's last picture, on rank 0 (collective).

    Values between points are interpolated linearly, as in the picture. Each rank takes the ray of
    the pointer through its own cells, or its own surfaces where the picture was drawn by VTK; rank
    0 finds the first visible point.
    """
    nothing = ProbeValue(None) if comm.rank == 0 else None
    scene_parts = scene.parts(request.view)
    if scene_parts is None or request.probe is None:
        return nothing
    state, context = scene_parts
    view = state.drawing.shown
    ray: tuple[Points, Points] | None = None
    if comm.rank == 0 and state.picture is not None and state.picture.camera is not None:
        width, height = view.size
        x, y = request.probe
        ray = state.picture.camera.ray(x * width, y * height, width, height)
    ray = comm.bcast(ray)
    if ray is None:
        return nothing
    surfaces = state.drawing.surfaces_of(context)
    if surfaces is not None:
        return _on_surfaces(comm, surfaces, ray, view)
    need = state.needs[0]
    lines = lines_of(context.stream.grid_of(need.fields[0]))
    if lines is None:  # the layers have changed since the picture
        return nothing
    bounds = bounds_of(thickened(lines))
    inside = _inside(ray[0], ray[1], bounds)
    if inside is None:
        return nothing
    origin, direction = ray
    names = dict(zip(need.fields, view.fields(), strict=True))
    parts = context.parts(need)

    def values(places: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
        points = origin + places[:, None] * direction
        own = np.full((len(names), len(places)), np.inf)
        for part in parts:
            for row, name in enumerate(names):
                own[row] = np.fmin(own[row], sampled(part, name, points))
        comm.Allreduce(own.copy(), own, minimum())
        own[np.isinf(own)] = np.nan
        return dict(zip(names.values(), own, strict=True))

    places = np.linspace(inside[0], inside[1], _SAMPLES)
    profile = values(places)
    limits = state.picture.limits if state.picture is not None else {}
    mine = None
    if comm.rank == 0:
        mine = min(_visible(view, bounds, ray, places, profile, limits), default=None)
    place = comm.bcast(mine)
    if place is None:
        return nothing
    there = values(np.array([place]))
    if comm.rank:
        return None
    x, y, z = (float(c) for c in origin + place * direction)
    asked = state.drawing.view.fields()  # without the mask of bodies
    known = {name: float(there[name][0]) for name in asked if np.isfinite(there[name][0])}
    return ProbeValue((x, y, z), known)


def _on_surfaces(
    comm: MPI.Comm, surfaces: MeshSurfaces, ray: tuple[Points, Points], view: View
) -> ProbeValue | None:
    """Return position and values of the nearest point of all ranks' surfaces, on rank 0."""
    origin, direction = ray
    parts = [
        _drawn(view.half_spaces(layer, surfaces.bounds), ray, 0.0, np.inf)
        for layer, data in zip(view.layers, surfaces.layer_data, strict=True)
        for _ in data
    ]
    hits = comm.gather(surfaces.picker.first(origin, direction, view.fields(), parts))
    if hits is None:
        return None
    distance, values = min(hits, key=lambda hit: hit[0])
    if not np.isfinite(distance):
        return ProbeValue(None)
    x, y, z = (float(c) for c in origin + distance * direction)
    return ProbeValue((x, y, z), {name: v for name, v in values.items() if np.isfinite(v)})


def _inside(
    origin: Points, direction: Points, bounds: Sequence[tuple[float, float]]
) -> tuple[float, float] | None:
    """Return the distances at which a ray enters and leaves a box; None if it misses it."""
    low, high = np.array(bounds).T
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = np.stack([(low - origin) / direction, (high - origin) / direction])
    parallel = direction == 0
    if (parallel & ((origin < low) | (origin > high))).any():
        return None
    near = float(np.where(parallel, -np.inf, ends.min(axis=0)).max())
    far = float(np.where(parallel, np.inf, ends.max(axis=0)).min())
    near = max(near, 0.0)
    return (near, far) if near <= far else None


def sampled(part: Part, name: str, points: Points) -> NDArray[np.float64]:
    """Return a field of a part at points (x, y, z) in its own cells, inf elsewhere; shape (n,)."""
    result = np.full(len(points), np.inf)
    values = part.fields[name]
    owned = np.ones(len(points), bool)
    corners: list[NDArray[np.int64]] = []
    shares: list[NDArray[np.float64]] = []
    for axis, line in enumerate(part.coordinates):
        at = points[:, 2 - axis]
        if part.grid.points.count[axis] < 2:  # a flat mesh has no extent here
            corners.append(np.zeros(len(points), np.int64))
            shares.append(np.zeros(len(points)))
            continue
        first = part.cells.start[axis] - part.stored.start[axis]
        count = part.cells.count[axis]
        if count < 1:
            return result
        own = line[first : first + count + 1]
        slack = 1e-9 * abs(own[-1] - own[0])
        owned &= (at >= own[0] - slack) & (at <= own[-1] + slack)
        cell = np.clip(np.searchsorted(own, at, side="right") - 1, 0, count - 1)
        corners.append(first + cell)
        shares.append(np.clip((at - own[cell]) / (own[cell + 1] - own[cell]), 0.0, 1.0))
    if not owned.any():
        return result
    total = np.zeros(len(points))
    for offsets in np.ndindex(2, 2, 2):
        weight = np.ones(len(points))
        place = []
        for axis, offset in enumerate(offsets):
            thick = values.shape[axis] > 1 and part.grid.points.count[axis] > 1
            place.append(corners[axis] + (offset if thick else 0))
            weight = weight * (shares[axis] if offset else 1.0 - shares[axis])
        used = owned & (weight > 0)
        total[used] += weight[used] * values[place[0][used], place[1][used], place[2][used]]
    result[owned] = total[owned]
    return result


def _visible(
    view: View,
    bounds: Sequence[tuple[float, float]],
    ray: tuple[Points, Points],
    places: NDArray[np.float64],
    profile: dict[str, NDArray[np.float64]],
    limits: Any,
) -> Iterator[float]:
    """Yield the first visible distance on the ray of each layer that it meets."""
    origin, direction = ray
    for layer in view.layers:
        begin, end = _drawn(
            view.half_spaces(layer, bounds), ray, float(places[0]), float(places[-1])
        )
        if isinstance(layer, SliceLayer):
            point, normal = (np.array(vector) for vector in layer.plane(bounds))
            towards = float(direction @ normal)
            if towards:
                place = float((point - origin) @ normal) / towards
                if begin <= place <= end:
                    yield place
                elif np.isclose(place, (begin, end), rtol=1e-9).any():
                    yield float(np.clip(place, places[0], places[-1]))
        elif isinstance(layer, IsosurfaceLayer):
            values = profile[layer.field]
            for value in layer.values:
                beyond = values - value
                for n in np.flatnonzero(beyond[:-1] * beyond[1:] <= 0):  # False for NaN
                    step = beyond[n] - beyond[n + 1]
                    share = beyond[n] / step if step else 0.0
                    place = float(places[n] + share * (places[n + 1] - places[n]))
                    if begin <= place <= end:
                        yield place
                        break
        elif isinstance(layer, VolumeLayer):
            values = np.where((places >= begin) & (places <= end), profile[layer.field], np.nan)
            yield from _visible_in_volume(layer, bounds, places, values, limits)


def _drawn(
    half_spaces: Sequence[tuple[Vector, Vector]],
    ray: tuple[Points, Points],
    begin: float,
    end: float,
) -> tuple[float, float]:
    """Restrict a part of a ray to half spaces; nothing is left if the distances decrease."""
    origin, direction = ray
    for point, normal in half_spaces:
        towards, ahead = float(direction @ normal), float((point - origin) @ normal)
        if towards > 0:
            end = min(end, ahead / towards)
        elif towards < 0:
            begin = max(begin, ahead / towards)
        elif ahead < 0:
            return np.inf, -np.inf
    return begin, end


def _visible_in_volume(
    layer: VolumeLayer,
    bounds: Sequence[tuple[float, float]],
    places: NDArray[np.float64],
    values: NDArray[np.float64],
    limits: Any,
) -> Iterator[float]:
    """Yield the distance at which half of the light that a volume absorbs is absorbed."""
    lo, hi = limits.get(layer.color.label or layer.field, (0.0, 1.0))
    at, opacities = np.array(layer.opacity).T
    if layer.places == "limits":
        at = lo + (hi - lo) * at
    distance = layer.unit_distance or float(np.linalg.norm(np.diff(bounds, axis=1))) / 40
    opacity = np.interp(np.nan_to_num(values), at, opacities) * np.isfinite(values)
    length = (places[-1] - places[0]) / (len(places) - 1) / distance
    passed = np.cumprod((1.0 - np.minimum(opacity, 1.0 - 1e-9)) ** length)
    absorbed = 1.0 - passed
    if absorbed[-1] > 0.01:
        yield float(places[int(np.searchsorted(absorbed, _ABSORBED * absorbed[-1]))])
