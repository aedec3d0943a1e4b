"""Sort-last compositing beside memory, and beside what IceT reached on a machine of this kind.

RGBA8, every pixel active, 512² and 1024², 2 to 16 ranks, gathered at the root. In one job per
number of ranks all algorithms take turns; each time is the root's for a picture, of five in a row,
the least of the repetitions. Beside each stands what the performance model predicted.

"shared" is the hybrid of one node with images drawn into the compositor's canvas, as a renderer
does; "shared, copied" is handed images from elsewhere, as IceT is.

    python bench/compositing.py [--json FILE] [--repeats 40] [--ranks 4 8 16]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from uzushio.launch import find_mpiexec, prepare_environment

SIDES = (512, 1024)
#: IceT 2.2, milliseconds by (side, ranks), measured earlier on a machine of this kind (two cores):
#: its best distributed algorithm, and all images to the root. Not of this run: IceT is no package.
ICET = {
    (512, 2): (0.49, 0.33),
    (512, 4): (1.2, 0.88),
    (512, 8): (3.1, 2.5),
    (512, 16): (6.8, 5.6),
    (1024, 2): (2.6, 1.5),
    (1024, 4): (6.3, 3.8),
    (1024, 8): (13.6, 9.5),
    (1024, 16): (26.7, 22.0),
}
ICET_ERROR = 5.7  # of 255, at 16 ranks
BATCH = (
    5  # pictures one after the other, as in a run: no barrier, in which ranks would spin, between
)
FASTER_GOAL = 2.0  # times IceT's better one, from 4 ranks on
BLENDING_GOAL = 0.7  # of the memory rate
FLOOR_GOAL = 2.0  # times reading all images and writing one, at 16 ranks
ERROR_GOAL = 2.0  # of 255, at 16 ranks

#: Names in the table, algorithms, and whether images are drawn into the canvas.
CASES = {
    "shared": ("hybrid(radix_k(8))", True),
    "shared, copied": ("hybrid(radix_k(8))", False),
    "sequential": ("sequential", False),
    "direct-send": ("direct_send", False),
    "pipeline": ("parallel_pipeline", False),
    "binary-tree": ("binary_tree", False),
    "binary-swap": ("binary_swap", False),
    "radix-4": ("radix_k(4)", False),
    "multi-step(4)": ("multi_step(4, binary_swap, binary_tree)", False),
}


def images(rank: int, side: int) -> Any:
    """A translucent image with every pixel active, (side, side, 4) bytes."""
    import numpy as np

    rng = np.random.default_rng(rank)
    opacity = rng.uniform(0.02, 0.3, (side, side, 1))
    colour = rng.uniform(0, 1, (side, side, 3)) * opacity
    return np.round(255 * np.concatenate([colour, opacity], axis=2)).astype(np.uint8)


def exact(ranks: int, side: int) -> Any:
    """What all ranks' images give in double precision, in units of 1/255."""
    import numpy as np

    result = np.zeros((side, side, 4))
    for rank in range(ranks):
        result += (1 - result[..., 3:] / 255) * images(rank, side)
    return result


def measure(side: int, repeats: int) -> dict[str, Any] | None:
    """Time all algorithms on the ranks of this job; the result is on rank 0."""
    from time import perf_counter

    import numpy as np
    from mpi4py import MPI

    from uzushio import _core
    from uzushio.compositing import Compositor

    comm = MPI.COMM_WORLD
    mine = images(comm.rank, side)
    compositors = {
        name: Compositor(comm, side, side, algorithm=algorithm, frames=1)
        for name, (algorithm, _) in CASES.items()
    }
    for name, (_, drawn) in CASES.items():
        if drawn:
            compositors[name].canvas()[:] = mine
    expected = exact(comm.size, side) if comm.rank == 0 else None
    times: dict[str, float] = dict.fromkeys(CASES, float("inf"))
    errors: dict[str, float] = {}
    for repeat in range(repeats):
        for name, compositor in compositors.items():
            comm.Barrier()
            start = perf_counter()
            for _ in range(BATCH):
                compositor.submit(None if CASES[name][1] else mine)
                picture = compositor.finish()
            times[name] = min(times[name], (perf_counter() - start) / BATCH)
            if repeat == 0 and picture is not None:
                errors[name] = float(np.abs(picture - expected).max())
            del picture
    predicted = {name: c.predict(CASES[name][0]) for name, c in compositors.items()}
    # Ranks that share processors do not move more together: the rate is that of a rank on each.
    rates = _core.compositing.memory_rates(comm.handle) if comm.size == 2 else None
    chooser = Compositor(comm, side, side, algorithm="auto", frames=1)
    chosen, machine = chooser.algorithm, chooser.machine()
    for compositor in (*compositors.values(), chooser):
        compositor.close()
    if comm.rank != 0:
        return None
    return {
        "times": times,
        "errors": errors,
        "predicted": predicted,
        "chosen": chosen,
        "machine": machine._asdict(),
        "rates": rates,
    }


