"""Samples of a solver's fields for time averages, and the statistics derived from the averages."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from uzushio._base.config.names import unknown
from uzushio.errors import CaseError
from uzushio.solvers.block_solver.case import BlockStatistics
from uzushio.solvers.block_solver.published import lines
from uzushio.solvers.block_solver.zone_arrays import ZoneArray
from uzushio.solvers.contract import Sample
from uzushio.solvers.statistics.batch_means import MAX_BATCHES

if TYPE_CHECKING:
    import xarray as xr
    from mpi4py import MPI

#: Arrays of the size of a sample in memory, at the end of a run, and of each batch, as measured.
_ARRAYS, _ARRAYS_OF_BATCH = 12, 2.5
#: Name of the mean of a field's square, after the field's name.
_SQUARE = "_square"
#: Axes of the components of both fields of a covariance.
COMPONENTS = ("component", "other_component")


def check_names(core: Any, asked: BlockStatistics) -> None:
    """Raise `CaseError` if the core has no such fields, or not at the same points.

    Args:
        core: the solver, also before its set-up.
        asked: the fields and their covariances.
    """
    places = {field["name"]: field["centring"] for field in core.fields()}
    for name in asked.fields:
        if name not in places:
            raise CaseError(f"statistics.fields: the field '{name}' {unknown(name, [*places])}")
    for pair in asked.covariances:
        if {places[name] for name in pair} not in ({"cell"}, {"vertex"}):
            pair_text = " and ".join(f"'{name}' (at {places[name]}s)" for name in pair)
            raise CaseError(
                f"statistics.covariances: {pair_text} are not at the same points: name two fields "
                "at cells, or two at vertices."
            )


def needs(core: Any, asked: BlockStatistics, steps: int | None) -> tuple[int, int]:
    """Return the bytes of the averages in the memory of rank 0, and in a checkpoint.

    Args:
        core: the solver, also before its set-up.
        asked: the fields, their covariances, and the axes that they are averaged over.
        steps: number of steps of the run; None if that is not known.
    """
    components = {field["name"]: field["components"] for field in core.fields()}
    values = 2 * sum(components[name] for name in asked.fields)
    for first, other in dict.fromkeys(map(tuple, asked.covariances)):
        n, m = components[first], components[other]
        values += n * (n + 1) // 2 if first == other else n * m
    kept = [axis for axis, name in enumerate("kji") if name not in asked.over]
    points = sum(math.prod(zone["cells"][axis] for axis in kept) for zone in core.zones())
    batches = MAX_BATCHES if steps is None else min(steps // asked.every + 1, MAX_BATCHES)
    in_memory, stored = _ARRAYS + _ARRAYS_OF_BATCH * batches, 4 + batches
    return round(8 * values * points * in_memory), 8 * values * points * stored


def samples(
    core: Any,
    arrays: Sequence[ZoneArray],
    pairs: Sequence[tuple[str, str]],
    over: Sequence[str],
    comm: MPI.Comm,
) -> dict[str, Sample]:
    """Return means of arrays, of their squares and of products; valid on rank 0 (collective).

    Sums are those of double-double numbers, so that their bits are those of any number of ranks.

    Args:
        core: the solver after its set-up.
        arrays: arrays of which each point is on one rank.
        pairs: names of fields whose products are averaged, of the components of both.
        over: axes (i, j, k) over which the mean is taken.
        comm: ranks of the solver.
    """
    results = {}
    unused = range(3 - core.dimension)
    axes = tuple(axis for axis, name in enumerate("kji") if name in over or axis in unused)

    def mean(label: str, array: ZoneArray, last: str, parts: list[np.ndarray]) -> None:
        sums = [
            (start, _sums(values, axes))
            for (start, _), values in zip(array.array.parts, parts, strict=True)
        ]
        gathered = comm.gather(sums)
        spatial = array.array.shape[:3]
        shape = [1 if axis in axes else n for axis, n in enumerate(spatial)]
        dims = [dim for axis, dim in enumerate(_dims(core, array)[:3]) if axis not in axes]
        if gathered is None:
            gathered = []
        trailing = next((part.shape[4:] for rank in gathered for _, part in rank), ())
        total = np.zeros((2, *shape, *trailing))
        for rank in gathered:
            for start, part in rank:
                box = (slice(None), *_box(start[:3], part.shape[1:4], axes))
                total[box] = _sum(total[box], part)
        terms = np.prod([spatial[axis] for axis in axes])
        values = ((total[0] + total[1]) / terms).squeeze(axes)
        results[label] = Sample((*dims, *([last] if trailing else [])), values)

    for array in arrays:
        parts = [values for _, values in array.array.parts]
        mean(_label(array), array, "component", parts)
        mean(_label(array) + _SQUARE, array, "component", [values * values for values in parts])
    for array, other in _paired(arrays, pairs):
        mean(_product(array, other), array, "pair", _products(array, other))
    return results


def _paired(
    arrays: Sequence[ZoneArray], pairs: Sequence[tuple[str, str]]
) -> Iterator[tuple[ZoneArray, ZoneArray]]:
    """Yield the arrays of pairs of fields, zone by zone."""
    by_place = {(array.field["name"], array.zone): array for array in arrays}
    for first, second in dict.fromkeys(map(tuple, pairs)):
        for (name, zone), array in by_place.items():
            if name == first:
                yield array, by_place[second, zone]


def _components(array: ZoneArray, other: ZoneArray) -> list[tuple[int, int]]:
    """Return the pairs of components whose products are averaged; those of a field once."""
    return [
        (p, q)
        for p in range(array.field["components"])
        for q in range(other.field["components"])
        if array is not other or p <= q
    ]


def _products(array: ZoneArray, other: ZoneArray) -> list[np.ndarray]:
    """Return the products of components on each part, (k, j, i, pair)."""

    def split(array: ZoneArray, values: np.ndarray) -> np.ndarray:
        return values if array.field["components"] > 1 else values[..., np.newaxis]

    stacked = []
    for (_, a), (_, b) in zip(array.array.parts, other.array.parts, strict=True):
        first, second = split(array, a), split(other, b)
        products = [first[..., p] * second[..., q] for p, q in _components(array, other)]
        stacked.append(np.stack(products, axis=-1))
    return stacked


def dataset(
    core: Any,
    arrays: Sequence[ZoneArray],
    pairs: Sequence[tuple[str, str]],
    mean: Mapping[str, Sample],
    attributes: dict[str, Any],
) -> xr.Dataset:
    """Return NAME, the mean of each array, and NAME_rms, the root of its variance.

    For each pair it has covariance_NAME_OTHER, the mean of the product less the product of the
    means; its last axes are the components of both fields, of those that have several.

    Args:
        core: the solver after its set-up.
        arrays: the averaged arrays.
        pairs: names of fields whose covariances are computed.
        mean: time averages of `samples`.
        attributes: those of the dataset.
    """
    import xarray as xr  # slow to import, and needed on one rank only

    data, coordinates = {}, {}
    for array in arrays:
        label, unit = _label(array), array.field["unit"]
        dims, average = mean[label].dims, np.asarray(mean[label].values)
        variance = np.asarray(mean[label + _SQUARE].values) - average**2
        rms = np.sqrt(np.maximum(variance, 0.0))
        for name, what, values in ((label, "mean", average), (f"{label}_rms", "r.m.s.", rms)):
            data[name] = (dims, values, {"long_name": f"{what} of {label}", "units": unit})
        zone = core.zones()[array.zone]
        along = lines(core, array.zone, zone["cells"]) if zone["rectilinear"] else None
        for dim, line, vertices in zip(
            _dims(core, array), along or (), array.stagger, strict=False
        ):
            if dim in dims:
                coordinates[dim] = line if vertices else 0.5 * (line[1:] + line[:-1])
    for array, other in _paired(arrays, pairs):
        name, (dims, values) = _product(array, other), _covariance(array, other, mean)
        unit = " ".join(x.field["unit"] for x in (array, other) if x.field["unit"] != "1") or "1"
        text = f"covariance of {_label(array)} and {_label(other)}"
        data[name] = (dims, values, {"long_name": text, "units": unit})
    return xr.Dataset(data, coords=coordinates, attrs=attributes)


def _covariance(
    array: ZoneArray, other: ZoneArray, mean: Mapping[str, Sample]
) -> tuple[tuple[str, ...], np.ndarray]:
    """Return axes and values of the covariances of two fields' components."""
    counts = [x.field["components"] for x in (array, other)]
    products = mean[_product(array, other)]
    factors = [
        np.asarray(mean[_label(x)].values)[(...,) if n > 1 else (..., np.newaxis)]
        for x, n in zip((array, other), counts, strict=True)
    ]
    covariances = np.empty((*factors[0].shape[:-1], *counts))
    for number, (p, q) in enumerate(_components(array, other)):
        values = products.values[..., number] - factors[0][..., p] * factors[1][..., q]
        covariances[..., p, q] = values
        if array is other:
            covariances[..., q, p] = values
    several = [name for name, n in zip(COMPONENTS, counts, strict=True) if n > 1]
    if len(several) == 1:
        several = ["component"]
    kept = [n for n in counts if n > 1]
    return (*products.dims[:-1], *several), covariances.reshape(*covariances.shape[:-2], *kept)


