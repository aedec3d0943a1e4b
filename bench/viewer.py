"""Live view in Chromium: time to the first picture, rates, time from pointer to picture, cost.

Stored steps of a smooth field of doubles are shown by `uzushio view` in a page whose picture has
1000 x 600 pixels. Scripts of the page are not changed; _viewer_page.js notes what they send,
receive and draw. The solver's seconds a step are measured without and with live views in turn.

    python bench/viewer.py [--json FILE] [--points 128] [--seconds 6] [--only start rates solver]
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from _browser import chromium
from _job import output_of
from _load import busy_processes, processor_seconds
from _report import Record, option_parser, record, report
from playwright.sync_api import Browser, Page
from rich.table import Table

HERE = Path(__file__).parent
SIZE = (1000, 600)
#: Layers of the views by name.
LAYERS = {
    "slice": "{kind: slice, field: u, normal: z}",
    "isosurface": "{kind: isosurface, field: u, values: 0.5}",
    "volume": "{kind: volume, field: u}",
}
#: Goals: seconds to the first picture; pictures a second; milliseconds from pointer to picture.
FIRST, DRAGGING, FULL, MEDIAN, LATE = 2.0, 20.0, 8.0, 120.0, 250.0
LIMIT = 60_000.0  # milliseconds
#: Packages whose imports are recorded.
PACKAGES = ("numpy", "matplotlib", "aiohttp", "pydantic", "mpi4py", "uzushio")
#: A line of Python's times of imports: microseconds of the module itself and with others, name.
IMPORT = re.compile(r"import time:\s+(\d+) \|\s+\d+ \|\s+(\w+)")
#: Record of the size of a picture in JPEG.
FRAME = "size of a frame"


# ---- live views and pages


def worker_command(role: str, path: Path, points: int) -> list[str]:
    """Return the command of the solver of live views."""
    return [sys.executable, str(HERE / "_viewer_worker.py"), role, str(path), str(points)]


@dataclass
class LiveView:
    """Process of `uzushio view`, its address, and the times of start and address (epoch, s)."""

    process: subprocess.Popen[str]
    address: str
    started: float
    ready: float


@contextmanager
def live_view(source: Path, *more: str, imports: IO[str] | None = None) -> Iterator[LiveView]:
    """Start a live view with further options, and end it after the block.

    Its times of imports are written to the file `imports`.
    """
    timed = {"PYTHONPROFILEIMPORTTIME": "1"} if imports else {}
    started = time.time()
    process = subprocess.Popen(
        [sys.executable, "-m", "uzushio", "view", str(source), *more],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=imports,
        env=os.environ | timed,
        text=True,
    )
    try:
        assert process.stdout is not None
        for line in process.stdout:
            if match := re.search(r"http://\S+#token=\S+", line):
                break
        else:
            raise SystemExit(f"uzushio view ended with {process.wait()}")
        threading.Thread(target=process.stdout.read, daemon=True).start()
        yield LiveView(process, match[0], started, time.time())
    finally:
        process.send_signal(signal.SIGCONT)
        process.send_signal(signal.SIGINT)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextmanager
def page_of(browser: Browser, view: LiveView, *scripts: str) -> Iterator[tuple[Page, float, float]]:
    """Open a page; gives it with the times of its opening and of its first picture (epoch, s).

    The scripts run before its own.
    """
    context = browser.new_context(viewport={"width": 1360, "height": 720})
    page = context.new_page()
    page.set_default_timeout(LIMIT)
    for script in ((HERE / "_viewer_page.js").read_text(), *scripts):
        page.add_init_script(script)
    try:
        opened = time.time()
        page.goto(view.address, wait_until="commit")
        until(page, "noted.shown.length > 0")
        shown = page.evaluate("performance.timeOrigin + noted.shown[0].time")
        yield page, opened, shown / 1000.0
    finally:
        context.close()


def give_size(page: Page) -> None:
    """Make the picture as large as `SIZE`."""
    box, viewport = page.locator("#stage").bounding_box(), page.viewport_size
    assert box is not None and viewport is not None
    page.set_viewport_size(
        {
            "width": round(viewport["width"] + SIZE[0] - box["width"]),
            "height": round(viewport["height"] + SIZE[1] - box["height"]),
        }
    )
    until(page, f"noted.shown.at(-1).width === {SIZE[0]} && noted.shown.at(-1).full")


def until(page: Page, condition: str) -> None:
    """Wait for a condition; the page's policy forbids `wait_for_function`."""
    end = time.monotonic() + LIMIT / 1e3
    while not page.evaluate(condition):
        if time.monotonic() > end:
            raise SystemExit(f"not within {LIMIT / 1e3:g} s: {condition}")
        page.wait_for_timeout(20)


