"""The solvers of examples/own_solver, built against the installed package outside of its tree."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray
from conftest import Run
from mpi4py import MPI
from PIL import Image

from uzushio._base.store import checkpoint
from uzushio.case import registry
from uzushio.case.model import load_case
from uzushio.errors import CaseError
from uzushio.solvers import BlockSolver, StoredState

EXAMPLES = Path(__file__).parents[2] / "examples/own_solver"
CPP, PYTHON = EXAMPLES / "cpp", EXAMPLES / "python"
SOLVERS = {"euler": "own_euler:Euler", "shallow_water": "own_shallow_water:ShallowWater"}
#: A few steps on few cells of the examples' own cases.
SMALL = {
    "euler": (CPP, "bubble.yaml", "schlieren.yaml", ["statistics.fields=[density]"]),
    "shallow_water": (PYTHON, "jets.yaml", "vorticity.yaml", []),
}
Arrays = Mapping[str, np.ndarray]


@pytest.fixture(scope="module", autouse=True)
def installed(
    job_environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """Both packages, built and installed by pip's rules from copies, on the path of all jobs."""
    copies = tmp_path_factory.mktemp("own")
    folders = [shutil.copytree(folder, copies / folder.name) for folder in (CPP, PYTHON)]
    site = job_environment["PYTHONPATH"].split(os.pathsep)[0]
    uv = Path(sys.executable).with_name("uv")
    path = os.pathsep.join([str(uv.parent), job_environment["PATH"]])
    options = [
        "-q",
        "--offline",
        "--no-cache",
        "--no-build-isolation",
        "--no-deps",
        "--target",
        site,
    ]
    done = subprocess.run(
        [uv, "pip", "install", *options, "--python", sys.executable, *folders],
        env=job_environment | {"PATH": path, "CXXFLAGS": ""},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(site)
        for name, target in SOLVERS.items():
            patch.setitem(registry.SOLVERS, name, target)
        yield copies


def solver(name: str, **values: Any) -> BlockSolver:
    """Return an example on one rank: a vortex, of which the exact solution is known."""
    document = {"solver": name, "flow": "vortex", "time": {"end": 1.0, "cfl": 0.6}} | values
    made = registry.solver_class(name)(load_case(document), MPI.COMM_SELF).begin()
    assert isinstance(made, BlockSolver)
    return made


def advanced(made: BlockSolver) -> BlockSolver:
    while made.case.time.end - made.time > 1e-12:
        made.step(made.case.time.end - made.time)
    return made


def field(made: BlockSolver, name: str) -> np.ndarray:
    (box,) = made.fields()[name].boxes(made.meshes())
    out = np.empty(made.fields()[name].shape(box))
    made.write_field(name, [out])
    return out[0]


def saved(made: BlockSolver) -> StoredState:
    """The content of a checkpoint of a solver on one rank."""
    state = made.state()

    def read(name: str, start: tuple[int, ...], shape: tuple[int, ...]) -> np.ndarray:
        box = zip(start, shape, strict=True)
        return state.arrays[name].values[0][tuple(slice(a, a + n) for a, n in box)]

    shapes = {name: array.shape for name, array in state.arrays.items()}
    return StoredState(shapes, state.attributes, read)


def density_error(cells: int, **values: Any) -> float:
    """Mean error of the isentropic vortex, which has moved by (1, 1)."""
    density = field(advanced(solver("euler", cells=cells, **values)), "density")
    x = (np.arange(cells) + 0.5) * 10 / cells - 6
    swirl = 5 / (2 * np.pi) * np.exp((1 - x**2 - x[:, np.newaxis] ** 2) / 2)
    return float(np.abs(density - (1 - 0.2 / 1.4 * swirl**2) ** 2.5).mean())


def depth_error(cells: int) -> float:
    """Mean error of the balanced vortex, which is steady."""
    made = solver("shallow_water", cells=cells)
    start = field(made, "depth").copy()
    return float(np.abs(field(advanced(made), "depth") - start).mean())


@pytest.mark.parametrize(("error", "cells"), [(density_error, 32), (depth_error, 24)])
def test_the_exact_solution_is_approached_in_second_order(
    error: Callable[[int], float], cells: int
) -> None:
    coarse, fine = error(cells), error(2 * cells)
    assert 1.85 < np.log2(coarse / fine) < 2.5


def test_the_case_selects_the_scheme_in_time() -> None:
    with pytest.raises(CaseError, match=r"time\.scheme"):
        solver("euler", cells=16, time={"steps": 1, "cfl": 0.5, "scheme": "euler"})
    errors, messages = [], []
    for scheme in (None, "ssp_rk3", "wray_rk3", "carpenter_kennedy_rk4"):
        time = {"end": 1.0, "cfl": 0.6, "scheme": scheme}
        errors.append(density_error(16, time=time))
        case = load_case({"solver": "euler", "flow": "vortex", "cells": 16, "time": time})
        estimate = registry.solver_class("euler").estimate(case, 2)
        messages.append(estimate.traffic["halo"].messages)
    assert errors[0] == errors[1], "the declared scheme"
    assert len(set(errors)) == 3
    assert np.ptp(errors) < 0.02 * errors[0], "the error in space is larger"
    assert messages[3] / messages[0] == 5 / 3, "five stages"


def test_a_steered_parameter_counts_from_the_next_step_on_and_after_a_restart() -> None:
    free, viscous = (solver("shallow_water", cells=16) for _ in range(2))
    with pytest.raises(ValueError, match=r"viscosity = 1 is outside 0 … 0.1"):
        viscous.steer("viscosity", 1.0)
    viscous.steer("viscosity", 0.01)
    viscous.steer("cfl", 0.3)
    for made in (free, viscous):
        made.step()
    assert viscous.dt == pytest.approx(0.5 * free.dt)
    assert np.ptp(field(viscous, "vorticity")) < 0.999 * np.ptp(field(free, "vorticity"))

    again = solver("shallow_water", cells=16)
    again.restore(saved(viscous))
    for made in (viscous, again):
        made.step()
    assert again.parameters()["viscosity"].value == 0.01
    np.testing.assert_array_equal(field(again, "depth"), field(viscous, "depth"))


@pytest.mark.parametrize("name", SOLVERS)
def test_interpolation_to_another_grid_is_of_second_order(name: str) -> None:
    errors = []
    for cells in (32, 64):
        coarse, fine, exact = (solver(name, cells=n) for n in (cells, 80, 80))
        fine.interpolate(saved(coarse))
        arrays, expected = fine.state().arrays, exact.state().arrays
        pairs = [(arrays[name].values[0], expected[name].values[0]) for name in expected]
        errors.append([np.abs(a - b).mean() for a, b in pairs])
    orders = np.log2(np.divide(*errors))
    assert (orders > 1.8).all() and (np.array(errors[1]) > 0).all()


@pytest.mark.parametrize("name", SOLVERS)
def test_check_knows_the_size_of_a_checkpoint(name: str) -> None:
    made = solver(name, cells=16)
    arrays = made.state().arrays.values()
    estimate = made.estimate(made.case, 1)
    assert estimate.checkpoint_bytes == sum(array.nbytes for array in arrays)


def small(name: str, tmp_path: Path) -> list[str]:
    """Copy the example's case into the test's folder; return the words of a short run."""
    folder, case, pipeline, more = SMALL[name]
    for file in (case, pipeline):
        shutil.copy(folder / file, tmp_path)
    values = [
        "cells=24", "time.end=null", "time.steps=12", "publish=null", "output.folder=run",
        "statistics.every=4", "checkpoint.every=4", "checkpoint.keep=1000", *more,
    ]  # fmt: skip
    return ["run", case, *(word for value in values for word in ("--set", value))]


def stored(run: Path) -> tuple[Arrays, Arrays]:
    """State and averages of the checkpoint of step 12."""
    opened = checkpoint.open_checkpoint(run / "checkpoints/step-00000012", MPI.COMM_SELF)
    state = opened.state()
    arrays = {
        name: state.read(name, (0,) * len(shape), shape) for name, shape in state.shapes.items()
    }
    return arrays, opened.averages()[0]


@pytest.mark.parametrize("name", SOLVERS)
def test_the_bits_are_those_of_one_rank_on_others_and_after_a_kill(
    name: str, uzushio: Run, start_uzushio: Any, tmp_path: Path
) -> None:
    words = small(name, tmp_path)
    done = uzushio(*words)
    assert done.returncode == 0, done.stderr
    on_one = stored(tmp_path / "run")
    assert (
        on_one[0].keys()
        == {
            "euler": {"conserved"},
            "shallow_water": {"depth", "velocity_i", "velocity_j"},
        }[name]
    )

    # On two ranks, drawn in each step by a pipeline of which the solver knows nothing.
    pipeline = SMALL[name][2]
    text = (tmp_path / pipeline).read_text()
    (tmp_path / pipeline).write_text(re.sub(r"every: \d+}", "every: 6}", text))
    inside = f"publish={{engine: inproc, pipeline: {pipeline}}}"
    done = uzushio(*words, "--set", "output.folder=two", "--set", inside, "--ranks", 2)
    assert done.returncode == 0, done.stderr
    pictures = sorted((tmp_path / "two/pipeline/pictures").glob("*.png"))
    assert len(pictures) == 2
    pixels = np.asarray(Image.open(pictures[-1]).convert("RGB")).reshape(-1, 3)
    assert len(np.unique(pixels, axis=0)) > 100, "the field is drawn"

    # Killed on five ranks, and continued on three.
    killed = tmp_path / "killed/checkpoints/step-00000004"
    endless = ["--set", "output.folder=killed", "--set", "time.steps=1000000"]
    job = start_uzushio(*words, *endless, "--ranks", 5)
    deadline = time.monotonic() + 60
    while not (killed / "manifest.json").exists():
        assert job.poll() is None and time.monotonic() < deadline
        time.sleep(0.01)
    os.killpg(job.pid, signal.SIGKILL)
    rest = ["--set", "output.folder=rest", "--ranks", 3, "--restart", killed]
    done = uzushio(*words, *rest)
    assert done.returncode == 0, done.stderr

    for run in ("two", "rest"):
        for arrays, expected in zip(stored(tmp_path / run), on_one, strict=True):
            assert arrays.keys() == expected.keys()
            for array, values in expected.items():
                np.testing.assert_array_equal(arrays[array], values, err_msg=f"{run}: {array}")


def test_a_run_continues_on_a_finer_grid(uzushio: Run, tmp_path: Path) -> None:
    words = [*small("euler", tmp_path), "--set", "flow=vortex"]
    assert uzushio(*words).returncode == 0
    finer = ["--set", "cells=36", "--set", "output.folder=finer", "--restart", "run"]
    refused = uzushio(*words, *finer, "--set", "time.steps=13")
    assert refused.returncode == 1 and "--interpolate" in refused.stderr
    finer += ["--interpolate", "--ranks", 2]
    done = uzushio(*words, *finer, "--set", "time.steps=24")
    assert done.returncode == 0, done.stderr
    assert "Averages of the earlier run are discarded: cells changed." in done.stderr + done.stdout
    before = stored(tmp_path / "run")[0]["conserved"]
    opened = checkpoint.open_checkpoint(tmp_path / "finer", MPI.COMM_SELF)
    after = opened.state().read("conserved", (0, 0, 0, 0), (1, 36, 36, 4))
    assert opened.manifest.step == 24
    np.testing.assert_allclose(after.mean((0, 1, 2)), before.mean((0, 1, 2)), rtol=1e-13)
    other = [*finer, "--set", "output.folder=other", "--set", "time.steps=24"]
    refused = uzushio(*small("euler", tmp_path), *other)
    assert refused.returncode == 1 and "of other zones or another domain" in refused.stderr


def test_statistics_are_profiles_with_intervals(uzushio: Run, tmp_path: Path) -> None:
    every = ["--set", "statistics.every=12", "--ranks", 2]
    done = uzushio(*small("shallow_water", tmp_path), *every)
    assert done.returncode == 0, done.stderr
    state, _ = stored(tmp_path / "run")
    with xarray.open_zarr(tmp_path / "run/statistics.zarr") as statistics:
        u, v = state["velocity_i"][0], state["velocity_j"][0]
        assert statistics["velocity_i"].dims == ("y",) and statistics["velocity_j"].dims == (
            "y_vertex",
        )
        np.testing.assert_allclose(statistics["velocity_i"], u.mean(axis=1), atol=1e-15)
        np.testing.assert_allclose(statistics["velocity_j_rms"], v.std(axis=1), atol=1e-12)
        np.testing.assert_allclose(statistics["y"], (np.arange(24) + 0.5) * 2 * np.pi / 24)
        assert statistics.attrs["samples"] == 1


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("flow=buble", "flow"),
        ("statistics.fields=[densty]", "did you mean 'density'?"),
        ("statistics.over=[x]", "statistics.over"),
        ("cells=0", "cells"),
    ],
)
def test_a_wrong_value_is_one_message(
    uzushio: Run, tmp_path: Path, value: str, message: str
) -> None:
    words = small("euler", tmp_path)
    done = uzushio("check", *words[1:], "--set", value)
    assert done.returncode == 1
    assert message in done.stderr and "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_solver_that_was_built_with_another_version_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("uzushio.__version__", "99.0")
    with pytest.raises(CaseError, match="build its package again"):
        solver("euler", cells=16)


def test_each_solver_is_short() -> None:
    for folder in (CPP, PYTHON):
        lines = [
            line
            for file in folder.rglob("*")
            if file.suffix in (".cpp", ".py") and "build" not in file.relative_to(folder).parts
            for line in file.read_text().splitlines()
            if line.strip() and not line.strip().startswith(("//", "#", '"""'))
        ]
        assert 80 < len(lines) < 150, folder
