"""Sort-last compositing beside memory, and beside IceT where it is installed.

RGBA8, gathered at the root, on ranks of this machine. In one job all ways take turns; each time is
the root's for a picture, of ten in a row, the least of the repetitions.

- full: every pixel active, all algorithms, beside what the performance model predicted and what
  `auto` takes. "shared" is the hybrid of one node with images drawn into the compositor's canvas,
  as a renderer does; "shared, copied" is handed images from elsewhere, as IceT is.
- active: 12.5 % and 50 % of the pixels active, interlaced or not, with bounding rectangles or not.
- frames: a row of pictures of which the next are under way while one is gathered.

    python bench/compositing.py [--parts full active frames] [--sides 512 1024] [--ranks 2 4 8 16]
                                [--repeats 20] [--json FILE [--merge]]

A piece of it, as one part, side and number of ranks, takes less than half a minute; with --merge it
replaces its own records in FILE and leaves the others there. See bench/_icet.py for IceT.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import _icet
from _job import measured_in_job
from rich.console import Console
from rich.table import Table

WORKER = Path(__file__).with_name("_compositing_worker.py")
SIDES = (512, 1024)
RANKS = (2, 4, 8, 16)
#: Ranks on which the parts besides "full" are measured.
SOME_RANKS = {"full": RANKS, "active": (8, 16), "frames": (4, 16)}
#: IceT 2.2, milliseconds by (side, ranks), measured earlier on a machine of this kind: its best
#: distributed algorithm, and all images to the root. Taken where IceT is not installed.
ICET = {
    (512, 2): (0.49, 0.33),
    (512, 4): (1.2, 0.88),
    (512, 8): (3.1, 2.5),
    (512, 16): (6.8, 5.6),
    (1024, 2): (2.6, 1.5),
    (1024, 4): (6.3, 3.8),
    (1024, 8): (13.6, 9.5),
    (1024, 16): (26.7, 22.0),
}
FASTER_GOAL = 2.0  # times IceT's better one, from 4 ranks on
BLENDING_GOAL = 0.7  # of the memory rate
FLOOR_GOAL = 2.0  # times reading all images and writing one, at 16 ranks
ERROR_GOAL = 2.0  # of 255, at 16 ranks

Result = dict[str, Any]
Record = dict[str, Any]


def run(part: str, side: int, ranks: int, repeats: int) -> Result:
    """Measure in an MPI job of its own."""
    return measured_in_job(ranks, str(WORKER), part, side, repeats)


def floor(result: Result, side: int, ranks: int) -> float:
    """Seconds of reading all images and writing one at the job's own triad rate."""
    return (ranks + 1) * 4 * side * side / float(result["triad"])


def milliseconds(seconds: float | None) -> str:
    """Format a time for a table."""
    return "" if seconds is None else f"{1e3 * seconds:.3g}"


def full_table(side: int, results: dict[int, Result]) -> Table:
    """Lay the times of one size out for people: measured (predicted), in milliseconds."""
    shown = Table(f"{side}², ms (predicted)", *(f"{ranks} ranks" for ranks in results))
    for name in dict.fromkeys(name for result in results.values() for name in result["times"]):
        cells = []
        for result in results.values():
            predicted = result["predicted"].get(name)
            measured = milliseconds(result["times"].get(name))
            cells.append(f"{measured} ({milliseconds(predicted)})" if predicted else measured)
        shown.add_row(name, *cells)
    shown.add_row("auto takes", *(r["chosen"] for r in results.values()))
    shown.add_row(
        "images at triad rate",
        *(milliseconds(floor(r, side, p)) for p, r in results.items()),
    )
    shown.add_row(
        "triad, blending, GB/s",
        *(f"{r['triad'] / 1e9:.0f}, {r['blending'] / 1e9:.0f}" for r in results.values()),
    )
    shown.add_row(
        "greatest error of 255, ours and IceT's",
        *(" and ".join(f"{e:.2f}" for e in errors(r)) for r in results.values()),
    )
    return shown


def errors(result: Result) -> list[float]:
    """Return the greatest error of our ways, and of IceT's if there are any."""
    ours = [e for name, e in result["errors"].items() if not name.startswith("IceT")]
    theirs = [e for name, e in result["errors"].items() if name.startswith("IceT")]
    return [max(ours), *([max(theirs)] if theirs else [])]


def active_table(side: int, ranks: int, result: Result) -> Table:
    """Lay out the times of one size and number of ranks."""
    shown = Table(f"{side}², {ranks} ranks, ms", *(f"{100 * float(s):g} %" for s in result))
    for name in next(iter(result.values()))["times"]:
        shown.add_row(name, *(milliseconds(share["times"][name]) for share in result.values()))
    return shown


def frames_table(side: int, ranks: int, result: Result) -> Table:
    """Lay out the times of a picture with several of them under way."""
    times = result["times"]
    counts = sorted({name.rsplit(", ", 1)[1] for name in times})
    shown = Table(f"{side}², {ranks} ranks, ms a picture", *(f"{n} under way" for n in counts))
    for way in dict.fromkeys(name.rsplit(", ", 1)[0] for name in times):
        shown.add_row(way, *(milliseconds(times[f"{way}, {n}"]) for n in counts))
    return shown


