"""Steering of a run through its stream: refusals, and changes that all ranks apply alike."""

from __future__ import annotations

import asyncio
import json
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from conftest import Run, wait
from live_view import Browser, Page
from mpi4py import MPI
from viewer_driver import Driver, run_viewer

from uzushio import staging
from uzushio.staging.reader import Reader
from uzushio.staging.writer import Command
from uzushio.viewer.gateway import Gateway

CASE = """\
solver: channel
grid: {nx: 16, ny: 12, nz: 14, lx: pi, ly: pi/2}
flow: {reynolds_tau: 100}
time: {steps: 1000000, cfl: 0.3}
statistics: {start: 100.0}
checkpoint: {every: null}
output: {folder: run, figures: false, monitor_every: 0.2}
publish: {engine: shm, queue: {policy: latest_only}}
"""
LIMIT = 100.0
Start = Callable[..., subprocess.Popen[str]]


class Viewer:
    """Reader that sends requests and waits for the replies."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self.replies: dict[int, str] = {}

    def ask(self, request: object) -> dict[str, Any]:
        text = request if isinstance(request, str) else json.dumps(request)
        number = self.reader.send(text)
        end = time.monotonic() + LIMIT
        while number not in self.replies:
            assert time.monotonic() < end and not self.reader.ended
            self.reader.next(0.1)
            self.replies |= self.reader.take_replies()
        reply: dict[str, Any] = json.loads(self.replies[number])
        return reply

    def refused(self, request: object) -> str:
        reply = self.ask(request)
        assert not reply["ok"]
        return str(reply["text"])

    def applied(self, request: object) -> int:
        reply = self.ask(request)
        assert reply["ok"], reply
        return int(reply["step"])


@contextmanager
def viewer(contact: Path) -> Iterator[Viewer]:
    with staging.attach(contact, attach_limit=LIMIT) as reader:
        yield Viewer(reader)


@pytest.fixture
def case(tmp_path: Path) -> Path:
    path = tmp_path / "channel.yaml"
    path.write_text(CASE)
    return path


def record(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "steering.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("ranks", [1, 3])
def test_a_viewer_steers_a_run_and_a_restart_keeps_it(
    start_uzushio: Start, uzushio: Run, case: Path, ranks: int
) -> None:
    job = start_uzushio("run", case, "--ranks", ranks)
    folder = case.parent / "run"
    with (
        viewer(folder / "channel.contact") as viewer_link,
        viewer(folder / "channel.contact") as other,
    ):
        description = viewer_link.ask({"request": "describe"})["steering"]
        assert (
            description["allowed"]
            and description["holder"] == ""
            and description["publish_every"] == 1
        )
        assert description["parameters"]["cfl"]["value"] == 0.3
        assert "request the right" in viewer_link.refused(
            {"request": "set", "name": "cfl", "value": 0.2}
        )
        assert viewer_link.ask({"request": "hold", "by": "ada@desk"})["ok"]
        assert "ada@desk holds" in other.refused({"request": "hold"})
        assert "ada@desk holds" in other.refused({"request": "stop"})
        assert other.ask({"request": "describe"})["steering"]["holder"] == "ada@desk"
        assert "'clf'" in viewer_link.refused({"request": "set", "name": "clf", "value": 0.2})
        assert "must be from" in viewer_link.refused(
            {"request": "set", "name": "cfl", "value": 7.0}
        )
        assert "invalid" in viewer_link.refused({"request": "set", "name": "cfl", "value": "fast"})
        assert "invalid" in viewer_link.refused("{")
        changed = viewer_link.applied({"request": "set", "name": "cfl", "value": 0.2})
        every = viewer_link.applied({"request": "publish_every", "steps": 3})
        saved = viewer_link.applied({"request": "checkpoint"})
        assert changed <= every <= saved
        viewer_link.reader.next(LIMIT)
        step = viewer_link.reader.next(LIMIT)
        assert step is not None and step.index % 3 == 0
        viewer_link.reader.detach()  # returns the right to steer
        end = time.monotonic() + LIMIT
        while not other.ask({"request": "hold", "by": "grace@lab"})["ok"]:
            assert time.monotonic() < end
        other.applied({"request": "stop"})
        while not other.reader.ended:
            other.reader.next(LIMIT)
    done = wait(job, LIMIT)
    assert done.returncode == 128 + 15, done.stderr
    assert f"Steered after step {changed}: cfl from 0.3 to 0.2." in done.stdout
    lines = record(folder)
    assert [line["request"] for line in lines] == ["set", "publish_every", "checkpoint", "stop"]
    assert [line["by"] for line in lines] == 3 * ["ada@desk"] + ["grace@lab"]
    assert lines[0] | {"at": "", "time": 0.0} == {
        "step": changed, "time": 0.0, "at": "", "by": "ada@desk", "request": "set", "name": "cfl",
        "value": 0.2, "before": 0.3,
    }  # fmt: skip
    steps = [int(path.name.removeprefix("step-")) for path in (folder / "checkpoints").iterdir()]
    assert saved in steps and max(steps) > saved
    more = uzushio("run", "--restart", folder, "--set", f"time.steps={max(steps) + 2}", "--quiet")
    assert more.returncode == 0, more.stderr
    assert len(record(folder)) == 4


def test_a_page_of_the_live_view_steers_a_run(start_uzushio: Start, case: Path) -> None:
    job = start_uzushio("run", case, "--ranks", 1)

    async def ask(page: Page, **request: Any) -> dict[str, Any]:
        await page.say(type="steer", id=1, request=request)
        return await page.hear("steered", LIMIT)

    async def steer(gateway: Gateway) -> None:
        async with Browser(gateway) as browser:
            page = await browser.open(wait=False)
            await page.until(lambda: steering(page).get("available"), LIMIT)
            assert steering(page)["parameters"]["cfl"]["value"] == 0.3
            change = {"request": "set", "name": "cfl", "value": 0.2}
            assert "take the right" in (await ask(page, **change))["text"]
            assert (await ask(page, request="hold"))["ok"]
            assert "must be from" in (await ask(page, **change | {"value": 7.0}))["text"]
            assert (await ask(page, **change))["step"] > 0
            await page.until(lambda: steering(page)["parameters"]["cfl"]["value"] == 0.2, LIMIT)
            stopped = await ask(page, request="stop")
            assert stopped["ok"] and "the run stops after step" in stopped["text"]
            await page.until(lambda: not steering(page)["available"], LIMIT)

    def work(driver: Driver) -> None:
        with Gateway(driver.exchange) as gateway:
            asyncio.run(steer(gateway))

    run_viewer(str(case.parent / "run" / "channel.contact"), MPI.COMM_SELF, work, wait=LIMIT)
    assert wait(job, LIMIT).returncode == 128 + 15
    lines = record(case.parent / "run")
    assert [line["request"] for line in lines] == ["set", "stop"]
    assert lines[0]["by"].endswith(", page1")


def steering(page: Page) -> dict[str, Any]:
    """Return what can be steered, as a page was told last."""
    told = page.last("steering")
    return {} if told is None else dict(told["state"])


def test_a_case_forbids_steering(start_uzushio: Start, case: Path) -> None:
    case.write_text(CASE.replace("publish: {", "publish: {steering: false, "))
    job = start_uzushio("run", case, "--ranks", 1)
    with viewer(case.parent / "run" / "channel.contact") as viewer_link:
        assert not viewer_link.ask({"request": "describe"})["steering"]["allowed"]
        for request in ({"request": "hold"}, {"request": "stop"}):
            assert "the case forbids it" in viewer_link.refused(request)
    job.terminate()
    assert wait(job, LIMIT).returncode == 128 + 15
    assert not (case.parent / "run" / "steering.jsonl").exists()


def test_streams_without_commands_refuse_them(tmp_path: Path) -> None:
    with staging.open("s", None, {"engine": "file", "file": {"folder": tmp_path / "s.zarr"}}) as w:
        w.uniform_mesh("box", (2, 2, 2))
        w.field("u", "box")
        assert w.take_commands() == []
    with (
        staging.attach(tmp_path / "s.zarr") as reader,
        pytest.raises(staging.StagingError, match="take no commands"),
    ):
        reader.send("stop")


def test_replies_are_long_texts_with_a_limit(tmp_path: Path) -> None:
    options = {"engine": "shm", "contact": tmp_path / "s.contact"}
    with staging.open("s", None, options) as writer:
        writer.uniform_mesh("box", (2, 2, 2))
        writer.field("u", "box")
        with staging.attach(tmp_path / "s.contact", attach_limit=LIMIT) as reader:
            number = reader.send("grüße")
            commands: list[Command] = []
            end = time.monotonic() + LIMIT
            while not commands and time.monotonic() < end:
                commands = writer.take_commands()
            assert [command.text for command in commands] == ["grüße"]
            with pytest.raises(staging.StagingError, match="at most 60000 bytes"):
                writer.reply(commands[0], "x" * 60_001)
            writer.reply(commands[0], 30_000 * "ü")
            replies: dict[int, str] = {}
            while not replies and time.monotonic() < end:
                reader.next(0.1)
                replies = reader.take_replies()
            assert replies == {number: 30_000 * "ü"}
