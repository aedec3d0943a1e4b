"""Pictures and plots of a channel flow."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from uzushio.channel import reference
from uzushio.channel.figures import pictures, plots
from uzushio.channel.figures.pictures import Slices
from uzushio.figure_style import style, write

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["Slices", "draw", "draw_statistics"]


def draw(
    folder: Path, *, title: str, time: float, slices: Slices, statistics: xr.Dataset | None
) -> list[Path]:
    """Draw the flow of this instant and, if there are any, its statistics as PNG files.

    Published profiles stand beside them where there are some for about the same friction Reynolds
    number.

    Args:
        folder: an existing folder.
        title: name of the case.
        time: time of the slices, in h over the case's unit of velocity.
        slices: the flow at that time.
        statistics: what `uzushio.channel.statistics.dataset` returns.

    Returns:
        The files written.
    """
    head = f"{title or 'Channel flow'}, t = {time:.4g}"
    with style():
        files = [
            write(pictures.cross_section(slices, head), folder / "cross_section.png"),
            write(pictures.near_wall(slices, head), folder / "near_wall.png"),
        ]
        if statistics is not None:
            near = _beside(float(statistics.attrs["re_tau"]))
            return files + draw_statistics(folder, statistics, near, title=title)
        instant = plots.Mean.of_slices(slices)
        near = _beside(instant.re_tau)
        figure = plots.mean_profile(instant, near, f"{head} (plane means)")
        return [*files, write(figure, folder / "mean_profile.png")]


def draw_statistics(
    folder: Path,
    statistics: xr.Dataset,
    references: list[reference.Profiles],
    *,
    title: str,
) -> list[Path]:
    """Draw profiles, energy budget, spectra and vorticity as PNG files in `folder`.

    The halves of the channel are averaged.

    Args:
        folder: an existing folder.
        statistics: what `uzushio.channel.statistics.dataset` returns.
        references: profiles to draw beside them.
        title: name of the case.

    Returns:
        The files written.
    """
    head = f"{title or 'Channel flow'}, mean of {statistics.attrs['samples']} samples"
    with style():
        figures = {
            "mean_profile": plots.mean_profile(plots.Mean.of(statistics), references, head),
            "rms": plots.stresses(statistics, references, head),
            "budget": plots.budget(statistics, references, head),
            "spectra": plots.spectra(statistics, head),
            "vorticity": plots.vorticity(statistics, references, head),
        }
        return [write(figure, folder / f"{name}.png") for name, figure in figures.items()]


def _beside(re_tau: float) -> list[reference.Profiles]:
    """The nearest reference, and the nearest that has an energy budget if it is another one."""
    near, other = reference.nearest(re_tau), reference.nearest(re_tau, budget=True)
    return [one for one in (near, other if other is not near else None) if one is not None]