def record(
    metric: str,
    value: float,
    unit: str = "ms",
    goal: float | None = None,
    of: str | None = None,
    least: bool = True,
) -> Record:
    """State a figure, and its goal if it has one: at least it, or at most."""
    met = None if goal is None else bool(value >= goal if least else value <= goal)
    return dict(metric=metric, value=value, unit=unit, goal=goal, met=met, of=of)


def full_records(side: int, ranks: int, result: Result) -> list[Record]:
    """State the figures of every pixel active, with their goals."""
    where = f"{side}², {ranks} ranks"
    times = result["times"]
    rows = [record(f"{name}, {where}", 1e3 * time) for name, time in times.items()]
    rows += [
        record(f"{name}, {where}: predicted", 1e3 * time)
        for name, time in result["predicted"].items()
    ]
    ours = {name: time for name, time in times.items() if not name.startswith("IceT")}
    theirs = [time for name, time in times.items() if name.startswith("IceT")]
    of = "IceT 2.2 in this run" if theirs else "IceT 2.2 as measured earlier, not in this run"
    icet = min(theirs) if theirs else 1e-3 * min(ICET[side, ranks])
    drawn = ("shared", "auto")
    copied = min(time for name, time in ours.items() if name not in drawn)
    messages = min(time for name, time in ours.items() if name not in (*drawn, "shared, copied"))
    goal = FASTER_GOAL if ranks >= 4 else None
    rows += [
        record(f"faster than IceT, {where}", icet / min(ours.values()), "×", goal, of),
        record(f"… of images handed over, {where}", icet / copied, "×", goal, of),
        record(f"… by messages alone, {where}", icet / messages, "×", None, of),
        record(
            f"what auto takes, {where}",
            ours["auto"] / min(ours.values()),
            "×",
            None,
            "the best measured",
        ),
        record(f"triad, {where}", result["triad"] / 1e9, "GB/s"),
        record(
            f"blending two images, {where}",
            result["blending"] / result["triad"],
            "×",
            BLENDING_GOAL,
            "STREAM's triad",
        ),
    ]
    value = min(ours.values()) / floor(result, side, ranks)
    of = f"reading {ranks} images and writing one at triad rate"
    goal = FLOOR_GOAL if ranks == 16 else None
    rows.append(record(f"compositing, {where}", value, "×", goal, of, least=False))
    own, *other = errors(result)
    goal = ERROR_GOAL if ranks == 16 else None
    rows.append(record(f"error, {where}", own, "of 255", goal, "double precision", least=False))
    rows += [record(f"IceT's error, {where}", e, "of 255", of="double precision") for e in other]
    return rows


def measure(parts: list[str], sides: list[int], ranks: list[int], repeats: int) -> list[Record]:
    """Measure what is asked for, print a table for each, and return the records."""
    console = Console(width=None if sys.stdout.isatty() else 150)
    rows: list[Record] = []
    for part in parts:
        for side in sides:
            results = {}
            for p in [p for p in ranks if p in SOME_RANKS[part]]:
                results[p] = result = run(part, side, p, repeats)
                if part == "full":
                    rows += full_records(side, p, result)
                elif part == "active":
                    console.print(active_table(side, p, result))
                    rows += [
                        record(f"{name}, {float(share):.1%} active, {side}², {p} ranks", 1e3 * t)
                        for share, found in result.items()
                        for name, t in found["times"].items()
                    ]
                else:
                    console.print(frames_table(side, p, result))
                    rows += [
                        record(f"{name} under way, {side}², {p} ranks", 1e3 * t)
                        for name, t in result["times"].items()
                    ]
            if part == "full":
                console.print(full_table(side, results))
    return rows


def main() -> None:
    """Measure, print the tables and write the records."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=Path, help="where to write the records")
    parser.add_argument("--merge", action="store_true", help="keep the other records of the file")
    parser.add_argument("--repeats", type=int, default=20, help="repetitions of ten pictures")
    parser.add_argument("--parts", nargs="+", default=list(SOME_RANKS), choices=list(SOME_RANKS))
    parser.add_argument("--sides", type=int, nargs="+", default=list(SIDES), choices=SIDES)
    parser.add_argument("--ranks", type=int, nargs="+", default=list(RANKS), choices=RANKS)
    options = parser.parse_args()
    if _icet.library() is None:
        print("IceT is not installed: its figures are those measured earlier (see bench/_icet.py)")
    rows = measure(options.parts, options.sides, options.ranks, options.repeats)
    if options.json:
        kept: list[Record] = []
        if options.merge and options.json.exists():
            new = {row["metric"] for row in rows}
            kept = [r for r in json.loads(options.json.read_text()) if r["metric"] not in new]
        options.json.write_text(json.dumps(kept + rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