def _product(array: ZoneArray, other: ZoneArray) -> str:
    return f"covariance_{_label(array)}_{_label(other)}"


def _label(array: ZoneArray) -> str:
    return array.name.replace("/", "_")  # of one group in Zarr


def _dims(core: Any, array: ZoneArray) -> list[str]:
    """Return names of the axes: x, y, z if these are the axes of the zone, else i, j, k."""
    zones = core.zones()
    prefix = f"{zones[array.zone]['name']}_" if len(zones) > 1 else ""
    names = "zyx" if zones[array.zone]["rectilinear"] else "kji"
    staggered = zip(names, array.stagger, strict=True)
    dims = [f"{prefix}{name}{'_vertex' if vertices else ''}" for name, vertices in staggered]
    return [*dims, "component"][: len(array.array.shape)]


def _box(start: tuple[int, ...], extents: tuple[int, ...], axes: tuple[int, ...]) -> list[slice]:
    """Return where sums over axes belong."""
    return [
        slice(0, 1) if axis in axes else slice(first, first + n)
        for axis, (first, n) in enumerate(zip(start, extents, strict=True))
    ]


def _sums(values: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """Return double-double sums along axes, which remain with extent 1: (high and low, …)."""
    sums = np.stack([values, np.zeros_like(values)])
    for axis in (number + 1 for number in axes):
        while (n := sums.shape[axis]) > 1:
            half = n // 2
            pieces = np.split(sums, [half, 2 * half], axis)
            sums = np.concatenate([_sum(pieces[0], pieces[1]), pieces[2]], axis)
    return sums


def _sum(addend: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the sums of double-double numbers (high, low)."""
    a, b = addend[0], other[0]
    total = a + b
    back = total - a
    lost = (a - (total - back)) + (b - back) + addend[1] + other[1]
    high = total + lost
    return np.stack([high, lost - (high - total)])
