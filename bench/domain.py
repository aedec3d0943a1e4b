"""Halo exchange of multiblock meshes relative to a lower bound, measured in the same run.

Five values a cell in three fields with two ghost layers, in a periodic box of ``cells``³ cells a
rank: one zone, or two zones with different orientations. All methods send the same bytes in the
same messages, one to each neighbour rank, by persistent requests, and copy the same bytes within
ranks.

- ours: ``HaloExchange``, which is independent of the mesh. - in place: nested loops for two ghost
layers of this mesh, between the fields and the messages. - contiguous: one memcpy a message at
either end, and one within the rank. Fields are not contiguous in
  this way: of a cache line of eight values, two are ghosts of a face along i.

Methods alternate. A time is that of the slowest rank for one of ten consecutive exchanges, the
minimum of the repetitions.

    python bench/domain.py [--cells 32 64 96] [--ranks 1 2] [--repeats 20] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from uzushio.parallel.launch import find_mpiexec, prepare_environment

BUILD = Path(__file__).resolve().parents[1] / "build" / "release"
WORKER = BUILD / "bench" / "domain_worker"
TIME_LIMIT = 300.0  # seconds for one job
GOAL = 0.8  # of the rate of loops written for the mesh

Result = dict[str, Any]


def build() -> None:
    """Build the worker in the build folder of `tools/setup`.

    Raises:
        SystemExit: The folder is missing, or the build fails.
    """
    if not (BUILD / "CMakeCache.txt").exists():
        raise SystemExit("bench/domain.py needs the build of tools/setup: run `make build` first")
    command = ["cmake", "--build", str(BUILD), "--target", "domain_worker"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIME_LIMIT)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")


def run(cells: int, ranks: int, repeats: int) -> list[Result]:
    """Measure in an MPI job of its own.

    Raises:
        SystemExit: The job failed; with its output.
    """
    prepare_environment()
    launcher = [str(find_mpiexec()), "-n", str(ranks), "--oversubscribe", "--bind-to", "none"]
    command = [*launcher, str(WORKER), str(cells), str(repeats)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=TIME_LIMIT, env=os.environ
    )
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")
    results: list[Result] = json.loads(done.stdout.splitlines()[-1])
    return results


def record(metric: str, value: float, of: str, goal: float | None) -> Result:
    """Return the record of a ratio of times, with its goal if it has one."""
    met = None if goal is None else value >= goal
    of += " and messages of the same bytes"
    return {"metric": metric, "value": value, "unit": "×", "goal": goal, "met": met, "of": of}


def main() -> int:
    """Run the benchmark, print a table, and write records."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cells", type=int, nargs="+", default=[32, 64, 96])
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()

    build()
    table = Table(
        "mesh", "cells", "ranks", "MB sent", "MB local", "ours, µs", "in place", "contiguous"
    )
    records = []
    for cells in asked.cells:
        for ranks in asked.ranks:
            for result in run(cells, ranks, asked.repeats):
                times = [1e6 * result[way] for way in ("ours", "nested", "least")]
                sizes = [result[size] / 1e6 for size in ("bytes", "local_bytes")]
                table.add_row(
                    result["case"],
                    f"{cells}³ a rank",
                    str(ranks),
                    *(f"{size:.2f}" for size in sizes),
                    f"{times[0]:.0f}",
                    *(f"{time:.0f} ({time / times[0]:.2f})" for time in times[1:]),
                )
                where = f"{result['case']}, {cells}³ a rank, {ranks} ranks"
                records += [
                    record(f"halo, {where}", times[1] / times[0], "loops in place", GOAL),
                    record(f"… {where}", times[2] / times[0], "contiguous copies", None),
                ]
    Console(width=None if sys.stdout.isatty() else 120).print(table)
    if asked.json:
        asked.json.write_text(json.dumps(records, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
