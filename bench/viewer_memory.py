"""Memory of the live view while a page rotates the camera and steps arrive, sampled over minutes.

A solver publishes steps; `uzushio view` shows them in Chromium to a page that turns the camera
without a pause, and to a second one that takes no frames (its credit is used up). Printed are
the resident memory of the view and the heap of the page's scripts: after a tenth of the time, when
the buffer of earlier steps is full, and their maximum after that.

    python bench/viewer_memory.py [--json FILE] [--minutes 10] [--points 64] [--rewind "32 MB"]
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from _browser import chromium
from _memory import resident
from _report import Record, option_parser, record, report
from playwright.sync_api import CDPSession, Page
from viewer import LiveView, give_size, live_view, page_of, table, worker_command

#: Growth of a figure after the first tenth of the time that counts as bounded, MB.
GROWTH = 32.0
#: Changes of the page's script for a page that acknowledges nothing.
SILENT = """
const send = WebSocket.prototype.send;
WebSocket.prototype.send = function (text) {
  if (JSON.parse(text).type !== "ack") send.call(this, text);
};
"""


def heap(session: CDPSession) -> float:
    """Return the memory of a page's scripts after a collection, in MB."""
    session.send("HeapProfiler.collectGarbage")
    metrics = session.send("Performance.getMetrics")["metrics"]
    return (
        float(next(metric["value"] for metric in metrics if metric["name"] == "JSHeapUsedSize"))
        / 1e6
    )


def sample(view: LiveView, page: Page, minutes: float) -> list[dict[str, float]]:
    """Rotate the camera for some minutes; return time, memory and number of pictures."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    page.evaluate("noted.turn()")
    samples, pictures, began = [], 0, time.monotonic()
    while (seconds := time.monotonic() - began) < 60.0 * minutes:
        page.wait_for_timeout(min(5e3, 3e3 * minutes))
        # What the benchmark itself notes of the page is no memory of the page.
        pictures += page.evaluate("noted.shown.length")
        errors = page.evaluate("noted.errors")
        assert not errors, errors
        page.evaluate("noted.clear(); noted.frames.clear()")
        memory = resident(view.process.pid) / 1e6
        samples.append(dict(seconds=seconds, view=memory, page=heap(session), pictures=pictures))
        print(
            "{seconds:6.0f} s  view {view:7.1f} MB  page {page:6.1f} MB  {pictures:.0f} "
            "pictures".format(**samples[-1]),
            file=sys.stderr,
            flush=True,
        )
    return samples


def records(samples: list[dict[str, float]]) -> list[Record]:
    """Return the records of the samples."""
    seconds = samples[-1]["seconds"]
    first = next(entry for entry in samples if entry["seconds"] >= 0.1 * seconds)
    later = samples[samples.index(first) :]
    rows = [record("time", seconds / 60.0, "min"), record("pictures", samples[-1]["pictures"], "")]
    for key, name in (("view", "resident memory of the view"), ("page", "heap of the page")):
        most = max(entry[key] for entry in later)
        rows += [
            record(f"{name} after {first['seconds']:.0f} s", first[key], "MB"),
            record("… maximum after that", most, "MB"),
            record("… growth", most - first[key], "MB", GROWTH, at_most=True),
        ]
    return rows


def main() -> None:
    """Measure, print the table and write the records; the status tells whether it is bounded."""
    parser = option_parser(__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="of the measurement")
    parser.add_argument("--points", type=int, default=64, help="of each axis")
    parser.add_argument("--rewind", default="32 MB", help="memory of earlier steps")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="uzushio-bench-") as folder, chromium() as browser:
        contact = Path(folder) / "bench.contact"
        solver = subprocess.Popen(
            worker_command("solve", contact, options.points),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
        )
        try:
            while not contact.exists():
                time.sleep(0.05)
            with live_view(contact, "--rewind", options.rewind) as view:
                samples = look(view, browser, options.minutes)
        finally:
            solver.kill()
            solver.wait()
    rows = records(samples)
    report(options.json, rows, table(rows, options.points))
    raise SystemExit(0 if all(row["met"] is not False for row in rows) else 1)


def look(view: LiveView, browser: Any, minutes: float) -> list[dict[str, float]]:
    """Open both pages, and return the samples."""
    with page_of(browser, view) as (page, _, _):
        give_size(page)
        printed = subprocess.run(
            [sys.executable, "-m", "uzushio", "view", "--list"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        further = next(word for word in printed.split() if word.startswith(view.address[:22]))
        silent = browser.new_page()
        silent.add_init_script(SILENT)
        silent.goto(further)
        return sample(view, page, minutes)


if __name__ == "__main__":
    main()
