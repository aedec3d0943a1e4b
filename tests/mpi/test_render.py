"""Reader jobs: live, stored, early, late, stopped, and after their writer was killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from conftest import Run, wait
from PIL import Image

CASE = """\
solver: channel
title: a small channel
grid: {nx: 16, ny: 12, nz: 14, lx: pi, ly: pi/2}
flow: {reynolds_tau: 100}
time: {steps: 6, cfl: 0.4}
statistics: {start: 100.0}
checkpoint: {every: null}
output: {folder: run, figures: false}
publish:
  engine: shm
  queue: {policy: block, time_limit: 100 s}
  wait_for_readers: 1
  wait_limit: 100 s
"""
PIPELINE = """\
sources:
  q: {kind: q_criterion, of: [u, v, w]}
  shear: {kind: gradient, of: u, axis: z}
views:
  wall:
    size: [96, 72]
    layers:
    - {kind: slice, field: shear, normal: z, at: 0.05, color: {map: magma}}
    - {kind: isosurface, field: q, values: 1.0, color: {field: u}}
actions:
- {picture: {view: wall, movie: wall.mp4}, every: 2}
- {count: {fields: [u, q, w]}, when: max(u) > 0}
"""
Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "channel.yaml").write_text(CASE)
    (tmp_path / "pipeline.yaml").write_text(PIPELINE)
    return tmp_path


def summary(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / "summary.json").read_text()))


def results(folder: Path) -> tuple[bytes, dict[str, np.ndarray]]:
    """Counters and pictures."""
    pictures = {
        file.name: np.asarray(Image.open(file)).astype(int)
        for file in sorted((folder / "pictures").iterdir())
    }
    return (folder / "count.jsonl").read_bytes(), pictures


def frames(movie: Path) -> int:
    with av.open(str(movie)) as container:
        return sum(1 for _ in container.decode(video=0))


def test_a_file_gives_the_same_live_stored_and_inside_the_solver(
    start_uzushio: Start, uzushio: Run, folder: Path
) -> None:
    # The reader job is there first.
    reader = start_uzushio(
        "render", "pipeline.yaml", "--from", "run/channel.contact", "--ranks", 2,
        "--out", "live", "--progress", 0.1,
    )  # fmt: skip
    solver = start_uzushio("run", "channel.yaml", "--ranks", 2)
    done, ran = wait(reader, 150), wait(solver, 60)
    assert (done.returncode, ran.returncode) == (0, 0), done.stderr + ran.stderr
    assert "The stream ended: step 6" in done.stdout
    assert "6 steps seen, 6 used" in done.stdout and "0 dropped" in done.stdout
    content = summary(folder / "live")
    assert (content["ranks"], content["ending"], content["steps"]) == (2, "the stream ended", 6)
    assert content["actions"]["wall"]["movie_pictures"] == 3 == frames(folder / "live/wall.mp4")
    assert {"read", "derive", "picture: cast", "picture: composite", "write"} <= set(
        content["seconds"]
    )

    more = ("--set", "publish.engine=file", "--set", "output.folder=stored")
    kept = uzushio("run", "channel.yaml", *more, timeout=120)
    assert kept.returncode == 0, kept.stderr
    later = uzushio(
        "render", "pipeline.yaml", "--from", "stored/published/channel.zarr", "--out", "later",
        timeout=120,
    )  # fmt: skip
    assert later.returncode == 0, later.stderr

    inproc = "publish={engine: inproc, pipeline: pipeline.yaml}"
    more = ("--set", inproc, "--set", "output.folder=inside")
    inside = uzushio("run", "channel.yaml", "--ranks", 2, *more, timeout=120)
    assert inside.returncode == 0, inside.stderr
    assert "drew 3 pictures" in inside.stdout

    counted, pictures = results(folder / "live")
    assert len(pictures) == 3 and len(counted.splitlines()) == 6
    for where in ("later", "inside/pipeline"):
        again, others = results(folder / where)
        for line, other in zip(counted.splitlines(), again.splitlines(), strict=True):
            values, expected = json.loads(other), json.loads(line)
            for name in ("u", "q", "w"):
                assert values[name] == pytest.approx(expected[name], rel=1e-8, abs=1e-9), where
        for name, picture in pictures.items():
            assert np.abs(others[name] - picture).max() <= 2, (where, name)


def test_a_signal_ends_the_job_with_a_complete_movie(start_uzushio: Start, folder: Path) -> None:
    more = ("--set", "time.steps=100000", "--set", "publish.wait_for_readers=0")
    solver = start_uzushio("run", "channel.yaml", *more)
    # A late reader, and a slow one: it gets the steps that the queue kept.
    reader = start_uzushio(
        "render", "pipeline.yaml", "--from", "run/channel.contact", "--ranks", 2,
    )  # fmt: skip
    pictures = folder / "rendered/pictures"
    deadline = time.monotonic() + 100
    while len(list(pictures.glob("wall_*"))) < 3 if pictures.exists() else True:
        assert time.monotonic() < deadline and reader.poll() is None, wait(reader, 1)
        time.sleep(0.05)
    reader.send_signal(signal.SIGTERM)
    done = wait(reader, 60)
    assert done.returncode == 128 + signal.SIGTERM, done.stderr
    content = summary(folder / "rendered")
    assert content["ending"].startswith("stopped by")
    assert content["actions"]["wall"]["movie_pictures"] == frames(folder / "rendered/wall.mp4") >= 3
    assert solver.poll() is None, "the solver goes on"

    # The writer is killed: earlier results are complete, as the message states.
    reader = start_uzushio(
        "render", "pipeline.yaml", "--from", "run/channel.contact", "--out", "left",
    )  # fmt: skip
    pictures = folder / "left/pictures"
    while not pictures.exists() or not list(pictures.glob("wall_*")):
        assert time.monotonic() < deadline and reader.poll() is None, wait(reader, 1)
        time.sleep(0.05)
    os.killpg(solver.pid, signal.SIGKILL)
    done = wait(reader, 60)
    assert done.returncode == 1
    assert "The results before are complete, in left." in done.stderr
    assert "Traceback" not in done.stderr
    content = summary(folder / "left")
    assert content["ending"].startswith("failed: ")
    assert content["actions"]["wall"]["movie_pictures"] == frames(folder / "left/wall.mp4") >= 1


def test_the_demo_ends_with_a_report_or_with_the_name_of_what_failed(
    start: Start, python: Path, tmp_path: Path
) -> None:
    demo = Path(__file__).parents[2] / "tools/demo.py"
    done = wait(start(python, demo, "--steps", 40, "--out", "demo"), 200)
    assert done.returncode == 0, done.stdout + done.stderr
    report, _, guide = done.stdout.partition("Report: ")[2].partition("\n")
    assert "make demo LIVE=1" in guide and "uzushio view runs/channel" in guide
    page = Path(report)
    assert page.name == "report.html" and "Relay" in page.read_text()
    assert frames(tmp_path / "demo/render/vortices.mp4") == 2
    assert summary(tmp_path / "demo/render")["dropped"] == 0

    job = start(sys.executable, demo, "--steps", 100000, "--out", "again")
    relay = tmp_path / "again/relay.contact"
    deadline = time.monotonic() + 100
    while not (tmp_path / "again/render/vortices.mp4").exists():
        assert time.monotonic() < deadline and job.poll() is None, wait(job, 1)
        time.sleep(0.05)
    children = Path(f"/proc/{job.pid}/task/{job.pid}/children").read_text().split()
    (pid,) = (
        int(child)
        for child in children
        if "relay\0--from" in Path(f"/proc/{child}/cmdline").read_text()
    )
    os.kill(pid, signal.SIGKILL)
    done = wait(job, 100)
    assert done.returncode == 1 and relay.exists()
    assert "The relay was killed by SIGKILL; the others were asked to leave" in done.stdout


def test_invalid_settings_are_reported_before_the_first_step(uzushio: Run, folder: Path) -> None:
    (folder / "wrong.yaml").write_text(PIPELINE.replace("field: shear", "field: sheer"))
    inproc = "publish={engine: inproc, pipeline: wrong.yaml}"
    done = uzushio("run", "channel.yaml", "--set", inproc)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "wrong.yaml:11: wall: the field 'sheer' is not known; did you mean" in done.stderr
    assert "step 1" not in done.stdout

    done = uzushio("render", "pipeline.yaml", "--from", "none.contact", "--wait", 0.1)
    assert done.returncode == 1 and "none.contact does not exist" in done.stderr
    (folder / "mine").mkdir()
    (folder / "mine/notes.txt").write_text("keep")
    done = uzushio("render", "pipeline.yaml", "--from", "none.contact", "--out", "mine")
    assert done.returncode == 1 and "mine holds notes.txt, and no .uzushio-render" in done.stderr
    assert (folder / "mine/notes.txt").read_text() == "keep"
    text = uzushio("render", "--help").stdout
    assert "--from" in text and "Live:" in text


def test_the_results_of_a_pipeline_are_complete_when_the_stream_fails(
    uzushio: Run, folder: Path
) -> None:
    (folder / "look.py").write_text(
        "def on_step(step):\n    if step.index == 4:\n        raise ValueError('no good')\n"
    )
    inproc = "publish={engine: inproc, pipeline: pipeline.yaml, python: look.py}"
    done = uzushio("run", "channel.yaml", "--ranks", 2, "--set", inproc, timeout=120)
    assert done.returncode == 1, "a part of the results is missing"
    assert "no good" in done.stdout + done.stderr
    assert summary(folder / "run")["step"] == 6, "the solver goes on"
    content = summary(folder / "run/pipeline")
    assert content["last_step"] == 3
    assert content["actions"]["wall"]["movie_pictures"] == frames(folder / "run/pipeline/wall.mp4")


def test_an_action_that_is_to_stop_the_run_ends_it_as_a_signal_does(
    uzushio: Run, folder: Path
) -> None:
    (folder / "mine.py").write_text("def run(step):\n    assert step.index != 4, 'no good'\n")
    stop = "- {python: {file: mine.py}, name: mine, on_error: stop}\n"
    (folder / "pipeline.yaml").write_text(PIPELINE + stop)
    inproc = "publish={engine: inproc, pipeline: pipeline.yaml}"
    done = uzushio("run", "channel.yaml", "--ranks", 2, "--set", inproc, timeout=120)
    assert done.returncode == 1
    assert "mine failed at step 4, and its on_error is stop" in done.stderr
    assert "Stopped after step 4; continue with: uzushio run" in done.stderr
    assert "in run\n    assert step.index != 4" in done.stderr, "the function's traceback"
    content = summary(folder / "run/pipeline")
    assert content["actions"]["mine"]["failures"] == 1 and content["last_step"] == 4
    assert "no good" in content["actions"]["mine"]["error"]
    assert content["actions"]["wall"]["movie_pictures"] == frames(folder / "run/pipeline/wall.mp4")

    # It continues from the step at which it stopped.
    (folder / "mine.py").write_text("def run(step): ...\n")
    more = uzushio(
        "run", "channel.yaml", "--ranks", 2, "--set", inproc, "--restart", "run", timeout=120
    )
    assert more.returncode == 0, more.stderr
    assert "(step 4)" in more.stdout
    assert summary(folder / "run")["step"] == 6
