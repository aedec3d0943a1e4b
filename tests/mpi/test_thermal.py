"""Thermal flows in runs: the same bits on all ranks and after restarts; errors in case files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
import yaml
from conftest import Run
from mpi4py import MPI

from uzushio._base.store import checkpoint
from uzushio.solvers.thermal import ThermalCase, ThermalSolver

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
    "output": {"folder": "run", "figures": False},
}
BALL = {"shape": "sphere", "centre": [0.5, 0.5, 0.4], "radius": 0.23}
HEATED = {"conduction": {"temperature": {"conductivity": 4, "capacity": 2, "source": 3}}}
FIGURE = {"shape": "stl", "file": "figure.stl", "scale": 0.005, "offset": [0.5, 0.5, 0.4]}
HOT = {"temperature": 1}
INFLOW = {"type": "inflow", "velocity": [0, 0, 1]}
LONGER = {"cells": 12, "length": 2}
STRETCHED = {"cells": 12, "stretching": 1.5}
SYMMETRY = {"type": "symmetry"}
DUCT: dict[str, Any] = {
    "periodic": [],
    "boundaries": {
        **{f"{axis}-{end}": SYMMETRY for axis in "yz" for end in ("min", "max")},
        "x-min": {"type": "inflow", "velocity": [1, 0, 0]},
        "x-max": {"type": "outflow"},
    },
}
WALL = {"shape": "box", "lower": [0.4, -1, -1], "upper": [0.6, 2, 2]}
PLANE: dict[str, Any] = {
    "grid": {"x": {"cells": 12}, "y": {"cells": 10}},
    "boundaries": {"y-min": SYMMETRY, "y-max": SYMMETRY},
}
BETWEEN = "the body b lies between the centres of cells, and would have no effect"
PIPELINE = """\
views:
  cut:
    layers: [{kind: slice, field: temperature, normal: y, at: 0.5, color: {map: viridis}}]
    size: [300, 200]
actions:
  - {picture: cut, every: 3}
