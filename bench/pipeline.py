"""Cost of a pipeline inside the solver, relative to the solver alone in the same run.

The case, the pipeline and the number of steps of the demo, drawn by the solver's ranks with one
picture in ten steps; and the same on a larger grid. The solver's own time is that of steps without
due actions, except those that follow a step with actions. The additional time of all other steps,
and the time of the end, is the pipeline's.

    python bench/pipeline.py [--json FILE] [--steps 2400] [--large 144] [--ranks 2]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from uzushio.parallel.launch import find_mpiexec, prepare_environment

HERE = Path(__file__).resolve().parent
CASE = HERE.parent / "examples/cases/channel.yaml"
PIPELINE = HERE.parent / "examples/pipelines/channel.yaml"
EVERY = 10  # steps between pictures
GOAL = 0.10  # of the solver's time
MIB = 2.0**20
TIME_LIMIT = 1200.0  # seconds for one job

Result = dict[str, Any]


def resident(peak: bool = False) -> float:
    """Return the resident bytes of this process, or their peak since `reset_peak` (Linux)."""
    key = "VmHWM:" if peak else "VmRSS:"
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024.0 * int(line.split()[1]) for line in lines if line.startswith(key))


def reset_peak() -> None:
    """Reset the peak of the resident memory."""
    Path("/proc/self/clear_refs").write_text("5")


# ---- one job ----------------------------------------------------------------------------------


def measure(settings: Result, folder: Path) -> Result | None:
    """Step and draw on the ranks of this job; the result is on rank 0."""
    from time import perf_counter

    from mpi4py import MPI

    from uzushio.case.model import load_case
    from uzushio.case.registry import solver_class
    from uzushio.job.publish import Publisher

    comm = MPI.COMM_WORLD
    grid = [f"grid.{axis}={n}" for axis, n in settings["grid"].items()]
    publish = {"engine": "inproc", "every": EVERY, "pipeline": str(PIPELINE)}
    case = load_case(CASE, [*grid, f"publish={json.dumps(publish)}"])
    solver = solver_class(case.solver)(case, comm)
    for _ in range(3):
        solver.step()
    before = resident()
    reset_peak()
    publisher = Publisher(case, solver, comm, folder, lambda text: None, lambda: False)

    def timed(work: Any) -> float:
        comm.Barrier()
        began = perf_counter()
        work()
        comm.Barrier()
        return perf_counter() - began

    first = -(-solver.step_index // EVERY) * EVERY  # the step of the first picture
    last = first + settings["steps"]
    steps: list[tuple[int, float]] = []
    shown: list[tuple[int, float]] = []
    while solver.step_index < last:
        seconds = timed(solver.step)
        steps.append((solver.step_index, seconds))
        if solver.step_index % EVERY == 0:
            shown.append((solver.step_index, timed(publisher)))
    end = timed(publisher.close)
    inside = (publisher.summary() or {})["pipeline"]
    stages = comm.gather(inside["seconds"])
    memory = comm.gather((before, resident(peak=True)))
    if stages is None or memory is None:
        return None
    summary = json.loads((Path(inside["folder"]) / "summary.json").read_text())
    boxes = next(iter(solver.fields().values())).boxes(solver.meshes())
    return {
        "steps": steps,
        "shown": shown,
        "end": end,
        "stages": stages,
        "actions": {name: found["seconds"] for name, found in summary["actions"].items()},
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
        words = [json.dumps({"grid": grid, "steps": steps}), folder]
        command = [
            str(find_mpiexec()), "-n", str(ranks), sys.executable, __file__, "--worker", *words,
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIME_LIMIT)
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")
        result: Result = json.loads((Path(folder) / "result.json").read_text())
    return evaluated(result)


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


def records(results: dict[str, Result]) -> list[Result]:
    """Return the records with their goals."""

    def record(
        metric: str, value: float, unit: str, goal: float | None = None, of: str | None = None
    ) -> Result:
        met = None if goal is None else bool(value <= goal)
        return dict(metric=metric, value=value, unit=unit, goal=goal, met=met, of=of)

    rows = []
    for name, r in results.items():
        share, own = r["share_with_end"], "the solver's own time"
        rows.append(record(f"pipeline, {name}", 100 * share, "%", 100 * GOAL, own))
        rows.append(record(f"solver's step, {name}", 1e3 * r["own"], "ms"))
        rows.append(record(f"each ten steps, mean, {name}", 1e3 * r["mean"], "ms"))
        rows.append(record(f"each ten steps, median, {name}", 1e3 * r["typical"], "ms"))
    if len(results) == 2:
        extra = copies(*results.values())
        rows.append(record("memory beyond the fields that are made", extra, "fields", 0.5))
    return rows


def main() -> None:
    """Measure, print the table and write the records."""
    if sys.argv[1:2] == ["--worker"]:
        folder = Path(sys.argv[3])
        found = measure(json.loads(sys.argv[2]), folder)
        if found is not None:
            (folder / "result.json").write_text(json.dumps(found))
        return
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=Path, help="where to write the records")
    parser.add_argument("--steps", type=int, default=2400, help="of the demo's grid")
    parser.add_argument("--large", type=int, default=144, help="points of the larger grid; 0: none")
    parser.add_argument("--large-steps", type=int, default=60, help="of the larger grid")
    parser.add_argument("--ranks", type=int, default=2)
    options = parser.parse_args()
    prepare_environment()
    results = {"the demo's grid": run({}, options.steps, options.ranks)}
    if options.large:
        n = options.large
        large = run({"nx": n, "ny": n, "nz": n}, options.large_steps + EVERY, options.ranks)
        results[f"{n}³"] = evaluated(large, start_up=False)
    Console(width=None if sys.stdout.isatty() else 120).print(table(results, options.ranks))
    if options.json:
        options.json.write_text(json.dumps(records(results), indent=1) + "\n")


if __name__ == "__main__":
    main()
