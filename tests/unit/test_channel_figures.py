"""The figures of a channel flow are drawn for turbulent, calm and laminar flows alike."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from matplotlib.figure import Figure
from matplotlib.text import Text

from uzushio._base import figure_style
from uzushio.solvers.channel import ChannelCase, reference
from uzushio.solvers.channel.figures import Slices, draw, pictures, plots
from uzushio.solvers.channel.figures.averages import Averages, fold, half
from uzushio.solvers.channel.figures.spectra import spectra
from uzushio.solvers.channel.published import numbers

U_TAU, RE_TAU = 0.06, 180.0


@pytest.fixture
def statistics() -> xr.Dataset:
    """Statistics whose profiles are those of a reference."""
    zf = 1.0 - np.cos(np.linspace(0.0, np.pi, 41))
    z = 0.5 * (zf[1:] + zf[:-1])
    published = reference.load("mkm180")

    def profile(values: np.ndarray, at: np.ndarray, scale: float) -> np.ndarray:
        plus = np.minimum(at, 2.0 - at) * published.re_tau
        return scale * reference.interpolate(np.minimum(plus, published.z[-1]), published.z, values)

    energy = U_TAU**4 * RE_TAU / U_TAU
    signs = dict.fromkeys(reference.BUDGET, 1.0) | {"dissipation": -1.0}
    at_centres = {
        "u": profile(published.u, z, U_TAU),
        "u_rms": profile(published.u_rms, z, U_TAU),
        "v_rms": profile(published.v_rms, z, U_TAU),
        "vorticity_z_rms": z * (2.0 - z),
        "budget_residual": 0.0 * z,
    } | {name: profile(published.budget[name], z, energy * sign) for name, sign in signs.items()}
    at_faces = {
        "w_rms": profile(published.w_rms, zf, U_TAU),
        "uw": np.sign(zf - 1.0) * profile(published.minus_uw, zf, U_TAU**2),
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


def case_of(title: str, formats: list[str]) -> ChannelCase:
    """A case whose figures have a title and formats."""
    return ChannelCase.model_validate(
        {
            "solver": "channel",
            "title": title,
            "grid": {"nx": 24, "ny": 16, "nz": 10, "lx": "2 pi", "ly": "pi"},
            "flow": {"reynolds_tau": RE_TAU},
            "time": {"end": 1, "cfl": 0.5},
            "output": {"folder": ".", "figures": formats},
        }
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
        cross_section_x=0.0,
        wall_parallel=mean[0] + wave[:, np.newaxis] * np.ones(len(x)),
        mean=mean,
        wall_parallel_z=float(z[0]),
        u_tau=U_TAU,
        viscosity=U_TAU / RE_TAU,
    )


STARTS = {".png": b"\x89PNG", ".pdf": b"%PDF", ".svg": b"<?xml"}


def names(files: list[Path], formats: tuple[str, ...] = (".png",)) -> set[str]:
    """Return the figures' names; each must exist in these formats and no other."""
    assert all(file.read_bytes().startswith(STARTS[file.suffix]) for file in files)
    stems = {file.stem for file in files}
    assert sorted(file.name for file in files) == sorted(
        f"{name}{kind}" for name in stems for kind in formats
    )
    return stems


def texts(figure: Figure) -> str:
    """All that is written in a figure."""
    return " ".join(text.get_text() for text in figure.findobj(Text)).replace("\n", " ")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("amplitude", [0.0, 0.01, 3.0])
def test_a_run_without_statistics_shows_its_last_instant(tmp_path: Path, amplitude: float) -> None:
    files = list(draw(tmp_path, case_of("", ["png", "pdf", "svg"]), 0.0, slices(amplitude), None))
    assert names(files, tuple(STARTS)) == {"cross_section", "near_wall", "mean_profile"}


@pytest.mark.filterwarnings("error")
def test_a_run_with_statistics_shows_all_profiles(tmp_path: Path, statistics: xr.Dataset) -> None:
    files = list(draw(tmp_path, case_of("Test", ["png"]), 2.0, slices(3.0), statistics))
    profiles = {"mean_profile", "rms", "budget", "spectra", "vorticity"}
    assert names(files) == {"cross_section", "near_wall"} | profiles


@pytest.mark.filterwarnings("error")
def test_a_flow_far_from_any_reference_is_drawn_without(
    tmp_path: Path, statistics: xr.Dataset
) -> None:
    statistics.attrs |= {"re_tau": 550.0, "viscosity": U_TAU / 550.0}
    statistics["spectrum_x"][...] = 0.0
    assert len(list(draw(tmp_path, case_of("", ["svg"]), 2.0, slices(3.0), statistics))) == 7


def sampled(statistics: xr.Dataset, scatter: float, groups: int = 20) -> xr.Dataset:
    """The statistics of a run whose averages over batches scatter alike at all heights."""
    rng = np.random.default_rng(0)
    copies = statistics.copy()
    for name, values in statistics.data_vars.items():
        shape = (groups, *(1,) * values.ndim)
        factors = 1.0 + scatter / (groups - 1) * rng.normal(size=shape)
        copies[f"jackknife_{name}"] = (("group", *values.dims), factors * values.values)
    copies["jackknife_u_tau"] = ("group", np.full(groups, U_TAU))
    copies["jackknife_re_tau"] = ("group", np.full(groups, RE_TAU))
    times = {"averaged_times": [100.0, 700.0], "groups": groups, "group_samples": 9}
    more = {"group_time": 30.0, "correlation_times": {"u": 2.0, "uu": 9.0, "ww": 1.0}}
    copies.attrs |= times | more
    return copies