def run(ranks: int, side: int, repeats: int) -> dict[str, Any]:
    """Measure in an MPI job of its own."""
    command = [str(find_mpiexec()), "-n", str(ranks), "--oversubscribe", "--bind-to", "none"]
    command += [sys.executable, __file__, "--worker", str(side), str(repeats)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


Results = dict[tuple[int, int], dict[str, Any]]


def table(side: int, results: Results) -> Table:
    """Lay the times of one size out for people: measured (predicted), in milliseconds."""
    columns = [ranks for s, ranks in results if s == side]
    shown = Table(f"{side}², ms (predicted)", *(f"{ranks} ranks" for ranks in columns))

    def row(label: str, value: Any) -> None:
        shown.add_row(label, *(value(ranks, results[side, ranks]) for ranks in columns))

    for name in CASES:
        row(
            name,
            lambda _, r, n=name: f"{1e3 * r['times'][n]:.2f} ({1e3 * r['predicted'][n]:.2f})",
        )
    row("auto takes", lambda _, r: r["chosen"])
    row(
        "IceT's best / all to root (not of this run)", lambda p, _: "{} / {}".format(*ICET[side, p])
    )
    row("floor: images at triad rate", lambda _, r: f"{1e3 * r['floor']:.2f}")
    row(
        "triad, blending, GB/s of two ranks",
        lambda _, r: ", ".join(f"{rate / 1e9:.0f}" for rate in r["rates"] or ()),
    )
    row("greatest error of 255", lambda _, r: f"{max(r['errors'].values()):.2f}")
    return shown


def records(results: Results) -> list[dict[str, Any]]:
    """State the figures with their goals."""
    rows = []

    def record(
        metric: str, value: float, unit: str, goal: float | None, of: str | None, least: bool
    ) -> None:
        met = None if goal is None else bool(value >= goal if least else value <= goal)
        rows.append(dict(metric=metric, value=value, unit=unit, goal=goal, met=met, of=of))

    for (side, ranks), result in results.items():
        where = f"{side}², {ranks} ranks"
        goal = FASTER_GOAL if ranks >= 4 else None
        icet = 1e-3 * min(ICET[side, ranks])
        of = "IceT 2.2 as published, not of this run"
        times = result["times"]
        copied = min(time for name, time in times.items() if not CASES[name][1])
        record(f"faster than IceT, {where}", icet / min(times.values()), "×", goal, of, True)
        record(f"… of images handed over, {where}", icet / copied, "×", goal, of, True)
        messages = min(time for name, time in times.items() if not name.startswith("shared"))
        record(f"… by messages alone, {where}", icet / messages, "×", None, of, True)
        same = [name for name, (algorithm, _) in CASES.items() if algorithm == result["chosen"]]
        taken = times[same[0] if same else "shared"]  # on one node all hybrids are one
        record(f"what auto takes, {where}", taken / min(times.values()), "×", None, "best", False)
        if ranks == 16:
            value = min(times.values()) / result["floor"]
            floor = "reading 16 images and writing one at triad rate"
            record(f"compositing, {where}", value, "×", FLOOR_GOAL, floor, False)
            error = max(result["errors"].values())
            record(f"error, {where}", error, "of 255", ERROR_GOAL, "double precision", False)
    triads, blends = zip(*(r["rates"] for r in results.values() if r["rates"]), strict=True)
    share = max(blends) / max(triads)
    record("blending two images", share, "×", BLENDING_GOAL, "STREAM's triad", True)
    return rows


def main() -> None:
    """Measure, print the tables and write the records."""
    if sys.argv[1:2] == ["--worker"]:
        found = measure(int(sys.argv[2]), int(sys.argv[3]))
        if found is not None:
            print(json.dumps(found))
        return
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=Path, help="where to write the records")
    parser.add_argument("--repeats", type=int, default=40, help="pictures to time")
    parser.add_argument("--ranks", type=int, nargs="+", default=[4, 8, 16], choices=[4, 8, 16])
    options = parser.parse_args()
    options.ranks = [2, *options.ranks]  # two ranks also tell the rate of memory
    prepare_environment()
    results: Results = {}
    for side in SIDES:
        for ranks in options.ranks:
            results[side, ranks] = run(ranks, side, options.repeats)
            triad, _ = results[side, options.ranks[0]]["rates"]
            results[side, ranks]["floor"] = (ranks + 1) * 4 * side * side / triad
        Console(width=None if sys.stdout.isatty() else 150).print(table(side, results))
    if options.json:
        options.json.write_text(json.dumps(records(results), indent=1) + "\n")


if __name__ == "__main__":
    main()
