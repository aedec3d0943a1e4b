"""Time of a step of the channel flow relative to a lower bound, measured in the same run.

The bound is the time of the same Fourier transforms alone through FFTW, on planes that stay in
cache, plus the time of the scheme's minimal memory traffic at the rate of STREAM's triad. Step,
transforms and triad alternate; each time is the minimum of its repetitions.

    python bench/channel.py [--json FILE] [--size 128] [--repeats 15]
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from _job import SPINS, measured_in_job
from _memory import resident
from _report import Record, option_parser, record, report
from rich.table import Table

if TYPE_CHECKING:
    from uzushio._base.parallel.section_monitor import SectionMonitor

GOAL = 1.5  # times the lower bound
FIELDS_GOAL = 14.0  # arrays of the size of a field
MIB = 2.0**20
PLANE_GOAL = 1.7  # times the lower bound, for two ranks that share planes
HIDDEN_GOAL = 0.7  # of the time in all-to-alls
#: Ranks in y and z, and by name what is chosen in the section `numerics` of the case. The steps of
#: one job alternate.
JOBS: list[tuple[int, int, dict[str, dict[str, str]]]] = [
    (1, 1, {"1 rank": {}}),
    (
        1,
        2,
        {
            f"1×2, {scheme}": {"scheme": scheme}
            for scheme in ("pipelined", "partitioned", "transpose")
        },
    ),
    (
        2,
        1,
        {
            "2×1, messages": {"transposes": "messages"},
            "2×1, overlapped": {"transposes": "overlapped"},
            "2×1, single": {"transposes": "messages", "transpose_precision": "single"},
            "2×1, shared memory": {"transposes": "auto"},
        },
    ),
]

#: Ranks in y and z and threads of each, for `measure_threads`.
THREADS = {
    "1 rank": (1, 1, 1),
    "1 rank of 2 threads": (1, 1, 2),
    "1×2 ranks": (1, 2, 1),
    "2×1 ranks": (2, 1, 1),
}
THREADS_GOAL = 1.1  # times 2×1 ranks


def case_of(py: int, pz: int, n: int, numerics: dict[str, str]) -> Any:
    """Return the case of a process grid, with these choices."""
    from uzushio.solvers.channel.case import ChannelCase

    return ChannelCase.model_validate(
        {
            "solver": "channel",
            "grid": {"nx": n, "ny": n, "nz": n, "lx": "4 pi", "ly": "4/3 pi"},
            "flow": {"reynolds_tau": 180},
            "numerics": {"scheme": "pipelined", **numerics},
            "decomposition": {"py": py, "pz": pz},
            "time": {"steps": 1, "cfl": 0.5},
        }
    )


def leaves(sections: SectionMonitor) -> dict[str, float]:
    """Return the seconds of the sections that have none inside, by name."""
    totals = sections.totals()
    around = {path[:-1] for path in totals}
    seconds: dict[str, float] = {}
    for path in totals.keys() - around:
        seconds[path[-1]] = seconds.get(path[-1], 0.0) + totals[path].seconds
    return seconds


def measure(
    py: int, pz: int, choices: dict[str, dict[str, str]], n: int, repeats: int
) -> dict[str, dict[str, Any]]:
    """Time steps with each of the choices and their lower bound on the ranks of this job."""
    from time import perf_counter

    from mpi4py import MPI

    from uzushio import _core
    from uzushio.solvers.channel.decomposition import core, decompose
    from uzushio.solvers.channel.solver import ChannelSolver

    comm = MPI.COMM_WORLD
    solvers, results, best = {}, {}, {}
    for name, numerics in choices.items():
        case = case_of(py, pz, n, numerics)
        before = resident()
        solver = solvers[name] = ChannelSolver(case, comm).begin()
        solver.step()
        held = resident() - before
        for _ in range(3):
            solver.step()
        results[name] = {
            "grown": comm.allreduce(resident() - before - held, op=MPI.MAX),
            "fields": solver.core.bytes * comm.size / (8.0 * n**3),
            "measured_fields": held * comm.size / (8.0 * n**3),
            "predicted": decompose(case, comm.size).seconds,
            "sent": solver.core.traffic()["transpose xy"][2] / solver.step_index,
            "step": float("inf"),
            "exposed": float("inf"),
        }
    transforms, triads = [], []
    for repeat in range(repeats):
        for name, solver in solvers.items():
            solver.sections.reset()
            comm.Barrier()
            start = perf_counter()
            solver.step()
            comm.Barrier()
            seconds, parts = perf_counter() - start, leaves(solver.sections)
            exposed = comm.allreduce(parts.get("transposes", 0.0), op=MPI.MAX)
            results[name]["exposed"] = min(results[name]["exposed"], exposed)
            if seconds < results[name]["step"]:
                results[name]["step"] = seconds
                best[name] = parts
        if repeat % 3 == 0:
            transforms.append(core.fft_seconds(solver.core, 1))
            triads.append(_core.parallel.triad_rate(comm.handle, 2**22, 2))
    moved = comm.allreduce(core.min_bytes(solver.core))
    for name, result in results.items():
        result["sections"] = {
            section: comm.allreduce(seconds, op=MPI.MAX)
            for section, seconds in sorted(best[name].items())  # in the same order on all ranks
        }
        result |= {"fft": min(transforms), "triad": max(triads), "moved": moved}
    return results


def measure_threads(n: int, repeats: int) -> dict[str, float]:
    """Time steps of one rank with one and two threads, and of two ranks, which alternate."""
    from _threads import fastest_steps

    from uzushio.solvers.channel.solver import ChannelSolver

    def make(name: str, comm: Any) -> ChannelSolver:
        py, pz, _ = THREADS[name]
        return ChannelSolver(case_of(py, pz, n, {}), comm).begin()

    choices = {name: (py * pz > 1, threads) for name, (py, pz, threads) in THREADS.items()}
    return fastest_steps(make, choices, repeats)


def run(
    job: tuple[int, int, dict[str, dict[str, str]]], n: int, repeats: int
) -> dict[str, dict[str, Any]]:
    """Measure the choices of one decomposition in an MPI job of its own."""
    py, pz, choices = job
    results: dict[str, dict[str, Any]] = measured_in_job(
        py * pz, measure, py, pz, choices, n, repeats
    )
    for result in results.values():
        result["bytes"] = result["moved"] / result["triad"]
        result["floor"] = result["fft"] + result["bytes"]
    return results


def table(results: dict[str, dict[str, Any]], n: int) -> Table:
    """Format the measurements as a table, in milliseconds."""
    columns = list(results)
    shown = Table(f"{n}³, 3/2 rule, ms a step", *(f"{name}" for name in columns))

    def row(label: str, value: Any) -> None:
        shown.add_row(label, *(value(results[name]) for name in columns))

    for section in dict.fromkeys(s for r in results.values() for s in r["sections"]):
        row(section, lambda r, s=section: f"{1e3 * r['sections'].get(s, 0.0):.1f}")
    row(
        "the rest",
        lambda r: f"{1e3 * max(0.0, r['step'] - sum(r['sections'].values())):.1f}",
    )
    row("step", lambda r: f"{1e3 * r['step']:.1f}")
    row("step, predicted by `uzushio check`", lambda r: f"{1e3 * r['predicted']:.1f}")
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


def records(results: dict[str, dict[str, Any]], threads: dict[str, float], n: int) -> list[Record]:
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
    one_rank, two, partitioned, transposed, messages, overlapped, single, shared = results.values()
    return [
        *rows,
        *(
            row(f"predicted step, {name}", result["predicted"] / result["step"], "×", of="measured")
            for name, result in results.items()
        ),
        row(
            "1 rank of 2 threads",
            threads["1 rank of 2 threads"] / threads["2×1 ranks"],
            "×",
            THREADS_GOAL,
            "2 ranks in y",
        ),
        *(
            row("1 rank of 2 threads", threads["1 rank of 2 threads"] / threads[of], "×", of=of)
            for of in ("1×2 ranks", "1 rank")
        ),
        row("two ranks over one", two["step"] / one_rank["step"], "×", of="one rank"),
        row("pipelined", two["step"] / transposed["step"], "×", 1.0, "transpose, 2 ranks in z"),
        row("partitioned", partitioned["step"] / transposed["step"], "×", 1.0, "the same"),
        row("2 ranks in y", shared["step"] / two["step"], "×", of="2 ranks in z"),
        row(
            "2 ranks in y over floor",
            shared["step"] / shared["floor"],
            "×",
            PLANE_GOAL,
            "FFTW alone + bytes/triad",
        ),
        row("2 ranks in y, shared memory", shared["step"] / messages["step"], "×", of="messages"),
        row("2 ranks in y, overlapped", overlapped["step"] / messages["step"], "×", of="messages"),
        row("2 ranks in y, single", single["step"] / messages["step"], "×", of="double precision"),
        row("bytes of all-to-alls, single", single["sent"] / messages["sent"], "×", 0.5, "double"),
        record(
            "time of all-to-alls that is hidden",
            1 - shared["exposed"] / messages["exposed"],
            "",
            HIDDEN_GOAL,
            "messages",
        ),
    ]


def main() -> None:
    """Measure, print the table and write the records."""
    parser = option_parser(__doc__)
    parser.add_argument("--size", type=int, default=128, help="points in each direction")
    parser.add_argument("--repeats", type=int, default=15, help="steps to time")
    options = parser.parse_args()
    results: dict[str, dict[str, Any]] = {}
    for job in JOBS:
        results |= run(job, options.size, options.repeats)
    threads = measured_in_job(
        2, measure_threads, options.size, options.repeats, threads=2, spins=SPINS
    )
    report(options.json, records(results, threads, options.size), table(results, options.size))


if __name__ == "__main__":
    main()
