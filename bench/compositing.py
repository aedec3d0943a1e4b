"""Sort-last compositing compared with memory rates, and with IceT if it is installed.

RGBA8, gathered at the root, on ranks of this machine. All methods alternate in one job. Each time
is that of a picture on the root: the mean of ten consecutive ones, the minimum of the repetitions.

- full: every pixel active, all algorithms, with the model's prediction and the choice of `auto`.
  "shared" is the hybrid of one node with images drawn into the compositor's canvas, like those of
  a renderer; "shared, copied" gets images in other memory, like IceT.
- active: 12.5 % and 50 % of the pixels active, interlaced or not, with bounding rectangles or not.
- frames: consecutive pictures, of which several are in flight.

    python bench/compositing.py [--parts full active frames] [--sides 512 1024] [--ranks 2 4 8 16]
                                [--repeats 20] [--json FILE [--merge]]

One part, side and number of ranks takes less than half a minute; with --merge its records replace
those in FILE and the others stay. See bench/_icet.py for IceT.
"""

from __future__ import annotations

import json
from typing import Any

import _icet
from _job import measured_in_job
from _report import Record, option_parser, record, report, show
from rich.table import Table

SIDES = (512, 1024)
RANKS = (2, 4, 8, 16)
#: Numbers of ranks of each part.
SOME_RANKS = {"full": RANKS, "active": (8, 16), "frames": (4, 16)}
#: IceT 2.2, milliseconds by (side, ranks), measured earlier on a machine of this kind: its best
#: distributed algorithm, and all images to the root. Used where IceT is not installed.
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
FASTER_GOAL = 2.0  # times IceT's best, from 4 ranks on
BLENDING_GOAL = 0.7  # of the memory rate
FLOOR_GOAL = 2.0  # times reading all images and writing one, at 16 ranks
ERROR_GOAL = 2.0  # of 255, at 16 ranks

Result = dict[str, Any]


def measure_part(part: str, side: int, repeats: int) -> Result:
    """Measure on the ranks of this job."""
    from _compositing_worker import PARTS  # starts MPI

    return PARTS[part](side, repeats)


def floor(result: Result, side: int, ranks: int) -> float:
    """Return the seconds of reading all images and writing one at the job's triad rate."""
    return (ranks + 1) * 4 * side * side / float(result["triad"])


def milliseconds(seconds: float | None) -> str:
    """Format a time for a table."""
    return "" if seconds is None else f"{1e3 * seconds:.3g}"


def full_table(side: int, results: dict[int, Result]) -> Table:
    """Return a table of the times of one size: measured (predicted), in milliseconds."""
    shown = Table(f"{side}², ms (predicted)", *(f"{ranks} ranks" for ranks in results))
    for name in dict.fromkeys(name for result in results.values() for name in result["times"]):
        cells = []
        for result in results.values():
            predicted = result["predicted"].get(name)
            measured = milliseconds(result["times"].get(name))
            cells.append(f"{measured} ({milliseconds(predicted)})" if predicted else measured)
        shown.add_row(name, *cells)
    shown.add_row("choice of auto", *(r["chosen"] for r in results.values()))
    shown.add_row(
        "images at triad rate",
        *(milliseconds(floor(r, side, p)) for p, r in results.items()),
    )
    shown.add_row(
        "triad, blending, GB/s",
        *(f"{r['triad'] / 1e9:.0f}, {r['blending'] / 1e9:.0f}" for r in results.values()),
    )
    shown.add_row(
        "maximum error of 255, ours and IceT's",
        *(" and ".join(f"{e:.2f}" for e in errors(r)) for r in results.values()),
    )
    return shown


def errors(result: Result) -> list[float]:
    """Return the maximum error of our methods, and of IceT's if it is installed."""
    ours = [e for name, e in result["errors"].items() if not name.startswith("IceT")]
    theirs = [e for name, e in result["errors"].items() if name.startswith("IceT")]
    return [max(ours), *([max(theirs)] if theirs else [])]


