"""The figures of a channel flow are drawn for turbulent, calm and laminar flows alike."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from uzushio.channel import reference
from uzushio.channel.figures import Slices, draw
from uzushio.channel.figures.plots import fold, half

U_TAU, RE_TAU = 0.06, 180.0


@pytest.fixture
def statistics() -> xr.Dataset:
    """Statistics whose profiles are those of a reference."""
    zf = 1.0 - np.cos(np.linspace(0.0, np.pi, 41))
    z = 0.5 * (zf[1:] + zf[:-1])
    one = reference.load("mkm180")

    def profile(values: np.ndarray, at: np.ndarray, scale: float) -> np.ndarray:
        plus = np.minimum(at, 2.0 - at) * one.re_tau
        return scale * reference.interpolate(np.minimum(plus, one.z[-1]), one.z, values)

    energy = U_TAU**4 * RE_TAU / U_TAU
    signs = dict.fromkeys(reference.BUDGET, 1.0) | {"dissipation": -1.0}
    at_centres = {
        "u": profile(one.u, z, U_TAU),
        "u_rms": profile(one.u_rms, z, U_TAU),
        "v_rms": profile(one.v_rms, z, U_TAU),
        "vorticity_z_rms": z * (2.0 - z),
        "budget_residual": 0.0 * z,
    } | {name: profile(one.budget[name], z, energy * sign) for name, sign in signs.items()}
    at_faces = {
        "w_rms": profile(one.w_rms, zf, U_TAU),
        "uw": np.sign(zf - 1.0) * profile(one.minus_uw, zf, U_TAU**2),
        "vorticity_x_rms": 1.0 + 0.0 * zf,
        "vorticity_y_rms": 2.0 + 0.0 * zf,
    }
    waves = np.arange(16.0)
    spectrum = np.ones((2, 3, 1)) * U_TAU**2 * np.exp(-waves)
    return xr.Dataset(
        {name: ("z", values) for name, values in at_centres.items()}
        | {name: ("zf", values) for name, values in at_faces.items()}
        | {f"spectrum_{a}": (("height", "component", f"k{a}"), spectrum) for a in "xy"},
        coords={"z": z, "zf": zf, "kx": waves, "ky": 2 * waves, "height": z[[3, 20]]},
        attrs={"u_tau": U_TAU, "re_tau": RE_TAU, "viscosity": U_TAU / RE_TAU, "samples": 7},
    )


def slices(amplitude: float) -> Slices:
    """A parabola with waves of `amplitude` u_tau."""
    x, y = np.arange(24) * 0.25, np.arange(16) * 0.2
    z = (np.arange(10) + 0.5) / 5.0
    mean = U_TAU * RE_TAU / 2.0 * z * (2.0 - z)
    wave = amplitude * U_TAU * np.cos(2 * np.pi * y / 3.2)
    return Slices(
        x=x,
        y=y,
        z=z,
        cross_section=mean[:, np.newaxis] + wave,
        wall_parallel=mean[0] + wave[:, np.newaxis] * np.ones(len(x)),
        mean=mean,
        wall_parallel_z=float(z[0]),
        u_tau=U_TAU,
        viscosity=U_TAU / RE_TAU,
    )


def names(files: list[Path]) -> set[str]:
    assert all(file.stat().st_size > 1000 for file in files)
    return {file.stem for file in files}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("amplitude", [0.0, 0.01, 3.0])
def test_a_run_without_statistics_shows_its_last_instant(tmp_path: Path, amplitude: float) -> None:
    files = draw(tmp_path, title="", time=0.0, slices=slices(amplitude), statistics=None)
    assert names(files) == {"cross_section", "near_wall", "mean_profile"}


@pytest.mark.filterwarnings("error")
def test_a_run_with_statistics_shows_all_profiles(tmp_path: Path, statistics: xr.Dataset) -> None:
    files = draw(tmp_path, title="Test", time=2.0, slices=slices(3.0), statistics=statistics)
    profiles = {"mean_profile", "rms", "budget", "spectra", "vorticity"}
    assert names(files) == {"cross_section", "near_wall"} | profiles


@pytest.mark.filterwarnings("error")
def test_a_flow_far_from_any_reference_is_drawn_without(
    tmp_path: Path, statistics: xr.Dataset
) -> None:
    statistics.attrs |= {"re_tau": 550.0, "viscosity": U_TAU / 550.0}
    statistics["spectrum_x"][...] = 0.0
    assert len(draw(tmp_path, title="", time=2.0, slices=slices(3.0), statistics=statistics)) == 7


def test_the_halves_of_the_channel_are_averaged() -> None:
    z = np.array([0.1, 0.4, 1.0, 1.6, 1.9])
    lower, even = fold(z, np.array([1.0, 2.0, 5.0, 4.0, 3.0]))
    assert np.allclose(lower, [0.1, 0.4, 1.0])
    assert np.allclose(even, [2.0, 3.0, 5.0])
    assert np.allclose(fold(z, np.array([1.0, 2.0, 0.0, -4.0, -3.0]), -1.0)[1], [2.0, 3.0, 0.0])


def test_profiles_are_shown_in_wall_units(statistics: xr.Dataset) -> None:
    one = reference.load("mkm180")
    z, u_rms = half(statistics, "u_rms", 1)
    plus = np.minimum(z * one.re_tau / RE_TAU, one.z[-1])
    assert np.allclose(u_rms, reference.interpolate(plus, one.z, one.u_rms))
