"""Solvers of Poisson's equation on stretched cells: direct beside iterative, and two cycles.

On one core, all times processor time, minima of the repetitions:

- ``uzushio bench poisson --stretching 1.6``: ``fft`` with matrices of eigenvectors beside ``cg``,
  to a relative residual of 1e-8, Neumann conditions, in a cube and in squares.
- ``cg`` to 1e-10 with the geometric and with the algebraic multigrid cycle, in turns, on
  ``cells``² cells that widen by a sinh from the middle of both axes to 1, 27 and 1444 times their
  width, without blocked faces and with 20 % of them. The solvers choose the cycle by the
  coefficients; here both are used.

    python bench/stretched.py [--cells 256] [--repeats 5] [--json FILE]
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from _job import build_worker, measured_program, output_of
from _report import Record, option_parser, record, report
from rich.table import Table


def direct(sizes: tuple[str, ...], repeats: int) -> tuple[Table, list[Record]]:
    """Return times of `fft` and `cg` on boxes that are stretched along all axes."""
    table = Table("cells", "fft, ms", "cg, ms", "iterations", "cg over fft", title="stretching 1.6")
    records = []
    for size in sizes:
        axes = size.count(",") + 1 if "," in size else 3
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "figures.json"
            words = ["--cells", size, "--solvers", "fft,cg", "--stretching", "1.6", "--repeats"]
            words += [
                str(repeats),
                "--conditions",
                ",".join(["neumann"] * axes),
                "--json",
                str(file),
            ]
            output_of([sys.executable, "-m", "uzushio", "bench", "poisson", *words])
            solvers = {
                solver["solver"]: solver for solver in json.loads(file.read_text())["solvers"]
            }
        fft, cg = (1e3 * solvers[name]["seconds"] for name in ("fft", "cg"))
        iterations = solvers["cg"]["iterations"]
        table.add_row(size, f"{fft:.3g}", f"{cg:.3g}", str(iterations), f"{cg / fft:.2g}")
        records += [
            record(f"stretching 1.6, {size} cells, fft", fft, "ms"),
            record(f"stretching 1.6, {size} cells, cg", cg / fft, "×", of="fft"),
            record(f"stretching 1.6, {size} cells, cg, iterations", iterations),
        ]
    return table, records


def cycles(cells: int, repeats: int) -> tuple[Table, list[Record]]:
    """Return times and iterations of `cg` with both cycles."""
    table = Table(
        "widths", "blocked", "geometric, ms", "iterations", "algebraic, ms", "iterations", "set-up"
    )
    table.title = f"cg to 1e-10, {cells}² cells"
    records = []
    results = measured_program(build_worker("stretched_worker"), cells, repeats, ranks=1)
    for result in results:
        row, where = [], f"1:{result['ratio']:g}, {result['blocked']:.0%} blocked"
        for name in ("geometric", "algebraic"):
            method: dict[str, Any] = result[name]
            count = f"{method['iterations']}" if method["converged"] else "no answer"
            row += [f"{1e3 * method['seconds']:.3g}", count]
            records.append(record(f"{where}, {name}", 1e3 * method["seconds"], "ms"))
            if method["converged"]:
                records.append(record(f"{where}, {name}, iterations", method["iterations"]))
        set_up = 1e3 * result["algebraic"]["set_up"]
        table.add_row(f"1:{result['ratio']:g}", f"{result['blocked']:.0%}", *row, f"{set_up:.3g}")
        records.append(record(f"{where}, algebraic, set-up", set_up, "ms"))
    return table, records


def main() -> None:
    """Run the benchmark, print two tables, and write records."""
    parser = option_parser(__doc__)
    parser.add_argument("--cells", type=int, default=256)
    parser.add_argument("--repeats", type=int, default=5)
    asked = parser.parse_args()
    first, records = direct(("128", "160,160", "500,500"), asked.repeats)
    second, more = cycles(asked.cells, asked.repeats)
    report(asked.json, [*records, *more], first, second)


if __name__ == "__main__":
    main()
