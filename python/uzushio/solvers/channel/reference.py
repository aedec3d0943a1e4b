"""Published profiles of turbulent channel flow for comparisons. All values are in wall units."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np

#: Profiles in the package; each is a CSV file of this name in the folder of this module.
NAMES = ("mkm180", "lee_moser180")

#: Terms of the budget of turbulent kinetic energy; with their signs they add up to zero.
BUDGET = (
    "production",
    "dissipation",
    "viscous_diffusion",
    "turbulent_transport",
    "pressure_transport",
)


@dataclass(frozen=True)
class Spectrum:
    """One-dimensional energy spectra at one height.

    Attributes:
        axis: "x" or "y", along which the wave numbers are.
        z: distance from the wall in wall units.
        k: wave numbers times the half width, evenly spaced from 0, shape (n,).
        energy: by component "u", "v", "w": energy in each wave number k and -k over the friction
            velocity squared, shape (n,); its sum is the variance.
    """

    axis: str
    z: float
    k: np.ndarray
    energy: Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Profiles:
    """Profiles from the wall to the centre of a channel, in wall units.

    Attributes:
        name: name of the data set in `NAMES`.
        label: authors and year.
        source: full reference.
        re_tau: friction Reynolds number.
        bulk_velocity: mean velocity over the cross-section.
        centre_velocity: mean velocity at half height.
        z: distances from the wall, increasing, shape (n,).
        u: mean streamwise velocity, shape (n,).
        u_rms: root mean square of the streamwise fluctuation, shape (n,).
        v_rms: r.m.s. of the spanwise one.
        w_rms: r.m.s. of the wall-normal one.
        minus_uw: minus the Reynolds shear stress, shape (n,).
        budget: terms of `BUDGET`, shape (n,) each; empty if not published.
        wall_vorticity: r.m.s. of streamwise and spanwise vorticity at the wall, if published.
        spectra: spectra in the package, along x and along y.
    """

    name: str
    label: str
    source: str
    re_tau: float
    bulk_velocity: float
    centre_velocity: float
    z: np.ndarray
    u: np.ndarray
    u_rms: np.ndarray
    v_rms: np.ndarray
    w_rms: np.ndarray
    minus_uw: np.ndarray
    budget: Mapping[str, np.ndarray]
    wall_vorticity: tuple[float, float] | None
    spectra: tuple[Spectrum, ...] = ()

    @property
    def friction_coefficient(self) -> float:
        """Wall shear over the dynamic pressure of the bulk velocity."""
        return 2.0 / self.bulk_velocity**2

    def spectrum(self, axis: str, z: float, within: float = 0.15) -> Spectrum | None:
        """Find the spectrum along an axis whose height is nearest to `z`, in wall units.

        Args:
            axis: "x" or "y".
            z: height in wall units.
            within: maximum relative distance of heights; None is returned beyond it.
        """
        candidates = [spectrum for spectrum in self.spectra if spectrum.axis == axis]
        best = min(candidates, key=lambda spectrum: abs(spectrum.z - z), default=None)
        return best if best is not None and abs(best.z - z) <= within * z else None


@cache
def load(name: str) -> Profiles:
    """Read one of `NAMES`.

    Raises:
        KeyError: if there is no such data set.
    """
    if name not in NAMES:
        raise KeyError(f"unknown reference '{name}'; must be one of {', '.join(NAMES)}")
    notes, columns, rows = _table(f"{name}.csv")
    data = dict(zip(columns, np.array(rows, float).T, strict=True))
    budget = {term: data.pop(term) for term in BUDGET if term in data}
    vorticity = [float(notes[key]) for key in notes if key.startswith("wall_vorticity")]
    return Profiles(
        name=name,
        label=notes["label"],
        source=notes["source"],
        re_tau=float(notes["re_tau"]),
        bulk_velocity=float(notes["bulk_velocity"].split()[0]),
        centre_velocity=float(notes["centre_velocity"].split()[0]),
        budget=budget,
        wall_vorticity=(vorticity[0], vorticity[1]) if vorticity else None,
        spectra=_spectra(f"{name}_spectra.csv"),
        **data,
    )


def _table(file: str) -> tuple[dict[str, str], list[str], list[list[str]]]:
    """Read notes, names of columns and rows of a file in the folder of this module."""
    lines = files(__package__).joinpath(file).read_text(encoding="utf-8").splitlines()
    notes = dict(line[2:].split(": ", 1) for line in lines if line.startswith("# "))
    columns, *rows = (line.split(",") for line in lines if not line.startswith("#"))
    return notes, columns, rows


def _spectra(file: str) -> tuple[Spectrum, ...]:
    """Read spectra, if there is such a file: rows of axis, height, wave number, u, v, w."""
    if not files(__package__).joinpath(file).is_file():
        return ()
    _, columns, rows = _table(file)
    places = dict.fromkeys((row[0], float(row[1])) for row in rows)
    spectra = []
    for axis, z in places:
        own = [row[2:] for row in rows if (row[0], float(row[1])) == (axis, z)]
        data = dict(zip(columns[2:], np.array(own, float).T, strict=True))
        spectra.append(Spectrum(axis, z, data.pop("k"), data))
    return tuple(spectra)


def nearest(re_tau: float, *, budget: bool = False, within: float = 0.1) -> Profiles | None:
    """Find the reference whose friction Reynolds number is nearest to `re_tau`.

    Args:
        re_tau: friction Reynolds number of the flow to compare.
        budget: consider only references that have a budget of turbulent kinetic energy.
        within: maximum relative distance; None is returned beyond it.
    """
    references = [reference for reference in map(load, NAMES) if reference.budget or not budget]
    best = min(references, key=lambda reference: abs(reference.re_tau - re_tau))
    return best if abs(best.re_tau - re_tau) <= within * re_tau else None


def interpolate(x: np.ndarray, points: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Interpolate smooth `values` at increasing `points` by cubic Hermite polynomials.

    In a wall layer, linear interpolation has errors of up to 0.2 %, as large as the differences to
    be compared; these polynomials, with slopes of second order, have less than 0.02 %.

    Args:
        x: positions, any shape.
        points: shape (n,), at least three.
        values: shape (n,).

    Returns:
        Shape of `x`; NaN outside the range of `points`.
    """
    slopes = np.gradient(values, points, edge_order=2)
    i = np.clip(np.searchsorted(points, x) - 1, 0, len(points) - 2)
    h = points[i + 1] - points[i]
    t = (x - points[i]) / h
    left = (1 + 2 * t) * values[i] + t * h * slopes[i]
    right = (3 - 2 * t) * values[i + 1] + (t - 1) * h * slopes[i + 1]
    inside = (x >= points[0]) & (x <= points[-1])
    return np.where(inside, (1 - t) ** 2 * left + t**2 * right, np.nan)
