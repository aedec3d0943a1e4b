"""Cost of the monitor of sections in a step of the channel flow.

Steps without the monitor, with it, and with a trace alternate in one run; each time is the minimum
of its repetitions. Times are processor times of rank 0, which other processes of a machine disturb
less than wall times; the latter are shown for the monitor too.

    python bench/sections.py [--size 64] [--repeats 25] [--ranks 1 2] [--json FILE]
"""

from __future__ import annotations

from typing import Any

import numpy as np
from _job import measured_in_job
from _report import option_parser, record, report
from rich.table import Table

GOAL = 1.0  # percent of a step


def measure(n: int, repeats: int) -> dict[str, Any]:
    """Time steps in turn on the ranks of this job."""
    from time import perf_counter, process_time

    from mpi4py import MPI

    from uzushio._base.parallel.trace import MAX_EVENTS
    from uzushio.solvers.channel.case import ChannelCase
    from uzushio.solvers.channel.solver import ChannelSolver

    comm = MPI.COMM_WORLD
    case = ChannelCase.model_validate(
        {
            "solver": "channel",
            "grid": {"nx": n, "ny": n, "nz": n, "lx": "4 pi", "ly": "4/3 pi"},
            "flow": {"reynolds_tau": 180},
            "time": {"steps": 1, "cfl": 0.5},
        }
    )
    solver = ChannelSolver(case, comm).begin()
    core = solver.sections.core

    def step(active: bool, events: int) -> tuple[float, float]:
        core.set_active(active)
        core.start_trace(events)
        comm.Barrier()
        start, used = perf_counter(), process_time()
        with solver.sections.section("step"):
            solver.step()
        used = process_time() - used
        comm.Barrier()
        return used, perf_counter() - start

    kinds = ((False, 0), (True, 0), (True, MAX_EVENTS))
    for kind in kinds:
        step(*kind)
    core.set_active(True)
    solver.sections.reset()
    rows = []
    for repeat in range(repeats):
        turned = [(repeat + number) % len(kinds) for number in range(len(kinds))]
        times = {number: step(*kinds[number]) for number in turned}
        rows.append([times[number] for number in range(len(kinds))])
    calls = sum(totals.calls for totals in solver.sections.totals().values()) / (2 * repeats)
    (without, wall), (monitored, wall_monitored), (traced, _) = np.min(rows, axis=0)
    return {
        "step": float(without),
        "calls": calls,
        "cost": float(monitored / without - 1),
        "wall": float(wall_monitored / wall - 1),
        "trace": float(traced / without - 1),
    }


def main() -> None:
    """Measure, print the table and write the records."""
    parser = option_parser(__doc__)
    parser.add_argument("--size", type=int, default=64, help="points in each direction")
    parser.add_argument("--repeats", type=int, default=25, help="steps of each kind")
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2])
    options = parser.parse_args()
    shown = Table(
        "ranks",
        "ms a step",
        "sections a step",
        "monitor, %",
        "and trace, %",
        "monitor, % of wall time",
    )
    records = []
    for ranks in options.ranks:
        result = measured_in_job(ranks, measure, options.size, options.repeats)
        percent = [100.0 * result[name] for name in ("cost", "trace")]
        shown.add_row(
            str(ranks),
            f"{1e3 * result['step']:.1f}",
            f"{result['calls']:,.0f}",
            *(f"{share:.2f}" for share in (*percent, 100.0 * result["wall"])),
        )
        for name, value in zip(("monitor", "monitor and trace"), percent, strict=True):
            metric = f"{name} at {options.size}³, ranks: {ranks}"
            goal = GOAL if name == "monitor" else None
            records.append(record(metric, value, "%", goal, "a step without it", at_most=True))
    report(options.json, records, shown)


if __name__ == "__main__":
    main()
