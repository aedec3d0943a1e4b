"""Colours by name, and maps from values to colours with a scale and limits."""

from __future__ import annotations

import difflib
import sys
from functools import lru_cache
from typing import Annotated, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, Field, model_validator

from uzushio._base.config.section import Section
from uzushio.raycast import ColorTable

#: Red, green, blue, opacity, each 0 to 1.
RGBA = tuple[float, float, float, float]

#: Diverging maps: limits that follow the values are symmetric about zero.
DIVERGING = {
    "PiYG",
    "PRGn",
    "BrBG",
    "PuOr",
    "RdGy",
    "RdBu",
    "RdYlBu",
    "RdYlGn",
    "Spectral",
    "coolwarm",
    "bwr",
    "seismic",
    "berlin",
    "managua",
    "vanimo",
}

#: Entries of a table without bands.
ENTRIES = 256


#: Largest limit of a scale: distances of limits, and limits a decade away, are finite.
LARGEST = sys.float_info.max / 100


def rgba(color: str) -> RGBA:
    """Return a colour by a name of matplotlib's or #RRGGBB.

    Raises:
        ValueError: There is no such colour; the message offers similar ones.
    """
    from matplotlib import colors

    try:
        red, green, blue, opacity = colors.to_rgba(color)
    except ValueError:
        near = difflib.get_close_matches(str(color), colors.get_named_colors_mapping(), 3)
        advice = f"did you mean {' or '.join(near)}?" if near else "write a name or #RRGGBB"
        raise ValueError(f"there is no colour {color!r}; {advice}") from None
    return float(red), float(green), float(blue), float(opacity)


def _known(color: str) -> str:
    rgba(color)
    return color


#: Name of a colour in matplotlib, or #RRGGBB.
Color = Annotated[str, AfterValidator(_known)]


def luminance(color: str) -> float:
    """Return the luminance of a colour, 0 to 1 (Rec. 709, without gamma)."""
    red, green, blue, _ = rgba(color)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@lru_cache(maxsize=64)
def samples(name: str | tuple[str, ...], count: int) -> NDArray[np.float32]:
    """Return a map's colours at `count` equidistant points; shape (count, 4).

    Args:
        name: name of a colour map of matplotlib, with `_r` for reversed; or colours to blend
            between.
        count: number of points, at least 2.

    Raises:
        ValueError: There is no such map; the message offers similar ones.
    """
    import matplotlib as mpl
    from matplotlib.colors import Colormap, LinearSegmentedColormap

    known: Colormap
    if isinstance(name, tuple):
        if len(name) < 2:
            raise ValueError("a list of colours for a map needs at least two colours")
        known = LinearSegmentedColormap.from_list("own", [rgba(color) for color in name], 1024)
    else:
        try:
            known = mpl.colormaps[name]
        except KeyError:
            near = difflib.get_close_matches(name, list(mpl.colormaps), 3)
            advice = (
                f"did you mean {' or '.join(near)}?" if near else "it may be viridis or coolwarm"
            )
            raise ValueError(f"there is no colour map {name!r}; {advice}") from None
    table = np.asarray(known(np.linspace(0.0, 1.0, count)), dtype=np.float32)
    table.flags.writeable = False
    return table


def _limits(limits: tuple[float | None, float | None]) -> tuple[float | None, float | None]:
    lo, hi = limits
    if lo is not None and hi is not None and not lo < hi:
        raise ValueError("the first limit must be below the second")
    if any(end is not None and abs(end) > LARGEST for end in limits):
        raise ValueError(f"a limit is at most {LARGEST:.2g}")
    return limits


class Colors(Section):
    """Colour map with scale and limits.

    A limit that is not given follows the values according to `follow`. Limits that follow are
    symmetric about zero if the map diverges and the values have both signs.
    """

    field: str | None = Field(default=None, description="of another field than the layer's own")
    map: str | tuple[Color, ...] = Field(
        default="viridis", description="matplotlib's name, _r for reversed; or a list of colours"
    )
    limits: Annotated[tuple[float | None, float | None], AfterValidator(_limits)] = Field(
        default=(None, None), description="values of the map's ends; null: it follows the values"
    )
    follow: Literal["widen", "step", "smooth"] = Field(
        default="widen",
        description="how limits follow: all values so far, this step's, or this step's smoothed",
    )
    symmetric: bool | None = Field(
        default=None,
        description="limits that follow lie symmetric about zero; if not given, as above",
    )
    scale: Literal["linear", "log"] = Field(default="linear", description="of the colours")
    levels: Annotated[int, Field(ge=2, le=256)] | None = Field(
        default=None, description="number of bands of one colour each; none if not given"
    )
    below: Color | None = Field(
        default=None, description="colour below the limits; the first if not given"
    )
    above: Color | None = Field(
        default=None, description="colour above the limits; the last if not given"
    )
    nan: Color = Field(default="magenta", description="colour of values that are not finite")
    label: str | None = Field(
        default=None, description="of the legend; the field's name if not given"
    )
    unit: str | None = Field(
        default=None, description="behind the label; the field's own if not given"
    )
    legend: bool = Field(default=True, description="whether there is one")

    @model_validator(mode="after")
    def _drawable(self) -> Self:
        samples(self.map, 2)
        if self.scale == "log" and any(end is not None and end <= 0.0 for end in self.limits):
            raise ValueError("limits of a logarithmic scale must be above zero")
        if self.scale == "log" and self.symmetric:
            raise ValueError("limits of a logarithmic scale cannot lie symmetric about zero")
        return self

    @property
    def fixed(self) -> bool:
        """Whether both limits are given, so that the values are not needed."""
        return None not in self.limits

    @property
    def diverging(self) -> bool:
        """Whether the map is a diverging one."""
        return isinstance(self.map, str) and self.map.removesuffix("_r") in DIVERGING

    def ramp(self, count: int) -> NDArray[np.float32]:
        """Return the colours from limit to limit, uniform on the scale; shape (count, 4)."""
        if self.levels is None:
            return samples(self.map, count)
        bands = samples(self.map, self.levels)
        return bands[np.arange(count) * self.levels // count]

    def is_logarithmic(self, limits: tuple[float, float]) -> bool:
        """Return whether the logarithm of a value gives its colour.

        Between limits whose ratio is below 1.01 the value itself gives the same colour, to 0.3 of
        255, and single precision is enough for it.
        """
        return self.scale == "log" and limits[1] >= 1.01 * limits[0]

    def table(self, limits: tuple[float, float]) -> ColorTable:
        """Return the table; limits must be finite, increasing, and positive if logarithmic."""
        lo, hi = limits
        return ColorTable(
            self.ramp(ENTRIES if self.levels is None else 16 * ENTRIES),
            lo,
            hi,
            rgba(self.below) if self.below else None,
            rgba(self.above) if self.above else None,
            rgba(self.nan),
            logarithmic=self.is_logarithmic(limits),
        )
