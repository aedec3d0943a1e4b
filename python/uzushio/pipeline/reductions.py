"""Evaluation of expressions of reductions, such as "max(abs(u)) > 25", on all ranks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from uzushio._base.parallel.sync import collective
from uzushio.domain.box import Box
from uzushio.errors import PipelineError
from uzushio.pipeline.expression import FieldExpression, ScalarExpression
from uzushio.pipeline.graph import Graph, unknown_name
from uzushio.pipeline.need import Need, Part
from uzushio.pipeline.nodes import named_values

if TYPE_CHECKING:
    from uzushio.pipeline.context import Context

#: Number of values per evaluation of an expression.
_PIECE = 1 << 15


@dataclass
class ScalarMoments:
    """Count, extremes, mean and squares of values; all points have weight 1, NaN is left out.

    Sums beyond the largest number are infinite.
    """

    count: int = 0
    low: float = math.inf
    high: float = -math.inf
    mean: float = 0.0
    squares: float = 0.0  #: of the differences from the mean, summed

    def add(self, values: np.ndarray) -> None:
        """Add values."""
        with np.errstate(all="ignore"):
            self._add(values)

    def _add(self, values: np.ndarray) -> None:
        if np.isnan(np.sum(values)):
            values = values[~np.isnan(values)]
        if values.size:
            mean = float(values.mean(dtype=np.float64))
            squares = float(np.square(values - mean, dtype=np.float64).sum())
            low, high = float(values.min()), float(values.max())
            self.merge(ScalarMoments(values.size, low, high, mean, squares))

    def merge(self, other: ScalarMoments) -> None:
        """Add the values of another object (Chan, Golub and LeVeque, 1983)."""
        if other.count:
            count, difference = self.count + other.count, other.mean - self.mean
            # The square of a float by ** raises an error where a product is infinite.
            products = difference * difference * self.count * other.count
            self.squares += other.squares + products / count
            self.mean += difference * other.count / count
            self.low, self.high = min(self.low, other.low), max(self.high, other.high)
            self.count = count

    def value(self, name: str) -> float:
        """Return the reduction of this name; NaN without values."""
        if not self.count:
            return math.nan
        return {
            "min": self.low,
            "max": self.high,
            "mean": self.mean,
            "sum": self.mean * self.count,
            "std": math.sqrt(self.squares / self.count),
        }[name]


class ReductionExpression:
    """Expression of reductions, bound to the fields of a graph."""

    def __init__(self, text: str, graph: Graph) -> None:
        """Parse the text and check its names.

        Args:
            text: the expression.
            graph: fields and numbers.

        Raises:
            PipelineError: a name is unknown.
        """
        self._graph = graph
        self._expression = ScalarExpression(text)
        #: Reduction, expression, and for each mesh the need and the expression's fields.
        self._parts: list[tuple[str, FieldExpression, list[tuple[Need, dict[str, str]]]]] = []
        for name, inner in self._expression.reductions:
            meshes = [
                (Need(tuple(fields.values())), fields) for fields in graph.on_each_mesh(inner)
            ]
            self._parts.append((name, inner, meshes))
        for name in self._expression.names:
            if not graph.is_number(name):
                if isinstance(graph.stream.attributes.get(name), str):
                    raise PipelineError(f"'{text}': the attribute '{name}' is a text, not a number")
                if name in graph.stream.quantities:
                    raise PipelineError(
                        f"'{text}': '{name}' is a field; reduce it to one number, as max({name})"
                    )
                raise PipelineError(unknown_name(text, name, [*graph.numbers()]))

    @property
    def needs(self) -> Sequence[Need]:
        """Values that the expression reads."""
        return [need for _, _, meshes in self._parts for need, _ in meshes]

    def __call__(self, context: Context) -> float:
        """Evaluate for a step, with the same result on all ranks (collective).

        Comparisons are 0 or 1.

        Raises:
            PipelineError: the expression cannot be computed.
        """
        rank_moments: list[ScalarMoments] = []
        numbers = self._graph.numbers()
        with collective(context.comm):
            for _, inner, meshes in self._parts:
                moments = ScalarMoments()
                for need, fields in meshes:
                    for part in context.parts(need):
                        _add(moments, inner, fields, part, numbers)
                rank_moments.append(moments)
        every: list[list[ScalarMoments]] = context.comm.allgather(rank_moments)
        reduced = []
        for number, (name, _, _) in enumerate(self._parts):
            whole = ScalarMoments()
            for rank in every:
                whole.merge(rank[number])
            reduced.append(whole.value(name))
        try:
            return self._expression(reduced, numbers)
        except KeyError as error:
            raise PipelineError(
                f"'{self._expression.text}' needs the number {error}, which this step has not."
            ) from error
        except (ArithmeticError, TypeError, ValueError) as error:
            raise PipelineError(
                f"'{self._expression.text}' cannot be computed ({error})."
            ) from error


def _add(
    moments: ScalarMoments,
    expression: FieldExpression,
    fields: Mapping[str, str],
    part: Part,
    numbers: Mapping[str, float],
) -> None:
    """Add an expression's values on a part, a few planes or rows at a time."""
    nz, ny, nx = part.points.count
    rows = max(1, _PIECE // nx)
    planes = max(1, _PIECE // (nx * ny))
    for k in range(0, nz, planes):
        for j in range(0, ny, rows if planes == 1 else ny):
            start = (part.points.start[0] + k, part.points.start[1] + j, part.points.start[2])
            count = (min(planes, nz - k), min(rows if planes == 1 else ny, ny - j), nx)
            moments.add(_values(expression, fields, part, Box(start, count), numbers))


def _values(
    expression: FieldExpression,
    fields: Mapping[str, str],
    part: Part,
    box: Box,
    numbers: Mapping[str, float],
) -> np.ndarray:
    """Return the values on a box of a part of an expression, whose fields are `fields` by name."""
    inside = box.slices(part.stored.start)
    values = {name: part.fields[field][inside] for name, field in fields.items()}
    if expression.names == (expression.text,):
        return values[expression.text]
    return expression(named_values(expression, values, part.grid, box, numbers))
