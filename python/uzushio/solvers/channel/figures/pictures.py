"""Pictures of the streamwise velocity on two planes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from uzushio._base.figure_style import caption, image, sheet

_ENDS = (
    "The colours of fluctuations reach to the strongest in the picture. $u_\\tau$ is that of this "
    "instant."
)
NOISE = 1e-6  #: smaller fluctuations are rounding errors


@dataclass(frozen=True)
class Slices:
    """Streamwise velocity at one instant, in the case's units (half width h = 1).

    Attributes:
        x: streamwise coordinates of the points, shape (nx,), without the periodic image.
        y: spanwise ones, shape (ny,).
        z: wall-normal ones, shape (nz,), between the walls at 0 and 2.
        cross_section: velocity in a plane of constant x, shape (nz, ny).
        cross_section_x: position of that plane.
        wall_parallel: velocity in a plane near the lower wall, shape (ny, nx).
        mean: mean over planes, shape (nz,).
        wall_parallel_z: height of that plane.
        u_tau: friction velocity.
        viscosity: kinematic viscosity.
    """

    x: np.ndarray
    y: np.ndarray
    z: np.ndarray
    cross_section: np.ndarray
    cross_section_x: float
    wall_parallel: np.ndarray
    mean: np.ndarray
    wall_parallel_z: float
    u_tau: float
    viscosity: float


def cross_section(slices: Slices, title: str) -> Figure:
    """Draw the cross-section: velocity from wall to wall, and fluctuation in the lower half."""
    length = _period(slices.y)
    width = min(5.6, 2.0 * length)
    words = "Streamwise velocity on a cross-section, and its fluctuation in the lower half"
    size = (width + 1.9, 3.0 * width / length + 1.7)
    figure = sheet(title, *size, "compressed", words)
    whole, half = figure.subplots(2, 1, sharex=True, height_ratios=(2, 1))

    velocity = _even_heights(slices.z, slices.cross_section / slices.u_tau, 2.0)
    shown = _image(whole, _close(velocity), (0, length, 0, 2), "viridis", (None, None))
    figure.colorbar(shown, cax=_beside(whole), label="$u\\,/\\,u_\\tau$")
    place = f"at $x/h$ = {slices.cross_section_x:.3g}"
    whole.set(title=f"Streamwise velocity {place}", ylabel="$z/h$", yticks=(0, 0.5, 1, 1.5, 2))

    fluctuation = (slices.cross_section - slices.mean[:, np.newaxis]) / slices.u_tau
    lower = _even_heights(slices.z, fluctuation, 1.0)
    _fluctuation(figure, half, _close(lower), (0, length, 0, 1))
    half.set(
        title=f"Fluctuation from the plane mean {place}, lower half",
        xlabel="$y/h$",
        ylabel="$z/h$",
        yticks=(0, 0.5, 1),
    )
    caption(figure, f"Seen against the flow, which comes out of the picture. {_ENDS}")
    return figure


def near_wall(slices: Slices, title: str) -> Figure:
    """Draw the fluctuation in the plane near the wall, viewed from above."""
    length, breadth = _period(slices.x), _period(slices.y)
    width = min(8.0, 5.0 * length / breadth)
    words = "Fluctuation of the streamwise velocity in a plane near the lower wall, from above"
    figure = sheet(title, width + 1.8, width * breadth / length + 1.3, "compressed", words)
    plane = (slices.wall_parallel - slices.wall_parallel.mean()) / slices.u_tau
    axes = figure.subplots()
    _fluctuation(figure, axes, _close(_close(plane).T).T, (0, length, 0, breadth))
    plus = slices.wall_parallel_z * slices.u_tau / slices.viscosity
    axes.set(
        title=f"Fluctuation of the streamwise velocity at $z^+ = {plus:.1f}$, "
        f"$z/h = {slices.wall_parallel_z:.3g}$",
        xlabel="$x/h$",
        ylabel="$y/h$",
    )
    caption(figure, f"Seen from above; the flow goes to the right. {_ENDS}")
    return figure


def _fluctuation(
    figure: Figure, axes: Axes, values: np.ndarray, extent: tuple[float, float, float, float]
) -> None:
    """Draw u'/u_tau with a colour map that is white at zero; label its limits."""
    end = _round_up(float(np.abs(values).max()))
    shown = _image(axes, values, extent, "RdBu_r", (-end, end))
    bar = figure.colorbar(shown, cax=_beside(axes))
    bar.set_ticks([-end, 0.0, end], labels=[f"−{end:g}", "0", f"+{end:g}"])
    bar.set_label("$u'/\\,u_\\tau$")


def _round_up(peak: float) -> float:
    """Round up to two digits, the second 0 or 5; return 1 if the value is noise."""
    if peak <= NOISE:
        return 1.0
    unit = 10.0 ** np.floor(np.log10(peak)) / 2.0
    return float(f"{np.ceil(peak / unit * (1.0 - 1e-9)) * unit:.2g}")


def _image(
    axes: Axes,
    values: np.ndarray,
    extent: tuple[float, float, float, float],
    colours: str,
    ends: tuple[float | None, float | None],
) -> AxesImage:
    """Draw values on a uniform grid; the limits of the axes cut off half a cell at the ends."""
    low, high = ends
    shown = image(axes, values, extent, cmap=colours, vmin=low, vmax=high, interpolation="bicubic")
    axes.set(xlim=extent[:2], ylim=extent[2:])
    return shown


def _beside(axes: Axes) -> Axes:
    """Return axes for a colour bar of the height of `axes`."""
    return axes.inset_axes((1.02, 0.0, 0.022, 1.0))


def _period(points: np.ndarray) -> float:
    """Return the period of uniform points, which do not include the image of the first."""
    return float(len(points) * (points[1] - points[0]))


def _close(values: np.ndarray) -> np.ndarray:
    """Append the periodic image of the first column."""
    return np.concatenate([values, values[:, :1]], axis=1)


def _even_heights(z: np.ndarray, values: np.ndarray, top: float) -> np.ndarray:
    """Interpolate rows at `z` to uniform heights from the wall, where they are zero, to `top`."""
    heights = np.concatenate([[0.0], z, [2.0]])
    rows = np.pad(values, ((1, 1), (0, 0)))
    wanted = np.linspace(0.0, top, max(2, int(200 * top) + 1))
    i = np.clip(np.searchsorted(heights, wanted) - 1, 0, len(heights) - 2)
    share = ((wanted - heights[i]) / (heights[i + 1] - heights[i]))[:, np.newaxis]
    return np.asarray((1.0 - share) * rows[i] + share * rows[i + 1])