def drag(page: Page, seconds: float) -> dict[str, Any]:
    """Rotate by the pointer; return the page's notes."""
    box = page.locator("#picture").bounding_box()
    assert box is not None
    middle, radius = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2), 60.0
    page.mouse.move(middle[0] + radius, middle[1])
    page.mouse.down()
    for warm in (True, False):
        if not warm:
            page.evaluate("noted.clear()")
        end = time.perf_counter() + (min(1.0, seconds) if warm else seconds)
        n = 0
        while time.perf_counter() < end:  # Chromium takes one move each frame, at most 60 a second
            n += 1
            angle = 0.2 * n
            x, y = middle[0] + radius * math.cos(angle), middle[1] + radius * math.sin(angle)
            page.mouse.move(x, y, steps=4)
    notes = notes_of(page)
    page.mouse.up()
    return notes


def turn(page: Page, seconds: float) -> dict[str, Any]:
    """Rotate without a drag for some seconds; return the page's notes."""
    page.evaluate("noted.clear(); noted.turn()")
    page.wait_for_timeout(min(1.0, seconds) * 1e3)
    page.evaluate("noted.clear()")
    page.wait_for_timeout(seconds * 1e3)
    notes = notes_of(page)
    page.evaluate("noted.next = null")
    return notes


def notes_of(page: Page) -> dict[str, Any]:
    """Return the page's notes, which must not contain errors."""
    notes = page.evaluate("({ ...noted, frames: null, socket: null, view: null, next: null })")
    assert not notes["errors"], notes["errors"]
    return dict(notes)


# ---- measurements


def start(browser: Browser, stored: Path, options: argparse.Namespace) -> list[Record]:
    """Measure the times to the first picture."""
    total, opening, command, computed, waited = [], [], [], [], []
    for _ in range(options.starts):
        with live_view(stored) as view, page_of(browser, view) as (_page, opened, shown):
            seconds = processor_seconds(view.process.pid)
            computed.append(seconds[0])
            waited.append(seconds[1])
            command.append(view.ready - view.started)
            opening.append(shown - opened)
            total.append(shown - view.started)
    return [
        record(
            "start of uzushio view to the first picture",
            median_of(total),
            "s",
            FIRST,
            at_most=True,
        ),
        record("… until it prints the address", median_of(command), "s"),
        record("… of which its main thread computes", median_of(computed), "s"),
        record("… of which it waits for a processor", median_of(waited), "s"),
        *(record(f"… imports: {name}", value, "s") for name, value in imports(stored).items()),
        record("page opened to the first picture", median_of(opening), "s", FIRST, at_most=True),
    ]


def imports(stored: Path) -> dict[str, float]:
    """Return the seconds of imports of a live view until its address, all and by package.

    Those of a package are of its own modules. The measurement itself adds some per cent.
    """
    with tempfile.TemporaryFile("w+") as file, live_view(stored, imports=file):
        file.seek(0)
        lines = [match for line in file if (match := IMPORT.match(line))]
    own = {
        name: sum(int(match[1]) for match in lines if match[2] == name) / 1e6 for name in PACKAGES
    }
    return {"all": sum(int(match[1]) for match in lines) / 1e6, **own}


