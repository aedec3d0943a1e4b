"""A view that a page changes and saves makes the same picture in batch, pixel by pixel."""

from __future__ import annotations

import asyncio
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from live_view import Browser
from mpi4py import MPI
from PIL import Image
from pipeline_case import Flow
from viewer_driver import Driver, run_viewer

from uzushio import staging
from uzushio.pipeline import Pipeline, load
from uzushio.viewer.gateway import Gateway

LINES = np.linspace(0, 1, 6), np.linspace(0, 1, 7), np.linspace(0, 2, 9)


@pytest.mark.parametrize("limits", [[4, 8], [None, 7], None])
def test_a_view_saved_by_the_page_makes_its_picture_in_batch(tmp_path: Path, limits: Any) -> None:
    store = tmp_path / "steps.zarr"
    fields = {"u": ("box", lambda x, y, z, n: np.sin(3 * x) * y + z + n)}
    options = {"engine": "file", "file": {"folder": str(store)}}
    with staging.open("made", MPI.COMM_SELF, options) as writer:
        Flow({"box": LINES}, fields).write(writer, 3)
    saved: dict[str, Any] = {}

    async def edit(gateway: Gateway) -> None:
        async with Browser(gateway) as browser:
            page = await browser.open(width=200, height=150)
            view = await page.hear("view", 60.0)
            name = view["view"]
            surface = {"kind": "isosurface", "field": "w", "values": 4.5, "color": "#aa5500"}
            layers = [
                {"kind": "slice", "field": "w", "color": {"limits": limits} if limits else {}},
                surface,
            ]
            changes = [
                {"path": ["sources", "w"], "value": "2 * u + x"},
                {"path": ["views", name, "layers"], "value": layers},
                {"path": ["views", name, "camera"], "value": {"azimuth": 12.5, "zoom": 1.1}},
                {"path": ["views", name, "title"], "value": "step {step}"},
            ]
            await page.say(type="patch", base=view["revision"], changes=changes)
            revision = (await page.hear("view"))["revision"]
            await page.until(lambda: page.frames and page.frames[-1].revision == revision, 60.0)
            assert page.frames[-1].final and page.frames[-1].step == 2
            async with browser.session.get(f"{browser.base}picture.png?view={name}") as answer:
                saved["picture"] = np.asarray(Image.open(io.BytesIO(await answer.read())))
            await page.say(type="save")
            saved.update(await page.hear("saved"))

    def work(driver: Driver) -> None:
        with Gateway(driver.exchange, page=tmp_path) as gateway:
            asyncio.run(edit(gateway))

    run_viewer(str(store), MPI.COMM_SELF, work)
    file = tmp_path / saved["name"]
    file.write_text(saved["text"], encoding="utf-8")
    pipeline = Pipeline(load(file), MPI.COMM_SELF, tmp_path / "out", print)
    with staging.attach(store, MPI.COMM_SELF) as reader:
        for step in reader:
            pipeline.step(step, reader.release)
    pipeline.finish()
    pipeline.close()
    picture = next((tmp_path / "out" / "pictures").glob("*_00000002.png"))
    np.testing.assert_array_equal(np.asarray(Image.open(picture)), saved["picture"])
    assert len(np.unique(saved["picture"].reshape(-1, 3), axis=0)) > 50
