"""The folder of a reader job: removal of earlier results, and errors of the summary."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import xarray
from conftest import Run
from heat_solver import exact
from mpi4py import MPI
from pipeline_case import Flow, stretched

from uzushio import staging
from uzushio.pipeline.lines import truncate_after

PIPELINE = "actions:\n- {count: {fields: [u]}}\n- {slice: {field: u, view: {size: [64, 48]}}}\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two stored steps, and a pipeline."""
    line = stretched(6)
    options = {"engine": "file", "file": {"folder": str(tmp_path / "steps.zarr")}}
    with staging.open("made", MPI.COMM_SELF, options) as writer:
        flow = Flow({"m": (line, line, line)}, {"u": ("m", lambda x, y, z, n: x + n)})
        flow.write(writer, 2)
    (tmp_path / "p.yaml").write_text(PIPELINE)
    return tmp_path


@pytest.mark.parametrize("ranks", [1, 2])
def test_the_checkpoints_of_a_run_are_drawn_by_its_solver(
    uzushio: Run, case: Path, tmp_path: Path, ranks: int
) -> None:
    (tmp_path / "p.yaml").write_text("actions: [{extract: {fields: [u], to: e.zarr}}]\n")
    assert uzushio("run", case).returncode == 0
    words = ("render", "p.yaml", "--from", "run", "--checkpoint", "--ranks", ranks)
    done = uzushio(*words)
    assert done.returncode == 0, done.stderr
    stored = xarray.open_zarr(tmp_path / "rendered/pipeline/e.zarr", consolidated=False)
    assert stored.step.values.tolist() == [10, 12]
    for number, step in enumerate((10, 12)):
        values = stored.u.values[number]
        np.testing.assert_allclose(values, exact(values.shape, 0.05, step), rtol=0, atol=1e-13)
    again = uzushio(*words)
    assert again.returncode == 1 and "holds the results of another reader job" in again.stderr


def test_blank_pictures_alone_are_a_failure(uzushio: Run, folder: Path) -> None:
    layers = {
        "nothing": (2, "slice: {field: u, normal: x, at: 9"),
        "later": (1, "isosurface: {field: u, values: 1.5"),
    }
    for name, (ranks, layer) in layers.items():
        (folder / "p.yaml").write_text(f"actions: [{{{layer}, view: {{size: [64, 48]}}}}}}]\n")
        done = uzushio("render", "p.yaml", "--from", "steps.zarr", "--ranks", ranks, "--out", name)
        assert len([*(folder / name / "pictures").iterdir()]) == 2
        if name == "nothing":
            assert done.returncode == 1
            assert "All 2 pictures are blank: nothing of the layers is in view." in done.stderr
        else:  # the surface is there at the second step
            assert done.returncode == 0, done.stderr
            assert "At step 0: There is no surface of u = 1.5" in done.stderr


def test_earlier_results_are_removed_when_the_first_step_has_arrived(
    uzushio: Run, folder: Path
) -> None:
    render = ("render", "p.yaml", "--out", "out", "--from")
    assert uzushio(*render, "steps.zarr").returncode == 0
    kept = folder / "out/notes.txt"
    kept.write_text("of the earlier job")
    again = uzushio(*render, "steps.zarr")
    assert again.returncode == 1 and "say --overwrite to remove them" in again.stderr

    missing = uzushio(*render, "none.contact", "--wait", 0.1, "--overwrite")
    assert missing.returncode == 1 and "none.contact does not exist" in missing.stderr
    (folder / "p.yaml").write_text(PIPELINE.replace("field: u", "field: w"))
    wrong = uzushio(*render, "steps.zarr", "--overwrite")
    assert wrong.returncode == 1 and "the field 'w'" in wrong.stderr
    assert kept.exists() and len((folder / "out/count.jsonl").read_text().splitlines()) == 2

    (folder / "p.yaml").write_text(PIPELINE)
    assert uzushio(*render, "steps.zarr", "--overwrite").returncode == 0
    assert not kept.exists() and len((folder / "out/count.jsonl").read_text().splitlines()) == 2


def test_a_summary_that_cannot_be_written_is_reported_and_the_report_omits_it(
    uzushio: Run, folder: Path
) -> None:
    # A folder is in the place of the summary.
    (folder / "mine.py").write_text(
        "def run(step):\n    (step.folder / 'summary.json').mkdir(exist_ok=True)\n"
    )
    (folder / "p.yaml").write_text(PIPELINE + "- {python: {file: mine.py}}\n")
    done = uzushio("render", "p.yaml", "--out", "out", "--from", "steps.zarr")
    assert done.returncode == 1 and "Traceback" not in done.stderr
    output = done.stdout + done.stderr
    assert "The stream ended: step 1" in output
    assert "The job's summary could not be written: out/summary.json: Is a directory" in output
    assert "'uzushio report out' makes a page of them" in output
    report = uzushio("report", "out")
    assert report.returncode == 0, report.stderr
    page = (folder / "out/report.html").read_text()
    assert "The pipeline in out did not end" in page and page.count("<img") == 2
    lines = (folder / "out/count.jsonl").read_text().splitlines()
    assert [json.loads(line)["step"] for line in lines] == [0, 1]


OUTPUTS = """\
actions:
- {count: {fields: [u]}, every_time: 0.1}
- {plot: {series: {fields: [u], reduce: [mean, max]}}, name: s, every: 4}
- {probe: {fields: [u], points: {mid: [2, 2, 2]}}, name: p, every_time: 0.15}
- {extract: {fields: [u], to: [e.zarr, e.vtkhdf]}, every_time: 0.15}
- {slice: {field: u, color: {limits: [0, 1]}, view: {size: [64, 48]}}, name: cut, every: 4}
- {statistics: {fields: [u, v], covariances: [[u, v]], stride: {x: 2}, write_every: 2},
   name: m, every_time: 0.05}
sources: {v: u * u + 1}
"""


