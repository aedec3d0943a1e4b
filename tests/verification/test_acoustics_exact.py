"""Far field of sound from a permeable surface against exact fields of sources in a flow."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_stream import Made
from mpi4py import MPI
from sound import PRESSURE, Sound, dipole, monopole

from uzushio import staging
from uzushio.pipeline.model import load
from uzushio.pipeline.pipeline import Pipeline

OBSERVERS = {"ahead": (10, 0, 0), "aside": (0, 10, 1), "behind": (-9, 1, 0), "skew": (5, 5, -7)}
SPHERE = {"sphere": {"center": (0, 0, 0), "radius": 0.7}}
BOX = {"box": {"from": (-0.7, -0.6, -0.65), "to": (0.7, 0.6, 0.65)}}
CYLINDER = {"cylinder": {"from": (-0.7, -0.1, 0), "to": (0.7, 0.1, 0.1), "radius": 0.6}}
Vector = tuple[float, float, float]


def far_field(
    sound: Sound,
    folder: Path,
    surface: dict[str, Any],
    points: int = 33,
    interval: float = 0.05,
    end: float = 5.5,
    observers: dict[str, Vector] = OBSERVERS,
    **more: Any,
) -> np.ndarray:
    """Return the complex amplitudes at observers, divided by the exact ones."""
    line = np.linspace(-1.0, 1.0, points)
    made = Made((line, line, line), sound.formulas)
    ambient = {"density": 1, "sound_speed": 1, "pressure": PRESSURE, "velocity": sound.mach}
    settings = {"ambient": ambient, "surface": surface, "points": observers, **more}
    action = made.action("acoustics", folder, **settings)
    steps = [(step, step * interval) for step in range(round(end / interval) + 1)]
    made.run(action, steps)
    return amplitudes(folder / "it.csv", sound, observers)


def amplitudes(path: Path, sound: Sound, observers: dict[str, Vector] = OBSERVERS) -> np.ndarray:
    """Return the complex amplitudes of a series, divided by the exact ones."""
    rows = np.loadtxt(path, delimiter=",", skiprows=1)
    exact = sound.perturbations(np.array([*observers.values()], float))[0]
    measured = []
    for column in rows[:, 2:].T:
        held = np.isfinite(column)
        phase = 2.0 * np.pi * rows[held, 1] / sound.wavelength
        waves = np.stack([np.cos(phase), -np.sin(phase), np.ones(len(phase))], axis=1)
        real, imaginary, _ = np.linalg.lstsq(waves, column[held], rcond=None)[0]
        measured.append(real + 1j * imaginary)
    return np.array(measured) / exact


def decibels(ratios: np.ndarray) -> float:
    """Return the largest difference of levels."""
    return float(np.abs(20.0 * np.log10(np.abs(ratios))).max())


@pytest.mark.parametrize(
    ("source", "mach", "surface"),
    [
        (monopole, (0.5, 0, 0), SPHERE),
        (monopole, (0.5, 0, 0), CYLINDER),
        (dipole, (0.3, 0.2, -0.2), SPHERE),
        (dipole, (0.3, 0.2, -0.2), BOX),
    ],
)
def test_sources_in_motion_are_within_a_tenth_of_a_decibel(
    tmp_path: Path, source: Callable[..., Sound], mach: Vector, surface: dict[str, Any]
) -> None:
    """Sixteen cells a wavelength; against a flow of half the speed of sound only eight."""
    ratios = far_field(source(mach), tmp_path, {"spacing": 0.08, **surface})
    assert decibels(ratios) < 0.1
    assert np.abs(np.angle(ratios, deg=True)).max() < 1.0


@pytest.mark.parametrize("source", [monopole, dipole])
def test_sources_at_rest_are_within_a_hundredth_of_a_decibel(
    tmp_path: Path, source: Callable[..., Sound]
) -> None:
    ratios = far_field(source(), tmp_path, {"spacing": 0.08, **SPHERE})
    assert decibels(ratios) < 0.01
    assert np.abs(np.angle(ratios, deg=True)).max() < 0.1


def test_a_source_outside_the_surface_is_not_heard(tmp_path: Path) -> None:
    sound = Sound([((2.0, 0.3, 0.2), 1.0)])
    ratios = far_field(sound, tmp_path, {"spacing": 0.08, **BOX}, end=6.5)
    assert np.abs(ratios).max() < 10 ** (-60 / 20)


def test_the_error_falls_with_the_square_of_the_spacing_of_linear_interpolation(
    tmp_path: Path,
) -> None:
    errors = [
        np.abs(
            far_field(
                monopole(),
                tmp_path / str(points),
                {"spacing": 0.08, **SPHERE},
                points=points,
                interpolation="linear",
                end=5.0,
            )
            - 1.0
        ).max()
        for points in (17, 33)
    ]
    assert np.log2(errors[0] / errors[1]) > 1.8


def test_the_error_falls_with_the_third_power_of_the_time_step_at_least(tmp_path: Path) -> None:
    """The mesh and the surface are fine enough not to matter; twelve and six steps a period."""
    errors = []
    for interval in (1.0 / 6.0, 1.0 / 12.0):
        ratios = far_field(
            monopole(wavelength=2.0),
            tmp_path / str(interval),
            {"spacing": 0.1, **SPHERE},
            points=33,
            interval=2.0 * interval,
            end=14.0,
        )
        errors.append(np.abs(ratios - 1.0).max())
    assert np.log2(errors[0] / errors[1]) > 2.8
    assert errors[1] < 0.011


def test_steps_of_varying_length_and_other_samples_give_the_same_sound(tmp_path: Path) -> None:
    sound = monopole((0.3, 0.0, 0.0))
    line = np.linspace(-1.0, 1.0, 33)
    made = Made((line, line, line), sound.formulas)
    ambient = {"density": 1, "sound_speed": 1, "pressure": PRESSURE, "velocity": sound.mach}
    action = made.action(
        "acoustics",
        tmp_path,
        ambient=ambient,
        surface={"spacing": 0.08, **SPHERE},
        points=OBSERVERS,
        interval=0.08,
    )
    times = np.cumsum(np.random.default_rng(5).uniform(0.02, 0.08, 150)).tolist()
    made.run(action, list(enumerate(times)))
    ratios = amplitudes(tmp_path / "it.csv", sound)
    assert decibels(ratios) < 0.05
    rows = np.loadtxt(tmp_path / "it.csv", delimiter=",", skiprows=1)
    np.testing.assert_allclose(np.diff(rows[:, 1]), 0.08, rtol=1e-9)


def test_levels_of_a_tone_are_those_of_its_amplitude(tmp_path: Path) -> None:
    """The overall level in the stream's units, and the peak of the spectrum, in pascals and Hz."""
    sound = monopole()
    far_field(
        sound,
        tmp_path,
        {"spacing": 0.1, **SPHERE},
        points=25,
        end=14.0,
        interpolation="cubic",
        pascals=1e6,
        seconds=1e-3,
    )
    exact = 1e6 * np.abs(sound.perturbations(np.array([*OBSERVERS.values()], float))[0])
    expected = 20.0 * np.log10(exact / np.sqrt(2.0) / 2e-5)
    levels = np.loadtxt(tmp_path / "it-levels.csv", delimiter=",", skiprows=1)[:, -1]
    np.testing.assert_allclose(levels, expected, atol=0.1)
    spectrum = np.loadtxt(tmp_path / "it-spectra.csv", delimiter=",", skiprows=1)
    peak = spectrum[spectrum[:, 1].argmax(), 0]
    assert abs(peak - 1000.0) <= spectrum[0, 0]


