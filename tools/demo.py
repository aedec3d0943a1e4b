#!/usr/bin/env python3
"""Demo: a turbulent channel that is drawn live, and a report at the end.

The solver publishes its steps. A relay forwards them to a reader job of as many ranks, which draws
a movie, pictures and plots live. With --engine inproc the solver's own ranks draw, inside its
steps. With --live a page in a browser shows the running solver. Run it with `make demo` or
`make demo LIVE=1`; the results are in runs/demo.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import webbrowser
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

ROOT = Path(os.path.relpath(Path(__file__).resolve().parents[1]))
CASE = ROOT / "examples/cases/channel.yaml"
PIPELINE = ROOT / "examples/pipelines/channel.yaml"
#: File that marks a folder of the demo; only such a folder is removed.
MARK = ".uzushio-demo"
#: Steps between published ones; the pipeline draws each.
EVERY = 20
#: Seconds that a process has to end after a signal.
GRACE_PERIOD = 30.0
#: Steps of the solver by default: for a movie, and several minutes for a live view.
STEPS, LIVE_STEPS = 800, 20000
#: Address that `uzushio view` prints.
ADDRESS = re.compile(r"http://\S+#token=\S+")
NEXT = """
To look at a running simulation in a browser:
    make demo LIVE=1              # this channel
    uzushio view runs/channel     # a run of yours (docs/how-to/live.md)"""


