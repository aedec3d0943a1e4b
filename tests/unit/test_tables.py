"""Tables keep every value on narrow terminals."""

from __future__ import annotations

import io
import re

import pytest
from conftest import TESTS, Run
from rich.console import Console
from rich.table import Table

from uzushio._base.terminal import print_table


def printed(width: int) -> str:
    table = Table(title="steps")
    for name in ("hop", "connections", "rate"):
        table.add_column(name, no_wrap=True)
    table.add_row("solver to relay", "1,024", "13.6 GB/s")
    table.add_row("", "16", "[250 MB/s]")
    out = io.StringIO()
    print_table(table, Console(file=out, width=width, highlight=False))
    return out.getvalue()


@pytest.mark.parametrize("width", [20, 40, 120])
def test_every_value_is_whole_at_any_width(width: int) -> None:
    text = printed(width)
    # A list breaks between words.
    words = re.sub(r"\s+", " ", text)
    for value in ("solver to relay", "1,024", "13.6 GB/s", "16", "connections"):
        assert value in words, text
    assert "…" not in text and max(map(len, text.splitlines())) <= width


def test_a_plan_can_be_read_at_forty_columns(
    uzushio: Run, job_environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(job_environment, "COLUMNS", "40")
    done = uzushio("plan", TESTS.parent / "examples/plans/jss2.yaml")
    assert done.returncode == 0 and "…" not in done.stdout
    assert "can use: 100 GB/s" in done.stdout or "available: 100 GB/s" in done.stdout
