"""Sections of a rank's time: totals, table, trace, roofline."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from mpi4py import MPI

from uzushio._base.config import user_cache
from uzushio._base.parallel import roofline as rates
from uzushio._base.parallel.roofline import Roofline, roofline
from uzushio._base.parallel.section_monitor import SectionMonitor, Totals
from uzushio._base.parallel.section_rows import section_rows
from uzushio._base.parallel.section_table import SectionTable, gather
from uzushio._base.parallel.trace import start_trace, write_trace
from uzushio.errors import OutputError

SELF = MPI.COMM_SELF


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(rates, "_NODE_DOUBLES", 2**16)
    return tmp_path / "cache"


def test_a_section_is_identified_by_its_name_and_those_around_it() -> None:
    sections = SectionMonitor()
    for _ in range(2):
        with sections.section("step", flops=3.0), sections.section("halo", bytes=8.0):
            time.sleep(0.001)
    with sections.section("halo"):
        pass
    totals = sections.totals()
    assert list(totals) == [("step",), ("step", "halo"), ("halo",)]
    assert totals["step",].calls == 2
    # Work is that of a section with the sections inside it.
    assert (totals["step",].flops, totals["step",].bytes) == (6.0, 16.0)
    assert totals["step", "halo"].seconds <= totals["step",].seconds
    assert sections.seconds()["halo"] == sum(totals[path].seconds for path in list(totals)[1:])
    assert set(sections.seconds(inside="step")) == {"halo"}


def test_a_block_that_fails_ends_its_section() -> None:
    sections = SectionMonitor()
    with pytest.raises(ValueError), sections.section("step"), sections.section("rhs"):
        raise ValueError
    with sections.section("next"):
        pass
    assert set(sections.totals()) == {("step",), ("step", "rhs"), ("next",)}


def test_a_table_has_sums_imbalance_and_the_share_of_the_roofline() -> None:
    ranks = [Totals(2, 1.0, 4e9, 0.0), Totals(2, 3.0, 4e9, 2e9)]
    waits = [Totals(2, 2.0, 0.0, 0.0), Totals(0, 0.0, 0.0, 0.0)]
    bound = Roofline(bytes_per_second=4e9, flops_per_second=16e9)
    data = SectionTable({("step",): ranks, ("wait",): waits}, 4.0, bound).data()
    step, wait = data["sections"]
    assert (step["calls"], step["seconds"], step["imbalance"]) == (4, 4.0, 1.5)
    assert step["by_rank"]["seconds"] == [1.0, 3.0]
    # On both ranks: 8 Gflop take 0.5 s, 2 GB as long; the mean time is 2 s.
    assert step["roofline_share"] == pytest.approx(0.25)
    assert (wait["imbalance"], wait["roofline_share"]) == (2.0, None)
    assert section_rows(data) == [
        ("step", "2", "2", "50.0", "1.50", "4", "1", "25 %"),
        ("wait", "1", "1", "25.0", "2.00", "–", "–", "–"),
        ("(no section)", "", "1", "25.0", "", "", "", ""),
    ]


def test_short_sections_are_in_the_data_only() -> None:
    totals = {("step",): [Totals(1, 1.0, 0, 0)], ("vote",): [Totals(1, 1e-6, 0, 0)]}
    data = SectionTable(totals, 1.0, None).data()
    assert [row[0] for row in section_rows(data)] == ["step"]
    assert [section["name"] for section in data["sections"]] == ["step", "vote"]


def test_the_roofline_is_measured_once_on_a_machine(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured = roofline(SELF)
    assert (
        measured is not None and measured.bytes_per_second > 1e8 and measured.flops_per_second > 1e8
    )
    assert (cache / f"uzushio/roofline-{user_cache.processor_key()}.json").exists()
    monkeypatch.setattr(rates, "_measured", lambda *_: pytest.fail("measured again"))
    assert roofline(SELF) == measured


@pytest.mark.parametrize("text", ["", "[", '{"1": 3}', '{"1": {"bytes_per_second": 0}}'])
def test_damaged_rates_are_measured_again(cache: Path, text: str) -> None:
    user_cache.store(rates._name(), text)
    measured = roofline(SELF)
    assert measured is not None and measured.flops_per_second > 1e8


def test_no_roofline_is_measured_if_no_section_states_its_work(cache: Path) -> None:
    sections = SectionMonitor()
    with sections.section("step"):
        pass
    table = gather(sections, SELF)
    assert table is not None and table.bound is None
    assert not cache.exists()


def test_a_trace_names_the_events_that_were_dropped(tmp_path: Path) -> None:
    sections = SectionMonitor()
    start_trace(sections, SELF, max_events=10)
    for _ in range(15):
        with sections.section('a "quoted" step'):
            pass
    path = tmp_path / "trace.json"
    assert write_trace(path, sections, SELF) == (10, 5)
    events = json.loads(path.read_text())
    labels = [event["args"]["labels"] for event in events if event["name"] == "process_labels"]
    assert labels == ["5 events dropped"]
    assert sum(event["name"] == 'a "quoted" step' for event in events) == 10


def test_a_trace_that_cannot_be_written_is_one_error(tmp_path: Path) -> None:
    sections = SectionMonitor()
    start_trace(sections, SELF)
    with pytest.raises(OutputError, match=r"missing/t\.json"):
        write_trace(tmp_path / "missing/t.json", sections, SELF)
