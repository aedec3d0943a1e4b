"""Cost of a step of the actions `plot: series` and `probe` after a thousand and a million rows.

The tables are made beforehand with that many rows, as by the steps of a long run. The time of a
step is the mean over steps without a drawing; the figures have a budget of 1 % of the time.

    python bench/long_tables.py [--json FILE] [--steps 2000] [--rows 1000000]
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np
from _report import Record, option_parser, record, report
from mpi4py import MPI
from rich.table import Table

from uzushio import staging
from uzushio.domain.box import Box
from uzushio.pipeline.model import load
from uzushio.pipeline.pipeline import Pipeline

FEW = 1000
#: Maximum of the time of a step after many rows, relative to that after few.
GOAL = 1.2
ACTIONS = {
    "series": "{plot: {series: {fields: [u], reduce: [mean, max]}}, name: it}",
    "probe": "{probe: {fields: [u], points: {a: [0.5, 0.5, 0.5], b: [0, 0, 0]}}, name: it}",
}
COLUMNS = {"series": "mean(u),max(u)", "probe": "u at a,u at b"}
SHAPE = (12, 12, 12)


def seconds_per_step(action: str, rows: int, steps: int) -> float:
    """Return the median time of a step in seconds after `rows` rows."""
    with tempfile.TemporaryDirectory(prefix="uzushio-bench-") as name:
        folder = Path(name)
        (folder / "p.yaml").write_text(f"actions:\n- {ACTIONS[action]}\n")
        with (folder / "it.csv").open("w") as file:
            file.write(f"step,time,{COLUMNS[action]}\n")
            file.writelines(f"{n},{0.001 * n!r},0.1,0.2\n" for n in range(rows))
        loaded = load(folder / "p.yaml")
        pipeline = Pipeline(loaded, MPI.COMM_SELF, folder, print, in_situ=True)
        taken = []
        with staging.open("made", None, {"engine": "inproc"}) as writer:
            writer.on_step(pipeline.step)
            writer.rectilinear_mesh("m", [np.linspace(0.0, 1.0, n) for n in SHAPE])
            writer.block(0, "m", Box((0, 0, 0), SHAPE), "vertex")
            writer.field("u", "m", "vertex")
            values = np.random.default_rng(1).random(SHAPE)
            for n in range(rows, rows + steps):
                began = time.perf_counter()
                with writer.step(n, 0.001 * n):
                    writer.put("u", values)
                taken.append(time.perf_counter() - began)
        pipeline.close()
        assert pipeline.failures == 0
    return float(np.median(taken))


def main() -> None:
    """Measure, print the table and write the records."""
    parser = option_parser(__doc__)
    parser.add_argument("--steps", type=int, default=2000, help="steps that are timed")
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of the long tables")
    options = parser.parse_args()
    shown = Table("ms a step", f"{FEW:,} rows", f"{options.rows:,} rows", "ratio")
    rows: list[Record] = []
    for action in ACTIONS:
        few, many = (
            1e3 * seconds_per_step(action, count, options.steps) for count in (FEW, options.rows)
        )
        shown.add_row(action, f"{few:.3f}", f"{many:.3f}", f"{many / few:.2f}")
        metric = f"step of {action} after {options.rows:,} rows"
        of = f"after {FEW:,} rows"
        rows.append(record(metric, many / few, "×", GOAL, of, at_most=True))
    report(options.json, rows, shown)


if __name__ == "__main__":
    main()