def curved(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Return positions of a twisted mesh, whose outer faces stay straight."""
    bump = 0.06 * np.cos(0.5 * np.pi * x) * np.cos(0.5 * np.pi * y) * np.cos(0.5 * np.pi * z)
    return np.stack([x + bump, y - bump, z + 0.5 * bump], axis=-1)


@pytest.mark.parametrize("kind", ["vertex", "element"])
@pytest.mark.parametrize("straight", [True, False], ids=["straight", "curvilinear"])
def test_the_surface_crosses_the_meshes_of_several_zones(
    tmp_path: Path, kind: str, straight: bool
) -> None:
    """Values at the centres of elements have none on the border of the two zones."""
    sound = dipole((0.3, 0.0, 0.1))
    cells = 36
    line = np.linspace(-1.0, 1.0, cells + 1)
    half = cells // 2
    zones = {"left": line[: half + 1], "right": line[half:]}
    text = f"""
sources: {{}}
actions:
- acoustics:
    ambient: {{density: 1, sound_speed: 1, pressure: {PRESSURE}, velocity: [0.3, 0.0, 0.1]}}
    surface: {{spacing: 0.08, sphere: {{center: [0, 0, 0], radius: 0.7}}}}
    points: {{ahead: [10, 0, 0], aside: [0, 10, 1], behind: [-9, 1, 0], skew: [5, 5, -7]}}
"""
    (tmp_path / "p.yaml").write_text(text.replace("sources: {}\n", ""))
    pipeline = Pipeline(
        load(tmp_path / "p.yaml"), MPI.COMM_SELF, tmp_path / "out", print, in_situ=True
    )
    names = {"density": 1, "velocity": 3, "pressure": 1}
    with staging.open("zones", MPI.COMM_SELF, {"engine": "inproc"}) as writer:
        writer.on_step(pipeline.step)
        fields = {}
        for number, (zone, x) in enumerate(zones.items()):
            count = (cells, cells, half)
            mesh = np.meshgrid(line, line, x, indexing="ij")[::-1]
            corners = np.stack(mesh, axis=-1) if straight else curved(*mesh)
            if straight:
                writer.rectilinear_mesh(zone, [line, line, x])
            else:
                writer.curvilinear_mesh(zone, count, f"{zone}/xyz")
                writer.field(f"{zone}/xyz", zone, "vertex", components=3)
            for name, components in names.items():
                writer.field(f"{zone}/{name}", zone, kind, components=components)
            writer.block(number, zone, ((0, 0, 0), count), "element")
            places = corners
            if kind == "element":
                for axis in range(3):
                    low, high = (
                        np.moveaxis(places, axis, 0)[s] for s in (slice(-1), slice(1, None))
                    )
                    places = np.moveaxis(0.5 * (low + high), 0, axis)
            fields[zone] = number, corners, places
        for step in range(110):
            with writer.step(step, 0.05 * step):
                for zone, (number, corners, places) in fields.items():
                    if not straight:
                        writer.put(f"{zone}/xyz", corners, number)
                    for name in names:
                        values = sound.formula(name)(0.05 * step, *np.moveaxis(places, -1, 0)[::-1])
                        writer.put(f"{zone}/{name}", np.ascontiguousarray(values), number)
    pipeline.finish()
    pipeline.close()
    assert pipeline.failures == 0, pipeline.summary()
    assert decibels(amplitudes(tmp_path / "out/acoustics.csv", sound)) < 0.1
