"""The report: one self-contained page with all results and failures."""

from __future__ import annotations

import base64
import json
import re
import signal
import subprocess
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from conftest import wait
from mpi4py import MPI
from PIL import Image

from uzushio._base.figure_style import sheet, style, write_each
from uzushio._base.store import checkpoint
from uzushio.errors import OutputError
from uzushio.report import words, write_report
from uzushio.solvers.contract import State

VOID = {"meta", "img", "source", "br", "input"}


class Page(HTMLParser):
    """The page as a browser parses it; every opened tag must be closed."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(path.read_text(encoding="utf-8"))
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not {"style", "title"} & set(self.open):
            self.text += data + "\n"

    def sources(self, tag: str) -> list[str]:
        return [str(attrs["src"]) for name, attrs in self.elements if name == tag]


def png(path: Path, shade: int = 0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    noise = np.random.default_rng(shade).integers(0, 255, (24, 32, 3), np.uint8)
    Image.fromarray(noise).save(path)
    return path


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A solver's run with a pipeline inside the solver and a relay."""
    folder = tmp_path / "run"
    png(folder / "figures/mean_profile.png")
    summary: dict[str, Any] = {
        "title": "Flow <over> a & b",
        "solver": "channel",
        "ranks": 4,
        "step": 12000,
        "time": 3.25,
        "steps_done": 12000,
        "seconds": 3723.4,
        "seconds_per_step": 0.31,
        "published": {
            "stream": "flow",
            "engine": "shm",
            "failed": None,
            "published": 1200,
            "delivered": 1100,
            "dropped": 100,
            "seconds_waited": 0.25,
            "peak_bytes": 3_000_000,
            "seconds": 37.234,
        },
        "results": {
            "bulk_velocity": 15.5,
            "seconds_per_step": {"FFT": 0.2, "halo": 0.05},
            "sent_per_step": {"halo": {"messages": 6, "bytes": 1000}},
        },
    }
    (folder / "summary.json").write_text(json.dumps(summary))
    inside = folder / "pipeline"
    pictures = [f"pictures/eddies_{step:08d}.png" for step in range(0, 100, 10)]
    for number, picture in enumerate(pictures):
        png(inside / picture, number)
    (inside / "eddies.mp4").write_bytes(b"\0\0\0\x18ftypmp42" + bytes(3000))
    png(inside / "mean.png", 99)
    (inside / "mean.csv").write_text("step,time,z,u\n")
    (inside / "wall.zarr").mkdir()
    (inside / "wall.zarr/zarr.json").write_text("{}")
    summary: dict[str, Any] = {
        "pipeline": "pictures.yaml",
        "title": "Eddies",
        "steps": 100,
        "steps_used": 10,
        "bytes_read": 0,
        "ranks": 4,
        "seconds": {"picture: cast": 1.5, "write": 0.02},
        "actions": {
            "eddies": {
                "runs": 10,
                "failures": 0,
                "error": None,
                "seconds": 1.5,
                "view": "eddies",
                "files": pictures,
                "movie": "eddies.mp4",
            },
            "mean": {"runs": 10, "failures": 0, "error": None, "files": ["mean.png", "mean.csv"]},
            "wall": {
                "runs": 10,
                "failures": 2,
                "error": "No <space> left.",
                "files": ["wall.zarr"],
            },
        },
    }
    (inside / "summary.json").write_text(json.dumps(summary))
    relay = {"stream": "flow", "ranks": 1, "passed": 5_000_000_000, "max_held": 1e6}
    (folder / "relay.json").write_text(json.dumps(relay))
    (folder / "checkpoints").mkdir()
    (folder / "checkpoints/summary.json").write_text("not to be looked at")
    return folder


def test_the_page_embeds_all_its_files_and_needs_no_network(run: Path) -> None:
    path = write_report([run])
    assert path == run / "report.html"
    page = Page(path)
    images = page.sources("img")
    assert len(images) == 4 + 1 + 1  # pictures of ten, a plot, a figure
    for source in [*images, *page.sources("source")]:
        assert source.startswith("data:")
        kind, _, content = source.partition(";base64,")
        assert kind in ("data:image/png", "data:video/mp4")
        assert base64.b64decode(content, validate=True)
    newest = base64.b64encode((run / "pipeline/pictures/eddies_00000090.png").read_bytes())
    assert images[3].endswith(newest.decode())
    text = path.read_text()
    assert not re.search(r"(src|href)=\"?(https?:)?//", text) and "@import" not in text
    assert "<script" not in text and "url(" not in text
    for tag, attributes in page.elements:
        if tag == "a":
            assert (run / str(attributes["href"])).exists()
        if tag == "img":
            assert attributes["alt"]


