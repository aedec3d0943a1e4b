"""Solvers of Poisson's equation beside hypre, FFTW and STREAM's triad, measured in the same run.

On one core, in a cube of ``cells``³ cells, to a relative residual of 1e-8:

- ours: ``fft``, ``cg``, ``multigrid`` and ``bicgstab``, coefficient 1, Dirichlet at all walls;
  ``fft`` also periodic along x and y; ``cg`` and ``multigrid`` also with a coefficient that
  varies tenfold.
- hypre: conjugate gradients with one PFMG cycle for the same matrix and right-hand side, with the
  fastest of eight sets of options. Debian's build uses no instructions beyond SSE2.
- FFTW alone: two-dimensional transforms of all planes, forward and back, complex coefficients
  (periodic) and cosine (Neumann); and the complex FFTs that ``fft`` computes, on one tile in cache.
- sweeps of the smoother in single precision, also with twice the cells along each axis.

All take turns; a time is the minimum of the repetitions, of processor time, because other
processes may share the core. Then ``uzushio bench poisson`` on several ranks, for the parallel
efficiency. hypre is needed: Debian's libhypre-dev, or a folder with include/ and lib/ in
HYPRE_ROOT. (libhypre-dev installs Debian's MPI, which `tools/setup` prefers from then on: set
UZUSHIO_MPI=wheel to keep the wheel's.)

    python bench/linalg.py [--cells 128] [--repeats 10] [--ranks 2] [--json FILE]
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from _job import build_folder, build_worker, measured_program, output_of
from _report import Record, option_parser, record, report
from rich.table import Table

# Million cells a second.
SPEED_GOALS = {
    "fft": 150.0,
    "cg": 20.0,
    "multigrid": 20.0,
    "cg_variable": 10.0,
    "multigrid_variable": 10.0,
}
SMOOTHER_GOAL = 0.6  # of the triad
FFT_GOAL = 1.5  # times FFTW's transforms

Result = dict[str, Any]


def build() -> Path:
    """Build the worker with hypre, and return its path.

    Raises:
        SystemExit: The build folder or hypre is missing, or the build fails.
    """
    folder = build_folder()
    output_of(["cmake", folder])  # hypre may have been installed since
    if "HYPRE_LIBRARY-NOTFOUND" in (folder / "CMakeCache.txt").read_text():
        raise SystemExit(
            "bench/linalg.py compares with hypre, which was not found: `apt-get install "
            "libhypre-dev` (then set UZUSHIO_MPI=wheel for tools/setup, since Debian's MPI comes "
            "with it), or name a folder with its include/ and lib/ in HYPRE_ROOT"
        )
    return build_worker("linalg_worker")


def efficiencies(cells: int, ranks: int) -> Result:
    """Return the parallel efficiency of solvers by name, by `uzushio bench poisson`."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "figures.json"
        words = ["--cells", cells, "--ranks", ranks, "--solvers", "fft,cg,pipelined_cg"]
        words += ["--affinity", "compact", "--json", file]
        output_of([sys.executable, "-m", "uzushio", "bench", "poisson", *words])
        figures = json.loads(file.read_text())
    return {timing["solver"]: timing["efficiency"] for timing in figures["solvers"]}


def records_of(result: Result, cells: int) -> list[Record]:
    """Return the records of the worker's figures."""
    count, triad = cells**3, result["triad"]
    records = [record("STREAM's triad", triad / 1e9, "GB/s")]
    names = ("fft", "fft_channel", "cg", "multigrid", "bicgstab")
    for name in (*names, "cg_variable", "multigrid_variable"):
        seconds, moved = result[f"{name}.seconds"], result[f"{name}.bytes"]
        rate = count / seconds / 1e6
        records += [
            record(f"{name}, time", 1e3 * seconds, "ms"),
            record(f"{name}, rate", rate, "MDOF/s", SPEED_GOALS.get(name)),
            record(f"{name}, bytes moved by theory", moved / count, "B/cell"),
            record(f"{name}, rate of these bytes", moved / seconds / triad, "×", of="the triad"),
        ]
        if result[f"{name}.iterations"]:
            records.append(record(f"{name}, iterations", result[f"{name}.iterations"]))
    hypre = result["hypre.seconds"]
    options = ", ".join(
        f"{name} {result[f'hypre.{name}']:g}" for name in ("rap_type", "relax_type", "skip_relax")
    )
    records += [
        record("hypre CG + PFMG, time", 1e3 * hypre, "ms", of=options),
        record("hypre CG + PFMG, iterations", result["hypre.iterations"]),
        record("hypre CG + PFMG, speed-up of cg", hypre / result["cg.seconds"], "×", 3.0, "hypre"),
        record(
            "hypre CG + PFMG, speed-up of multigrid",
            hypre / result["multigrid.seconds"],
            "×",
            3.0,
            "hypre",
        ),
        record("FFTW, transforms of all planes, complex", 1e3 * result["fftw.complex"], "ms"),
        record("FFTW, transforms of all planes, cosine", 1e3 * result["fftw.cosine"], "ms"),
    ]
    records.append(record("FFTW, FFTs on a tile in cache", 1e3 * result["fftw.cached"], "ms"))
    for name, of in (("complex", "FFTW's transforms of planes"), ("cached", "FFTs in cache")):
        ratio = result["fft_channel.seconds"] / result[f"fftw.{name}"]
        metric = "fft_channel, time of a solve"
        records.append(record(metric, ratio, "×", FFT_GOAL, of, at_most=True))
    for name in ("smoother", "smoother_variable", "smoother_large"):
        seconds, moved = result[f"{name}.seconds"], result[f"{name}.bytes"]
        swept = count * (8 if name == "smoother_large" else 1)
        records += [
            record(f"{name}, sweep", swept / seconds / 1e6, "MDOF/s"),
            record(
                f"{name}, rate of bytes", moved / seconds / triad, "×", SMOOTHER_GOAL, "the triad"
            ),
        ]
    return records


def check_residuals(result: Result) -> None:
    """Raise `SystemExit` unless all solutions, of hypre too, reach the tolerance."""
    for name, value in result.items():
        if name.endswith(".residual") and not value <= 1.01e-8:
            raise SystemExit(f"{name} is {value:.2g}: the times cannot be compared")


def main() -> None:
    """Run the benchmark, print a table, and write records."""
    parser = option_parser(__doc__)
    parser.add_argument("--cells", type=int, default=128)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--ranks", type=int, default=2)
    asked = parser.parse_args()

    worker = build()
    load = os.getloadavg()[0]
    size = asked.cells, asked.repeats
    result = measured_program(worker, *size, ranks=1, options=("--bind-to", "none"))
    check_residuals(result)
    records = [record("load of the machine before the run", load, "processes")]
    records += records_of(result, asked.cells)
    if asked.ranks > 1:
        for name, value in efficiencies(asked.cells, asked.ranks).items():
            records.append(record(f"{name}, efficiency on {asked.ranks} ranks", value, "×"))
    table = Table("metric", "value", "unit", "of", "goal")
    for row in records:
        goal = "" if row["goal"] is None else f"{row['goal']:g}"
        table.add_row(row["metric"], f"{row['value']:.4g}", row["unit"], row["of"] or "", goal)
    report(asked.json, records, table)


if __name__ == "__main__":
    main()
