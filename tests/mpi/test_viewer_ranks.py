"""Live view on several ranks: pictures of the batch pipeline, lost and stopped writers."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Peer, Peers, Run
from pipeline_case import Flow, stretched

from uzushio import staging

JOB = Path(__file__).with_name("viewer_job.py")
PIPELINE = """\
sources:
  q: {kind: q_criterion, of: [u, v, w]}
  speed: sqrt(u * u + v * v + w * w)
views:
  cut:
    size: [150, 110]
    samples: 2
    camera: {azimuth: 25, elevation: 10}
    title: "step {step}"
    layers:
    - {kind: slice, field: speed, normal: z, color: {map: magma}}
    - {kind: slice, field: u, normal: x, color: {map: coolwarm}}
  mixed:
    size: [130, 120]
    layers:
    - {kind: isosurface, field: q, values: [2.0], color: {field: u}}
    - {kind: volume, field: speed, shading: true, opacity: [[0, 0], [1, 0.3]]}
actions:
- {picture: {view: cut, file: "cut-{step:06d}.png"}}
- {picture: {view: mixed, file: "mixed-{step:06d}.png"}}
"""


@pytest.fixture(scope="module")
def flow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with three stored steps of a flow that is periodic along x and y, and a pipeline."""
    folder = tmp_path_factory.mktemp("flow")
    (folder / "pipeline.yaml").write_text(PIPELINE)
    z, y, x = stretched(18, -1, 1), np.linspace(0, 2, 16), np.linspace(0, 3, 14)
    made = Flow(
        {"box": (z, y, x)},
        {
            "u": ("box", lambda x, y, z, n: np.sin(3 * y + z + 0.1 * n) * np.cos(2 * x) + z),
            "v": ("box", lambda x, y, z, n: np.cos(4 * x) * np.sin(3 * z - n)),
            "w": ("box", lambda x, y, z, n: np.sin(2 * x * y) + 0.1 * n * z * z),
        },
        attributes={"periodic": "x y", "length_unit": "m"},
    )
    options = {"engine": "file", "file": {"folder": str(folder / "flow.zarr")}}
    with staging.open("flow", None, options) as writer:
        made.write(writer, 3)
    return folder


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_pictures_are_those_of_the_pipeline_pixel_by_pixel(
    mpi_run: Run, flow: Path, ranks: int
) -> None:
    done = mpi_run(ranks, [JOB, "same", flow], timeout=120)
    assert done.returncode == 0, done.stderr


@pytest.fixture
def view(peers: Peers, start: Callable[..., Any], python: Path) -> Callable[[int], Peer]:
    """Start a viewer of the stream in the test's folder."""

    def go(ranks: int) -> Peer:
        mpiexec = Path(sys.executable).with_name("mpiexec")
        words = [mpiexec, "-n", ranks, "--oversubscribe", "--bind-to", "none", python]
        return Peer(peers.folder, "viewer", ranks, start(*words, JOB, "live", peers.folder))

    return go


def stream(peers: Peers, **more: Any) -> dict[str, Any]:
    return {"u": {"engine": "tcp", "contact": str(peers.folder / "u.contact"), **more}}


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_killed_writer_is_lost_and_the_next_one_is_attached_to(
    peers: Peers, view: Callable[[int], Peer], ranks: int
) -> None:
    stop = str(peers.folder / "stop")
    first = peers.process("write", "first", streams=stream(peers), stop=stop)
    viewer = view(ranks)
    viewer.wait_for("picture", 3)
    first.kill()
    peers.process("write", "second", streams=stream(peers), stop=stop, first=100_000)
    end = time.monotonic() + 60
    while not viewer.values("picture")[-1] >= 100_000:
        assert time.monotonic() < end, viewer.last_events()
        time.sleep(0.05)
    seen = viewer.values("picture")
    assert seen == sorted(seen)
    (peers.folder / "stop").touch()
    assert viewer.ended() == 0


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_stopped_viewer_does_not_delay_the_solver(
    peers: Peers, view: Callable[[int], Peer], ranks: int
) -> None:
    stop = str(peers.folder / "stop")
    solver = peers.process("write", "solver", streams=stream(peers), stop=stop)
    viewer = view(ranks)
    viewer.wait_for("picture", 3)
    viewer.signal(signal.SIGSTOP)
    solver.wait_for_more("step", 60)
    viewer.signal(signal.SIGCONT)
    before = viewer.values("picture")[-1]
    viewer.wait_for_more("picture", 3)
    newest = viewer.values("picture")[-1]
    assert newest > before + 50, "the steps in between were dropped"
    (peers.folder / "stop").touch()
    assert viewer.ended() == 0
    closed = solver.wait_for("closed")
    assert closed["seconds_waited"] == 0.0
    assert closed["taken"] == closed["published"]
