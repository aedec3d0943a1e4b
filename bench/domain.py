"""Halo exchange of multiblock meshes relative to a lower bound, measured in the same run.

Five values a cell in three fields with two ghost layers, in a periodic box of ``cells``³ cells a
rank: one zone, or two zones with different orientations. All methods send the same bytes in the
same messages, one to each neighbour rank, by persistent requests, and copy the same bytes within
ranks.

- ours: ``HaloExchange``, which is independent of the mesh.
- in place: nested loops for two ghost layers of this mesh, between the fields and the messages.
- contiguous: one memcpy a message at either end, and one within the rank. Fields are not contiguous
  in this way: of a cache line of eight values, two are ghosts of a face along i.

Methods alternate. A time is that of the slowest rank for one of ten consecutive exchanges, the
minimum of the repetitions.

    python bench/domain.py [--cells 32 64 96] [--ranks 1 2] [--repeats 20] [--json FILE]
"""

from __future__ import annotations

from _job import build_worker, measured_program
from _report import option_parser, record, report
from rich.table import Table

GOAL = 0.8  # of the rate of loops written for the mesh
IN_PLACE = "loops in place and messages of the same bytes"
CONTIGUOUS = "contiguous copies and messages of the same bytes"


def main() -> None:
    """Run the benchmark, print a table, and write records."""
    parser = option_parser(__doc__)
    parser.add_argument("--cells", type=int, nargs="+", default=[32, 64, 96])
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--repeats", type=int, default=20)
    asked = parser.parse_args()

    worker = build_worker("domain_worker")
    table = Table(
        "mesh", "cells", "ranks", "MB sent", "MB local", "ours, µs", "in place", "contiguous"
    )
    records = []
    for cells in asked.cells:
        for ranks in asked.ranks:
            for result in measured_program(worker, cells, asked.repeats, ranks=ranks):
                times = [1e6 * result[way] for way in ("ours", "nested", "least")]
                sizes = [result[size] / 1e6 for size in ("bytes", "local_bytes")]
                table.add_row(
                    result["case"],
                    f"{cells}³ a rank",
                    str(ranks),
                    *(f"{size:.2f}" for size in sizes),
                    f"{times[0]:.0f}",
                    *(f"{time:.0f} ({time / times[0]:.2f})" for time in times[1:]),
                )
                where = f"{result['case']}, {cells}³ a rank, {ranks} ranks"
                records += [
                    record(f"halo, {where}", times[1] / times[0], "×", GOAL, IN_PLACE),
                    record(f"… {where}", times[2] / times[0], "×", of=CONTIGUOUS),
                ]
    report(asked.json, records, table)


if __name__ == "__main__":
    main()
