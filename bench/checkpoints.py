"""Checkpoints of flows in GB/s, beside the rate of the disk with as many processes, in one run.

Each rank writes and reads as many bytes in one plain file (8 MiB a call, then fsync) as it has of
the state. Turns alternate, and the best of each is taken. Cold reads come after the system has
dropped the pages of the files. Memory is the largest growth of a rank while it writes.

    python bench/checkpoints.py [--cells 256] [--repeats 5] [--folder DIR] [--json FILE]
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from _checkpoints_worker import measure
from _job import measured_in_job
from _report import Record, option_parser, record, report
from rich.table import Table

GOAL = 0.7  # of the rate of the disk
MEMORY_GOAL = 64.0  # MiB: the messages of a round, and the libraries of the writer
#: Name, solver, ranks, and compression of the checkpoints.
JOBS: list[tuple[str, str, int, str | None]] = [
    ("channel, 1 rank", "channel", 1, None),
    ("channel, 2×1 ranks", "channel", 2, None),
    ("thermal, 1 rank", "thermal", 1, None),
    ("thermal, 2 ranks", "thermal", 2, None),
    ("thermal, 2 ranks, lz4", "thermal", 2, "lz4"),
]


def main() -> None:
    """Measure all jobs, print the table and write the records."""
    parser = option_parser(__doc__)
    parser.add_argument("--cells", type=int, default=256, help="of the channel, along each axis")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--folder", type=Path, help="folder on the disk that is measured")
    options = parser.parse_args()
    table = Table("", "MB", "operation", "GB/s", "plain GB/s", "ratio", "goal")
    records: list[Record] = []
    for label, solver, ranks, compression in JOBS:
        with tempfile.TemporaryDirectory(dir=options.folder or Path.cwd()) as folder:
            result = measured_in_job(
                ranks, measure, solver, options.cells, options.repeats, folder, compression
            )
        size = result["bytes"]
        for what in ("write", "cold read", "warm read"):
            of = f"{what.removesuffix('write').removesuffix('read')}plain {what.split()[-1]}"
            ratio = result[of] / result[what]
            goal = None if what == "warm read" or compression else GOAL
            met = "" if goal is None else f"{goal:g}: {'met' if ratio >= goal else 'missed'}"
            rates = (f"{size / result[key] / 1e9:.2f}" for key in (what, of))
            table.add_row(label, f"{size / 1e6:.0f}", what, *rates, f"{ratio:.2f}", met)
            records.append(
                record(f"{what} of a checkpoint, {label}", size / result[what] / 1e9, "GB/s")
            )
            records.append(record(f"{what} of a checkpoint, {label}", ratio, "", goal, of))
        grown = result["growth"] / 2**20
        table.add_row(label, "", "memory", f"{grown:.0f} MiB", "", "", f"{MEMORY_GOAL:g} MiB")
        records.append(
            record(f"memory of writing, {label}", grown, "MiB", MEMORY_GOAL, at_most=True)
        )
        if compression:
            saved = size / result["stored"]
            table.add_row(label, "", "compression", "", "", f"{saved:.2f}", "")
            records.append(record(f"compression of a checkpoint, {label}", saved))
    report(options.json, records, table)


if __name__ == "__main__":
    main()
