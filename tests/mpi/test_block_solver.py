"""A solver of blocks in runs: the same bits on all ranks, after restarts, and in every engine."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest
from block_heat import CylinderHeat, module
from conftest import Run, wait
from mpi4py import MPI
from PIL import Image

from uzushio import staging
from uzushio._base.store import checkpoint
from uzushio.case import registry
from uzushio.case.model import load_case

ZONES = ("shell_0", "shell_1", "shell_2", "shell_3", "core")
CASE = """\
solver: cylinder
title: heat in a cylinder
grid: {n: 6, nz: 5}
time: {steps: 8, cfl: 0.9}
checkpoint: {every: 4, keep: 3}
output: {folder: run}
"""
PUBLISH = """\
publish:
  engine: shm
  every: 4
  queue: {policy: block, time_limit: 100 s}
  wait_for_readers: 1
  wait_limit: 100 s
"""
LOOK = """\
import numpy as np

found = {}

def on_step(step):
    found.update({f"{name}{step.index}": step.read(name) for name in step.fields})
    if step.comm.rank == 0:
        np.savez("found.npz", **found)
"""
PIPELINE = """\
views:
  cut:
    layers: [{kind: slice, field: u, normal: z, at: 0.2, color: {map: viridis}}]
    camera: top
    size: [400, 400]
actions:
  - {picture: cut, every: 8}
  - {count: {fields: [core/u]}, every: 4}
  - {picture: {view: cut, file: "warm_{step}.png"}, name: warm, when: max(u) > 0.445, every: 4}
"""
READER = Path(__file__).with_name("publish_reader.py")
CHECKPOINT_JOB = Path(__file__).with_name("block_checkpoint_job.py")
Arrays = Mapping[str, np.ndarray]
Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def case(tmp_path: Path) -> Path:
    path = tmp_path / "cylinder.yaml"
    path.write_text(CASE)
    return path


@pytest.fixture(scope="module")
def solver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CylinderHeat]:
    registry.register("cylinder", "block_heat:CylinderHeat")
    path = tmp_path_factory.mktemp("own") / "cylinder.yaml"
    path.write_text(CASE)
    yield CylinderHeat(load_case(path), MPI.COMM_SELF).begin()
    del registry.SOLVERS["cylinder"]


@pytest.fixture(scope="module")
def own(solver: CylinderHeat) -> Arrays:
    """Steps 4 and 8 on one rank, whose blocks are complete zones, from the solver's memory."""
    by_label = {}
    for zone in ZONES:
        vertices = np.empty((*solver.meshes()[zone].vertices.count, 3))
        solver.write_coordinates(zone, 0, vertices)
        by_label |= {f"{zone}/xyz{index}": vertices for index in (4, 8)}
    for index in range(1, 9):
        solver.step()
        for name, field in solver.fields().items() if index % 4 == 0 else ():
            out = [np.empty(field.shape(box)) for box in field.boxes(solver.meshes())]
            solver.write_field(name, out)
            arrays = zip(ZONES, out, strict=True)
            by_label |= {f"{zone}/{name}{index}": array for zone, array in arrays}
    return by_label


def expect_same_bits(arrays: Arrays, own: Arrays) -> None:
    assert set(arrays) == set(own)
    for name, values in own.items():
        np.testing.assert_array_equal(arrays[name], values, err_msg=name)


def checkpointed(run: Path, step: int) -> Arrays:
    """All arrays of a checkpoint."""
    folder = run / f"checkpoints/step-{step:08d}"
    state = checkpoint.open_checkpoint(folder, MPI.COMM_SELF).state()
    return {
        name: state.read(name, (0,) * len(shape), shape) for name, shape in state.shapes.items()
    }


def test_the_solution_is_that_of_the_heat_equation(solver: CylinderHeat, own: Arrays) -> None:
    error = total = 0.0
    for zone in ZONES:
        corners = own[f"{zone}/xyz8"]
        for axis in range(3):
            n = corners.shape[axis]
            corners = 0.5 * (corners.take(range(n - 1), axis) + corners.take(range(1, n), axis))
        exact = [module().HeatSolver.exact(at, solver.time) for at in corners.reshape(-1, 3)]
        error += float(((own[f"{zone}/u8"].ravel() - exact) ** 2).sum())
        total += float(np.square(exact).sum())
    assert 0 < np.sqrt(error / total) < 0.08


@pytest.mark.parametrize("ranks", [1, 2, 4, 5, 7])
def test_checkpoints_have_the_same_bits_on_any_number_of_ranks(
    uzushio: Run, case: Path, tmp_path: Path, own: Arrays, ranks: int
) -> None:
    done = uzushio("run", case, "--ranks", ranks, timeout=240)
    assert done.returncode == 0, done.stderr
    for step in (4, 8):
        arrays = checkpointed(tmp_path / "run", step)
        assert set(arrays) == {f"{zone}/{name}" for zone in ZONES for name in ("u", "gradient")}
        for name, values in arrays.items():
            np.testing.assert_array_equal(values, own[f"{name}{step}"], err_msg=name)


@pytest.mark.parametrize(("before", "after"), [(3, 5), (5, 1), (1, 7)])
def test_a_restart_on_other_ranks_repeats_the_run_bit_for_bit(
    uzushio: Run, case: Path, tmp_path: Path, own: Arrays, before: int, after: int
) -> None:
    done = uzushio("run", case, "--ranks", before, "--set", "time.steps=4", timeout=240)
    assert done.returncode == 0, done.stderr
    done = uzushio("run", case, "--ranks", after, "--restart", "run", timeout=240)
    assert done.returncode == 0, done.stderr
    for name, values in checkpointed(tmp_path / "run", 8).items():
        np.testing.assert_array_equal(values, own[f"{name}8"], err_msg=name)


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_all_ranks_write_a_checkpoint_of_one_layer_and_older_ones_are_read(
    mpi_run: Run, tmp_path: Path, ranks: int
) -> None:
    done = mpi_run(ranks, [CHECKPOINT_JOB, tmp_path], timeout=120)
    assert done.returncode == 0, done.stderr
    assert "all ranks wrote, all was read" in done.stdout


