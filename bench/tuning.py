"""Gain by tuning: tuned values compared with the default and a random search in one run.

Each size and number of ranks is one `uzushio tune` of the phase field's example, whose result is
not stored. The points of the search, those of a random search with as many trials, and the
default are timed in turn; all figures are from the finals, where the best of both and the default
are timed in turn again.

    python bench/tuning.py [--sides 256 1600] [--ranks 1 2] [--budget 24] [--folder DIR]
                           [--json FILE]

With --folder an interrupted run continues there.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from _report import Record, option_parser, record, report
from rich.table import Table

CASE = Path(__file__).parents[1] / "examples/cases/phasefield.yaml"
#: Maximum time of the chosen values relative to the best of the random search.
RANDOM_GOAL = 1.0

Result = dict[str, Any]


def run(side: int, ranks: int, budget: str, folder: Path) -> Result:
    """Tune one size on some ranks, and return the result."""
    out = folder / f"{side}-{ranks}"
    command = [sys.executable, "-m", "uzushio", "tune", str(CASE), "--ranks", str(ranks)]
    command += ["--set", f"grid.nx={side}", "--set", f"grid.ny={side}", "--budget", budget]
    subprocess.run([*command, "--no-keep", "--out", str(out)], check=True, timeout=3000)
    result: Result = json.loads((out / "tuning.json").read_text())
    return result


def best(point: Result | None) -> float | None:
    """Return the minimum seconds of a point in the finals."""
    return None if point is None else min(point["seconds"])


def row(side: int, ranks: int, result: Result) -> list[str]:
    """Make a row of the table."""
    default, chosen, drawn = (best(result[name]) for name in ("default", "chosen", "random"))
    assert default is not None and chosen is not None
    changed = [
        f"{name.rpartition('.')[2]} {value}"
        for name, value in result["chosen"]["values"].items()
        if value != result["default"]["values"][name]
    ]
    return [
        f"{side}², {ranks}",
        f"{1e3 * default:.4g}",
        f"{1e3 * chosen:.4g}",
        f"{default / chosen:.2f}",
        "" if drawn is None else f"{default / drawn:.2f}",
        f"{len(result['trials'])} of {result['kept_by_model']} of {result['possible']}",
        f"{result['model_error']:.2f}",
        f"{result['noise']:.2f}",
        ", ".join(changed) or "the default",
    ]


def records(side: int, ranks: int, result: Result) -> list[Record]:
    """Return the figures of one tuning."""
    where = f"{side} x {side} points, {ranks} rank{'s' if ranks > 1 else ''}"
    default, chosen, drawn = (best(result[name]) for name in ("default", "chosen", "random"))
    assert default is not None and chosen is not None
    unit = "× faster"
    rows = [record(f"tuned, {where}", default / chosen, unit, of="the default values")]
    if drawn is not None:
        of = f"random search, {len(result['trials'])} trials"
        rows.append(record(f"tuned, {where}", drawn / chosen, unit, RANDOM_GOAL, of))
    left = result["kept_by_model"] / result["possible"]
    return [*rows, record(f"left by the model, {where}", left, of="possible points")]


def main() -> None:
    """Run the benchmark."""
    parser = option_parser(__doc__)
    parser.add_argument("--sides", type=int, nargs="+", default=[256, 1600])
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--budget", default="24", help="of uzushio tune")
    parser.add_argument("--folder", type=Path, help="to go on in")
    chosen = parser.parse_args()
    shown = Table(
        *("points, ranks", "default, ms", "tuned, ms", "× default", "random, × default"),
        *("timed, left, possible", "model ×÷", "noise", "tuned values"),
    )
    found: list[Record] = []
    with tempfile.TemporaryDirectory() as temporary:
        for side in chosen.sides:
            for ranks in chosen.ranks:
                result = run(side, ranks, chosen.budget, chosen.folder or Path(temporary))
                shown.add_row(*row(side, ranks, result))
                found += records(side, ranks, result)
    report(chosen.json, found, shown)


if __name__ == "__main__":
    main()
