"""Pictures and plots of a channel flow."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from uzushio._base.figure_style import FORMATS, style, write_each
from uzushio.solvers.channel import reference
from uzushio.solvers.channel.case import ChannelCase
from uzushio.solvers.channel.figures import pictures, plots
from uzushio.solvers.channel.figures.averages import Averages
from uzushio.solvers.channel.figures.pictures import Slices
from uzushio.solvers.channel.figures.spectra import spectra

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

__all__ = ["Slices", "draw", "draw_statistics"]


def draw(
    folder: Path, case: ChannelCase, time: float, slices: Slices, statistics: xr.Dataset | None
) -> Iterator[Path]:
    """Draw the flow of this instant and, if there are any, its statistics.

    Published profiles stand beside them where there are some for about the same friction Reynolds
    number.

    Args:
        folder: an existing folder.
        case: the case; its `output.figures` names the formats.
        time: time of the slices, in h over the case's unit of velocity.
        slices: the flow at that time.
        statistics: what `uzushio.solvers.channel.statistics.dataset` returns.

    Yields:
        Each file when it is written.
    """
    head = case.title or "Channel flow"
    formats = case.output.figures or FORMATS
    instant = f"{head}, $t$ = {time:.4g} h/{case.flow.velocity_unit}"
    with style():
        yield from write_each(
            pictures.cross_section(slices, instant), folder / "cross_section", formats
        )
        yield from write_each(pictures.near_wall(slices, instant), folder / "near_wall", formats)
        if statistics is not None:
            near = _beside(float(statistics.attrs["re_tau"]))
            yield from draw_statistics(folder, statistics, near, title=head, formats=formats)
            return
        mean = plots.Mean.of_slices(slices)
        figure = plots.mean_profile(mean, _beside(mean.re_tau), instant)
        yield from write_each(figure, folder / "mean_profile", formats)


def draw_statistics(
    folder: Path,
    statistics: xr.Dataset,
    references: list[reference.Profiles],
    *,
    title: str,
    formats: Sequence[str] = FORMATS,
) -> Iterator[Path]:
    """Draw profiles, energy budget, spectra and vorticity as PNG, PDF and SVG files in `folder`.

    The halves of the channel are averaged. Captions say what was averaged and for how long, and
    bands are 95 % confidence intervals, where the statistics hold what these take.

    Args:
        folder: an existing folder.
        statistics: what `uzushio.solvers.channel.statistics.dataset` returns, or what a run wrote.
        references: profiles and spectra to draw beside them.
        title: name of the case.
        formats: endings of the files of each figure.

    Yields:
        Each file when it is written.
    """
    head = title or "Channel flow"
    averages = Averages.of(statistics)
    with style():
        figures: dict[str, Callable[[], Figure]] = {
            "mean_profile": lambda: plots.mean_profile(plots.Mean.of(averages), references, head),
            "rms": lambda: plots.stresses(averages, references, head),
            "budget": lambda: plots.budget(averages, references, head),
            "spectra": lambda: spectra(averages, references, head),
            "vorticity": lambda: plots.vorticity(averages, references, head),
        }
        for name, figure in figures.items():
            yield from write_each(figure(), folder / name, formats)


def _beside(re_tau: float) -> list[reference.Profiles]:
    """The nearest reference, and the nearest that has an energy budget if it is another one."""
    near, other = reference.nearest(re_tau), reference.nearest(re_tau, budget=True)
    return [
        profiles
        for profiles in (near, other if other is not near else None)
        if profiles is not None
    ]
