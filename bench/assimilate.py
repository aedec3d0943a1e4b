"""Whole assimilations: the twin experiment with time-blocked sweeps and with plain ones.

The command `uzushio assimilate examples/cases/phasefield.yaml` on two ranks, alternately with both
kinds of sweeps; each time is the minimum. Both must estimate exactly the same m. The time is that
of the search, without the start of the job, observations, figures and stores. The search begins at
m = 0.5, from which the whole window can be fitted, as in the last stage of an assimilation: from
m = -1 most steps of the first line search lead to states in which the model is unstable.

The parts of an iteration are sweeps, passes over the optimiser's vectors, and the rest (Python,
messages, history). The time of the vectors is compared with the time to read the pairs of L-BFGS
once, and point, gradient and direction, and to write a new step, change, gradient and point, at the
rate of STREAM's triad.

    python bench/assimilate.py [--side 1600] [--iterations 20] [--ranks 2] [--repeats 2]
                               [--json FILE]
"""

from __future__ import annotations

import csv
import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from _job import measured_in_job, output_of
from _report import Record, option_parser, record, report
from rich.table import Table

CASE = Path(__file__).resolve().parents[1] / "examples" / "cases" / "phasefield.yaml"
GOAL = 2.0  # times as fast as plain
MEMORY = 8  # pairs that L-BFGS keeps
BLOCKED = {"scheme": "pa1", "fblt": 16, "bblt": 8}
PLAIN = {"scheme": "plain", "fblt": 1, "bblt": 1}


@dataclass(frozen=True)
class Search:
    """Seconds of a search from the first J to its end, seconds of its parts, and m."""

    seconds: float
    split: dict[str, float]
    iterations: int
    m: float


def assimilate(
    side: int, iterations: int, ranks: int, blocking: dict[str, Any], folder: Path
) -> Search:
    """Run one assimilation."""
    settings = {
        "grid.nx": side,
        "grid.ny": side,
        "optimiser.iterations": iterations,
        "optimiser.memory": MEMORY,
        "first_guess.m": 0.5,
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
    output_of(words)
    with (folder / "history.csv").open() as file:
        rows = list(csv.DictReader(file))
    split = json.loads((folder / "summary.json").read_text())["seconds_in"]
    rest = split["search"] - split["sweeps"] - split["vectors"]
    # The first row is J at the first guess; the set-up is before it.
    return Search(
        float(rows[-1]["seconds"]) - float(rows[0]["seconds"]),
        {"sweeps": split["sweeps"], "vectors": split["vectors"], "rest": rest},
        len(rows) - 1,
        float(rows[-1]["m"]),
    )


def triad() -> float:
    """Measure the triad's bytes per second on all ranks of this job."""
    from mpi4py import MPI

    from uzushio import _core

    return float(_core.parallel.triad_rate(MPI.COMM_WORLD.handle, 2**22, 3))


def records(best: dict[str, Search], side: int, ranks: int, rate: float) -> list[Record]:
    """Return the records of both kinds of sweeps."""
    iterations = best["plain"].iterations
    where = f"{side}², {iterations} iterations, {ranks} ranks"
    rows = [record(f"{name}, {where}", timing.seconds, "s") for name, timing in best.items()]
    ratio = best["plain"].seconds / best["blocked"].seconds
    rows.append(record(f"assimilation, {where}", ratio, "times as fast", GOAL, "plain sweeps"))
    for name, timing in best.items():
        for part, seconds in timing.split.items():
            each = 1e3 * seconds / iterations
            rows.append(record(f"{name}: {part}, {side}², {ranks} ranks", each, "ms an iteration"))
    floor = 8 * side * side * (2 * MEMORY + 7) / rate
    rows.append(record(f"vectors at {rate / 1e9:.0f} GB/s", 1e3 * floor, "ms an iteration"))
    return rows


def main() -> None:
    """Measure, print a table, and write the records."""
    parser = option_parser(__doc__)
    parser.add_argument("--side", type=int, default=1600)
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=2)
    options = parser.parse_args()
    ways = {"plain": PLAIN, "blocked": BLOCKED}
    best: dict[str, Search] = {}
    rate = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(options.repeats):
            rate = max(rate, measured_in_job(options.ranks, triad))
            for name, blocking in ways.items():
                done = assimilate(
                    options.side, options.iterations, options.ranks, blocking, Path(folder) / name
                )
                best[name] = min(best.get(name, done), done, key=lambda timing: timing.seconds)
    if best["plain"].m != best["blocked"].m:
        raise SystemExit(f"the estimates of m differ: {best}")
    rows = records(best, options.side, options.ranks, rate)
    table = Table("what", "value", "unit", "goal")
    for row in rows:
        goal = "" if row["goal"] is None else f"{row['goal']:g}"
        table.add_row(str(row["metric"]), f"{row['value']:.3g}", str(row["unit"]), goal)
    report(options.json, rows, table)


if __name__ == "__main__":
    main()
