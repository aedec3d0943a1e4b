"""Averages over the two halves of the channel in wall units, with confidence intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from uzushio._base.figure_style import symbols
from uzushio.solvers.statistics.uncertainty import explanation, half_width, replicates

if TYPE_CHECKING:
    import xarray as xr


class Profile(NamedTuple):
    """Profile of the lower half in wall units, with the half width of its 95 % interval."""

    z: np.ndarray
    values: np.ndarray
    half_width: np.ndarray | None


@dataclass(frozen=True)
class Averages:
    """Statistics of a channel, with replicates that each lack one group of batches."""

    whole: xr.Dataset
    without: tuple[xr.Dataset, ...]

    @classmethod
    def of(cls, statistics: xr.Dataset) -> Self:
        """Return the averages of a run's statistics, from the run or from its file."""
        statistics = statistics.load()
        return cls(statistics, tuple(replicates(statistics)))

    @property
    def u_tau(self) -> float:
        """Friction velocity."""
        return float(self.whole.attrs["u_tau"])

    @property
    def time_scale(self) -> tuple[float, str]:
        """Factor of times, and their unit after a non-breaking space.

        Times are in the unit of the case, as in pipelines and reports. Statistics of earlier
        versions do not name it; their times are scaled by the friction velocity of the averages.
        """
        unit = self.whole.attrs.get("time_unit")
        scale = 1.0 if unit else self.u_tau
        return scale, f"\u00a0{symbols(str(unit or 'h/u_τ'))}"

    @property
    def re_tau(self) -> float:
        """Friction Reynolds number."""
        return float(self.whole.attrs["re_tau"])

    @property
    def viscosity(self) -> float:
        """Kinematic viscosity."""
        return float(self.whole.attrs["viscosity"])

    def profile(self, name: str, power: int, sign: float = 1.0, factor: float = 1.0) -> Profile:
        """Return a half profile in wall units, as `half`; its interval is at fixed height z+.

        Args:
            name: name of the variable.
            power: power of the friction velocity in its unit.
            sign: 1 for profiles that are even about the centre, -1 for odd ones.
            factor: factor of the result.
        """
        z, values = half(self.whole, name, power, sign)

        def at_the_same_heights(dataset: xr.Dataset) -> np.ndarray:
            return np.asarray(np.interp(z, *half(dataset, name, power, sign)))

        width = half_width(self.without, at_the_same_heights)
        return Profile(z, factor * values, None if width is None else abs(factor) * width)

    def half_width(self, function: Callable[[xr.Dataset], np.ndarray | float]) -> np.ndarray | None:
        """Return the half width of the 95 % interval of a function of the statistics, if known."""
        return half_width(self.without, function)

    def caption_lines(self, names: Iterable[str]) -> tuple[str, str]:
        """Describe the averaging time, and how the intervals of the variables were computed."""
        attributes, (scale, unit) = self.whole.attrs, self.time_scale
        text = f"Average of {attributes['samples']:,} samples"
        if (times := attributes.get("averaged_times")) is not None:
            begin, end = (scale * time for time in times)
            span = f"{end - begin:.3g}{unit}"
            text = f"{text} over {span}, from $t$ = {begin:.3g} to {end:.3g}{unit}"
        text = f"{text}, over planes and both halves of the channel."
        how = explanation(self.whole, names, scale, unit)
        return text, how if how.startswith("No") else f"Bands: {how}"


def fold(z: np.ndarray, profile: np.ndarray, sign: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Average a profile over the halves of the channel.

    Args:
        z: heights from 0 to 2, increasing, shape (n,).
        profile: shape (n,).
        sign: 1 for profiles that are even about the centre, -1 for odd ones.

    Returns:
        The heights up to the centre and the average there.
    """
    lower = z <= 1.0 + 1e-9
    other = np.interp(2.0 - z[lower], z, profile)
    return z[lower], 0.5 * (profile[lower] + sign * other)


def half(
    statistics: xr.Dataset, name: str, power: int, sign: float = 1.0
) -> tuple[np.ndarray, np.ndarray]:
    """Return heights and half profile of `name`, of unit velocity**power, in wall units."""
    profile = statistics[name]
    u_tau = float(statistics.attrs["u_tau"])
    z, values = fold(statistics[str(profile.dims[0])].values, profile.values, sign)
    return z * u_tau / float(statistics.attrs["viscosity"]), values / u_tau**power
