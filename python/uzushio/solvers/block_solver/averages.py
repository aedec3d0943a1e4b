"""Samples of a solver's fields for time averages, and the statistics derived from the averages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from uzushio.solvers.block_solver.published import lines
from uzushio.solvers.block_solver.zone_arrays import ZoneArray
from uzushio.solvers.contract import Sample

if TYPE_CHECKING:
    import xarray as xr
    from mpi4py import MPI

#: Name of the mean of a field's square, after the field's name.
_SQUARE = "_square"


def samples(
    core: Any, arrays: Iterable[ZoneArray], over: Sequence[str], comm: MPI.Comm
) -> dict[str, Sample]:
    """Return means of arrays and of their squares; values are valid on rank 0 (collective).

    Sums are those of double-double numbers, so that their bits are those of any number of ranks.

    Args:
        core: the solver after its set-up.
        arrays: arrays of which each point is on one rank.
        over: axes (i, j, k) over which the mean is taken.
        comm: ranks of the solver.
    """
    found = {}
    unused = range(3 - core.dimension)
    axes = tuple(axis for axis, name in enumerate("kji") if name in over or axis in unused)
    for one in arrays:
        parts = [
            (start, _sums(values, axes), _sums(values * values, axes))
            for start, values in one.array.parts
        ]
        gathered = comm.gather(parts)
        shape = tuple(1 if axis in axes else n for axis, n in enumerate(one.array.shape))
        dims = tuple(dim for axis, dim in enumerate(_dims(core, one)) if axis not in axes)
        terms = np.prod([one.array.shape[axis] for axis in axes])
        for which, label in enumerate(("", _SQUARE)):
            total = np.zeros((2, *shape))
            for rank in gathered or ():
                for start, *sums in rank:
                    box = (slice(None), *_box(start, sums[which].shape[1:], axes))
                    total[box] = _sum(total[box], sums[which])
            mean = (total[0] + total[1]) / terms
            found[_label(one) + label] = Sample(dims, mean.squeeze(axes))
    return found


def dataset(
    core: Any, arrays: Iterable[ZoneArray], mean: Mapping[str, Sample], attributes: dict[str, Any]
) -> xr.Dataset:
    """Return NAME, the mean of each array, and NAME_rms, the root of its variance.

    Args:
        core: the solver after its set-up.
        arrays: the averaged arrays.
        mean: time averages of `samples`.
        attributes: those of the dataset.
    """
    import xarray as xr  # slow to import, and needed on one rank only

    data, coordinates = {}, {}
    for one in arrays:
        label, unit = _label(one), one.field["unit"]
        dims, average = mean[label].dims, np.asarray(mean[label].values)
        variance = np.asarray(mean[label + _SQUARE].values) - average**2
        rms = np.sqrt(np.maximum(variance, 0.0))
        for name, what, values in ((label, "mean", average), (f"{label}_rms", "r.m.s.", rms)):
            data[name] = (dims, values, {"long_name": f"{what} of {label}", "units": unit})
        zone = core.zones()[one.zone]
        along = lines(core, one.zone, zone["cells"]) if zone["rectilinear"] else None
        for dim, line, vertices in zip(_dims(core, one), along or (), one.stagger, strict=False):
            if dim in dims:
                coordinates[dim] = line if vertices else 0.5 * (line[1:] + line[:-1])
    return xr.Dataset(data, coords=coordinates, attrs=attributes)


def _label(one: ZoneArray) -> str:
    return one.name.replace("/", "_")  # of one group in Zarr


def _dims(core: Any, one: ZoneArray) -> list[str]:
    """Return names of the axes: x, y, z if these are the axes of the zone, else i, j, k."""
    zones = core.zones()
    prefix = f"{zones[one.zone]['name']}_" if len(zones) > 1 else ""
    names = "zyx" if zones[one.zone]["rectilinear"] else "kji"
    staggered = zip(names, one.stagger, strict=True)
    dims = [f"{prefix}{name}{'_vertex' if vertices else ''}" for name, vertices in staggered]
    return [*dims, "component"][: len(one.array.shape)]


def _box(start: tuple[int, ...], extents: tuple[int, ...], axes: tuple[int, ...]) -> list[slice]:
    """Return where sums over axes belong."""
    return [
        slice(0, 1) if axis in axes else slice(first, first + n)
        for axis, (first, n) in enumerate(zip(start, extents, strict=True))
    ]


def _sums(values: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """Return double-double sums along axes, which remain with extent 1: (high and low, …)."""
    sums = np.stack([values, np.zeros_like(values)])
    for axis in (one + 1 for one in axes):
        while (n := sums.shape[axis]) > 1:
            half = n // 2
            pieces = np.split(sums, [half, 2 * half], axis)
            sums = np.concatenate([_sum(pieces[0], pieces[1]), pieces[2]], axis)
    return sums


def _sum(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the sums of double-double numbers (high, low)."""
    a, b = one[0], other[0]
    total = a + b
    back = total - a
    lost = (a - (total - back)) + (b - back) + one[1] + other[1]
    high = total + lost
    return np.stack([high, lost - (high - total)])
