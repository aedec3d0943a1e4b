"""Charts: curves with names, units and axes, which matplotlib or a page of the live view draws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class ChartAxis:
    """Axis of a chart.

    Attributes:
        name: name of the quantity; symbols are between $, as in matplotlib. May be empty.
        unit: unit of the quantity; empty if it is not known.
        log: whether the axis is logarithmic.
        limits: lower and upper end; None: those of the values.
    """

    name: str
    unit: str = ""
    log: bool = False
    limits: tuple[float, float] | None = None


@dataclass(frozen=True, eq=False)
class Curve:
    """Curve of a chart.

    Attributes:
        name: for the legend.
        x: positions on the horizontal axis, shape (n,).
        y: values, shape (n,); NaN where there is none.
        unit: unit of the values, if those of the curves differ.
    """

    name: str
    x: np.ndarray
    y: np.ndarray
    unit: str = ""


@dataclass(frozen=True, eq=False)
class Chart:
    """Curves and their axes."""

    x: ChartAxis
    y: ChartAxis
    curves: tuple[Curve, ...]

    def paint(self, axes: Axes) -> None:
        """Draw the curves, with names and units, into axes of matplotlib."""
        from uzushio.pipeline.figure import label

        for curve in self.curves:
            style = "-o" if len(curve.x) < 3 else "-"
            axes.plot(curve.x, curve.y, style, label=label(curve.name, curve.unit))
        axes.set_xlabel(label(self.x.name, self.x.unit))
        axes.set_ylabel(label(self.y.name, self.y.unit))
        axes.set(xscale="log" if self.x.log else "linear")
        axes.set(yscale="log" if self.y.log else "linear")
        if self.y.limits is not None:
            axes.set(ylim=self.y.limits)


def value_axis(
    names: Sequence[str], units: Sequence[str]
) -> tuple[ChartAxis, list[tuple[str, str]]]:
    """Return the vertical axis of curves, and name and unit of each for the legend.

    Args:
        names: names of the drawn quantities, such as "rms(u)".
        units: their units; "" if not known.

    Returns:
        The axis, with the common unit; if the units differ, the curves have them.
    """
    if len(set(units)) > 1:
        return ChartAxis(""), list(zip(names, units, strict=True))
    shown = ", ".join(names) if len(names) < 5 else ""
    return ChartAxis(shown, units[0]), [(name, "") for name in names]
