"""Records of a benchmark, its options, and the output of its tables and records."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from rich.console import Console

WIDTH = 160  # columns of tables outside a terminal

Record = dict[str, Any]


def record(
    metric: str,
    value: float,
    unit: str = "",
    goal: float | None = None,
    of: str | None = None,
    *,
    at_most: bool = False,
) -> Record:
    """Return the record of a figure.

    Args:
        metric: name of the figure.
        value: the figure.
        unit: unit of the value.
        goal: minimum of the value, or its maximum if `at_most`; None: no goal.
        of: reference of a ratio.
        at_most: whether the goal is a maximum.
    """
    met = None if goal is None else bool(value <= goal if at_most else value >= goal)
    return dict(metric=metric, value=value, unit=unit, goal=goal, met=met, of=of)


def option_parser(documentation: str | None) -> argparse.ArgumentParser:
    """Return a parser with the option --json, described by the first line of a docstring."""
    parser = argparse.ArgumentParser(description=(documentation or "").splitlines()[0])
    parser.add_argument("--json", type=Path, metavar="FILE", help="where to write the records")
    return parser


def show(*tables: Any) -> None:
    """Print tables and lines of text."""
    console = Console(width=None if sys.stdout.isatty() else WIDTH)
    for table in tables:
        console.print(table)


def report(file: Path | None, records: Any, *tables: Any) -> None:
    """Print tables, and write the records if there is a file for them."""
    show(*tables)
    if file:
        file.write_text(json.dumps(records, indent=1) + "\n")