def rates(browser: Browser, stored: Path, options: argparse.Namespace) -> list[Record]:
    """Measure pictures a second, the time from pointer to picture, and its parts."""
    rows = []
    for name, layer in LAYERS.items():
        pipeline = stored.with_name(f"{name}.yaml")
        view_section = f"views: {{bench: {{layers: [{layer}]}}}}\n"
        pipeline.write_text(f"{view_section}actions: [{{picture: bench}}]\n")
        with (
            live_view(stored, "--pipeline", str(pipeline)) as view,
            page_of(browser, view) as (page, _, _),
        ):
            give_size(page)
            moved, turned = drag(page, options.seconds), turn(page, options.seconds)
        shown, full = moved["shown"], [frame for frame in turned["shown"] if frame["full"]]
        late, way = latencies(moved), f"{name}: pointer to picture"
        columns = median_of(frame["width"] for frame in shown)
        rows += [
            record(f"{name}: dragging", rate_of(shown), "pictures/s", DRAGGING),
            record(f"{name}: full quality", rate_of(full), "pictures/s", FULL),
            record(f"{way}, median", percent_of(late, 50), "ms", MEDIAN, at_most=True),
            record(f"{way}, 95 %", percent_of(late, 95), "ms", LATE, at_most=True),
            record(f"{name}: moves of the pointer", len(moved["moves"]) / options.seconds, "1/s"),
            record(f"{name}: columns while dragging", columns, "px"),
        ]
        for kind, notes, pictures in (("dragging", moved, shown), ("full", turned, full)):
            for stage, value in stages(notes, pictures).items():
                unit = "kB" if stage == FRAME else "ms"
                rows.append(record(f"{name}, {kind}: {stage}", value, unit))
    return rows


def latencies(notes: dict[str, Any]) -> list[float]:
    """Return milliseconds from each move to the first picture that contains it."""
    delays, first = [], 0
    for patch in notes["patches"]:
        moves, first = notes["moves"][first : patch["moves"]], patch["moves"]
        revision = patch.get("revision")
        shown = [
            frame["time"] for frame in notes["shown"] if revision and frame["revision"] >= revision
        ]
        delays += [shown[0] - move for move in moves if shown]
    return delays


def stages(notes: dict[str, Any], pictures: list[dict[str, Any]]) -> dict[str, float]:
    """Return the median milliseconds of the parts of the way from a patch to its picture.

    "waits and link" is the time from a patch to the arrival of its frame, without drawing,
    compositing and encoding.
    """
    answered = [patch for patch in notes["patches"] if "answered" in patch]
    by_revision = {patch["revision"]: patch for patch in answered}
    parts = {
        name: 1e3 * median_of(picture["seconds"][n] for picture in pictures)
        for n, name in enumerate(("read", "draw", "composite", "encode"))
    }
    del parts["read"]  # once for each step
    waits = [
        picture["arrival"]
        - by_revision[picture["revision"]]["sent"]
        - 1e3 * sum(picture["seconds"][1:])
        for picture in pictures
        if picture["revision"] in by_revision
    ]
    return {
        "patch to its answer": median_of(patch["answered"] - patch["sent"] for patch in answered),
        **parts,
        "decode": median_of(
            picture["decode"] for picture in pictures if picture["decode"] is not None
        ),
        "waits and link": median_of(waits),
        "arrival to shown": median_of(picture["time"] - picture["arrival"] for picture in pictures),
        FRAME: median_of(picture["bytes"] / 1e3 for picture in pictures),
    }


