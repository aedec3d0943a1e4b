"""Rows of the table of a run's sections, from the data in its summary."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

#: Heads of the columns; all but the first hold numbers.
HEAD = ("section", "calls", "seconds", "%", "max/mean", "Gflop/s", "GB/s", "roofline")
#: Minimum share of the wall time of a section in the table.
MIN_SHARE = 1e-3
_UNKNOWN = "–"


def section_rows(data: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return the cells of each row: sections above 0.1 % of the wall time, then time in none.

    Args:
        data: entry `sections` of a summary.
    """
    elapsed, ranks = data["seconds"], data["ranks"]
    least = MIN_SHARE * elapsed
    rows = [
        ("  " * len(entry["inside"]) + entry["name"], *_cells(entry, elapsed, ranks))
        for entry in data["sections"]
        if entry["seconds"] / ranks >= least
    ]
    outside = elapsed - sum(
        entry["seconds"] / ranks for entry in data["sections"] if not entry["inside"]
    )
    if outside >= least:
        rows.append(("(no section)", "", *_time(outside, elapsed), *[""] * 4))
    return rows


def _cells(entry: Mapping[str, Any], elapsed: float, ranks: int) -> Iterator[str]:
    yield f"{round(entry['calls'] / ranks):,}"
    yield from _time(entry["seconds"] / ranks, elapsed)
    yield f"{entry['imbalance']:.2f}"
    for work in ("flops", "bytes"):
        rate = ranks * entry[work] / entry["seconds"] / 1e9 if entry["seconds"] else 0.0
        yield f"{rate:.3g}" if rate else _UNKNOWN
    share = entry["roofline_share"]
    yield _UNKNOWN if share is None else f"{100.0 * share:.2g} %"


def _time(seconds: float, elapsed: float) -> Iterator[str]:
    yield f"{seconds:.3g}"
    yield f"{100.0 * seconds / elapsed:.1f}"
