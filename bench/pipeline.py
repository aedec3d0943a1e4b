"""Cost of a pipeline inside the solver, relative to the solver alone in the same run.

The case, the pipeline and the number of steps of the demo, drawn by the solver's ranks with one
picture in ten steps; and the same on a larger grid. The solver's own time is that of steps without
due actions, except those that follow a step with actions. The additional time of all other steps,
and the time of the end, is the pipeline's.

    python bench/pipeline.py [--json FILE] [--steps 2400] [--large 144] [--ranks 2]
"""

from __future__ import annotations

import json
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from _job import measured_in_job
from _memory import reset_peak, resident
from _report import Record, option_parser, record, report
from rich.table import Table

HERE = Path(__file__).resolve().parent
CASE = HERE.parent / "examples/cases/channel.yaml"
PIPELINE = HERE.parent / "examples/pipelines/channel.yaml"
EVERY = 10  # steps between pictures
GOAL = 0.10  # of the solver's time
MIB = 2.0**20

Result = dict[str, Any]


# ---- one job ----------------------------------------------------------------------------------


def measure(grid: dict[str, int], steps: int, folder: str) -> Result | None:
    """Step and draw on the ranks of this job; the result is on rank 0.

    Args:
        grid: entries of the case's grid that differ.
        steps: number of steps from that of the first picture.
        folder: folder of the publisher.
    """
    from time import perf_counter

    from mpi4py import MPI

    from uzushio._job.publish import Publisher
    from uzushio.case.model import load_case
    from uzushio.case.registry import solver_class

    comm = MPI.COMM_WORLD
    changes = [f"grid.{axis}={n}" for axis, n in grid.items()]
    publish = {"engine": "inproc", "every": EVERY, "pipeline": str(PIPELINE)}
    case = load_case(CASE, [*changes, f"publish={json.dumps(publish)}"])
    solver = solver_class(case.solver)(case, comm).begin()
    for _ in range(3):
        solver.step()
    before = resident()
    reset_peak()
    publisher = Publisher(case, solver, comm, Path(folder), lambda text: None, lambda: False)

    def timed(work: Any) -> float:
        comm.Barrier()
        began = perf_counter()
        work()
        comm.Barrier()
        return perf_counter() - began

    first = -(-solver.step_index // EVERY) * EVERY  # the step of the first picture
    last = first + steps
    taken: list[tuple[int, float]] = []
    shown: list[tuple[int, float]] = []
    while solver.step_index < last:
        seconds = timed(solver.step)
        taken.append((solver.step_index, seconds))
        if solver.step_index % EVERY == 0:
            shown.append((solver.step_index, timed(publisher.publish_step)))
    end = timed(publisher.close)
    inside = (publisher.summary() or {})["pipeline"]
    stages = comm.gather(inside["seconds"])
    memory = comm.gather((before, resident(peak=True)))
    if stages is None or memory is None:
        return None
    summary = json.loads((Path(inside["folder"]) / "summary.json").read_text())
    boxes = next(iter(solver.fields().values())).boxes(solver.meshes())
    return {
        "steps": taken,
        "shown": shown,
        "end": end,
        "stages": stages,
        "actions": {name: action["seconds"] for name, action in summary["actions"].items()},
        "pictures": inside["pictures"],
        "failures": inside["failures"],
        "kept": summary["bytes_kept"],
        "published": len(publisher._fields),
        "field": 8.0 * sum(box.size for box in boxes),  # bytes of this rank's part of a field
        "memory": memory,
    }


def run(grid: dict[str, int], steps: int, ranks: int) -> Result:
    """Measure one grid in an MPI job of its own."""
    with tempfile.TemporaryDirectory(prefix="uzushio-bench-") as folder:
        return evaluated(measured_in_job(ranks, measure, grid, steps, folder, options=()))


def evaluated(result: Result, start_up: bool = True) -> Result:
    """Add the solver's own time, and the pipeline's time relative to it.

    Args:
        result: what `measure` returns.
        start_up: whether the first picture counts, at which libraries are loaded.
    """
    drop = 0 if start_up else 1
    shown = result["shown"][drop:]
    begin = result["shown"][drop - 1][0] if drop else 0
    steps = [(index, seconds) for index, seconds in result["steps"] if index > begin]
    # Caches are cold in the step after a picture.
    plain = [s for index, s in steps if index % EVERY > 1 or (index % EVERY == 1 and not shown)]
    own = float(np.mean(plain))
    total = sum(s for _, s in steps) + sum(s for _, s in shown)
    count = len(steps)
    after = float(np.mean([s for index, s in steps if index % EVERY == 1]) - own)
    return result | {
        "own": own,
        "count": count,
        "share": total / (own * count) - 1.0,
        "share_with_end": (total + result["end"]) / (own * count) - 1.0,
        "first": result["shown"][0][1],
        "typical": float(np.median([s for _, s in shown])),
        "mean": float(np.mean([s for _, s in shown])),
        "after": after,
    }


# ---- what is shown ----------------------------------------------------------------------------


def table(results: dict[str, Result], ranks: int) -> Table:
    """Make the table of the measurements."""
    shown = Table(f"in process, {ranks} ranks", *results)

    def row(label: str, value: Any) -> None:
        shown.add_row(label, *(str(value(result)) for result in results.values()))

    row("steps", lambda r: r["count"])
    row("solver's step, ms", lambda r: f"{1e3 * r['own']:.2f}")
    row("ten steps, ms", lambda r: f"{1e4 * r['own']:.1f}")
    row("pipeline each ten steps, mean, ms", lambda r: f"{1e3 * r['mean']:.1f}")
    row("… median, ms", lambda r: f"{1e3 * r['typical']:.1f}")
    row("… first, ms", lambda r: f"{1e3 * r['first']:.0f}")
    row("the step after it takes more, ms", lambda r: f"{1e3 * r['after']:.2f}")
    row("share of the solver's time", lambda r: f"{100 * r['share']:.1f} %")
    row("… with the work at the end", lambda r: f"{100 * r['share_with_end']:.1f} %")
    stages = list(dict.fromkeys(name for r in results.values() for s in r["stages"] for name in s))
    for stage in stages:
        row(
            f"  {stage}, ms a picture by rank",
            lambda r, s=stage: "  ".join(
                f"{1e3 * seconds.get(s, 0.0) / len(r['shown']):.2f}" for seconds in r["stages"]
            ),
        )
    for action in next(iter(results.values()))["actions"]:
        row(
            f"  action {action}, ms a picture",
            lambda r, a=action: f"{1e3 * r['actions'][a] / len(r['shown']):.2f}",
        )
    row("a rank's part of a field, MiB", lambda r: f"{r['field'] / MIB:.2f}")
    row("memory grew by, MiB", lambda r: "  ".join(f"{grew / MIB:.1f}" for grew in grown(r)))
    row("published in physical space, fields", lambda r: r["published"])
    row("derived fields and seams, fields", lambda r: f"{r['kept'] / r['field']:.2f}")
    return shown


def grown(result: Result) -> list[float]:
    """Return the maximum growth of each rank's memory in bytes."""
    return [peak - before for before, peak in result["memory"]]


def copies(small: Result, large: Result) -> float:
    """Return the fields by which memory grows with the grid, in addition to computed ones.

    What libraries and pictures take is the same on both grids.
    """
    growth = grown(large)[0] - grown(small)[0]
    made = [r["published"] * r["field"] + r["kept"] for r in (large, small)]
    return float((growth - (made[0] - made[1])) / (large["field"] - small["field"]))


def records(results: dict[str, Result]) -> list[Record]:
    """Return the records with their goals, which are maxima."""
    row = partial(record, at_most=True)
    rows = []
    for name, r in results.items():
        share, own = r["share_with_end"], "the solver's own time"
        rows += [
            row(f"pipeline, {name}", 100 * share, "%", 100 * GOAL, own),
            row(f"solver's step, {name}", 1e3 * r["own"], "ms"),
            row(f"each ten steps, mean, {name}", 1e3 * r["mean"], "ms"),
            row(f"each ten steps, median, {name}", 1e3 * r["typical"], "ms"),
        ]
    if len(results) == 2:
        extra = copies(*results.values())
        rows.append(row("memory beyond the fields that are made", extra, "fields", 0.5))
    return rows


def main() -> None:
    """Measure, print the table and write the records."""
    parser = option_parser(__doc__)
    parser.add_argument("--steps", type=int, default=2400, help="of the demo's grid")
    parser.add_argument("--large", type=int, default=144, help="points of the larger grid; 0: none")
    parser.add_argument("--large-steps", type=int, default=60, help="of the larger grid")
    parser.add_argument("--ranks", type=int, default=2)
    options = parser.parse_args()
    results = {"the demo's grid": run({}, options.steps, options.ranks)}
    if options.large:
        n = options.large
        large = run({"nx": n, "ny": n, "nz": n}, options.large_steps + EVERY, options.ranks)
        results[f"{n}³"] = evaluated(large, start_up=False)
    report(options.json, records(results), table(results, options.ranks))


if __name__ == "__main__":
    main()
