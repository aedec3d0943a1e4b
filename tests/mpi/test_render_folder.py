"""The folder of a reader job: removal of earlier results, and errors of the summary."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import Run
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


def test_a_second_restart_from_a_checkpoint_replaces_the_lines_of_the_first(
    uzushio: Run, tmp_path: Path
) -> None:
    (tmp_path / "p.yaml").write_text(
        "actions:\n- {count: {fields: [u]}}\n- {plot: {series: {fields: [u]}}, name: s, every: 2}\n"
    )
    (tmp_path / "case.yaml").write_text(
        "solver: heat\ntime: {steps: 4, dt: 0.05}\nstatistics: {start: 100}\n"
        "checkpoint: {every: 2, keep: 5}\noutput: {folder: run}\n"
        "publish: {engine: inproc, pipeline: p.yaml}\n"
    )
    assert uzushio("run", "case.yaml").returncode == 0
    (checkpoint,) = (tmp_path / "run/checkpoints").glob("*2")
    for last in (8, 6):
        again = uzushio("run", "case.yaml", "--restart", checkpoint, "--set", f"time.steps={last}")
        assert again.returncode == 0, again.stderr
        inside = tmp_path / "run/pipeline-00000002"
        lines = [json.loads(line) for line in (inside / "count.jsonl").read_text().splitlines()]
        assert [line["step"] for line in lines] == list(range(3, last + 1))
        rows = (inside / "s.csv").read_text().splitlines()[1:]
        assert [int(row.partition(",")[0]) for row in rows] == list(range(4, last + 1, 2))


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
    assert sorted(one.name for one in tmp_path.iterdir()) == ["count.jsonl", "t.csv"]


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
