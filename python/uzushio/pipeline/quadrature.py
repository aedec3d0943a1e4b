"""Quadrature over the points of a grid, on all ranks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from uzushio.pipeline.figure import to_power
from uzushio.pipeline.selection import GridSelection

if TYPE_CHECKING:
    from mpi4py import MPI

    from uzushio.pipeline.need import Part
    from uzushio.pipeline.stream import Stream

#: Reductions of a set of values to one number.
Measure = Literal["mean", "rms", "std", "min", "max", "integral"]
Weights = tuple[np.ndarray, np.ndarray, np.ndarray]


def weights(selection: GridSelection) -> Weights:
    """Return the quadrature weights of a selection along z, y, x, in units of length.

    Vertices: the trapezoidal rule. Centres of elements: the width of the element. Periodic axes:
    equal weights. An axis with one point has weight 1, so an integral over a plane is one over its
    area. Curvilinear grids: all weights 1.
    """
    z, y, x = (_line(selection, axis) for axis in range(3))
    return z, y, x


def _line(selection: GridSelection, axis: int) -> np.ndarray:
    grid, count = selection.grid, selection.count[axis]
    if selection.lines is None or count == 1:
        return np.ones(count)
    line = selection.lines[axis]
    all_of_it = count == grid.points.count[axis]
    if grid.faces is not None and selection.stride[axis] == 1:
        first = selection.start[axis] - grid.points.start[axis]
        return np.diff(grid.faces[axis][first : first + count + 1])
    if grid.period_points(axis) and all_of_it and not grid.repeats:
        return np.full(count, grid.period_length(axis) / count)
    half: np.ndarray = 0.5 * np.diff(line)
    return np.asarray(np.append(half, 0.0) + np.append(0.0, half))


def measure_unit(
    stream: Stream, field: str, measure: Measure, selection: GridSelection, along: int | None = None
) -> str:
    """Return the unit of a reduction of a field; "" if it is not known.

    Args:
        stream: stream of the field.
        field: name of the field.
        measure: reduction.
        selection: points that are reduced.
        along: axis that is not reduced, 0 for z; None: all axes are reduced.
    """
    unit = stream.quantity(field).unit
    if measure != "integral":
        return unit
    axes = sum(n > 1 and axis != along for axis, n in enumerate(selection.count))
    if selection.lines is None or not (unit and stream.length_unit):
        return "" if axes else unit
    length = to_power(stream.length_unit, axes) if axes > 1 else stream.length_unit
    return unit if not axes else length if unit == "1" else f"{unit} {length}"


class Reducer:
    """Reduction of a selection's values to one number, or to one for each point along an axis."""

    def __init__(self, comm: MPI.Comm, selection: GridSelection, along: int | None) -> None:
        """Compute the weights.

        Args:
            comm: the ranks.
            selection: points that are reduced.
            along: axis that is not reduced, 0 for z; None: all axes are reduced.
        """
        self._comm, self._selection, self._along = comm, selection, along
        self._weights = weights(selection)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of a result."""
        return () if self._along is None else (self._selection.count[self._along],)

    def __call__(
        self, parts: Sequence[Part], fields: Sequence[str], measures: Iterable[Measure]
    ) -> dict[tuple[str, Measure], np.ndarray]:
        """Reduce fields (collective); all ranks get the results.

        Results of different numbers of ranks agree to rounding, as the order of the sums differs.
        NaN in the values gives NaN, and sums beyond the largest number are infinite.
        """
        with np.errstate(all="ignore"):
            return self._reduced(parts, fields, measures)

    def _reduced(
        self, parts: Sequence[Part], fields: Sequence[str], measures: Iterable[Measure]
    ) -> dict[tuple[str, Measure], np.ndarray]:
        """Reduce fields (collective), as `__call__`."""
        reduced: dict[tuple[str, Measure], np.ndarray] = {}
        wanted = list(dict.fromkeys(measures))
        means = {}
        if {"mean", "std", "integral"} & set(wanted):
            means = self._sums(parts, fields, 1, {})
        squares = self._sums(parts, fields, 2, {}) if "rms" in wanted else {}
        spread = self._sums(parts, fields, 2, means) if "std" in wanted else {}
        for field in fields:
            for measure in wanted:
                if measure in ("min", "max"):
                    reduced[field, measure] = self._extreme(parts, field, measure)
                elif measure == "mean":
                    reduced[field, measure] = means[field]
                elif measure == "integral":
                    reduced[field, measure] = means[field] * self._total()
                else:
                    reduced[field, measure] = np.sqrt(
                        (squares if measure == "rms" else spread)[field]
                    )
        return reduced

    def _total(self) -> float:
        """Return the length, area or volume of the reduced axes."""
        lengths = [line.sum() for axis, line in enumerate(self._weights) if axis != self._along]
        return float(np.prod(lengths))

    def _sums(
        self,
        parts: Sequence[Part],
        fields: Sequence[str],
        power: int,
        less: dict[str, np.ndarray],
    ) -> dict[str, np.ndarray]:
        """Return the means of (values - less)**power."""
        local = np.zeros((len(fields), *self.shape))
        normal = [line / line.sum() for line in self._weights]
        for part in self._selection.owned(parts):
            own = [line[s] for line, s in zip(normal, part.box.slices(), strict=True)]
            here = ... if self._along is None else part.box.slices()[self._along]
            for number, field in enumerate(fields):
                values = part.values(field)
                mean = less.get(field)
                if mean is not None and self._along is not None:
                    mean = mean[here]
                local[(number, here)] += _sum(values, own, self._along, power, mean)
        total = np.empty_like(local)
        self._comm.Allreduce(local, total)
        return {field: total[number] for number, field in enumerate(fields)}

    def _extreme(self, parts: Sequence[Part], field: str, measure: Measure) -> np.ndarray:
        from mpi4py import MPI

        least = measure == "min"
        nothing = np.inf if least else -np.inf
        local, lost = np.full(self.shape, nothing), np.zeros(self.shape, np.int32)
        over = tuple(axis for axis in range(3) if axis != self._along)
        for part in self._selection.owned(parts):
            here = ... if self._along is None else part.box.slices()[self._along]
            values = part.values(field)
            block_extreme = values.min(axis=over) if least else values.max(axis=over)
            lost[here] |= np.isnan(block_extreme)  # MPI does not define the order of NaN
            local[here] = (np.fmin if least else np.fmax)(local[here], block_extreme)
        extreme, bad = np.empty_like(local), np.empty_like(lost)
        self._comm.Allreduce(local, extreme, MPI.MIN if least else MPI.MAX)
        self._comm.Allreduce(lost, bad, MPI.MAX)
        return np.where((bad > 0) | np.isinf(extreme) & (extreme == nothing), np.nan, extreme)


def _sum(
    values: np.ndarray,
    weights: Sequence[np.ndarray],
    along: int | None,
    power: int,
    less: np.ndarray | None,
) -> np.ndarray:
    """Return the weighted sum of a part, plane by plane, in double precision."""
    z, y, x = weights
    out = np.zeros(() if along is None else values.shape[along])
    for k, plane in enumerate(values):
        plane = plane.astype(np.float64, copy=False)
        if less is not None:
            plane = plane - (less[k] if along == 0 else less[:, np.newaxis] if along == 1 else less)
        if power == 2:
            plane = plane * plane
        if along == 0:
            out[k] = y @ (plane @ x)
        elif along == 1:
            out += z[k] * (plane @ x)
        elif along == 2:
            out += z[k] * (y @ plane)
        else:
            out += z[k] * (y @ (plane @ x))
    return out
