"""Time-blocked sweeps of the phase field compared with plain ones, in-cache ones and memory rates.

Forward sweeps without observations or trajectory. Methods alternate in one job; each time is the
minimum of the repetitions.

- plain: level after level over whole rows, one exchange per step.
- pa1, pa2, diamond: blocks of 32 steps, in the cache too.
- in cache: every rank sweeps its own grid, whose two buffers (0.5 MB) fit into a core's L2,
  level after level: one of 20 rows as long as those of the large grid, and one of short rows,
  of which four fit into L1, too.
- triad: STREAM's, on all ranks at the same time.

    python bench/stencil.py [--side 1600] [--ranks 1 2] [--steps 128] [--repeats 7] [--json FILE]
"""

from __future__ import annotations

from time import perf_counter
from typing import Any, cast

import numpy as np
from _job import measured_in_job
from _report import Record, option_parser, record, report
from rich.table import Table

BLOCK = 32
SCHEMES = ("pa1", "pa2", "diamond")
GAIN_GOAL = 2.5  # times the plain sweep
CACHE_GOAL = 0.9  # of the in-cache rate
IN_CACHE = {"in cache": (20, 1600), "in cache, short rows": (100, 256)}


def measure(side: int, steps: int, repeats: int, threads: int) -> dict[str, Any]:
    """Measure on the ranks of this job; return points or bytes per second by name."""
    from mpi4py import MPI

    from uzushio import _core
    from uzushio.solvers.phasefield import Blocking, Model, Parameters

    world = MPI.COMM_WORLD
    known = Parameters(dt=0.1, spacing=1.0, tau=1.0, epsilon=1.0, boundary="zero_flux")

    def forward(comm: MPI.Comm, shape: tuple[int, int], count: int, **blocking: Any) -> Any:
        model = Model(comm, shape, known, Blocking(threads=threads, **blocking))
        phi = np.full(model.own_shape, 0.3)
        counted: dict[str, int] = {}

        def sweep() -> None:
            before = cast(dict[str, int], model.counters())
            model.forward(phi, [0.7], 0, count)
            after = cast(dict[str, int], model.counters())
            counted.update({key: value - before[key] for key, value in after.items()})

        return sweep, shape[0] * shape[1] * count * (world.size // comm.size), counted

    ways = {"plain": forward(world, (side, side), steps)}
    for scheme in SCHEMES:
        ways[scheme] = forward(world, (side, side), steps, scheme=scheme, fblt=BLOCK, bblt=BLOCK)
    if threads == 1:
        for name, (rows, columns) in IN_CACHE.items():
            again = max(1, side * side // (world.size * rows * columns))
            ways[name] = forward(MPI.COMM_SELF, (rows, columns), steps * again)
    seconds = dict.fromkeys(ways, float("inf"))
    triad = 0.0
    for _ in range(repeats):
        for name, (sweep, _, _) in ways.items():
            world.Barrier()
            start = perf_counter()
            sweep()
            world.Barrier()
            seconds[name] = min(seconds[name], perf_counter() - start)
        triad = max(triad, _core.parallel.triad_rate(world.handle, 2**22, 2))
    messages = {name: world.allreduce(way[2]["messages"]) for name, way in ways.items()}
    redundant = {name: world.allreduce(way[2]["redundant"]) for name, way in ways.items()}
    return {
        "rates": {name: way[1] / seconds[name] for name, way in ways.items()},
        "messages": messages,
        "redundant": redundant,
        "triad": triad,
    }


def place(ranks: int, threads: int) -> str:
    """Name a job's ranks and threads."""
    text = f"{ranks} rank{'s' if ranks > 1 else ''}"
    return text if threads == 1 else f"{text} of {threads} threads"


def records(side: int, where: str, result: dict[str, Any]) -> list[Record]:
    """Return the records of one job, with their goals."""
    rates = result["rates"]
    rows = [record(f"{name}, {where}", rate / 1e9, "GPoints/s") for name, rate in rates.items()]
    rows.append(record(f"triad, {where}", result["triad"] / 1e9, "GB/s"))
    best, metric = max(rates[name] for name in SCHEMES), f"best blocked, {side}², {where}"
    rows.append(record(metric, best / rates["plain"], "", GAIN_GOAL, "plain"))
    for name in IN_CACHE:
        if name in rates:
            rows.append(record(metric, best / rates[name], "", CACHE_GOAL, name))
    # A point is read and written; a written cache line is read first.
    rows.append(record(f"plain, {where}", 24 * rates["plain"] / result["triad"], of="triad"))
    return rows


def main() -> None:
    """Measure, print a table, and write the records."""
    parser = option_parser(__doc__)
    parser.add_argument("--side", type=int, default=1600)
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--steps", type=int, default=128)
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()
    size = options.side, options.steps, options.repeats
    jobs = [(ranks, 1) for ranks in options.ranks] + [(1, max(options.ranks))]
    results = {
        place(ranks, threads): measured_in_job(ranks, measure, *size, threads, threads=threads)
        for ranks, threads in dict.fromkeys(jobs)
    }
    shown = Table(f"{options.side}², {options.steps} steps, GPoints/s", *results)
    for name in ("plain", *SCHEMES, *IN_CACHE):
        cells = [
            f"{r['rates'][name] / 1e9:.2f}" if name in r["rates"] else "" for r in results.values()
        ]
        shown.add_row(name, *cells)
    shown.add_row("triad, GB/s", *(f"{r['triad'] / 1e9:.0f}" for r in results.values()))
    for name in ("plain", *SCHEMES):
        shown.add_row(
            f"messages; redundant points in 1000, {name}",
            *(
                f"{r['messages'][name]}; "
                f"{1000 * r['redundant'][name] / (options.side**2 * options.steps):.1f}"
                for r in results.values()
            ),
        )
    rows = [
        row for where, result in results.items() for row in records(options.side, where, result)
    ]
    report(options.json, rows, shown)


if __name__ == "__main__":
    main()