def test_the_page_has_figures_as_text_and_failures_first(run: Path) -> None:
    page = Page(write_report([run]))
    for piece in (
        "Flow <over> a & b",
        "Solver channel on 4 ranks, to step 12\u202f000, t = 3.25.",
        "1 h 2 min",
        "310 ms",
        "Publishing took 1 % of the solver's wall time.",
        "picture: cast",
        "eddies, step 90",
        "5 GB",
        "wall.zarr",
    ):
        assert piece in page.text, piece
    position = page.text.index("wall failed at 2 of 10 steps: No <space> left.")
    assert position < page.text.index("Eddies")
    assert "<over>" not in (run / "report.html").read_text()


def test_the_page_states_case_grid_machine_and_version(run: Path) -> None:
    case = {"solver": "channel", "grid": {"nx": 64, "faces": [0.0, 0.5, 1.0, 1.5, 2.0]}}
    (run / "case.yaml").write_text(yaml.safe_dump(case))
    summary = json.loads((run / "summary.json").read_text())
    summary |= {"version": "9.8.7", "machine": {"processor": "A <fast> one", "cores": 3}}
    (run / "summary.json").write_text(json.dumps(summary))
    text = Page(write_report([run])).text
    for expected in ("9.8.7", "A <fast> one", "nx", "64", "5 values", "solver: channel"):
        assert expected in text, expected


def test_sections_of_a_grid_are_rows_and_titles_are_typeset(run: Path) -> None:
    grid = {"x": {"cells": 24, "length": 2.0}, "y": {"cells": 12, "stretching": None}}
    case = {"solver": "thermal", "title": "Channel, Re_τ = 180 <u>", "grid": grid}
    (run / "case.yaml").write_text(yaml.safe_dump(case))
    summary = json.loads((run / "summary.json").read_text()) | {"title": case["title"]}
    (run / "summary.json").write_text(json.dumps(summary))
    path = write_report([run])
    text = Page(path).text
    for expected in ("x cells", "24", "x length", "y cells", "12"):
        assert expected in text, expected
    assert "{'cells'" not in text and "y stretching" not in text
    assert "<h1>Channel, Re<sub>τ</sub> = 180 &lt;u&gt;</h1>" in path.read_text()


def test_changes_by_viewers_are_a_table(run: Path) -> None:
    assert "Steering" not in Page(write_report([run])).text
    common = {"time": 3.0, "at": "2026-01-02T03:04:05+00:00", "by": "ada@desk, <page1>"}
    lines = [
        {"step": 1200, "request": "set", "name": "cfl", "value": 0.2, "before": 0.3},
        {"step": 1300, "request": "publish_every", "steps": 5, "before": 1},
        {"step": 1400, "request": "stop"},
    ]
    text = "".join(json.dumps(common | line) + "\n" for line in lines)
    (run / "steering.jsonl").write_text(text + '{"step": 15')  # the run was killed
    page = Page(write_report([run]))
    cells = [line for line in page.text.split("\n") if line]
    start = cells.index("Steering")
    for row in (
        ["1\u202f200", "3", "cfl", "0.2", "0.3", "ada@desk, <page1>"],
        ["1\u202f300", "3", "steps between published ones", "5", "1", "ada@desk, <page1>"],
        ["1\u202f400", "3", "end of the run", "–", "–", "ada@desk, <page1>"],
    ):
        place = cells.index(row[0], start)
        assert cells[place : place + 6] == row


def test_a_figure_is_shown_once_with_its_description_and_can_be_enlarged(run: Path) -> None:
    with style():
        figure = sheet("Title", 3.0, 2.0, description="The <mean> flow in words")
        list(write_each(figure, run / "figures/flow"))
    page = Page(write_report([run]))
    images = [attrs for name, attrs in page.elements if name == "img"]
    shown = [image for image in images if image["alt"] == "The <mean> flow in words"]
    assert len(shown) == 1
    assert str(shown[0]["src"]).startswith("data:image/png")
    links = [attrs["href"] for name, attrs in page.elements if name == "a"]
    assert {"figures/flow.pdf", "figures/flow.svg"} <= set(links)
    # Each image has its own switch, reachable by keyboard; no script.
    switches = [attrs for name, attrs in page.elements if name == "input"]
    assert len(switches) == len(images)
    assert not [name for name, _ in page.elements if name == "script"]


