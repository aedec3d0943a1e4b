"""Time of a step of the channel flow beside the time that `uzushio check` predicts.

All choices on a number of ranks are timed in one job, whose steps alternate. Times also depend on
where a job's memory lies; each is the minimum over repetitions and jobs. A choice needs ratios
alone: that of the first one on so many ranks is 1.

    python bench/channel_prediction.py [--ranks 2 4] [--size 128] [--jobs 3] [--repeats 8]
                                       [--json FILE]
"""

from __future__ import annotations

import os
from typing import Any

from _job import measured_in_job
from _report import Record, option_parser, record, report
from channel import case_of, leaves
from rich.table import Table

_TRANSPOSES = {
    "messages": {"transposes": "messages"},
    "overlapped": {"transposes": "overlapped"},
    "messages, single": {"transposes": "messages", "transpose_precision": "single"},
    "shared memory": {"transposes": "auto"},
}
_SCHEMES = {name: {"scheme": name} for name in ("pipelined", "partitioned", "transpose")}

Choice = tuple[int, int, dict[str, str]]
Results = dict[str, dict[str, float]]


def choices(ranks: int) -> dict[str, Choice]:
    """Return process grids with what is chosen in the section `numerics` of the case, by name."""
    by_name: dict[str, Choice] = {}
    for pz in (n for n in range(ranks, 0, -1) if ranks % n == 0):
        py = ranks // pz
        for scheme, of_scheme in _SCHEMES.items() if pz > 1 else [("", {})]:
            for name, transposes in _TRANSPOSES.items() if py > 1 else [("", {})]:
                if scheme in ("partitioned", "transpose") and name not in ("", "shared memory"):
                    continue
                words = filter(None, (f"{py} × {pz}", scheme, name))
                by_name[", ".join(words)] = (py, pz, {**of_scheme, **transposes})
    return by_name


def measure(ranks: int, n: int, repeats: int) -> Results:
    """Time steps with each of the choices on the ranks of this job."""
    from time import perf_counter

    from mpi4py import MPI

    from uzushio.solvers.channel.decomposition import decompose
    from uzushio.solvers.channel.solver import ChannelSolver

    comm = MPI.COMM_WORLD
    solvers, results = {}, {}
    for name, (py, pz, numerics) in choices(ranks).items():
        case = case_of(py, pz, n, numerics)
        solvers[name] = ChannelSolver(case, comm).begin()
        solvers[name].step()
        chosen = decompose(case, comm.size)
        results[name] = {
            "predicted": chosen.seconds,
            "predicted planes": chosen.planes,
            "predicted column": chosen.column,
            "step": float("inf"),
            "planes": float("inf"),
            "column": float("inf"),
        }
    for _ in range(repeats):
        for name, solver in solvers.items():
            solver.sections.reset()
            comm.Barrier()
            start = perf_counter()
            solver.step()
            comm.Barrier()
            seconds, parts = perf_counter() - start, leaves(solver.sections)
            for part, section in (("planes", "transposes"), ("column", "halo and waiting")):
                exposed = comm.allreduce(parts.get(section, 0.0)) / comm.size
                results[name][part] = min(results[name][part], exposed)
            results[name]["step"] = min(results[name]["step"], seconds)
    return results


def fastest(jobs: list[Results]) -> Results:
    """Return the minimum of each value over some jobs."""
    return {
        name: {key: min(job[name][key] for job in jobs) for key in figures}
        for name, figures in jobs[0].items()
    }


def table(results: Results, n: int) -> Table:
    """Make a table of the choices on one number of ranks."""
    shown = Table(
        *(f"{n}³", "measured, ms", "in all-to-alls", "waiting", "predicted", "planes", "along z"),
        *("measured ratio", "predicted ratio", "off by"),
    )
    first = next(iter(results.values()))
    for name, figures in results.items():
        ratio, expected = (figures[key] / first[key] for key in ("step", "predicted"))
        keys = ("step", "planes", "column", "predicted", "predicted planes", "predicted column")
        shown.add_row(
            name,
            *(f"{1e3 * figures[key]:.1f}" for key in keys),
            *(f"{value:.2f}" for value in (ratio, expected, expected / ratio)),
        )
    return shown


def records(results: Results, ranks: int) -> list[Record]:
    """Return the ratios of the choices to the first one, measured and predicted."""
    first_name, first = next(iter(results.items()))
    return [
        record(
            f"step on {ranks} ranks, {name}, {kind}", figures[key] / first[key], "×", of=first_name
        )
        for name, figures in results.items()
        for kind, key in (("measured", "step"), ("predicted", "predicted"))
    ]


def main() -> None:
    """Measure, print the tables and write the records."""
    parser = option_parser(__doc__)
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--size", type=int, default=128, help="points in each direction")
    parser.add_argument("--jobs", type=int, default=3, help="jobs of each number of ranks")
    parser.add_argument("--repeats", type=int, default=8, help="steps to time in a job")
    options = parser.parse_args()
    tables: list[Any] = []
    all_records: list[Record] = []
    for ranks in options.ranks:
        arguments = (ranks, options.size, options.repeats)
        jobs = range(options.jobs)
        results = fastest([measured_in_job(ranks, measure, *arguments) for _ in jobs])
        if ranks > (os.cpu_count() or ranks):
            tables.append(f"{ranks} ranks share {os.cpu_count()} cores:")
        tables.append(table(results, options.size))
        all_records += records(results, ranks)
    report(options.json, all_records, *tables)


if __name__ == "__main__":
    main()
