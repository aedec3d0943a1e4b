"""J and its gradient for the phase field on 1 to 8 ranks: time, messages and bytes of each scheme.

With more ranks than cores, times show oversubscription and waiting; messages and bytes show the
load of a network.

- strong: 1600 × 1600 points on all ranks together.
- weak: 640 × 640 points on each rank.

All schemes of a job run in turn, each time is the minimum of the repetitions; blocks of 8 steps.

    python bench/scaling.py [--ranks 1 2 4 8] [--steps 32] [--repeats 3] [--json FILE]
"""

from __future__ import annotations

from time import perf_counter
from typing import Any, cast

import numpy as np
from _job import measured_in_job
from _report import Record, option_parser, record, report, show
from rich.table import Table

BLOCK = 8
SCHEMES = ("plain", "pa1", "pa2", "diamond")
STRONG = (1600, 1600)
WEAK = (640, 640)  # points of a rank
M = 0.9


def grid(kind: str, ranks: int) -> tuple[int, int]:
    """Return rows and columns of the whole grid."""
    if kind == "strong":
        return STRONG
    rows = next(n for n in range(int(ranks**0.5), 0, -1) if ranks % n == 0)
    return WEAK[0] * rows, WEAK[1] * (ranks // rows)


def measure(kind: str, steps: int, repeats: int) -> dict[str, Any] | None:
    """Measure on the ranks of this job; returns the figures of each scheme on rank 0."""
    from mpi4py import MPI

    from uzushio._base.observations import Observations
    from uzushio.solvers.phasefield import Blocking, Model, Parameters

    world = MPI.COMM_WORLD
    shape = grid(kind, world.size)
    known = Parameters(dt=0.1, spacing=1.0, tau=1.0, epsilon=1.0)
    ways = {}
    for scheme in SCHEMES:
        steps_between = 1 if scheme == "plain" else BLOCK
        blocking = Blocking(scheme=scheme, fblt=steps_between, bblt=steps_between)
        model = Model(world, shape, known, blocking)
        ways[scheme] = model, model.trajectory(steps)
    first = next(iter(ways.values()))[0]
    field = np.random.default_rng(0).random(shape)[first.own]
    seen = np.random.default_rng(world.rank).random((steps - 1, *first.own_shape))
    observations = Observations(range(1, steps), seen, 4.0)
    phi, lam = np.empty(first.own_shape), np.empty(first.own_shape)
    seconds = dict.fromkeys(ways, float("inf"))
    counts: dict[str, dict[str, int]] = {}
    results = {}
    for _ in range(repeats):
        for name, (model, trajectory) in ways.items():
            before = cast(dict[str, int], model.counters())
            phi[:], lam[:] = field, 0
            world.Barrier()
            start = perf_counter()
            misfit = model.forward(phi, [M], 0, steps, trajectory, observations)
            (slope,) = model.adjoint(lam, [M], 0, steps, trajectory, observations)
            world.Barrier()
            seconds[name] = min(seconds[name], perf_counter() - start)
            results[name] = (sum(misfit), sum(slope))
            after = cast(dict[str, int], model.counters())
            counts[name] = {key: value - before[key] for key, value in after.items()}
    assert len(set(results.values())) == 1, results
    every = world.gather(counts)
    if every is None:
        return None
    updates = 2 * steps * shape[0] * shape[1]
    return {
        name: {
            "seconds": seconds[name],
            "messages": max(counters[name]["messages"] for counters in every),
            "bytes": max(counters[name]["bytes"] for counters in every),
            "redundant": sum(counters[name]["redundant"] for counters in every) / updates,
            "points": shape[0] * shape[1],
        }
        for name in SCHEMES
    }


def table(kind: str, steps: int, results: dict[int, dict[str, Any]]) -> Table:
    """Print the table of one kind of scaling."""
    size = "1600² in all" if kind == "strong" else f"{WEAK[0]}² a rank"
    shown = Table(
        "scheme", *(f"{n} rank{'s' * (n > 1)}" for n in results),
        title=f"{kind} scaling, {size}, J and gradient of {steps} steps\n"
        "ms; messages and MB that the busiest rank sends; redundant points in 1000",
        title_justify="left",
    )  # fmt: skip
    for name in SCHEMES:
        cells = []
        for result in results.values():
            r = result[name]
            cells.append(
                f"{1e3 * r['seconds']:.0f}\n{r['messages']}; {r['bytes'] / 1e6:.2f}; "
                f"{1e3 * r['redundant']:.1f}"
            )
        shown.add_row(name, *cells)
    return shown


def records(kind: str, results: dict[int, dict[str, Any]]) -> list[Record]:
    """Return the figures of one kind of scaling."""
    rows = []
    for ranks, result in results.items():
        for name, r in result.items():
            for key, unit in (("seconds", "s"), ("messages", ""), ("bytes", "bytes")):
                metric = f"{kind}, {name}, {ranks} rank{'s' * (ranks > 1)}: {key}"
                rows.append(record(metric, r[key], unit))
    return rows


def main() -> None:
    """Measure, print tables, and write the records."""
    parser = option_parser(__doc__)
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2, 4, 8])
    parser.add_argument("--steps", type=int, default=32)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    size = options.steps, options.repeats
    rows: list[Record] = []
    for kind in ("strong", "weak"):
        results = {n: measured_in_job(n, measure, kind, *size) for n in options.ranks}
        show(table(kind, options.steps, results))
        rows += records(kind, results)
    report(options.json, rows)


if __name__ == "__main__":
    main()
