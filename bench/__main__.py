"""Run all benchmarks of this folder, or the named ones, and print one table of their records.

    python bench [NAME ...]

A benchmark is a script ``bench/NAME.py`` that prints a table for people and, with ``--json FILE``,
writes a list of records ``{metric, value, unit, goal, met, of}``: ``goal`` is the goal or null,
``met`` whether it is met or null, ``of`` the reference of a ratio or null. The records are stored
in ``bench/results/NAME.json``.

Exits with 1 when a benchmark fails, and with 0 when a goal is missed: a figure is a finding.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
TIME_LIMIT = 3600.0  # seconds for one script
KEYS = ("metric", "value", "unit", "goal", "met", "of")

Record = dict[str, Any]


def available() -> list[str]:
    """Return the names of the benchmarks, in alphabetical order."""
    return sorted(path.stem for path in HERE.glob("[!_]*.py"))


def run(name: str) -> list[Record]:
    """Run one benchmark and return its records.

    Raises:
        RuntimeError: The script failed, took too long, or wrote no list of records.
    """
    file = RESULTS / f"{name}.json"
    file.unlink(missing_ok=True)  # so that an old figure never passes for this run's
    command = [sys.executable, str(HERE / f"{name}.py"), "--json", str(file)]
    try:
        subprocess.run(command, check=True, timeout=TIME_LIMIT)
        records: list[Record] = json.loads(file.read_text())
        missing = {key for record in records for key in KEYS if key not in record}
    except (subprocess.SubprocessError, OSError, ValueError, TypeError) as error:
        raise RuntimeError(f"bench/{name}.py: {error}") from error
    if missing:
        raise RuntimeError(f"bench/{name}.py: records without {', '.join(sorted(missing))}")
    return records


def table(records: dict[str, list[Record]]) -> Table:
    """Return all records as one table, grouped by benchmark."""
    result = Table("benchmark", "metric", "value", "unit", "of", "goal", "met")
    for name, rows in records.items():
        for row in rows:
            cells = [row["metric"], number(row["value"]), row["unit"] or "", row["of"] or ""]
            met = "" if row["met"] is None else "yes" if row["met"] else "no"
            result.add_row(name, *cells, number(row["goal"]), met)
    return result


def number(value: Any) -> str:
    """Format a value with four digits, and a missing one as nothing."""
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def main() -> int:
    """Run the benchmarks and return the exit status."""
    names = available()
    parser = argparse.ArgumentParser(prog="python bench", description="Run the benchmarks.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"any of: {', '.join(names)}")
    chosen = parser.parse_args().names or names
    if unknown := [name for name in chosen if name not in names]:
        parser.error(f"no benchmark {', '.join(unknown)}; there are: {', '.join(names)}")

    RESULTS.mkdir(exist_ok=True)
    records: dict[str, list[Record]] = {}
    failures: list[str] = []
    for name in chosen:
        print(f"── {name}", flush=True)
        try:
            records[name] = run(name)
        except RuntimeError as error:
            failures.append(str(error))
    Console().print(table(records))
    for failure in failures:
        print(failure, file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
