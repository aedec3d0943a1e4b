"""Pictures of planes: scalars and speed in colours, streamlines of the velocity in the plane."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch

from uzushio._base.config.quantities import with_unit
from uzushio._base.figure_style import BLACK, caption, color_bar, sheet
from uzushio.solvers.thermal.case import AXES, ThermalCase
from uzushio.solvers.thermal.slices import Plane, conducts, window, with_ends

#: Maximum ratio of the sides of a picture with equal scales of both axes.
_MAX_RATIO = 8.0
#: Points along the longer side of the uniform grid of streamlines.
_POINTS = 160
#: Pixels of pictures of flows without bodies, along each side.
_PIXELS = 400
#: Part of the points that may be outside the range of colours, on each side.
_TAIL = 0.01
#: Density of streamlines of matplotlib along the shorter side of a picture: 1 is 30 lines.
_DENSITY = 0.9
#: Ratio whose multiples are spread evenly between integers.
_GOLDEN = 0.618
#: Properties of streamlines.
_LINES: dict[str, Any] = {"color": "white", "linewidth": 0.7, "alpha": 0.8}
#: Maximum number of scalars in a figure.
_MAX_SCALARS = 3


def plane(case: ThermalCase, plane_data: Plane, title: str, what: str = "") -> Figure:
    """Draw the scalars and the speed in a plane.

    Args:
        case: the case.
        plane_data: the plane and its values.
        title: title of the figure.
        what: word before the names of the fields, such as "Mean".
    """
    names = list(plane_data.scalars)[:_MAX_SCALARS]
    speed = plane_data.speed()
    panels = [(name, plane_data.scalars[name]) for name in names]
    panels += [] if speed is None else [("", speed)]
    breadth, height = (high - low for low, high in window(case, plane_data))
    even = max(breadth / height, height / breadth) <= _MAX_RATIO
    ratio = breadth / height if even else _MAX_RATIO ** np.sign(breadth - height)
    width = min(8.0, 4.2 * max(1.0, ratio)) if ratio >= 1.0 else max(2.4, 4.6 * ratio)
    stacked = ratio > 1.5
    rows, columns = (len(panels), 1) if stacked else (1, len(panels))
    size = columns * (width + 1.3) + 0.4, rows * (width / ratio + 0.7) + 0.7
    words = [*(_named(name) for name in names), *([] if speed is None else ["speed"])]
    described = f"{', '.join(words)}{_place(case, plane_data)}, with streamlines"
    figure = sheet(title, *size, "compressed", described[:1].upper() + described[1:])
    drawn = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True).flat
    streamlines: Sequence[np.ndarray] | None = None
    for axes, (name, values) in zip(drawn, panels, strict=True):
        _panel(axes, case, plane_data, name, values, what)
        if streamlines is None:
            streamlines = _streamlines(axes, case, plane_data)
        else:
            axes.add_collection(LineCollection(streamlines, **_LINES), autolim=False)
        axes.set_aspect("equal" if even else "auto")
    for axes in figure.axes[: len(panels)]:
        axes.label_outer()
    notes = []
    if plane_data.velocity is not None:
        notes.append("Lines: streamlines of the velocity in the plane.")
    if plane_data.fluid is not None and not plane_data.fluid.all():
        notes.append("Grey: bodies.")
    if not even:
        notes.append("The axes have different scales.")
    caption(figure, " ".join(notes))
    return figure


def _panel(
    axes: Axes,
    case: ThermalCase,
    plane_data: Plane,
    name: str,
    values: np.ndarray,
    what: str,
) -> None:
    """Draw a scalar, or with an empty name the speed."""
    units = case.units
    label, unit = (name, case.scalars[name].unit) if name else ("speed", units.text(1, -1))
    shown = np.ma.masked_array(values)
    if plane_data.fluid is not None and not (name and conducts(case, name)):
        shown = np.ma.masked_array(values, ~plane_data.fluid)
    low, high = _range(shown.compressed(), 0.0 if not name else None)
    axes.grid(False)
    axes.set_facecolor("#b0b0b0")
    colours: dict[str, Any] = {"cmap": "inferno" if name else "viridis", "vmin": low, "vmax": high}
    if plane_data.fluid is None:
        even = tuple(np.linspace(edges[0], edges[-1], _PIXELS) for edges in plane_data.edges)
        smooth = _resampled(
            _with_boundary(case, plane_data, name, values), _points(plane_data), even
        )
        extent = (*plane_data.edges[0][[0, -1]], *plane_data.edges[1][[0, -1]])
        image: ScalarMappable = axes.imshow(smooth, origin="lower", extent=extent, **colours)
    else:
        image = axes.pcolormesh(*plane_data.edges, shown, rasterized=True, **colours)
    beyond = 0.01 * (high - low)
    outside = bool(shown.min() < low - beyond), bool(shown.max() > high + beyond)
    color_bar(image, axes, with_unit(label, unit), *outside)
    if plane_data.fluid is not None and not plane_data.fluid.all() and plane_data.fluid.any():
        centres = (plane_data.centres(0), plane_data.centres(1))
        axes.contour(*centres, plane_data.fluid.astype(float), [0.5], colors=BLACK, linewidths=0.8)
    text, limits = f"{what} {_named(label)}".strip(), window(case, plane_data)
    axes.set(
        title=text[:1].upper() + text[1:] + _place(case, plane_data),
        xlabel=units.axis(AXES[plane_data.axes[0]], length=1),
        ylabel=units.axis(AXES[plane_data.axes[1]], length=1),
        xlim=limits[0],
        ylim=limits[1],
    )


def _named(name: str) -> str:
    return name.replace("_", " ")


def _place(case: ThermalCase, plane_data: Plane) -> str:
    if plane_data.normal is None:
        return ""
    return (
        f" at ${AXES[plane_data.normal]}$ = {plane_data.at:.4g}{case.units.after_number(length=1)}"
    )


def _range(values: np.ndarray, low: float | None) -> tuple[float, float]:
    """Return the ends of the colours: all values but a few extreme ones."""
    if not values.size:
        return 0.0, 1.0
    plane_data = np.quantile(values, [_TAIL, 1.0 - _TAIL])
    ends = values.min(), values.max()
    # A few hot cells must not hide the rest; a range that would hardly be smaller stays whole.
    if np.ptp(plane_data) > 0.7 * np.ptp(ends):
        plane_data = ends
    bottom, top = float(plane_data[0]) if low is None else low, float(plane_data[1])
    if not top > bottom:
        top = bottom + (abs(bottom) or 1.0)
    return bottom, top


def _streamlines(axes: Axes, case: ThermalCase, plane_data: Plane) -> Sequence[np.ndarray]:
    """Draw streamlines of the velocity in the plane, if there is any; return their pieces."""
    if plane_data.velocity is None:
        return ()
    inside = [plane_data.velocity[axis] for axis in plane_data.axes]
    strength = np.sqrt(inside[0] ** 2 + inside[1] ** 2)
    largest = np.abs(plane_data.velocity).max()
    if not strength.max() > 1e-6 * largest:
        return ()
    points, even = _points(plane_data), _uniform(window(case, plane_data))
    fields = [
        _resampled(_with_ends(case, plane_data, "uvw"[axis], values), points, even)
        for axis, values in zip(plane_data.axes, inside, strict=True)
    ]
    hidden = np.zeros(fields[0].shape, bool)
    if plane_data.fluid is not None:
        solid = np.pad(~plane_data.fluid, 1, mode="edge").astype(float)
        hidden = _resampled(solid, points, even) > 0.5
    hidden |= np.hypot(*fields) < 1e-3 * strength.max()
    spans = np.array([np.ptp(each) for each in even])
    density = np.minimum(_DENSITY * spans / spans.min(), 4.0)
    lines = axes.streamplot(
        even[0],
        even[1],
        np.ma.masked_array(fields[0], hidden),
        np.ma.masked_array(fields[1], hidden),
        color="white",
        density=tuple(density),
        num_arrows=0,
    )
    lines.lines.set(**_LINES)
    segments = [np.asarray(line) for line in lines.lines.get_segments()]
    _draw_arrows(axes, segments)
    return segments


def _draw_arrows(axes: Axes, streamlines: Sequence[np.ndarray]) -> None:
    """Draw an arrow on each streamline, at varying shares of its length.

    In the middle of each, as by matplotlib, the arrows of a parallel stream are all at one place.
    """
    for number, line in enumerate(streamlines):
        share = 0.2 + 0.6 * (number * _GOLDEN % 1.0)
        at = int(share * (len(line) - 1))
        tail, head = line[at : at + 2]
        arrow = FancyArrowPatch(tail, head, arrowstyle="-|>", mutation_scale=7.0, color="white")
        axes.add_patch(arrow)


def _with_boundary(
    case: ThermalCase, plane_data: Plane, name: str, values: np.ndarray
) -> np.ndarray:
    """Return a scalar, or with an empty name the speed, with the values at all four boundaries."""
    if name:
        return _with_ends(case, plane_data, name, values)
    assert plane_data.velocity is not None
    components = (
        _with_ends(case, plane_data, "uvw"[n], each) for n, each in enumerate(plane_data.velocity)
    )
    return np.asarray(np.sqrt(sum(each**2 for each in components)))


def _with_ends(case: ThermalCase, plane_data: Plane, name: str, values: np.ndarray) -> np.ndarray:
    """Return a velocity component or a scalar with the values at all four boundaries."""
    across = with_ends(case, plane_data.axes[0], (name, values))
    return with_ends(case, plane_data.axes[1], (name, across.T)).T


def _points(plane_data: Plane) -> tuple[np.ndarray, ...]:
    """Return the positions of cell centres and of both ends along both axes."""
    return tuple(
        np.concatenate([edges[:1], plane_data.centres(which), edges[-1:]])
        for which, edges in enumerate(plane_data.edges)
    )


def _uniform(ends: Sequence[tuple[float, float]]) -> tuple[np.ndarray, ...]:
    """Return positions of uniform distance for streamlines along both axes."""
    spans = [high - low for low, high in ends]
    return tuple(
        np.linspace(low, high, max(24, round(_POINTS * span / max(spans))))
        for (low, high), span in zip(ends, spans, strict=True)
    )


def _resampled(
    values: np.ndarray, points: tuple[np.ndarray, ...], even: tuple[np.ndarray, ...]
) -> np.ndarray:
    """Interpolate (vertical, horizontal) linearly from points to even positions along both axes."""
    for which in (0, 1):
        values = np.array([np.interp(even[which], points[which], row) for row in values]).T
    return values
