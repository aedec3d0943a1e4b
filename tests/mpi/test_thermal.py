"""Thermal flows in runs: the same bits on all ranks and after restarts; errors in case files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from conftest import Run
from mpi4py import MPI

from uzushio.store import checkpoint

CASE: dict[str, Any] = {
    "solver": "thermal",
    "grid": {
        "x": {"cells": 12},
        "y": {"cells": 10, "stretching": 1.2},
        "z": {"cells": 8, "stretching": 1.0, "fine_at": "lower"},
    },
    "periodic": ["x"],
    "fluid": {"viscosity": 0.01, "gravity": [0, 0, -2]},
    "scalars": {"temperature": {"diffusivity": 0.01, "expansion": 1, "unit": "K"}},
    "boundaries": {
        "y-min": {"type": "symmetry"},
        "y-max": {"type": "wall", "velocity": [0.3, 0, 0]},
        "z-min": {"type": "wall", "fluxes": {"temperature": 0.02}},
        "z-max": {"type": "wall", "values": {"temperature": 0}},
    },
    "initial": {"velocity": [1, 0, 0], "noise": {"velocity": 0.3, "temperature": 0.5}},
    "time": {"steps": 6, "cfl": 0.9},
    "checkpoint": {"every": 3},
    "output": {"folder": "run"},
}
BALL = {"shape": "sphere", "centre": [0.5, 0.5, 0.4], "radius": 0.23}
HEATED = {"conduction": {"temperature": {"conductivity": 4, "capacity": 2, "source": 3}}}
PIPELINE = """\
views:
  cut:
    layers: [{kind: slice, field: temperature, normal: y, at: 0.5, color: {map: viridis}}]
    size: [300, 200]
actions:
  - {picture: cut, every: 3}
"""


def write(path: Path, **changes: Any) -> Path:
    path.write_text(yaml.safe_dump({**CASE, **changes}))
    return path


def arrays(run: Path, step: int) -> dict[str, np.ndarray]:
    folder = run / f"checkpoints/step-{step:08d}"
    state = checkpoint.open_checkpoint(folder, MPI.COMM_SELF).state()
    return {name: state.read(name, (0, 0, 0), shape) for name, shape in state.shapes.items()}


@pytest.mark.parametrize(
    ("scheme", "bodies"), [("central", {}), ("van_leer", {"ball": BALL | HEATED})]
)
def test_runs_and_restarts_have_the_same_bits_on_any_ranks(
    uzushio: Run, tmp_path: Path, scheme: str, bodies: dict[str, Any]
) -> None:
    flow = {"numerics": {"scheme": scheme}, "bodies": bodies}
    found = []
    (tmp_path / "pipeline.yaml").write_text(PIPELINE)
    publish = {"engine": "inproc", "every": 3, "pipeline": "pipeline.yaml"}
    for ranks in (1, 3):
        case = write(
            tmp_path / f"{ranks}.yaml",
            **flow,
            output={"folder": f"run{ranks}"},
            **({"publish": publish} if ranks == 3 and scheme == "central" else {}),
        )
        done = uzushio("run", case, "--ranks", ranks, timeout=240)
        assert done.returncode == 0, done.stderr
        found.append(arrays(tmp_path / f"run{ranks}", 6))
    assert set(found[0]) >= {"face_velocity_i", "face_velocity_k", "pressure", "temperature"}
    assert "velocity" not in found[0]
    assert (scheme == "van_leer") != bool([*tmp_path.rglob("*.png")])
    earlier = tmp_path / "run3/checkpoints/step-00000003"
    case = write(tmp_path / "r.yaml", **flow, output={"folder": "again"})
    done = uzushio("run", case, "--ranks", 2, "--restart", earlier, timeout=240)
    assert done.returncode == 0, done.stderr
    found.append(arrays(tmp_path / "again", 6))
    for name, values in found[0].items():
        assert np.abs(values).max() > 0
        for other in found[1:]:
            np.testing.assert_array_equal(other[name], values, err_msg=name)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"periodic": []}, "give a condition at x-min, or name x in 'periodic'"),
        ({"periodic": ["x", "z"]}, "the axis z is periodic"),
        ({"scalars": {}}, "there is no scalar 'temperature'; there are: none"),
        ({"numerics": {"solver": "gauss"}}, "there is no solver 'gauss'; there are: auto"),
        ({"initial": {"script": "nothing.py"}}, "there is no file"),
        ({"bodies": {"b": BALL | {"values": {"heat": 1}}}}, "there is no scalar 'heat'"),
        ({"bodies": {"b": BALL | {"centre": [0.5, 0.5, 9]}}}, "bodies.b: the body is outside"),
        (
            {"bodies": {"b": BALL | HEATED | {"values": {"temperature": 1}}}},
            "bodies.b: temperature has more than one of value, flux and conduction",
        ),
        ({"bodies": {"b": {"shape": "cone"}}}, "'sphere', 'box', 'cylinder'"),
        ({"bodies": {"b": BALL | {"radius": 5}}}, "the bodies leave no fluid: give a seed"),
        (
            {
                "boundaries": {
                    **CASE["boundaries"],
                    "z-min": {"type": "inflow", "velocity": [0, 0, 1]},
                }
            },
            "an inflow but no outflow",
        ),
        (
            {
                "boundaries": {
                    **CASE["boundaries"],
                    "z-min": {"type": "wall", "velocity": [0, 0, 1]},
                }
            },
            "a wall that moves along its normal",
        ),
    ],
)
def test_contradictions_are_errors(
    uzushio: Run, tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    done = uzushio("run", write(tmp_path / "case.yaml", **changes), timeout=120)
    assert done.returncode != 0
    assert message in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("numerics", "time", "message"),
    [
        ({}, {"steps": 200, "dt": 5.0}, "use a smaller time.dt"),
        ({"solver": "cg", "max_iterations": 1}, {"steps": 2, "cfl": 0.9}, "not converged after 1"),
    ],
)
def test_a_flow_that_diverges_ends_with_a_message(
    uzushio: Run, tmp_path: Path, numerics: dict[str, Any], time: dict[str, Any], message: str
) -> None:
    case = write(tmp_path / "case.yaml", numerics=numerics, time=time)
    done = uzushio("run", case, "--ranks", 2, timeout=120)
    assert done.returncode != 0
    assert message in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_a_script_sets_the_initial_fields(uzushio: Run, tmp_path: Path) -> None:
    (tmp_path / "start.py").write_text(
        "import numpy as np\n"
        "def initial(name, x, y, z):\n"
        "    return np.sin(2 * np.pi * x) + y if name == 'temperature' else 0.0\n"
    )
    case = write(
        tmp_path / "case.yaml",
        fluid={"viscosity": 0.01},
        boundaries={side: {"type": "symmetry"} for side in ("y-min", "y-max", "z-min", "z-max")},
        initial={"script": str(tmp_path / "start.py")},
        time={"steps": 1, "dt": 1e-9},
    )
    done = uzushio("run", case, "--ranks", 2, timeout=120)
    assert done.returncode == 0, done.stderr
    x = (np.arange(12) + 0.5) / 12
    temperature = arrays(tmp_path / "run", 1)["temperature"]
    np.testing.assert_allclose(
        temperature[0] - temperature[0, :, :1],
        np.broadcast_to(np.sin(2 * np.pi * x) - np.sin(2 * np.pi * x[0]), (10, 12)),
        atol=1e-6,
    )