def test_large_files_are_linked_wherever_the_page_is_written(run: Path) -> None:
    out = run.parent / "pages/of it/report.html"
    page = Page(write_report([run], out, title="Another", most=2000))
    source = page.sources("source")[0]
    assert source == "../../run/pipeline/eddies.mp4"
    assert (out.parent / source).exists()
    assert "Another" in page.text


def test_a_view_without_a_movie_shows_its_newest_picture_first_and_large(run: Path) -> None:
    summary = run / "pipeline/summary.json"
    content = json.loads(summary.read_text())
    content["actions"]["eddies"]["movie"] = None
    summary.write_text(json.dumps(content))
    newest = base64.b64encode((run / "pipeline/pictures/eddies_00000090.png").read_bytes())
    assert Page(write_report([run])).sources("img")[0].endswith(newest.decode())


def test_missing_files_are_left_out(run: Path) -> None:
    (run / "pipeline/eddies.mp4").unlink()
    (run / "pipeline/mean.csv").unlink()
    page = Page(write_report([run]))
    assert page.sources("source") == []
    assert "mean.csv" not in page.text


def test_a_killed_run_has_a_page_of_its_existing_results(run: Path) -> None:
    for summary in (run / "summary.json", run / "pipeline/summary.json"):
        summary.unlink()
    (run / ".uzushio-run").write_text("{}")
    (run / "case.yaml").write_text("solver: channel\ntitle: Flow <over> a & b\n")
    checkpoint.write(run, checkpoint.Snapshot("channel", "", 100, 2.5, State({})), 1, MPI.COMM_SELF)
    page = Page(write_report([run]))
    for piece in (
        f"The run in {run} did not end: it was stopped or killed",
        f"The pipeline in {run}/pipeline did not end",
        "Flow <over> a & b",
        "Solver channel with a checkpoint of step 100, t = 2.5.",
        "eddies, step 90",
        "mean.csv",
        "wall.zarr",
        "5 GB",
    ):
        assert piece in page.text, piece
    assert len(page.sources("img")) == 4 + 1 + 1 and len(page.sources("source")) == 1
    assert "None" not in page.text
    # A reader job's folder is known by its mark, another's is not ours.
    with pytest.raises(OutputError, match="nothing of a run that was cut off"):
        write_report([run / "pipeline/pictures"])
    job = run.parent / "rendered"
    (run / "pipeline").rename(job)
    (job / ".uzushio-render").write_text("{}")
    assert len(Page(write_report([job])).sources("img")) == 4 + 1


M = {
    "estimate": 0.99993625,
    "first_guess": -1.0,
    "truth": 1.0,
    "sd": 0.000134567,
    "note": "",
    "products": 31,
    "residual": 0.006,
    "to_minimum": 1e-7,
}


def assimilation(folder: Path, **of_m: Any) -> Path:
    folder.mkdir()
    results = {"J": 1.5e8, "parameters": {"m": M | of_m}}
    head = {"title": "Twin", "solver": "phasefield", "ranks": 2, "step": 95, "seconds": 72.0}
    summary = head | {"kind": "assimilation", "iterations": 95, "results": results}
    (folder / "summary.json").write_text(json.dumps(summary))
    return folder


def test_the_estimates_of_an_assimilation_stand_first_with_their_deviations(tmp_path: Path) -> None:
    run = assimilation(tmp_path / "run")
    png(run / "figures/progress.png")
    page = Page(write_report([run]))
    assert "Figures of the assimilation" in page.text and "of the solver" not in page.text
    estimate = "m = 0.99994 ± 0.00013 (truth 1)."
    sentence = f"Assimilation with the model phasefield on 2 ranks, 95 iterations: {estimate}"
    assert sentence in page.text and "t =" not in page.text and "to step" not in page.text
    tiles = page.text[page.text.index(sentence) :]
    assert tiles.index("0.99994 ± 0.00013") < tiles.index("Estimates") < tiles.index("Results")
    assert "a linearisation. Errors are larger where the model is far from linear" in page.text
    summary = page.elements[: [tag for tag, _ in page.elements].index("details")]
    assert sum(tag == "table" for tag, _ in summary) >= 1  # the estimates are in no fold


