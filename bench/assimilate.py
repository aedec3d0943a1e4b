"""Whole assimilations: the twin experiment with time-blocked sweeps and with plain ones.

`uzushio assimilate examples/cases/phasefield.yaml` as a user runs it, on two ranks; the two ways
take turns and each time is the least. Both must estimate the very same m. Start-up of the job,
making the observations, figures and stores are left out: the time is that of the search.

    python bench/assimilate.py [--side 1600] [--iterations 20] [--ranks 2] [--repeats 2]
                               [--json FILE]
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

CASE = Path(__file__).resolve().parents[1] / "examples" / "cases" / "phasefield.yaml"
GOAL = 2.0  # times as fast as plain
BLOCKED = {"scheme": "pa1", "fblt": 16, "bblt": 16}
PLAIN = {"scheme": "plain", "fblt": 1, "bblt": 1}


def assimilate(
    side: int, iterations: int, ranks: int, blocking: dict[str, Any], folder: Path
) -> tuple[float, float]:
    """Run one; returns the seconds of its search, and m."""
    settings = {
        "grid.nx": side,
        "grid.ny": side,
        "optimiser.iterations": iterations,
        "optimiser.first_window": "null",
        "uncertainty.iterations": 0,
        "checkpoint.share": 0,
        "observations.keep": "false",
        "tuned": "false",
    } | {f"blocking.{key}": value for key, value in blocking.items()}
    words = [sys.executable, "-m", "uzushio", "assimilate", str(CASE), "--ranks", str(ranks)]
    words += ["--out", str(folder), "--overwrite", "--quiet"]
    for key, value in settings.items():
        words += ["--set", f"{key}={value}"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=1800)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(words)} failed:\n{done.stderr}")
    with (folder / "history.csv").open() as file:
        rows = list(csv.DictReader(file))
    # The first row is J at the first guess: what is before it is set-up.
    return float(rows[-1]["seconds"]) - float(rows[0]["seconds"]), float(rows[-1]["m"])


def main() -> None:
    """Measure, print a table, and write the records."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--side", type=int, default=1600)
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    ways = {"plain": PLAIN, "blocked": BLOCKED}
    seconds = dict.fromkeys(ways, float("inf"))
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(options.repeats):
            for name, blocking in ways.items():
                taken, found[name] = assimilate(
                    options.side, options.iterations, options.ranks, blocking, Path(folder) / name
                )
                seconds[name] = min(seconds[name], taken)
    if found["plain"] != found["blocked"]:
        raise SystemExit(f"the estimates of m differ: {found}")
    ratio = seconds["plain"] / seconds["blocked"]
    where = f"{options.side}², {options.iterations} iterations, {options.ranks} ranks"
    rows = [
        dict(metric=f"{name}, {where}", value=seconds[name], unit="s", goal=None, met=None, of=None)
        for name in ways
    ]
    rows.append(
        dict(
            metric=f"assimilation, {where}",
            value=ratio,
            unit="times as fast",
            goal=GOAL,
            met=ratio >= GOAL,
            of="plain sweeps",
        )
    )
    table = Table("what", "value", "unit", "goal")
    for row in rows:
        goal = "" if row["goal"] is None else f"{row['goal']:g}"
        table.add_row(str(row["metric"]), f"{row['value']:.3g}", str(row["unit"]), goal)
    Console().print(table)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
