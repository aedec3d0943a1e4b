"""Time of a step of the channel flow relative to a lower bound, measured in the same run.

The bound is the time of the same Fourier transforms alone through FFTW, on planes that stay in
cache, plus the time of the scheme's minimal memory traffic at the rate of STREAM's triad. Step,
transforms and triad alternate; each time is the minimum of its repetitions.

    python bench/channel.py [--json FILE] [--size 128] [--repeats 15]
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from _job import measured_in_job
from _memory import resident
from _report import Record, option_parser, record, report
from rich.table import Table

if TYPE_CHECKING:
    from uzushio._base.parallel.section_monitor import SectionMonitor

GOAL = 1.5  # times the lower bound
FIELDS_GOAL = 14.0  # arrays of the size of a field
MIB = 2.0**20
#: Ranks in y and z, and the scheme of the solves along z.
JOBS = [
    (1, 1, "pipelined"),
    (1, 2, "pipelined"),
    (1, 2, "partitioned"),
    (1, 2, "transpose"),
    (2, 1, "pipelined"),
]


def leaves(sections: SectionMonitor) -> dict[str, float]:
    """Return the seconds of the sections that have none inside, by name."""
    totals = sections.totals()
    around = {path[:-1] for path in totals}
    found: dict[str, float] = {}
    for path in totals.keys() - around:
        found[path[-1]] = found.get(path[-1], 0.0) + totals[path].seconds
    return found


def measure(py: int, pz: int, scheme: str, n: int, repeats: int) -> dict[str, Any]:
    """Time steps and their lower bound on the ranks of this job."""
    from time import perf_counter

    from mpi4py import MPI

    from uzushio import _core
    from uzushio.solvers.channel.case import ChannelCase
    from uzushio.solvers.channel.decomposition import core
    from uzushio.solvers.channel.solver import ChannelSolver

    comm = MPI.COMM_WORLD
    case = ChannelCase.model_validate(
        {
            "solver": "channel",
            "grid": {"nx": n, "ny": n, "nz": n, "lx": "4 pi", "ly": "4/3 pi"},
            "flow": {"reynolds_tau": 180},
            "numerics": {"scheme": scheme},
            "decomposition": {"py": py, "pz": pz},
            "time": {"steps": 1, "cfl": 0.5},
        }
    )
    before = resident()
    solver = ChannelSolver(case, comm).begin()
    solver.step()
    held = resident() - before
    for _ in range(3):
        solver.step()
    grown = comm.allreduce(resident() - before - held, op=MPI.MAX)
    steps, transforms, triads = [], [], []
    best: dict[str, float] = {}
    for repeat in range(repeats):
        solver.sections.reset()
        comm.Barrier()
        start = perf_counter()
        solver.step()
        comm.Barrier()
        steps.append(perf_counter() - start)
        if steps[-1] == min(steps):
            best = leaves(solver.sections)
        if repeat % 3 == 0:
            transforms.append(core.fft_seconds(solver.core, 1))
            triads.append(_core.parallel.triad_rate(comm.handle, 2**22, 2))
    moved = comm.allreduce(core.min_bytes(solver.core))
    worst = {name: comm.allreduce(value, op=MPI.MAX) for name, value in best.items()}
    return {
        "step": min(steps),
        "sections": worst,
        "fft": min(transforms),
        "triad": max(triads),
        "moved": moved,
        "fields": solver.core.bytes * comm.size / (8.0 * n**3),
        "measured_fields": held * comm.size / (8.0 * n**3),
        "grown": grown,
    }


def run(job: tuple[int, int, str], n: int, repeats: int) -> dict[str, Any]:
    """Measure one decomposition in an MPI job of its own."""
    py, pz, scheme = job
    result: dict[str, Any] = measured_in_job(py * pz, measure, py, pz, scheme, n, repeats)
    result["bytes"] = result["moved"] / result["triad"]
    result["floor"] = result["fft"] + result["bytes"]
    return result


def table(results: dict[str, dict[str, Any]], n: int) -> Table:
    """Format the measurements as a table, in milliseconds."""
    columns = list(results)
    shown = Table(f"{n}³, 3/2 rule, ms a step", *(f"{name}" for name in columns))

    def row(label: str, value: Any) -> None:
        shown.add_row(label, *(value(results[name]) for name in columns))

    for section in next(iter(results.values()))["sections"]:
        row(section, lambda r, s=section: f"{1e3 * r['sections'][s]:.1f}")
    row(
        "the rest",
        lambda r: f"{1e3 * max(0.0, r['step'] - sum(r['sections'].values())):.1f}",
    )
    row("step", lambda r: f"{1e3 * r['step']:.1f}")
    row("floor: FFTW alone", lambda r: f"{1e3 * r['fft']:.1f}")
    row(
        "floor: least bytes at triad rate",
        lambda r: f"{1e3 * r['bytes']:.1f} ({r['triad'] / 1e9:.0f} GB/s)",
    )
    row("step over floor", lambda r: f"{r['step'] / r['floor']:.2f}")
    row("arrays of a field's size", lambda r: f"{r['fields']:.1f}")
    row("… as resident memory grew", lambda r: f"{r['measured_fields']:.1f}")
    row("growth after the first step", lambda r: f"{r['grown'] / MIB:.2f} MiB")
    return shown


def records(results: dict[str, dict[str, Any]], n: int) -> list[Record]:
    """Return the records with their goals, which are maxima."""
    row = partial(record, at_most=True)
    rows = []
    for name in list(results)[:2]:
        result = results[name]
        ratio = result["step"] / result["floor"]
        rows += [
            row(f"step at {n}³, {name}", ratio, "×", GOAL, "FFTW alone + bytes/triad"),
            row(f"memory, {name}", result["fields"], "fields", FIELDS_GOAL),
            row(f"growth after first step, {name}", result["grown"] / MIB, "MiB", 1.0),
        ]
    one, two, partitioned, transposed, plane = results.values()
    return [
        *rows,
        row("two ranks over one", two["step"] / one["step"], "×", of="one rank"),
        row("pipelined", two["step"] / transposed["step"], "×", 1.0, "transpose, 2 ranks in z"),
        row("partitioned", partitioned["step"] / transposed["step"], "×", 1.0, "the same"),
        row("2 ranks in y", plane["step"] / two["step"], "×", of="2 ranks in z"),
    ]


def main() -> None:
    """Measure, print the table and write the records."""
    parser = option_parser(__doc__)
    parser.add_argument("--size", type=int, default=128, help="points in each direction")
    parser.add_argument("--repeats", type=int, default=15, help="steps to time")
    options = parser.parse_args()
    results: dict[str, dict[str, Any]] = {}
    for job in JOBS:
        py, pz, scheme = job
        ranks = "1 rank" if py * pz == 1 else f"{py}×{pz} ranks, {scheme}"
        results[ranks] = run(job, options.size, options.repeats)
    report(options.json, records(results, options.size), table(results, options.size))


if __name__ == "__main__":
    main()
