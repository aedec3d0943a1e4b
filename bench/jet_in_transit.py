"""Time of the jet's pictures in situ and in transit, as shares of the run's time in situ.

It repeats in small an experiment on a supercomputer: Tsutsumi et al. visualised a compressible flow
every 10 steps inside the solver, or on 2 to 32 processes beside it to which ADIOS2 sent the steps;
the solver waited until a step was received. `examples/cases/jet.yaml` on a small grid on one rank,
drawn by `examples/pipelines/jet.yaml` every 10 steps: inside its steps, and by 1, 2 and 4 reader
processes, over shared memory and over TCP by way of a relay. Readers share this machine's cores
with the solver, so their work slows it down where a cluster has further nodes for it: beside the
elapsed time, the solver's wait for readers is shown, which does not.

    python bench/jet_in_transit.py [--json FILE] [--steps 60]
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from _job import launcher, measured_in_job
from _report import Record, option_parser, record, report
from rich.table import Table

HERE = Path(__file__).resolve().parent
CASE = HERE.parent / "examples/cases/jet.yaml"
PIPELINE = HERE.parent / "examples/pipelines/jet.yaml"
EVERY = 10
GRID = {"core_cells": 6, "inner_cells": 6, "outer_cells": 14, "axial_cells": 48}
READERS = (1, 2, 4)


def pipeline_in(folder: Path) -> Path:
    """Write the jet's pipeline with a picture of each published step."""
    file = folder / "pipeline.yaml"
    file.write_text(PIPELINE.read_text().replace("every: 100", f"every: {EVERY}"))
    return file


def measure(publish: dict[str, Any], steps: int, folder: str) -> dict[str, float] | None:
    """Step and publish; return the seconds of steps, of publishing, and waited for readers."""
    from time import perf_counter

    from mpi4py import MPI

    from uzushio._job.publish import Publisher
    from uzushio.case.model import load_case
    from uzushio.case.registry import solver_class

    grid = [f"grid.jet.{name}={count}" for name, count in GRID.items()]
    case = load_case(CASE, [*grid, "time.steps=100000", f"publish={json.dumps(publish)}"])
    comm = MPI.COMM_WORLD
    solver = solver_class(case.solver)(case, comm).begin()
    publisher = Publisher(case, solver, comm, Path(folder), lambda text: None, lambda: False)
    seconds = {"solver": 0.0, "publishing": 0.0}
    for number in range(steps + EVERY):
        begin = perf_counter()
        solver.step()
        middle = perf_counter()
        if solver.step_index % EVERY == 0:
            publisher.publish_step()
        end = perf_counter()
        if number >= EVERY:  # the first picture loads libraries and waits for readers
            seconds["solver"] += middle - begin
            seconds["publishing"] += end - middle
    publisher.close()
    return seconds if comm.rank == 0 else None


def in_transit(engine: str, readers: int, steps: int, relay: bool) -> dict[str, Any]:
    """Measure with readers of their own, by way of a relay if asked for."""
    with tempfile.TemporaryDirectory(prefix="uzushio-bench-") as name:
        folder = Path(name)
        contact = last = folder / "jet.contact"
        publish = {
            "engine": engine,
            "every": EVERY,
            "contact": str(contact),
            "wait_for_readers": 1,
            "queue": {"policy": "block", "depth": 1},
        }
        uzushio = [sys.executable, "-m", "uzushio"]
        commands = []
        if relay:
            last = folder / "relay.contact"
            commands.append([*uzushio, "relay", "--from", contact, "--to", last, "--once"])
        pipeline = [pipeline_in(folder), "--from", last, "--out", folder / "out", "--quiet"]
        commands.append([*launcher(readers), *uzushio, "render", *pipeline])
        environment = os.environ | {"OMP_NUM_THREADS": "1"}
        processes = [subprocess.Popen(list(map(str, c)), env=environment) for c in commands]
        try:
            result = measured_in_job(1, measure, publish, steps, str(folder), threads=1)
            for process in processes:
                process.wait(120)
            summary = json.loads((folder / "out" / "summary.json").read_text())
        finally:
            for process in processes:
                process.kill()
        total = summary["seconds_total"]
        shares = {
            "receiving": summary["seconds"].get("read", 0.0) / total,
            "working": summary["seconds_working"] / total,
        }
        return dict(result) | shares


def run(steps: int) -> Record:
    """Measure all cases."""
    with tempfile.TemporaryDirectory(prefix="uzushio-bench-") as folder:
        pipeline = str(pipeline_in(Path(folder)))
        inside = {"engine": "inproc", "every": EVERY, "pipeline": pipeline}
        results = {"in situ": dict(measured_in_job(1, measure, inside, steps, folder, threads=1))}
    for readers in READERS:
        results[f"{readers} readers, shared memory"] = in_transit("shm", readers, steps, False)
    results["2 readers, TCP and relay"] = in_transit("tcp", 2, steps, True)
    return results


def table(results: Record) -> Table:
    """Return the table of shares of the time in situ."""
    whole = sum(results["in situ"][part] for part in ("solver", "publishing"))
    shown = Table(
        "case", "steps", "pictures or publishing", "together", "reader: receives", "reader: works"
    )
    for case, of in results.items():
        shares = [of["solver"] / whole, of["publishing"] / whole]
        row = [f"{100 * share:.1f} %" for share in (*shares, sum(shares))]
        row += [
            f"{100 * of[part]:.0f} %" if part in of else "" for part in ("receiving", "working")
        ]
        shown.add_row(case, *row)
    return shown


def records(results: Record) -> list[Record]:
    """Return the records: publishing as a share of the time in situ."""
    whole = sum(results["in situ"][part] for part in ("solver", "publishing"))
    return [
        record(f"{case}: {part}", of[part] / whole, of="the time in situ")
        for case, of in results.items()
        for part in ("solver", "publishing")
    ]


def main() -> None:
    """Measure, print the table and write the records."""
    parser = option_parser(__doc__)
    parser.add_argument("--steps", type=int, default=60, help="steps of each case")
    options = parser.parse_args()
    results = run(options.steps)
    report(options.json, records(results), table(results))


if __name__ == "__main__":
    main()
