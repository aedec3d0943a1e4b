"""Gain by tuning: tuned values compared with the default and a random search in one run.

Each case and number of ranks is one `uzushio tune`, whose result is not stored. The points of the
search, those of a random search with as many trials, and the default are timed in turn; all figures
are from the finals, where the best of both and the default are timed in turn again.

    python bench/tuning.py [--solvers channel thermal phasefield] [--ranks 2] [--budget 24]
                           [--folder DIR] [--json FILE]

With --folder an interrupted run continues there.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from _report import Record, option_parser, record, report
from rich.table import Table

CASES = Path(__file__).parents[1] / "examples/cases"
#: Maximum time of the chosen values relative to the best of the random search.
RANDOM_GOAL = 1.0

Result = dict[str, Any]


@dataclass(frozen=True)
class Setting:
    """Case to tune: its solver or model, an example, and overrides."""

    solver: str
    size: str
    file: str
    overrides: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """Name of the case in the table."""
        return f"{self.solver}, {self.size}"


def _cube(n: int) -> tuple[str, ...]:
    return tuple(f"grid.{axis}={n}" for axis in ("nx", "ny", "nz"))


SETTINGS = (
    Setting("channel", "64³", "channel.yaml", _cube(64)),
    Setting("channel", "128³", "channel.yaml", _cube(128)),
    Setting("thermal", "64 x 64 x 32", "rayleigh-benard.yaml"),
    Setting(
        "thermal",
        "48 x 20 x 20 and a sphere",
        "sphere.yaml",
        ("grid.x.cells=48", "grid.y.cells=20", "grid.z.cells=20"),
    ),
    Setting("phasefield", "256²", "phasefield.yaml", ("grid.nx=256", "grid.ny=256")),
    Setting("phasefield", "1600²", "phasefield.yaml", ("grid.nx=1600", "grid.ny=1600")),
)


def run(setting: Setting, ranks: int, budget: str, folder: Path) -> Result:
    """Tune a case on some ranks, and return the result."""
    out = folder / f"{setting.label}, {ranks}".replace(", ", "-").replace(" ", "")
    command = [sys.executable, "-m", "uzushio", "tune", str(CASES / setting.file)]
    command += [word for override in setting.overrides for word in ("--set", override)]
    command += ["--ranks", str(ranks), "--budget", budget, "--no-keep", "--out", str(out)]
    subprocess.run(command, check=True, timeout=3000)
    result: Result = json.loads((out / "tuning.json").read_text())
    return result


def best(point: Result | None) -> float | None:
    """Return the minimum seconds of a point in the finals."""
    return None if point is None else min(point["seconds"])


def row(setting: Setting, ranks: int, result: Result) -> list[str]:
    """Make a row of the table."""
    per_step = 1e3 / result["steps"]
    default, chosen, drawn = (best(result[name]) for name in ("default", "chosen", "random"))
    assert default is not None and chosen is not None
    changed = [
        f"{name.rpartition('.')[2]} {value}"
        for name, value in result["chosen"]["values"].items()
        if value != result["default"]["values"][name]
    ]
    return [
        f"{setting.label}; {ranks}",
        f"{per_step * default:.4g}",
        f"{per_step * chosen:.4g}",
        f"{default / chosen:.2f}",
        "" if drawn is None else f"{default / drawn:.2f}",
        f"{len(result['trials'])} of {result['kept_by_model']} of {result['possible']}",
        f"{result['model_error']:.2f}",
        f"{result['noise']:.2f}",
        ", ".join(changed) or "the default",
    ]


def records(setting: Setting, ranks: int, result: Result) -> list[Record]:
    """Return the figures of one tuning."""
    where = f"{setting.label}; {ranks} rank{'s' if ranks > 1 else ''}"
    default, chosen, drawn = (best(result[name]) for name in ("default", "chosen", "random"))
    assert default is not None and chosen is not None
    unit = "× faster"
    ms = 1e3 / result["steps"]
    rows = [
        record(f"a step, {where}", ms * default, "ms", of="the default values"),
        record(f"a step, {where}", ms * chosen, "ms", of="the tuned values"),
        record(f"tuned, {where}", default / chosen, unit, of="the default values"),
    ]
    if drawn is not None:
        of = f"random search, {len(result['trials'])} trials"
        rows.append(record(f"tuned, {where}", drawn / chosen, unit, RANDOM_GOAL, of))
    left = result["kept_by_model"] / result["possible"]
    return [*rows, record(f"left by the model, {where}", left, of="possible points")]


def main() -> None:
    """Run the benchmark."""
    parser = option_parser(__doc__)
    names = list(dict.fromkeys(setting.solver for setting in SETTINGS))
    parser.add_argument("--solvers", nargs="+", choices=names, default=names)
    parser.add_argument("--ranks", type=int, nargs="+", default=[2])
    parser.add_argument("--budget", default="24", help="of uzushio tune")
    parser.add_argument("--folder", type=Path, help="to go on in")
    chosen = parser.parse_args()
    shown = Table(
        *("case; ranks", "untuned, ms a step", "tuned", "ratio", "random search, ratio"),
        *("timed, left, possible", "model ×÷", "noise", "tuned values"),
    )
    all_records: list[Record] = []
    with tempfile.TemporaryDirectory() as temporary:
        for setting in SETTINGS:
            for ranks in chosen.ranks if setting.solver in chosen.solvers else ():
                result = run(setting, ranks, chosen.budget, chosen.folder or Path(temporary))
                shown.add_row(*row(setting, ranks, result))
                all_records += records(setting, ranks, result)
    report(chosen.json, all_records, shown)


if __name__ == "__main__":
    main()
