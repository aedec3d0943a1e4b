"""Settings, messages and parts of the action acoustics."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_stream import Made
from sound import PRESSURE, monopole

from uzushio.errors import PipelineError, SettingsError
from uzushio.pipeline.acoustics import levels
from uzushio.pipeline.acoustics.observers import ArcSettings
from uzushio.pipeline.acoustics.surfaces import SurfaceSettings
from uzushio.pipeline.action import Action

SPHERE = {"spacing": 0.3, "sphere": {"center": (0, 0, 0), "radius": 0.7}}
BOX = {"spacing": 0.3, "box": {"from": (-1, 0, 0), "to": (1, 1, 3)}}
CYLINDER = {"spacing": 0.3, "cylinder": {"from": (0, 0, 0), "to": (1, 2, 2), "radius": 2.0}}
LINE = np.linspace(-1.0, 1.0, 9)


def action(folder: Path, made: Made | None = None, **more: Any) -> Action[Any]:
    made = made or Made((LINE, LINE, LINE), monopole().formulas)
    ambient = {"density": 1, "sound_speed": 1, "pressure": PRESSURE}
    settings = {"ambient": ambient, "surface": SPHERE, "points": {"mic": (5, 0, 0)}}
    return made.action("acoustics", folder, **{**settings, **more})


@pytest.mark.parametrize(
    ("given", "area", "volume"),
    [
        (SPHERE, 4 * np.pi * 0.7**2, 4 / 3 * np.pi * 0.7**3),
        (BOX, 22.0, 6.0),
        (CYLINDER, 2 * np.pi * 2.0 * (3.0 + 2.0), np.pi * 4.0 * 3.0),
    ],
)
def test_areas_and_volumes_of_surfaces_are_exact(
    given: dict[str, Any], area: float, volume: float
) -> None:
    """The volume is a third of the flux of the position: normals point outwards."""
    surface = SurfaceSettings.model_validate(given).surface()
    assert surface.areas.sum() == pytest.approx(area, rel=1e-12)
    flux = (surface.points * surface.normals).sum(axis=1) @ surface.areas
    assert flux / 3.0 == pytest.approx(volume, rel=1e-12)
    np.testing.assert_allclose(surface.areas @ surface.normals, 0.0, atol=1e-12 * area)


def test_open_surfaces_lack_their_faces() -> None:
    box = SurfaceSettings.model_validate(
        {"spacing": 0.3, "box": {"from": (-1, 0, 0), "to": (1, 1, 3), "open": ["x+"]}}
    ).surface()
    assert box.areas.sum() == pytest.approx(22.0 - 3.0)
    assert not (box.normals[:, 0] > 0).any()
    tube = SurfaceSettings.model_validate(
        {"spacing": 0.3, "cylinder": {**CYLINDER["cylinder"], "open": ["from", "to"]}}  # type: ignore[dict-item]
    ).surface()
    assert tube.areas.sum() == pytest.approx(2 * np.pi * 2.0 * 3.0)


def test_arcs_have_their_angles_from_the_axis() -> None:
    arc = ArcSettings(center=(1, 0, 0), radius=2, angles=(0, 90), observers=3, toward=(1, 0, 3))
    half = np.sqrt(2.0)
    np.testing.assert_allclose(arc.places, [(3, 0, 0), (1 + half, 0, half), (1, 0, 2)], atol=1e-12)


def test_the_sum_of_a_spectrum_is_the_mean_square() -> None:
    values = np.random.default_rng(3).normal(2.0, 3.0, 200_000)
    frequencies, density = levels.power_spectrum(values, 0.01, 500)
    assert frequencies[0] == pytest.approx(0.2) and frequencies[-1] == pytest.approx(50.0)
    assert density.sum() * 0.2 == pytest.approx(9.0, rel=0.01)
    whole, half = (levels.overall_level(frequencies, density, b) for b in (None, (0.0, 25.0)))
    assert whole - half == pytest.approx(10.0 * np.log10(2.0), abs=0.1)
    assert density[5:-5].mean() == pytest.approx(9.0 / 50.0, rel=0.01)  # white


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"points": {"mic": (0.1, 0.2, 0.3)}}, "the observer mic at .* lies inside or on"),
        ({"points": [(0.7, 0, 0)]}, "the observer p0 at .* lies inside or on"),
        ({"pressure": "p"}, "the field 'p'"),
        ({"velocity": "pressure"}, "'pressure' has 1 components, not 3"),
        ({"velocity": ("velocity.x", "velocity.y", "w")}, "the field 'w'"),
        (
            {"surface": {"spacing": 0.3, "sphere": {"center": (0.5, 0, 0), "radius": 0.7}}},
            r"the surface lies outside the values of box at \d+ of its \d+ positions, as at",
        ),
    ],
)
def test_impossible_settings_are_reported_before_the_first_step(
    tmp_path: Path, more: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(PipelineError, match=sentence):
        action(tmp_path, **more)


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"points": {}}, "needs observers"),
        ({"surface": {"spacing": 0.3}}, "exactly one of"),
        ({"surface": {**SPHERE, "spacing": 1e-6}}, "the maximum is"),
        (
            {"ambient": {"density": 1, "sound_speed": 1, "velocity": (0.8, 0.8, 0)}},
            "must be subsonic",
        ),
        ({"surface": {"spacing": 1, "box": {"from": (0, 0, 0), "to": (1, 0, 1)}}}, "less than"),
    ],
)
def test_impossible_sections_are_reported(
    tmp_path: Path, more: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(SettingsError, match=sentence):
        action(tmp_path, **more)


def test_a_flat_mesh_has_no_far_field(tmp_path: Path) -> None:
    made = Made((np.zeros(1), LINE, LINE), monopole().formulas)
    with pytest.raises(PipelineError, match="three-dimensional"):
        action(tmp_path, made)


def test_times_must_increase(tmp_path: Path) -> None:
    made = Made((LINE, LINE, LINE), monopole().formulas)
    one = action(tmp_path, made)
    made.run(one, [(0, 0.0), (1, 0.1)], close=False)
    with pytest.raises(PipelineError, match=r"time of step 2 is 0.1.*needs increasing times"):
        made.run(one, [(2, 0.1)])


def test_short_series_are_reported_at_the_end(tmp_path: Path) -> None:
    """As a notice: a restart may continue them."""
    made = Made((LINE, LINE, LINE), monopole().formulas)
    made.run(action(tmp_path / "3", made), [(step, 0.1 * step) for step in range(3)])
    made.run(action(tmp_path / "30", made), [(step, 0.1 * step) for step in range(30)])
    few, short = made.messages
    assert few == "it has 3 steps of the surface, and needs at least 4."
    assert re.search(r"it has \d+ complete samples at the observer mic, and spectra need 32", short)
    rows = np.loadtxt(tmp_path / "30/it.csv", delimiter=",", skiprows=1)
    assert len(rows) > 10, "the series is written all the same"


def test_values_that_are_not_finite_are_reported_with_their_place(tmp_path: Path) -> None:
    formulas = monopole().formulas

    def holed(time: float, z: np.ndarray, y: np.ndarray, x: np.ndarray) -> np.ndarray:
        return np.where((x > 0.4) & (time > 0.05), np.nan, formulas["pressure"](time, z, y, x))

    made = Made((LINE, LINE, LINE), {**formulas, "pressure": holed})
    one = action(tmp_path, made)
    made.run(one, [(0, 0.0)], close=False)
    with pytest.raises(PipelineError, match=r"no finite values at the position \(.*\) of the surf"):
        made.run(one, [(1, 0.1)])


def test_along_periodic_axes_the_surface_may_cross_the_end(tmp_path: Path) -> None:
    """A surface moved by a period samples the same values."""
    line = np.arange(16) / 8.0
    wave = {
        "pressure": lambda t, z, y, x: (
            PRESSURE + 1e-3 * np.sin(np.pi * (x - t)) * np.cos(np.pi * y)
        ),
        "velocity": lambda t, z, y, x: np.stack(3 * [1e-3 * np.sin(np.pi * (x + z))], axis=-1),
    }
    found = []
    for shift in (0.0, 2.0):
        made = Made((line, line, line), wave, periodic="xyz")
        sphere = {"center": (1.9 + shift, 0.1, 1 - shift), "radius": 0.5}
        one = action(
            tmp_path / str(shift),
            made,
            density=1.0,
            surface={"spacing": 0.2, "sphere": sphere},
            points={"mic": (6.9 + shift, 0.1, 1 - shift)},
        )
        made.run(one, [(step, 0.1 * step) for step in range(60)])
        found.append(np.loadtxt(tmp_path / str(shift) / "it.csv", delimiter=",", skiprows=1))
    assert np.abs(found[0][:, 2]).max() > 1e-6
    np.testing.assert_allclose(found[1], found[0], rtol=1e-9, atol=1e-15)


def test_the_cuts_of_the_points_may_change_from_step_to_step(tmp_path: Path) -> None:
    """As where pictures, which need ghost points, are due at some steps only."""
    found = []
    for name, cuts in (("one", [(1, 1, 1)]), ("many", [(2, 1, 3), (1, 2, 1), (1, 1, 1)])):
        made = Made((LINE, LINE, LINE), monopole().formulas)
        one = action(tmp_path / name, made)
        for step in range(60):
            made.cuts = cuts[step % len(cuts)]
            made.run(one, [(step, 0.1 * step)], close=step == 59)
        found.append(np.loadtxt(tmp_path / name / "it.csv", delimiter=",", skiprows=1)[:, 2])
    np.testing.assert_allclose(found[1], found[0], rtol=0, atol=1e-12 * np.abs(found[0]).max())