@dataclass
class Part:
    """Process of the demo; its output is printed with its name before each line."""

    name: str
    process: subprocess.Popen[str]
    errors: list[str] = field(default_factory=list)
    address: str = ""  #: of the page, once a live view has printed it

    @classmethod
    def start(cls, name: str, *words: object) -> Part:
        """Start `uzushio WORDS` in a session of its own, which does not receive Ctrl-C."""
        command = [sys.executable, "-m", "uzushio", *map(str, words)]
        pipe = subprocess.PIPE
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True,
            start_new_session=True,
        )  # fmt: skip
        part = cls(name, process)
        for stream in (process.stdout, process.stderr):
            assert stream is not None
            kept = part.errors if stream is process.stderr else None
            threading.Thread(target=part._pass_on, args=(stream, kept), daemon=True).start()
        return part

    def _pass_on(self, stream: IO[str], kept: list[str] | None) -> None:
        for line in stream:
            print(f"{self.name:>8} | {line.rstrip()}", flush=True)
            if match := ADDRESS.search(line):
                self.address = match[0]
            if kept is not None:
                kept.append(line.rstrip())

    def stop(self) -> None:
        """Send a signal to end it."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)

    def ended(self) -> int:
        """Wait for its end with a timeout; return its status."""
        try:
            return self.process.wait(GRACE_PERIOD)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            return self.process.wait()


class Demo:
    """Processes of the demo: start, wait, and end of all if one fails."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options, self.folder = options, Path(options.out)
        self.parts: list[Part] = []
        self.asked = 0

    def run(self) -> int:
        """Run the demo; return the exit status."""
        self._clear()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._note)
        began = time.monotonic()
        try:
            if self.options.live:
                status = self._in_browser()
            else:
                status = self._inside() if self.options.engine == "inproc" else self._beside()
        finally:
            self._stop_all()
        if self.asked:
            print("Stopped, as requested.")
        if not any(self.folder.rglob("summary.json")):
            return status if self.asked else status or 1
        page = self._report()
        print(f"\nThe demo took {time.monotonic() - began:.0f} s.")
        if page is not None:
            print(f"Report: {page}")
        if not self.options.live:
            print(NEXT)
        return status

    def _clear(self) -> None:
        """Empty the folder if it is one of the demo."""
        if self.folder.exists() and any(self.folder.iterdir()):
            if not (self.folder / MARK).exists():
                raise SystemExit(
                    f"{self.folder} holds files that no demo wrote; choose --out OTHER."
                )
            shutil.rmtree(self.folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / MARK).write_text("")

    def _solver(self, publish: dict[str, object]) -> Part:
        settings = {
            "time.steps": self.options.steps,
            "statistics.start": 0.8,
            "checkpoint.every": "null",
            "publish": json.dumps(publish),
        }
        words = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
        part = Part.start(
            "solver", "run", CASE, "--ranks", self.options.ranks, "--out", self.folder / "solver",
            *words,
        )  # fmt: skip
        self.parts.append(part)
        return part

    def _inside(self) -> int:
        """Run one job: the solver draws."""
        publish = {"engine": "inproc", "every": EVERY, "pipeline": str(PIPELINE)}
        self._solver(publish)
        return self._wait()

    def _beside(self) -> int:
        """Run solver, relay and reader, which may start in any order."""
        source = self._source()
        self.parts.append(
            Part.start(
                "reader", "render", PIPELINE, "--from", source, "--ranks", self.options.ranks,
                "--out", self.folder / "render", "--wait", 120,
            )
        )  # fmt: skip
        self._solver(
            {
                "engine": self.options.engine,
                "every": EVERY,
                "fields": ["u", "v", "w"],
                "queue": {"policy": "block", "depth": 2, "time_limit": "60 s"},
                "wait_for_readers": 1,
                "wait_limit": "120 s",
            }
        )
        return self._wait()

    def _source(self) -> Path:
        """Return the contact file for readers: of the solver, or of a relay, which is started."""
        contact = self.folder / "solver/channel.contact"
        if self.options.engine != "tcp":
            return contact
        source = self.folder / "relay.contact"
        self.parts.append(
            Part.start(
                "relay", "relay", "--from", contact, "--to", source, "--once", "--summary",
                self.folder / "relay.json",
            )
        )  # fmt: skip
        return source

    def _in_browser(self) -> int:
        """Run solver, relay and live view; the page stays until Ctrl-C."""
        view = Part.start(
            "view", "view", self._source(), "--pipeline", PIPELINE, "--wait", 120,
        )  # fmt: skip
        self.parts.append(view)
        self._solver({"engine": self.options.engine, "every": EVERY, "fields": ["u", "v", "w"]})
        if status := self._wait(lambda: bool(view.address)):
            return status
        print(
            f"\nOpen this page; drag the picture to rotate it:\n\n    {view.address}\n", flush=True
        )
        if _has_display():
            # Some browsers return only when they are closed.
            threading.Thread(target=webbrowser.open, args=(view.address,), daemon=True).start()
        others = [part for part in self.parts if part is not view]
        status = self._wait(lambda: all(part.process.poll() == 0 for part in others))
        if status or self.asked:
            return status
        print("\nThe solver has ended. The page keeps its last steps until Ctrl-C.", flush=True)
        return self._wait()

    def _note(self, number: int, _frame: object) -> None:
        self.asked = number

    def _wait(self, done: Callable[[], bool] = lambda: False) -> int:
        """Wait for all processes, or until `done`; if one fails, return 1."""
        while True:
            states = [part.process.poll() for part in self.parts]
            failed = [p for p, state in zip(self.parts, states, strict=True) if state]
            if failed:
                # Report the process that failed first; it ends the others.
                part = failed[0]
                said = f": {part.errors[-1]}" if part.errors else ""
                print(f"The {part.name} {_how(part.process.returncode)}{said}")
                return 1
            if self.asked:
                # Ctrl-C is the regular end of a live view.
                return 0 if self.options.live else 128 + self.asked
            if done() or all(state == 0 for state in states):
                return 0
            time.sleep(0.1)

    def _stop_all(self) -> None:
        """End the remaining processes, the solver first: readers then see the stream's end."""
        for part in reversed(self.parts):
            part.stop()
            part.ended()

    def _report(self) -> Path | None:
        page = self.folder / "report.html"
        done = subprocess.run(
            [sys.executable, "-m", "uzushio", "report", self.folder, "--out", page],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            timeout=120,
        )
        return page.resolve() if done.returncode == 0 else None


def _has_display() -> bool:
    """Return whether a browser can open a window."""
    names = ("DISPLAY", "WAYLAND_DISPLAY")
    return sys.platform == "darwin" or any(map(os.environ.get, names))


def _how(status: int) -> str:
    """Return a description of a process's end."""
    if status < 0:
        return f"was killed by {signal.Signals(-status).name}; the others were asked to leave"
    return f"ended with status {status}; the others were asked to leave"


def main() -> int:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engine", default="tcp", choices=["tcp", "shm", "inproc"])
    parser.add_argument("--ranks", type=int, default=2, help="of the solver, and of the reader")
    parser.add_argument("--live", action="store_true", help="show the running solver in a browser")
    parser.add_argument("--steps", type=int, help=f"of the solver: {STEPS}; live {LIVE_STEPS}")
    parser.add_argument("--out", default="runs/demo", help="folder of all that it writes")
    options = parser.parse_args()
    if options.live and options.engine == "inproc":
        parser.error("--live needs a stream: choose --engine tcp or shm")
    options.steps = options.steps or (LIVE_STEPS if options.live else STEPS)
    return Demo(options).run()


if __name__ == "__main__":
    raise SystemExit(main())
