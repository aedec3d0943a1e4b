#!/usr/bin/env python3
"""The demo: a turbulent channel, seen while it runs, and a report of it all.

The solver publishes on some ranks, a relay joins it to a reader job on as many, and that draws a
movie, pictures and plots live. With --engine inproc the solver's own ranks draw, inside its steps.
Run it with `make demo`; what it writes is in runs/demo.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

ROOT = Path(os.path.relpath(Path(__file__).resolve().parents[1]))
CASE = ROOT / "examples/cases/channel.yaml"
PIPELINE = ROOT / "examples/pipelines/channel.yaml"
#: Left in the folder, so that nothing is removed that no demo wrote.
MARK = ".uzushio-demo"
#: Steps between published ones; the pipeline draws each.
EVERY = 10
#: Seconds that parts have to leave after a signal.
PATIENCE = 30.0


@dataclass
class Part:
    """A process of the demo; what it says is passed on with its name before each line."""

    name: str
    process: subprocess.Popen[str]
    errors: list[str] = field(default_factory=list)

    @classmethod
    def start(cls, name: str, *words: object) -> Part:
        """Start `uzushio WORDS` in a session of its own, where Ctrl-C does not reach it."""
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
            if kept is not None:
                kept.append(line.rstrip())

    def stop(self) -> None:
        """Ask it to leave."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)

    def ended(self) -> int:
        """Wait for it, not for ever; returns its status."""
        try:
            return self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            return self.process.wait()


class Demo:
    """The parts, their start, and an end for all of them whatever happens to one."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options, self.folder = options, Path(options.out)
        self.parts: list[Part] = []
        self.asked = 0

    def run(self) -> int:
        """Run it; returns the exit status."""
        self._clear()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._note)
        began = time.monotonic()
        try:
            status = self._inside() if self.options.engine == "inproc" else self._beside()
        finally:
            self._stop_all()
        if self.asked:
            print("Stopped, as asked.")
        if not any(self.folder.rglob("summary.json")):
            return status or 1
        page = self._report()
        print(f"\nThe demo took {time.monotonic() - began:.0f} s.")
        if page is not None:
            print(f"Report: {page}")
        return status

    def _clear(self) -> None:
        """Begin with an empty folder, if the one that there is is a demo's."""
        if self.folder.exists() and any(self.folder.iterdir()):
            if not (self.folder / MARK).exists():
                raise SystemExit(f"{self.folder} holds what no demo wrote; say --out OTHER.")
            shutil.rmtree(self.folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / MARK).write_text("")

    def _solver(self, publish: dict[str, object]) -> Part:
        settings = {
            "time.steps": self.options.steps,
            "statistics.start": 2.0,
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
        """The solver draws; the whole demo is one job."""
        publish = {"engine": "inproc", "every": EVERY, "pipeline": str(PIPELINE)}
        self._solver(publish)
        return self._wait()

    def _beside(self) -> int:
        """Solver, relay, reader; they may start in any order."""
        engine = self.options.engine
        contact = self.folder / "solver/channel.contact"
        source = contact
        if engine == "tcp":
            source = self.folder / "relay.contact"
            self.parts.append(
                Part.start(
                    "relay", "relay", "--from", contact, "--to", source, "--once", "--summary",
                    self.folder / "relay.json",
                )
            )  # fmt: skip
        self.parts.append(
            Part.start(
                "reader", "render", PIPELINE, "--from", source, "--ranks", self.options.ranks,
                "--out", self.folder / "render", "--wait", 120,
            )
        )  # fmt: skip
        self._solver(
            {
                "engine": engine,
                "every": EVERY,
                "fields": ["u", "v", "w"],
                "queue": {"policy": "block", "depth": 2, "time_limit": "60 s"},
                "wait_for_readers": 1,
                "wait_limit": "120 s",
            }
        )
        return self._wait()

    def _note(self, number: int, _frame: object) -> None:
        self.asked = number

    def _wait(self) -> int:
        """Until all parts have ended; if one fails, the others are asked to."""
        while True:
            states = [part.process.poll() for part in self.parts]
            failed = [p for p, state in zip(self.parts, states, strict=True) if state]
            if failed:
                # What failed first is said by name; the others follow it.
                part = failed[0]
                said = f": {part.errors[-1]}" if part.errors else ""
                print(f"The {part.name} {_how(part.process.returncode)}{said}")
                return 1
            if self.asked:
                return 128 + self.asked
            if all(state == 0 for state in states):
                return 0
            time.sleep(0.1)

    def _stop_all(self) -> None:
        """End what is left, the solver first: its readers then see the stream's end."""
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


def _how(status: int) -> str:
    """How a process ended."""
    if status < 0:
        return f"was killed by {signal.Signals(-status).name}; the others were asked to leave"
    return f"ended with status {status}; the others were asked to leave"


def main() -> int:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engine", default="tcp", choices=["tcp", "shm", "inproc"])
    parser.add_argument("--ranks", type=int, default=2, help="of the solver, and of the reader")
    parser.add_argument("--steps", type=int, default=2400, help="of the solver")
    parser.add_argument("--out", default="runs/demo", help="folder of all that it writes")
    return Demo(parser.parse_args()).run()


if __name__ == "__main__":
    raise SystemExit(main())