def read_all(contact: Path) -> dict[str, np.ndarray]:
    arrays = {}
    with staging.attach(contact, attach_limit=100.0, step_limit=100.0) as reader:
        for step in reader:
            assert {mesh.kind for mesh in step.meshes.values()} == {"curvilinear"}
            arrays |= {f"{name}{step.index}": step.read(name) for name in step.fields}
    return arrays


@pytest.mark.parametrize("engine", ["shm", "tcp", "adios2"])
def test_a_reader_gets_all_zones(
    start_uzushio: Start, case: Path, tmp_path: Path, own: Arrays, engine: str
) -> None:
    case.write_text(CASE + PUBLISH.replace("shm", engine))
    job = start_uzushio("run", case, "--ranks", 3)
    arrays = read_all(tmp_path / "run/cylinder.contact")
    done = wait(job, 240)
    assert done.returncode == 0, done.stderr
    expect_same_bits(arrays, own)


def test_a_reader_gets_all_zones_through_mpi(
    start: Start, python: Path, case: Path, tmp_path: Path, own: Arrays
) -> None:
    case.write_text(CASE + PUBLISH.replace("shm", "mpi"))
    mpiexec = Path(sys.executable).with_name("mpiexec")
    job = start(
        mpiexec if mpiexec.exists() else "mpiexec", "--oversubscribe", "--bind-to", "none",
        "-n", 2, python, "-m", "uzushio", "run", case,
        ":", "-n", 1, python, READER, "mpi:cylinder", "found.npz",
    )  # fmt: skip
    done = wait(job, 240)
    assert done.returncode == 0, done.stderr
    with np.load(tmp_path / "found.npz") as arrays:
        expect_same_bits(arrays, own)


def test_a_function_inside_the_step_gets_all_zones(
    uzushio: Run, case: Path, tmp_path: Path, own: Arrays
) -> None:
    (tmp_path / "look.py").write_text(LOOK)
    case.write_text(CASE + "publish: {engine: inproc, python: look.py, every: 4}\n")
    done = uzushio("run", case, "--ranks", 3, timeout=240)
    assert done.returncode == 0, done.stderr
    with np.load(tmp_path / "found.npz") as arrays:
        expect_same_bits(arrays, own)


def pixels(file: Path) -> np.ndarray:
    return np.asarray(Image.open(file).convert("RGB")).astype(int)


def test_stored_steps_and_pipelines_show_all_zones(
    uzushio: Run, case: Path, tmp_path: Path, own: Arrays
) -> None:
    case.write_text(CASE + "publish: {engine: file, every: 4}\n")
    done = uzushio("run", case, "--ranks", 3, timeout=240)
    assert done.returncode == 0, done.stderr
    expect_same_bits(read_all(tmp_path / "run/published/cylinder.zarr"), own)
    (tmp_path / "cut.yaml").write_text(PIPELINE)
    done = uzushio(
        "render", "cut.yaml", "--from", "run/published/cylinder.zarr", "--ranks", 2,
        "--out", "stored",
        timeout=240,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr

    case.write_text(CASE + "publish: {engine: inproc, pipeline: cut.yaml}\n")
    inside = ("--ranks", 4, "--set", "output.folder=inside")
    done = uzushio("run", case, *inside, timeout=240)
    assert done.returncode == 0, done.stderr
    (file,) = (tmp_path / "inside/pipeline/pictures").glob("cut*.png")
    (again,) = (tmp_path / "stored/pictures").glob("cut*.png")
    here, there = pixels(file), pixels(again)
    assert (np.abs(here - there).max(axis=2) > 2).mean() < 2e-3
    # The disc is filled, by warm and cold halves, and nothing is drawn outside.
    colored = np.ptp(here, axis=2) > 40
    rows, columns = np.nonzero(colored)
    area = colored[rows.min() : rows.max() + 1, : columns.max()].sum()
    assert area > 0.9 * np.pi / 4 * (rows.max() - rows.min()) ** 2
    assert len(np.unique(here[colored], axis=0)) > 50
    # At step 4 the values of one zone alone, the last one, satisfy the condition.
    largest = {index: max(own[f"{zone}/u{index}"].max() for zone in ZONES) for index in (4, 8)}
    warm = {index for index, value in largest.items() if value > 0.445}
    drawn = {int(path.stem.split("_")[1]) for path in (tmp_path / "inside/pipeline").glob("warm*")}
    assert drawn == warm == {4}


def test_check_prints_blocks_imbalance_and_traffic(uzushio: Run, case: Path) -> None:
    done = uzushio("check", case, "--ranks", 4)
    assert done.returncode == 0, done.stderr
    estimate = CylinderHeat.estimate(load_case(case), 4)
    assert "900 cells in 5 zones, cut into" in done.stdout
    assert "blocks on 4 ranks; imbalance 1." in done.stdout
    assert f"{estimate.traffic['halo'].messages:,}" in done.stdout
    assert estimate.traffic["halo"].bytes > 0 and estimate.memory_per_rank > 0
    too_many = uzushio("check", case, "--ranks", 1000)
    assert too_many.returncode == 1 and "use fewer ranks" in too_many.stderr
