"""A case file publishes through every engine by one line, and readers get the solver's numbers."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Run, wait
from mpi4py import MPI

from uzushio import staging
from uzushio.case.model import load_case
from uzushio.errors import CaseError
from uzushio.solvers.channel.solver import ChannelSolver

CASE = """\
solver: channel
title: a small channel
grid: {nx: 16, ny: 12, nz: 14, lx: pi, ly: pi/2}
flow: {reynolds_tau: 100}
time: {steps: 4, cfl: 0.4}
statistics: {start: 100.0}
checkpoint: {every: null}
output: {folder: run, figures: false}
publish:
  engine: shm
  every: 2
  queue: {policy: block, time_limit: 100 s}
  wait_for_readers: 1
  wait_limit: 100 s
"""
PIPELINE = """\
import numpy as np

found = {}

def on_step(step):
    for name in step.fields:
        found[f"{name}{step.index}"] = step.read(name)
    found[f"bulk{step.index}"] = np.array(step.attributes["bulk_velocity"])
    own = [block for block in step.blocks if block.rank == step.comm.rank]
    assert all(block.view(name) is not None for block in own for name in block.ghosts)
    if step.comm.rank == 0:
        np.savez("found.npz", **found)
"""
READER = Path(__file__).with_name("publish_reader.py")
Fields = Mapping[str, np.ndarray]
Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def channel(tmp_path: Path) -> Path:
    path = tmp_path / "channel.yaml"
    path.write_text(CASE)
    return path


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Fields:
    """The same steps of the solver on one rank, from its own memory."""
    path = tmp_path_factory.mktemp("own") / "channel.yaml"
    path.write_text(CASE)
    solver = ChannelSolver(load_case(path), MPI.COMM_SELF).begin()
    fields: dict[str, np.ndarray] = {}
    for index in range(1, 5):
        solver.step()
        if index % 2 == 0:
            fields |= {f"{name}{index}": on_walls(name, solver.physical(name)) for name in "uvwp"}
            fields[f"bulk{index}"] = np.array(solver.core.bulk_velocity())
    return fields


def on_walls(name: str, values: np.ndarray) -> np.ndarray:
    """The values with those on the walls: no velocity, and no gradient of the pressure."""
    width = [(1, 0 if name == "w" else 1), (0, 0), (0, 0)]
    return np.pad(values, width, mode="edge" if name == "p" else "constant")


def expect_equal(arrays: Fields, own: Fields) -> None:
    assert set(arrays) == set(own)
    for name, values in own.items():
        np.testing.assert_allclose(arrays[name], values, rtol=1e-9, atol=1e-9, err_msg=name)


def read_all(contact: Path) -> dict[str, np.ndarray]:
    """All steps of a stream, in this process; each must be free of divergence."""
    values_read: dict[str, np.ndarray] = {}
    with staging.attach(contact, attach_limit=100.0, step_limit=100.0) as reader:
        for step in reader:
            fields = {name: step.read(name) for name in "uvwp"}
            centres, faces = (
                (step.meshes[n].coordinates or ((),))[0] for n in ("centres", "faces")
            )
            assert (centres[0], centres[-1], faces[0], faces[-1]) == (0.0, 2.0, 0.0, 2.0)
            np.testing.assert_array_equal(centres[1:-1], 0.5 * (faces[1:] + faces[:-1]))
            assert divergence(fields, faces, step.attributes) < 1e-11
            values_read |= {f"{name}{step.index}": values for name, values in fields.items()}
            values_read[f"bulk{step.index}"] = np.array(step.attributes["bulk_velocity"])
            # The sums of the values read equal the solver's own.
            mean = (fields["u"][1:-1].mean(axis=(1, 2)) * np.diff(faces)).sum() / 2.0
            np.testing.assert_allclose(mean, step.attributes["bulk_velocity"], rtol=1e-12)
    return values_read


def divergence(fields: Fields, faces: np.ndarray, attributes: Mapping[str, Any]) -> float:
    """Largest du/dx + dv/dy + dw/dz over the largest du/dx, as the solver discretises them."""
    rates = []
    for name, length, axis in (("u", "lx", 2), ("v", "ly", 1)):
        n = fields[name].shape[axis]
        wave = 2j * np.pi / attributes[length] * np.fft.fftfreq(n, 1 / n)
        shape = [1, 1, 1]
        shape[axis] = n
        modes = np.fft.fft(fields[name][1:-1], axis=axis) * wave.reshape(shape)
        rates.append(np.fft.ifft(modes, axis=axis).real)
    rates.append(np.diff(fields["w"], axis=0) / np.diff(faces)[:, None, None])
    return float(np.abs(sum(rates)).max() / np.abs(rates[0]).max())


@pytest.mark.parametrize("engine", ["shm", "tcp", "adios2"])
def test_a_reader_beside_the_run_gets_the_solvers_numbers(
    start_uzushio: Start, channel: Path, tmp_path: Path, own: Fields, engine: str
) -> None:
    job = start_uzushio("run", channel, "--ranks", 2,
        "--set", f"publish.engine={engine}",
    )  # fmt: skip
    fields = read_all(tmp_path / "run/channel.contact")
    done = wait(job, 120)
    assert done.returncode == 0, done.stderr
    expect_equal(fields, own)
    content = json.loads((tmp_path / "run/summary.json").read_text())["published"]
    assert (content["engine"], content["published"], content["failed"]) == (engine, 2, None)
    assert f"Published 2 steps as channel ({engine})" in done.stdout
    assert not (tmp_path / "run/channel.contact").exists()


def test_stored_steps_are_read_by_the_same_code_after_the_run(
    uzushio: Run, channel: Path, tmp_path: Path, own: Fields
) -> None:
    more = ("--set", "publish.engine=file")
    done = uzushio("run", channel, "--ranks", 2, *more, timeout=120)
    assert done.returncode == 0, done.stderr
    expect_equal(read_all(tmp_path / "run/published/channel.zarr"), own)
    with staging.attach(tmp_path / "run/published/channel.zarr") as reader:
        attributes_of = {step.index: step.attributes for step in reader}
    for index, attributes in attributes_of.items():
        assert attributes["monitor/bulk velocity"] == attributes["bulk_velocity"], index
        assert 0.0 < attributes["monitor/CFL"] <= 0.4 + 1e-9
        assert attributes["run/end_step"] == 4
        assert 0.0 <= attributes["run/seconds_waited"] <= attributes["run/seconds_per_step"]
    assert (
        attributes_of[2]["run/seconds_left"] > 0.0 and attributes_of[4]["run/seconds_left"] == 0.0
    )
    looked = uzushio("inspect", "run/published/channel.zarr", "--steps", 0)
    assert "bulk_velocity = 1" in looked.stdout and "step 4" in looked.stdout, looked.stderr


def test_a_function_of_the_case_runs_inside_the_step(
    uzushio: Run, channel: Path, tmp_path: Path, own: Fields
) -> None:
    (tmp_path / "look.py").write_text(PIPELINE)
    more = ("--set", "publish.engine=inproc", "--set", "publish.python=look.py")
    done = uzushio("run", channel, "--ranks", 2, *more, timeout=120)
    assert done.returncode == 0, done.stderr
    with np.load(tmp_path / "found.npz") as stored:
        expect_equal(stored, own)


def test_a_reader_of_the_same_launch_gets_the_steps_through_mpi(
    start: Start, python: Path, channel: Path, tmp_path: Path, own: Fields
) -> None:
    channel.write_text(CASE.replace("engine: shm", "engine: mpi"))
    mpiexec = Path(sys.executable).with_name("mpiexec")
    job = start(
        mpiexec if mpiexec.exists() else "mpiexec", "--oversubscribe", "--bind-to", "none",
        "-n", 2, python, "-m", "uzushio", "run", channel,
        ":", "-n", 1, python, READER, "mpi:channel", "found.npz",
    )  # fmt: skip
    done = wait(job, 150)
    assert done.returncode == 0, done.stderr
    with np.load(tmp_path / "found.npz") as stored:
        expect_equal(stored, own)


@pytest.fixture
def heat(case: Path) -> Path:
    """A case of the small solver, which publishes."""
    case.write_text(case.read_text() + "publish: {engine: shm}\n")
    return case


def test_a_fault_of_staging_ends_the_stream_and_not_the_run(
    uzushio: Run, heat: Path, tmp_path: Path
) -> None:
    (tmp_path / "look.py").write_text("def on_step(step):\n    return step.read('T')\n")
    more = ("--set", "publish.engine=inproc", "--set", "publish.python=look.py")
    done = uzushio("run", heat, *more, timeout=120)
    assert done.returncode == 1, done.stderr
    content = json.loads((tmp_path / "run/summary.json").read_text())
    assert content["step"] == 12
    assert '"T" is not known' in content["published"]["failed"]
    assert "the run continues" in done.stdout + done.stderr


def test_a_run_that_is_to_fail_for_want_of_readers_does(uzushio: Run, heat: Path) -> None:
    more = ("publish.wait_limit=0.1", "publish.queue.on_timeout=fail", "publish.wait_for_readers=1")
    done = uzushio(
        "run", heat, *(word for override in more for word in ("--set", override)), timeout=120
    )
    assert done.returncode == 1
    assert "uzushio: error: " in done.stderr and "wait_for_readers" in done.stderr


def test_a_field_that_the_solver_has_not_is_named(uzushio: Run, heat: Path) -> None:
    done = uzushio("run", heat, "--set", "publish.fields=[u, T]", timeout=120)
    assert done.returncode == 1
    assert "'T' is not known" in done.stderr and "allowed: u" in done.stderr


def test_without_readers_the_run_does_not_wait(uzushio: Run, heat: Path, tmp_path: Path) -> None:
    done = uzushio("run", heat, "--ranks", 2, timeout=120)
    assert done.returncode == 0, done.stderr
    content = json.loads((tmp_path / "run/summary.json").read_text())["published"]
    assert (content["published"], content["delivered"], content["dropped"]) == (12, 0, 0)
    assert content["seconds_waited"] < 1.0


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("publish.engine=shn", "'engine'.*shm"),
        ("publish.queue.depht=2", "queue.depht.*depth"),
        ("publish.every=0", "publish.every"),
        ("publish.engine=inproc", "python"),
        ("publish.python=nothing.py", "python"),
    ],
)
def test_a_wrong_key_is_named_before_the_first_step(
    channel: Path, setting: str, sentence: str
) -> None:
    with pytest.raises(CaseError, match=sentence):
        load_case(channel, [setting])
