"""Memory of a live view: many steps and pictures, with a rewind buffer of two steps."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
from pathlib import Path

import numpy as np
import pytest
from live_view import Browser, Page
from mpi4py import MPI

from uzushio import staging
from uzushio._job.job import Job
from uzushio.staging.contact import Contact
from uzushio.viewer import link
from uzushio.viewer.exchange import Exchange
from uzushio.viewer.gateway import Gateway
from uzushio.viewer.loop import ViewLoop
from uzushio.viewer.scene import Scene
from uzushio.viewer.steps import open_steps

POINTS = 40
BYTES = 8 * POINTS**3
SIZE = (480, 320)
STEPS, WARM = 60, 20
#: Growth after the first steps: half of what would grow if steps or pictures were not released.
GROWTH = (STEPS - WARM) * min(BYTES, 3 * SIZE[0] * SIZE[1]) // 2


def resident() -> int:
    """Return the bytes of this process that are in memory."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.alone
def test_steps_and_pictures_are_released(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link, "VIDEO_SECONDS", 0.0)  # moving pictures are H.264
    contact = tmp_path / "flow.contact"
    writer = staging.open("flow", None, {"engine": "tcp", "contact": str(contact)})
    writer.uniform_mesh("box", 3 * (POINTS - 1,))
    writer.field("u", "box", "vertex")
    writer.block(0, "box", ((0, 0, 0), 3 * (POINTS,)), "vertex")
    values = np.random.default_rng(1).random(3 * (POINTS,))
    exchange, ended, errors = Exchange(), threading.Event(), list[BaseException]()
    sizes = list[int]()

    def publish(step: int) -> None:
        with writer.step(step, 0.1 * step):
            writer.put("u", values + step, 0)

    async def watch(page: Page, step: int) -> None:
        await page.patch("page1", 99, azimuth=7 * step)
        await asyncio.to_thread(publish, step)
        await page.until(lambda: page.frames and page.frames[-1].step == step)
        kept = page.last("status")["status"]["kept"]  # type: ignore[index]
        assert len(kept) <= 2, kept
        del page.frames[:-1], page.told[:-20]  # what the test itself has kept
        if step >= WARM and step % 5 == 0:
            sizes.append(resident())

    async def look() -> None:
        async with asyncio.timeout(60), Browser(gateway) as browser:
            publish(0)
            page = await browser.open(width=SIZE[0], height=SIZE[1])
            silent = await browser.open(silent=True, follow="page1")
            await page.say(type="video", decodes=True)
            await page.say(type="drag", active=True)
            for step in range(1, STEPS):
                await watch(page, step)
            assert len(silent.frames) <= 2

    def work() -> None:
        try:
            asyncio.run(look())
        except BaseException as error:
            errors.append(error)
        finally:
            ended.set()

    (tmp_path / "index.html").write_text("<!doctype html><title>page</title>")
    with Job(MPI.COMM_SELF, signals=False) as job, Gateway(exchange, page=tmp_path) as gateway:
        steps = open_steps(Contact(str(contact)), job.comm)
        loop = ViewLoop(job, steps, Scene(job.comm, Path()), exchange, 2 * BYTES, "flow")
        threading.Thread(target=work, daemon=True).start()
        loop.run(ended.is_set)
        steps.close()
    writer.close()
    if errors:
        raise errors[0]
    assert max(sizes) - sizes[0] < GROWTH, [size >> 20 for size in sizes]
