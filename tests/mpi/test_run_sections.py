"""Sections of runs: the table at the end, its data, and the trace of all ranks."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from conftest import Run

CHANNEL = """\
solver: channel
grid: {nx: 16, ny: 16, nz: 18, lx: pi, ly: pi/2}
flow: {reynolds_tau: 100}
time: {steps: 12, cfl: 0.4}
statistics: {start: 0.0, every: 3}
checkpoint: {every: 5, keep: 2}
output: {folder: run}
"""
CYLINDER = """\
solver: cylinder
grid: {n: 6, nz: 5}
time: {steps: 8, cfl: 0.9}
checkpoint: {every: 4, keep: 3}
output: {folder: run}
"""
STEP = {
    CHANNEL: {"convection", "solves along z"},
    CYLINDER: {"halo exchange", "boundary conditions", "right-hand side", "integration"},
}


@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize("case", STEP, ids=["channel", "blocks"])
def test_a_run_records_its_sections_on_all_ranks(
    uzushio: Run, tmp_path: Path, case: str, ranks: int
) -> None:
    (tmp_path / "case.yaml").write_text(case)
    command = ["run", "case.yaml", "--ranks", ranks, "--trace", "trace.json", "--no-figures"]
    shares_planes = case == CHANNEL and ranks > 1
    if shares_planes:
        command += ["--set", f"decomposition.py={ranks}", "--set", "decomposition.pz=1"]
    done = uzushio(*command, timeout=120)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "run/summary.json").read_text()
    summary = json.loads(text)
    hidden = re.findall(r'"transposes_hidden": ([\d.]+)', text)
    assert len(hidden) == (1 if shares_planes else 0)
    assert all(0.0 < float(share) < 1.0 for share in hidden)
    totals = {
        (*section["inside"], section["name"]): section
        for section in summary["sections"]["sections"]
    }

    assert {path[1] for path in totals if len(path) > 1 and path[0] == "step"} >= STEP[case]
    assert totals["step",]["by_rank"]["calls"] == [summary["step"]] * ranks
    check_sums(totals, summary["sections"]["seconds"], ranks)
    shares = [
        section["roofline_share"]
        for section in totals.values()
        if section["flops"] or section["bytes"]
    ]
    assert shares and all(share is not None and share > 0.0 for share in shares)
    assert re.search(r"^section +calls +seconds", done.stdout, re.MULTILINE)
    assert re.search(rf"^step +{summary['step']} ", done.stdout, re.MULTILINE)

    events = json.loads((tmp_path / "trace.json").read_text())
    assert f"Wrote the trace trace.json: {len(events) - 3 * ranks:,} events." in done.stdout
    assert {event["pid"] for event in events} == set(range(ranks))
    check_nested(events)
    for rank in range(ranks):
        spent = [
            event["dur"] for event in events if (event["name"], event["pid"]) == ("step", rank)
        ]
        assert sum(spent) == pytest.approx(1e6 * totals["step",]["by_rank"]["seconds"][rank])


def check_sums(totals: dict[tuple[str, ...], Any], elapsed: float, ranks: int) -> None:
    """Assert that the parts of each section, and of the run, are its time or less."""
    parts: defaultdict[tuple[str, ...], float] = defaultdict(float)
    for rank in range(ranks):
        parts.clear()
        for path, section in totals.items():
            parts[path[:-1]] += section["by_rank"]["seconds"][rank]
        for path, seconds in parts.items():
            whole = totals[path]["by_rank"]["seconds"][rank] if path else elapsed
            assert seconds <= whole * (1 + 1e-9), path
        assert parts[()] > 0.8 * elapsed  # the rest: locking the folder, the first lines


def check_nested(events: list[dict[str, Any]]) -> None:
    """Assert that two events of a rank are one inside the other, or one after the other."""
    ends: defaultdict[int, list[float]] = defaultdict(list)
    timed = [event for event in events if event["ph"] == "X"]
    assert timed
    for event in sorted(timed, key=lambda entry: (entry["ts"], -entry["dur"])):
        around = ends[event["pid"]]
        end = round(event["ts"] + event["dur"], 3)
        while around and around[-1] <= event["ts"]:
            around.pop()
        assert not around or end <= around[-1], event
        around.append(end)


def test_a_trace_needs_its_folder_before_the_run(uzushio: Run, case: Path) -> None:
    done = uzushio("run", case, "--trace", "missing/trace.json")
    assert done.returncode == 1
    assert "--trace missing/trace.json: there is no folder" in done.stderr


def test_a_quiet_run_prints_no_table_and_writes_its_trace(
    uzushio: Run, case: Path, tmp_path: Path
) -> None:
    done = uzushio("run", case, "--trace", "trace.json", "--quiet")
    assert (done.returncode, done.stdout) == (0, "")
    events = json.loads((tmp_path / "trace.json").read_text())
    assert {"step", "statistics", "checkpoint"} <= {event["name"] for event in events}