def outputs(folder: Path) -> dict[str, Any]:
    """Content of all results of `OUTPUTS` that do not depend on the machine."""
    with xarray.open_zarr(folder / "e.zarr") as store:
        zarr = {name: store[name].values.tolist() for name in ("step", "time", "u")}
    with h5py.File(folder / "e.vtkhdf") as file:
        vtkhdf = [
            file["VTKHDF/Steps/Values"][...].tolist(),
            file["VTKHDF/PointData/u"][...].tolist(),
        ]
    with xarray.open_zarr(folder / "m.zarr") as store:
        means = {
            name: variable.values.tolist() for name, variable in store.variables.items()
        } | store.attrs
    texts = {name: (folder / name).read_text() for name in ("count.jsonl", "s.csv", "p.csv")}
    pictures = {path.name: path.read_bytes() for path in (folder / "pictures").iterdir()}
    return {**texts, "zarr": zarr, "vtkhdf": vtkhdf, "pictures": pictures, "means": means}


@pytest.mark.parametrize(("every", "restarts"), [(1, {15: 2, 5: 1}), (2, {5: 2})])
def test_results_continue_exactly_once_after_restarts_from_any_checkpoint(
    uzushio: Run, tmp_path: Path, every: int, restarts: dict[int, int]
) -> None:
    """The same steps and values as without an interruption, in the same files, on 1 and 2 ranks."""
    (tmp_path / "p.yaml").write_text(OUTPUTS)
    (tmp_path / "case.yaml").write_text(
        "solver: heat\ntime: {steps: 18, dt: 0.02}\nstatistics: {start: 100}\n"
        "checkpoint: {every: 5, keep: 9}\noutput: {folder: run, figures: false}\n"
        f"publish: {{engine: inproc, every: {every}, pipeline: p.yaml}}\n"
    )
    assert uzushio("run", "case.yaml", "--out", "whole").returncode == 0
    expected = outputs(tmp_path / "whole/pipeline")
    counted = [json.loads(line)["step"] for line in expected["count.jsonl"].splitlines()]
    # The first received step, and the first ones at or after t = 0.1, 0.2 and 0.3.
    assert counted == ([1, 5, 10, 15] if every == 1 else [2, 6, 10, 16])
    assert uzushio("run", "case.yaml").returncode == 0
    for step, ranks in restarts.items():
        checkpoint = f"run/checkpoints/step-{step:08d}"
        again = uzushio("run", "case.yaml", "--ranks", ranks, "--restart", checkpoint)
        assert again.returncode == 0, again.stderr
        results = outputs(tmp_path / "run/pipeline")
        if ranks > 1:  # means over space are rounded in another way
            steps = [
                [line.split(",")[:2] for line in result["s.csv"].splitlines()]
                for result in (results, expected)
            ]
            assert steps[0] == steps[1]
            results["s.csv"] = expected["s.csv"]
        assert results == expected, step
    assert not list((tmp_path / "run").glob("pipeline-*"))
    # A shorter run has no results of later steps of the one before it.
    again = uzushio("run", "case.yaml", "--restart", checkpoint, "--set", "time.steps=7")
    assert again.returncode == 0, again.stderr
    results = outputs(tmp_path / "run/pipeline")
    assert list(results["pictures"]) == ["cut_00000004.png"]
    assert max(results["zarr"]["step"]) < 7 and max(results["vtkhdf"][0]) < 0.14
    assert results["means"]["last_time"] < 0.14
    # Averages of another flow, or those that are reset, begin anew.
    more = ("--reset-statistics", "--set", "time.steps=9")
    again = uzushio("run", "case.yaml", "--restart", checkpoint, *more)
    assert again.returncode == 0 and "The statistics m begin anew" in again.stderr
    assert outputs(tmp_path / "run/pipeline")["means"]["samples"] == every
    assert (tmp_path / "run/pipeline/m.1.zarr").exists()


def test_lines_of_later_steps_and_incomplete_lines_are_removed(tmp_path: Path) -> None:
    lines = [f'{{"step": {step}, "u": 1}}\n' for step in range(6)]
    file = tmp_path / "count.jsonl"
    file.write_text("".join(lines) + '{"step": 6, "u"')
    truncate_after(file, 3)
    assert file.read_text() == "".join(lines[:4])
    table = tmp_path / "t.csv"
    table.write_text("step,time,u\n0,0,1\n0,0,2\n3,0.5,1\n4,0.5,1\n4,0")
    truncate_after(table, 3)
    assert table.read_text() == "step,time,u\n0,0,1\n0,0,2\n3,0.5,1\n"
    truncate_after(table, -1)
    assert table.read_text() == "step,time,u\n"
    truncate_after(tmp_path / "none.csv", 3)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["count.jsonl", "t.csv"]


def test_a_flipped_byte_in_a_stored_step_is_noticed(uzushio: Run, folder: Path) -> None:
    (chunk,) = (folder / "steps.zarr/steps/0000000001/u").glob("*/c.*")
    content = bytearray(chunk.read_bytes())
    content[33] ^= 64
    chunk.write_bytes(content)
    render = ("render", "p.yaml", "--from", "steps.zarr", "--overwrite")
    look = ("inspect", "steps.zarr", "--steps", 2)
    for command in (render, look):
        done = uzushio(*command)
        assert done.returncode == 1, done.stdout
        assert f"The checksum of {chunk.relative_to(folder)} is wrong" in done.stderr
        assert "--no-verify" in done.stderr
        assert uzushio(*command, "--no-verify").returncode == 0