def test_captions_state_averaging_time_and_confidence(statistics: xr.Dataset) -> None:
    averages = Averages.of(sampled(statistics, 0.02))
    mean = texts(plots.mean_profile(plots.Mean.of(averages), [], "Channel, Re_tau = 180"))
    # Times in h/u_tau: the statistics are in units in which u_tau is 0.06.
    assert "Average of 7 samples over 36" in mean
    assert "from $t$ = 6 to 42" in mean
    assert "95 % confidence by 20 batch means of 1.8" in mean
    assert "correlation time of u: 0.12" in mean
    assert "too short" not in mean
    assert "Channel, $Re_{\\tau}$ = 180" in mean
    stresses = texts(plots.stresses(averages, [], ""))
    assert "correlation time of uu: 0.54" in stresses
    assert "too short" in stresses
    without = texts(plots.mean_profile(plots.Mean.of(Averages.of(statistics)), [], ""))
    in_units_of_the_case = sampled(statistics, 0.02).assign_attrs(time_unit="h/U_b")
    times = texts(plots.stresses(Averages.of(in_units_of_the_case), [], ""))
    assert "from $t$ = 100 to 700\u00a0h/$U_{b}$" in times
    assert "correlation time of uu: 9\u00a0h/$U_{b}$" in times
    assert "No confidence interval: too few samples" in without


def test_bands_have_the_width_of_the_scatter_of_the_batches(statistics: xr.Dataset) -> None:
    z, u, width = Averages.of(sampled(statistics, 0.02)).profile("u", 1)
    assert width is not None
    # Student's t for 19 degrees of freedom times the scatter over the root of the number.
    assert np.allclose(width / u, 2.09 * 0.02 / np.sqrt(20), rtol=0.4)
    assert np.allclose(width / u, (width / u)[0], rtol=1e-6)
    assert len(z) == 20


def test_published_spectra_add_up_to_the_published_variance() -> None:
    published = reference.load("mkm180")
    assert {(s.axis, s.z) for s in published.spectra} == {
        (axis, z) for axis in "xy" for z in (5.34, 19.02, 98.04, 178.12)
    }
    for spectrum in published.spectra:
        assert np.allclose(np.diff(spectrum.k), 0.5 if spectrum.axis == "x" else 1.5)
        for name in "uvw":
            at = np.array([min(spectrum.z, published.z[-1])])
            rms = reference.interpolate(at, published.z, getattr(published, f"{name}_rms"))
            # The spanwise spectra at the centre add up to 1.5 % more than the published variance.
            assert spectrum.energy[name].sum() == pytest.approx(float(rms[0]) ** 2, rel=0.02), (
                spectrum
            )


def test_spectra_are_compared_with_published_ones_at_nearly_the_same_height(
    statistics: xr.Dataset,
) -> None:
    drawn = texts(spectra(Averages.of(statistics), [reference.load("mkm180")], ""))
    heights = statistics["height"].values * RE_TAU
    near = [z for z in heights if any(abs(z - p) <= 0.15 * z for p in (5.34, 19.02, 98.04, 178.12))]
    assert drawn.count("published") == 2 * len(near) > 0
    assert "published" not in texts(spectra(Averages.of(statistics), [], ""))


@pytest.mark.parametrize(("amplitude", "end"), [(0.012, 0.015), (3.0, 3.0), (7.2, 7.5)])
def test_colours_of_fluctuations_reach_to_the_strongest(amplitude: float, end: float) -> None:
    figure = pictures.near_wall(slices(amplitude), "")
    image = figure.axes[0].get_images()[0]
    assert image.get_clim() == pytest.approx((-end, end))
    assert "$z/h = 0.1$" in texts(figure)
    assert "$x/h$ = 0" in texts(pictures.cross_section(slices(amplitude), ""))


def test_the_halves_of_the_channel_are_averaged() -> None:
    z = np.array([0.1, 0.4, 1.0, 1.6, 1.9])
    lower, even = fold(z, np.array([1.0, 2.0, 5.0, 4.0, 3.0]))
    assert np.allclose(lower, [0.1, 0.4, 1.0])
    assert np.allclose(even, [2.0, 3.0, 5.0])
    assert np.allclose(fold(z, np.array([1.0, 2.0, 0.0, -4.0, -3.0]), -1.0)[1], [2.0, 3.0, 0.0])


def test_profiles_are_shown_in_wall_units(statistics: xr.Dataset) -> None:
    published = reference.load("mkm180")
    z, u_rms = half(statistics, "u_rms", 1)
    plus = np.minimum(z * published.re_tau / RE_TAU, published.z[-1])
    assert np.allclose(u_rms, reference.interpolate(plus, published.z, published.u_rms))


def test_one_state_has_one_time_in_all_figures_whatever_its_friction_velocity(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time is that of pipelines and reports, not scaled by the shear of an instant."""
    titles = []
    made = figure_style.sheet

    def recorded(title: str, *more: object, **named: object) -> Figure:
        titles.append(figure_style.symbols(title))
        return made(title, *more, **named)  # type: ignore[arg-type]

    for module in (pictures, plots):
        monkeypatch.setattr(module, "sheet", recorded)
    list(draw(tmp_path, case_of("Flow", ["png"]), 4.188, slices(3.0), None))
    assert titles == ["Flow, $t$ = 4.188 h/$u_{\\tau}$"] * 3
    stream = numbers(case_of("Flow", ["png"]))
    assert stream["time_unit"] == "h/u_τ"