def active_table(side: int, ranks: int, result: Result) -> Table:
    """Return a table of the times of one size and number of ranks."""
    shown = Table(f"{side}², {ranks} ranks, ms", *(f"{100 * float(s):g} %" for s in result))
    for name in next(iter(result.values()))["times"]:
        shown.add_row(name, *(milliseconds(share["times"][name]) for share in result.values()))
    return shown


def frames_table(side: int, ranks: int, result: Result) -> Table:
    """Return a table of the times of a picture with several in flight."""
    times = result["times"]
    counts = sorted({name.rsplit(", ", 1)[1] for name in times})
    shown = Table(f"{side}², {ranks} ranks, ms a picture", *(f"{n} in flight" for n in counts))
    for way in dict.fromkeys(name.rsplit(", ", 1)[0] for name in times):
        shown.add_row(way, *(milliseconds(times[f"{way}, {n}"]) for n in counts))
    return shown


def full_records(side: int, ranks: int, result: Result) -> list[Record]:
    """Return the records of all pixels active."""
    where = f"{side}², {ranks} ranks"
    times = result["times"]
    rows = [record(f"{name}, {where}", 1e3 * time, "ms") for name, time in times.items()]
    rows += [
        record(f"{name}, {where}: predicted", 1e3 * time, "ms")
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
        record(f"… of copied images, {where}", icet / copied, "×", goal, of),
        record(f"… by messages alone, {where}", icet / messages, "×", None, of),
        record(
            f"choice of auto, {where}",
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
    rows.append(record(f"compositing, {where}", value, "×", goal, of, at_most=True))
    own, *other = errors(result)
    goal = ERROR_GOAL if ranks == 16 else None
    of = "double precision"
    rows.append(record(f"error, {where}", own, "of 255", goal, of, at_most=True))
    rows += [record(f"IceT's error, {where}", e, "of 255", of=of) for e in other]
    return rows


def measure(parts: list[str], sides: list[int], ranks: list[int], repeats: int) -> list[Record]:
    """Measure the given parts, print their tables, and return the records."""
    rows: list[Record] = []
    for part in parts:
        for side in sides:
            results = {}
            for p in [p for p in ranks if p in SOME_RANKS[part]]:
                results[p] = result = measured_in_job(p, measure_part, part, side, repeats)
                if part == "full":
                    rows += full_records(side, p, result)
                elif part == "active":
                    show(active_table(side, p, result))
                    where = f"{side}², {p} ranks"
                    rows += [
                        record(f"{name}, {float(share):.1%} active, {where}", 1e3 * t, "ms")
                        for share, measurement in result.items()
                        for name, t in measurement["times"].items()
                    ]
                else:
                    show(frames_table(side, p, result))
                    rows += [
                        record(f"{name} in flight, {side}², {p} ranks", 1e3 * t, "ms")
                        for name, t in result["times"].items()
                    ]
            if part == "full":
                show(full_table(side, results))
    return rows


def main() -> None:
    """Measure, print the tables and write the records."""
    parser = option_parser(__doc__)
    parser.add_argument("--merge", action="store_true", help="keep the other records of the file")
    parser.add_argument("--repeats", type=int, default=20, help="repetitions of ten pictures")
    parser.add_argument("--parts", nargs="+", default=list(SOME_RANKS), choices=list(SOME_RANKS))
    parser.add_argument("--sides", type=int, nargs="+", default=list(SIDES), choices=SIDES)
    parser.add_argument("--ranks", type=int, nargs="+", default=list(RANKS), choices=RANKS)
    options = parser.parse_args()
    if _icet.library() is None:
        print("IceT is not installed: its figures are earlier measurements (see bench/_icet.py)")
    rows = measure(options.parts, options.sides, options.ranks, options.repeats)
    kept: list[Record] = []
    if options.merge and options.json and options.json.exists():
        new = {row["metric"] for row in rows}
        kept = [r for r in json.loads(options.json.read_text()) if r["metric"] not in new]
    report(options.json, kept + rows)


if __name__ == "__main__":
    main()