def test_a_poor_fit_stands_beside_the_estimates(tmp_path: Path) -> None:
    run = assimilation(tmp_path / "run")
    summary = json.loads((run / "summary.json").read_text())
    summary["results"]["fit"] = {
        "values": 520192,
        "ratio": 27.44,
        "expected_at_most": 1.0,
        "spread": 0.00196,
        "chi_square": 27.4,
        "robust_chi_square": 1.598,
        "beyond_5_sigma": 10729,
        "verdict": "poor",
    }
    (run / "summary.json").write_text(json.dumps(summary))
    page = Page(write_report([run]))
    assert "27.44 (expected 1 ± 0.002)" in page.text
    assert "The fit is poor: the model, the sigmas or some observations are wrong" in page.text


def test_a_missing_deviation_has_a_reason(tmp_path: Path) -> None:
    page = Page(write_report([assimilation(tmp_path / "run", sd=None, note="it is at its bound")]))
    assert ": m = 0.9999 (truth 1)." in page.text and "it is at its bound" in page.text
    assert "±" not in page.text


def test_an_assimilation_that_was_killed_is_called_one(tmp_path: Path) -> None:
    (tmp_path / ".uzushio-run").write_text("{}")
    (tmp_path / "case.yaml").write_text("model: phasefield\n")
    text = Page(write_report([tmp_path])).text
    assert "Assimilation with the model phasefield without a checkpoint." in text


@pytest.mark.parametrize(
    ("break_it", "sentence"),
    [
        (lambda run: (run / "summary.json").write_text('{"solver": '), "is not JSON .*cut off"),
        (lambda run: (run.parent / "empty").mkdir(), "holds no summary.json, and nothing of a run"),
        (lambda run: None, "is not a folder"),
    ],
)
def test_a_folder_of_another_program_is_reported(
    run: Path, break_it: Callable[[Path], object], sentence: str
) -> None:
    break_it(run)
    folder = run if "JSON" in sentence else run.parent / "empty"
    with pytest.raises(OutputError, match=sentence):
        write_report([folder])


def test_the_command_prints_where_the_page_is(
    run: Path, uzushio: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    done = uzushio("report", run, "--out", "page.html", "--embed", "1 kB")
    assert (done.returncode, done.stdout.strip()) == (0, "page.html"), done.stderr
    done = uzushio("report", run.parent / "none")
    assert done.returncode == 1
    assert done.stderr.endswith("none is not a folder; name the folder of a run.\n")
    assert "unit" in uzushio("report", run, "--embed", "big").stderr


@pytest.mark.parametrize(
    ("key", "given", "text"),
    [
        ("seconds", 0.00012, "120 µs"),
        ("seconds_waited", 59.94, "59.9 s"),
        ("seconds", 61.0, "1 min 1 s"),
        ("peak_bytes", 1.5e9, "1.5 GB"),
        ("steps", 1234567, "1\u202f234\u202f567"),
        ("time", 0.1 + 0.2, "0.3"),
        ("wall_shear", -1.25e-7, "−1.25e-7"),
        ("restarted_from", None, "–"),
        ("x", float("nan"), "NaN"),
    ],
)
def test_numbers_are_written_as_people_read_them(key: str, given: Any, text: str) -> None:
    assert words.value(key, given) == text


def test_a_relay_leaves_a_summary_that_the_report_shows(
    tmp_path: Path, start_uzushio: Callable[..., subprocess.Popen[str]]
) -> None:
    words = ["relay", "--from", "no.contact", "--to", "out.contact", "--summary", "run/relay.json"]
    relay = start_uzushio(*words)
    assert relay.stdout is not None
    assert "Readers attach to" in relay.stdout.readline()
    relay.send_signal(signal.SIGTERM)
    assert wait(relay, 90).returncode == 0
    content = json.loads((tmp_path / "run/relay.json").read_text())
    assert (content["ranks"], content["passed"]) == (1, 0)
    assert "passed on" in Page(write_report([tmp_path / "run"])).text