def solver(browser: Browser, stored: Path, options: argparse.Namespace) -> list[Record]:
    """Measure the solver's seconds a step with no live view, one, four, and a stopped one."""
    contact = stored.with_name("bench.contact")
    process = subprocess.Popen(
        worker_command("solve", contact, options.points),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None

    def measure(name: str) -> None:
        assert process.stdin is not None
        for label in (name, ""):
            process.stdin.write(f"{label}\n")
            process.stdin.flush()
            time.sleep(options.seconds if label else 0.0)

    try:
        for _ in range(options.rounds):
            measure("0")
            for count, name in ((1, "1"), (4, "4"), (1, "stopped")):
                with ExitStack() as stack:
                    views = [stack.enter_context(live_view(contact)) for _ in range(count)]
                    for view in views:
                        stack.enter_context(page_of(browser, view))
                    if name == "stopped":
                        views[0].process.send_signal(signal.SIGSTOP)
                        time.sleep(0.2)
                    measure(name)
                    if name == "stopped":
                        views[0].process.send_signal(signal.SIGCONT)
        output, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    return costs(json.loads(output.splitlines()[-1]))


def costs(results: dict[str, dict[str, list[float]]]) -> list[Record]:
    """Return the records of the solver's steps by number of live views."""
    names = {"0": "no live view", "1": "1 live view", "4": "4 live views", "stopped": "1 stopped"}
    copy = min(second for name in names for second in results[name]["copy"])
    rows = [record("memcpy of the published values", 1e3 * copy, "ms")]
    for name, label in names.items():
        series = {key: np.array(seconds) for key, seconds in results[name].items()}
        base = min(results["0"]["step"])
        rows += [
            record(f"{label}: step, minimum", 1e3 * series["step"].min(), "ms"),
            record(f"{label}: step, minimum", series["step"].min() / base, "×", of="no live view"),
            record(f"{label}: step, median", 1e3 * float(np.median(series["step"])), "ms"),
            record(f"{label}: publish, minimum", series["publish"].min() / copy, "×", of="memcpy"),
            record(f"{label}: publish, median", 1e3 * float(np.median(series["publish"])), "ms"),
            record(f"{label}: wait for readers, maximum", 1e3 * float(series["wait"].max()), "ms"),
        ]
    return rows


def rate_of(shown: list[dict[str, Any]]) -> float:
    """Return pictures a second."""
    if len(shown) < 2:
        return 0.0
    return float(1e3 * (len(shown) - 1) / (shown[-1]["time"] - shown[0]["time"]))


def median_of(values: Any) -> float:
    """Return the median; NaN if there are no values."""
    numbers = list(values)
    return float(np.median(numbers)) if numbers else math.nan


def percent_of(values: list[float], share: float) -> float:
    """Return a percentile; NaN if there are no values."""
    return float(np.percentile(values, share)) if values else math.nan


# ---- command

MEASUREMENTS = {"start": start, "rates": rates, "solver": solver}


def table(rows: list[Record], points: int) -> Table:
    """Make the table of the records."""
    shown = Table(f"{points}³, {SIZE[0]} × {SIZE[1]}", "value", "of", "goal", "met")
    for row in rows:
        met = {None: "", True: "yes", False: "no"}[row["met"]]
        goal = "" if row["goal"] is None else f"{row['goal']:g}"
        figure = f"{row['value']:.4g} {row['unit']}"
        shown.add_row(row["metric"], figure, row["of"] or "", goal, met)
    return shown


def main() -> None:
    """Measure, print the table and write the records."""
    parser = option_parser(__doc__)
    parser.add_argument("--points", type=int, default=128, help="of each axis")
    parser.add_argument("--seconds", type=float, default=6.0, help="of each measurement")
    parser.add_argument("--starts", type=int, default=3, help="of the live view")
    parser.add_argument("--rounds", type=int, default=3, help="of the solver's measurements")
    parser.add_argument("--busy", type=int, default=0, help="other processes that compute")
    parser.add_argument("--only", nargs="+", choices=MEASUREMENTS, default=list(MEASUREMENTS))
    options = parser.parse_args()
    os.environ.pop("UZUSHIO_STAGING", None)
    rows: list[Record] = []
    with tempfile.TemporaryDirectory(prefix="uzushio-bench-") as folder, chromium() as browser:
        stored = Path(folder) / "bench.zarr"
        output_of(worker_command("store", stored, options.points))
        for name in options.only:
            print(f"{name} ...", file=sys.stderr, flush=True)
            with busy_processes(options.busy):
                rows += MEASUREMENTS[name](browser, stored, options)
    report(options.json, rows, table(rows, options.points))


if __name__ == "__main__":
    main()
