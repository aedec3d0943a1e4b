"""Demo with a live view: the page of the printed address shows the running solver."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from conftest import wait
from live_pages import LIMIT
from playwright.sync_api import Browser, Page, expect

Start = Callable[..., subprocess.Popen[str]]
DEMO = Path(__file__).parents[2] / "tools/demo.py"
ADDRESS = r"^    (http://\S+)$"
PIXELS = "document.getElementById('picture').toDataURL()"


def processes_of(folder: Path) -> list[str]:
    """Return the command lines of the processes whose working folder is the given one."""
    command_lines = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cwd").resolve(strict=True) == folder:
                command_lines.append((process / "cmdline").read_text().replace("\0", " "))
        except OSError:
            continue  # it has ended, or is of another user
    return command_lines


def line_of(job: subprocess.Popen[str], pattern: str, limit: float = 150.0) -> re.Match[str]:
    """Return the match of the next line that has a pattern."""
    assert job.stdout is not None
    deadline = time.monotonic() + limit
    lines = []
    for line in job.stdout:
        lines.append(line)
        if match := re.search(pattern, line):
            return match
        assert time.monotonic() < deadline, lines
    raise AssertionError(f"{pattern} is missing: {lines} {wait(job, 1).stderr}")


def shown(page: Page) -> tuple[int, str]:
    """Return the step of the page, and its picture."""
    return int(page.locator("#step").input_value()), page.evaluate(PIXELS)


def test_the_live_demo_shows_the_steps_of_its_solver(
    start: Start, python: Path, tmp_path: Path, browser: Browser
) -> None:
    job = start(python, DEMO, "--live", "--steps", 100000, "--out", "demo")
    page = browser.new_page()
    try:
        page.goto(line_of(job, ADDRESS)[1])
        expect(page.locator("#link-state")).to_have_text("Live", timeout=LIMIT)
        expect(page.locator("#step")).to_have_value(re.compile(r"^\d+$"), timeout=3 * LIMIT)
        step, picture = shown(page)
        assert len(picture) > 20_000, "the picture has one colour"
        deadline = time.monotonic() + 60
        while (now := shown(page)) and (now[0] <= step or now[1] == picture):
            assert time.monotonic() < deadline, f"the picture stays that of step {step}"
            page.wait_for_timeout(50)
        if folder := os.environ.get("UZUSHIO_SCREENSHOTS"):
            page.screenshot(path=Path(folder) / "live_view.png")
    finally:
        page.close()
    job.send_signal(signal.SIGINT)
    done = wait(job, 90)
    assert done.returncode == 0, done.stdout + done.stderr
    assert processes_of(tmp_path) == []


def test_the_live_demo_keeps_the_last_steps_until_ctrl_c(
    start: Start, python: Path, tmp_path: Path, browser: Browser
) -> None:
    job = start(python, DEMO, "--live", "--steps", 20, "--engine", "shm", "--out", "demo")
    address = line_of(job, ADDRESS)[1]
    line_of(job, "The page keeps its last steps until Ctrl-C")
    page = browser.new_page()
    page.goto(address)
    expect(page.locator("#link-state")).to_have_text("Run ended", timeout=LIMIT)
    page.close()
    assert job.poll() is None
    job.send_signal(signal.SIGINT)
    done = wait(job, 90)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Report: " in done.stdout
    assert processes_of(tmp_path) == []