"""


def write_stl(path: Path, kind: str) -> None:
    """Write an octahedron with corners at a distance of 80, also with a fault."""
    corners = 80.0 * np.array([[1, 0, 0], [0, 1, 0], [-1, 0, 0], [0, -1, 0]], "<f4")
    triangles = np.zeros(8, [("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("rest", "<u2")])
    for n in range(8):
        triangles["corners"][n] = corners[n % 4], corners[(n + 1) % 4], (0, 0, 80 - 160 * (n // 4))
    if kind == "flat":
        triangles["corners"][:, :, 1:] = 0
        triangles["corners"][:, 2, 0] = 5
    if kind == "nan":
        triangles["corners"][1, 2, 0] = np.nan
    if kind == "walled":  # a triangle between three corners of the middle
        triangles = np.concatenate([triangles, triangles[:1]])
        triangles["corners"][8] = corners[0], corners[1], corners[2]
    if kind == "turned":  # each triangle in both senses
        triangles = np.concatenate([triangles, triangles])
        triangles["corners"][8:] = triangles["corners"][8:, ::-1]
    kept = {"empty": 0, "open": 7}.get(kind, len(triangles))
    count = 9 if kind == "short" else kept
    path.write_bytes(
        b"octahedron".ljust(80) + count.to_bytes(4, "little") + triangles[:kept].tobytes()
    )


def write(path: Path, **changes: Any) -> Path:
    path.write_text(yaml.safe_dump({**CASE, **changes}))
    return path


def arrays(run: Path, step: int) -> dict[str, np.ndarray]:
    folder = run / f"checkpoints/step-{step:08d}"
    state = checkpoint.open_checkpoint(folder, MPI.COMM_SELF).state()
    shapes = state.shapes.items()
    return {name: state.read(name, tuple(0 for _ in shape), shape) for name, shape in shapes}


@pytest.mark.parametrize(
    ("scheme", "bodies"),
    [
        ("central", {}),
        (
            "van_leer",
            {
                "ball": BALL | HEATED,
                "figure": FIGURE | {"scale": 0.002, "offset": [0.1, 0.7, 0.75]},
            },
        ),
    ],
)
def test_runs_and_restarts_have_the_same_bits_on_any_ranks(
    uzushio: Run, tmp_path: Path, scheme: str, bodies: dict[str, Any]
) -> None:
    flow = {"numerics": {"scheme": scheme}, "bodies": bodies}
    if bodies:
        flow["les"] = {"model": "wale", "constant": 2}
    results = []
    (tmp_path / "pipeline.yaml").write_text(PIPELINE)
    write_stl(tmp_path / "figure.stl", "whole")
    publish = {"engine": "inproc", "every": 3, "pipeline": "pipeline.yaml"}
    for ranks in (1, 3):
        case = write(
            tmp_path / f"{ranks}.yaml",
            **flow,
            output={"folder": f"run{ranks}", "figures": False},
            **({"publish": publish} if ranks == 3 and scheme == "central" else {}),
        )
        done = uzushio("run", case, "--ranks", ranks, timeout=240)
        assert done.returncode == 0, done.stderr
        results.append(arrays(tmp_path / f"run{ranks}", 6))
    assert set(results[0]) >= {"face_velocity_i", "face_velocity_k", "pressure", "temperature"}
    assert "velocity" not in results[0]
    assert (scheme == "van_leer") != bool([*tmp_path.rglob("*.png")])
    earlier = tmp_path / "run3/checkpoints/step-00000003"
    case = write(tmp_path / "r.yaml", **flow, output={"folder": "again", "figures": ["png"]})
    done = uzushio("run", case, "--ranks", 2, "--restart", earlier, timeout=240)
    assert done.returncode == 0, done.stderr
    results.append(arrays(tmp_path / "again", 6))
    if not bodies:
        for x, about in ((LONGER, "another domain"), (STRETCHED, "stretched in another way")):
            other = write(tmp_path / "other.yaml", grid=CASE["grid"] | {"x": x}, **flow)
            refused = uzushio("run", other, "--restart", earlier, "--out", tmp_path / "o")
            assert refused.returncode == 1
            said = " ".join(refused.stderr.split())
            assert f"{about}: restart with the mesh of the run that wrote it" in said
    for name, values in results[0].items():
        assert np.abs(values).max() > 0
        for other in results[1:]:
            np.testing.assert_array_equal(other[name], values, err_msg=name)


def test_the_field_fluid_marks_the_cells_outside_bodies() -> None:
    case = ThermalCase.model_validate(CASE | {"bodies": {"ball": BALL}})
    solver = ThermalSolver(case, MPI.COMM_SELF).begin()
    assert "fluid" in solver.fields()
    fluid = np.empty((8, 10, 12))
    solver.write_field("fluid", [fluid])
    x, y, z = (axis.positions() for axis in case.grid.axes)
    centres = np.meshgrid(*(0.5 * (a[1:] + a[:-1]) for a in (z, y, x)), indexing="ij")
    distance = np.sqrt(sum((a - b) ** 2 for a, b in zip(centres, (0.4, 0.5, 0.5), strict=True)))
    np.testing.assert_array_equal(fluid, distance > BALL["radius"])


def test_check_and_the_run_tell_of_an_open_surface(uzushio: Run, tmp_path: Path) -> None:
    write_stl(tmp_path / "figure.stl", "open")
    done = uzushio("check", write(tmp_path / "case.yaml", bodies={"b": FIGURE}), timeout=120)
    assert done.returncode == 0, done.stderr
    assert "the surface of bodies.b is open: 3 sides" in " ".join(done.stdout.split())
    done = uzushio("run", tmp_path / "case.yaml", "--set", "time.steps=1", timeout=120)
    assert done.returncode == 0, done.stderr
    assert "note: the surface of bodies.b is open: 3 sides" in " ".join(done.stdout.split())


def test_the_first_rank_reads_an_stl_file_once_for_all(mpi_run: Run, tmp_path: Path) -> None:
    write_stl(tmp_path / "figure.stl", "open")
    case = write(tmp_path / "case.yaml", bodies={"b": FIGURE})
    done = mpi_run(2, [Path(__file__).with_name("stl_job.py"), case], timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[0] == "[1, 0] b"
    (tmp_path / "figure.stl").write_text("solid")
    done = mpi_run(2, [Path(__file__).with_name("stl_job.py"), case], timeout=120)
    assert done.returncode != 0
    assert done.stderr.count("CaseError") >= 2  # on both ranks


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"grid": {axis: {"cells": 10**9} for axis in "xyz"}},  # positions of 8 GB
            "grid.x.cells: got 1000000000, must be less than or equal to 1048576",
        ),
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
        ({"les": {"model": "k-epsilon"}}, "must be 'smagorinsky', 'wale' or 'vreman'"),
        ({"les": {"model": "wale", "constant": -1}}, "must be greater than or equal to 0"),
        ({"bodies": {"b": {"shape": "cone"}}}, "'sphere', 'box', 'cylinder', 'stl'"),
        ({"bodies": {"b": BALL | {"radius": 0.01}}}, "bodies.b: the body is smaller than a cell"),
        ({"bodies": {"b": FIGURE | {"file": "no.stl"}}}, "bodies.b: there is no file no.stl"),
        (
            {"bodies": {"b": FIGURE | {"file": "case.yaml"}}},
            "case.yaml is truncated, or not an STL file",
        ),
        ({"bodies": {"b": FIGURE | {"file": "short.stl"}}}, "short.stl is truncated"),
        ({"bodies": {"b": FIGURE | {"file": "nan.stl"}}}, "NaN or infinite, in triangle 2"),
        ({"bodies": {"b": FIGURE | {"file": "empty.stl"}}}, "has no triangles"),
        (
            {"bodies": {"b": FIGURE | {"scale": 1}}},
            "bodies.b: the body surrounds the box of the flow (if the flow is inside, give "
            "'seeds'): it reaches over",
        ),
        (
            {"bodies": {"b": FIGURE | {"offset": [0, 0, -40]}}},
            "'scale' is 0.001 for a file in millimetres and a case in metres",
        ),
        (
            {
                "bodies": {
                    "left": {"shape": "box", "lower": [-1, -1, -1], "upper": [0.6, 2, 2]},
                    "right": {"shape": "box", "lower": [0.5, -1, -1], "upper": [2, 2, 2]},
                }
            },
            "the bodies leave no fluid: give a seed",
        ),
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
        (
            {"boundaries": {**CASE["boundaries"], "y-min": {**SYMMETRY, "velocity": [1, 0, 0]}}},
            "'velocity' has no effect at type 'symmetry'",
        ),
        (
            {"boundaries": {**CASE["boundaries"], "z-min": {**INFLOW, "fluxes": HOT}}},
            "'fluxes' has no effect at type 'inflow': remove it, or use type 'wall'",
        ),
        ({"scalars": {"a/b": {"diffusivity": 1}}}, "must consist of letters, digits"),
        (
            {"bodies": {"b": FIGURE | {"file": "open.stl", "conduction": HEATED["conduction"]}}},
            "bodies.b: 'conduction' needs a closed surface, and 3 sides",
        ),
        (
            {"bodies": {"b": FIGURE | {"file": "walled.stl", "conduction": HEATED["conduction"]}}},
            "needs a closed surface, and 3 sides of its triangles have no second triangle, at (",
        ),
        (
            {"bodies": {"b": FIGURE | {"file": "turned.stl", "conduction": HEATED["conduction"]}}},
            "needs a closed surface, and its triangles enclose no volume, at (",
        ),
    ],
)
def test_contradictions_are_errors(
    uzushio: Run, tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    for name in ("figure", "short", "nan", "empty", "open", "walled", "turned"):
        write_stl(tmp_path / f"{name}.stl", name)
    done = uzushio("run", write(tmp_path / "case.yaml", **changes), timeout=120)
    assert done.returncode != 0
    assert message in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"bodies": {"b": BALL | {"centre": [0.5, 0.5, 0.5], "radius": 0.04}}}, BETWEEN),
        ({"bodies": {"b": FIGURE | {"file": "flat.stl"}}}, BETWEEN),
        (
            {**PLANE, "bodies": {"b": BALL | {"centre": [0.5, 0.5, 2.0]}}},
            "In two dimensions a body is its section at z = 0",
        ),
        (
            {**DUCT, "bodies": {"b": WALL}},
            "a part of it has an inflow but no outflow, or an outflow but no inflow",
        ),
        (
            {**DUCT, "bodies": {"b": WALL | {"upper": [2, 2, 2]}}},
            "the bodies cover the whole outflow",
        ),
        (
            {**DUCT, "bodies": {"b": WALL | {"lower": [-1, -1, -1]}}},
            "the bodies cover the whole inflow",
        ),
        (
            {**DUCT, "bodies": {"b": {**WALL, "lower": [-1, 0.4, -1], "upper": [2, 0.6, 2]}}},
            "2 of them have an inflow: compute each in a run of its own",
        ),
    ],
)
def test_bodies_without_effect_or_way_out_are_errors_on_all_ranks(
    uzushio: Run, tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    write_stl(tmp_path / "flat.stl", "flat")
    case = write(tmp_path / "case.yaml", **changes)
    done = uzushio("run", case, "--ranks", 3, timeout=120)
    assert done.returncode == 1
    assert message in " ".join(done.stderr.split())
    assert done.stderr.count("uzushio: error") == 1
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


def test_figures_are_the_same_on_any_ranks_and_after_a_restart(
    uzushio: Run, tmp_path: Path
) -> None:
    names = ["velocity", "temperature"]
    flow: dict[str, Any] = {
        "grid": {"x": {"cells": 16}, "y": {"cells": 12, "stretching": 1.2}},
        "fluid": {"viscosity": 0.01, "gravity": [0, -2, 0]},
        "boundaries": {
            "y-min": {"type": "wall", "values": {"temperature": 1}},
            "y-max": {"type": "wall", "values": {"temperature": 0}},
        },
        "bodies": {"rod": {"shape": "cylinder", "centre": [0.5, 0.4, 0], "radius": 0.2}},
        "statistics": {"every": 3, "fields": names, "over": ["i"], "covariances": [names]},
        "time": {"steps": 16, "cfl": 0.9},
        "checkpoint": {"every": 8},
    }
    case = write(tmp_path / "one.yaml", **flow, output={"folder": "one", "figures": ["png"]})
    done = uzushio("run", case, "--ranks", 1, timeout=240)
    assert done.returncode == 0, done.stderr
    case = write(tmp_path / "three.yaml", **flow, output={"folder": "three", "figures": False})
    earlier = tmp_path / "one/checkpoints/step-00000008"
    done = uzushio("run", case, "--ranks", 3, "--restart", earlier, timeout=240)
    assert done.returncode == 0, done.stderr
    done = uzushio("figures", tmp_path / "three", "--ranks", 2, timeout=240)
    assert done.returncode == 0, done.stderr
    drawn = {path.name: path.read_bytes() for path in (tmp_path / "one/figures").iterdir()}
    kinds = ("plane_xy", "profiles", "history", "mean_profiles", "mean_covariances")
    assert {*drawn} == {"history.csv", *(f"{kind}.png" for kind in kinds)}
    for name, content in drawn.items():
        again = tmp_path / "three/figures" / name
        assert again.read_bytes() == content, name
    single, on_three = (
        xr.open_zarr(tmp_path / f"{name}/statistics.zarr") for name in ("one", "three")
    )
    assert single["covariance_velocity_temperature"].dims == ("y", "component")
    xr.testing.assert_identical(single.compute(), on_three.compute())
    rows = np.loadtxt(tmp_path / "one/figures/history.csv", delimiter=",", skiprows=1)
    assert rows.shape == (4, 2 + 2 + 2)
    done = uzushio("report", tmp_path / "one")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "one/report.html").read_text()
    assert "Temperature, speed, with streamlines" in page
    assert "Kinetic energy, transfer of scalars and forces on bodies over time" in page
