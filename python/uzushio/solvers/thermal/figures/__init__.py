"""Pictures and plots of a thermal flow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from uzushio._base.figure_style import FORMATS, style, write_each
from uzushio.solvers.block_solver.series import Series
from uzushio.solvers.thermal.case import AXES, ThermalCase
from uzushio.solvers.thermal.figures import averages, history, pictures, profiles
from uzushio.solvers.thermal.slices import Plane, lines

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["draw"]


def draw(
    folder: Path,
    case: ThermalCase,
    time: float,
    planes: Sequence[Plane],
    series: Series,
    statistics: xr.Dataset | None,
) -> Iterator[Path]:
    """Draw the flow of this instant, its history, and its averages if there are any.

    Args:
        folder: an existing folder.
        case: the case; its `output.figures` names the formats.
        time: time of the planes.
        planes: the flow at that time.
        series: samples of the steps before.
        statistics: averages of fields.

    Yields:
        Each file when it is written.
    """
    head = case.title or "Thermal flow"
    formats = case.output.figures or FORMATS
    instant = f"{head}, $t$ = {time:.4g}{case.units.after_number(time=1)}"
    with style():
        for plane in planes:
            figure = pictures.plane(case, plane, instant)
            yield from write_each(figure, folder / f"plane_{_name(plane)}", formats)
        figure = profiles.profiles(case, lines(case, planes), instant)
        yield from write_each(figure, folder / "profiles", formats)
        table = series.table()
        if len(table[0]) > 1:
            yield from write_each(history.history(case, *table, head), folder / "history", formats)
            yield history.write(folder / "history.csv", *table)
        if statistics is not None:
            for name, drawn in averages.figures(case, statistics, head):
                yield from write_each(drawn, folder / name, formats)


def _name(plane: Plane) -> str:
    return "".join(AXES[axis] for axis in plane.axes)
