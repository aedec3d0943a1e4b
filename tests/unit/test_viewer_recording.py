"""Movies that pages record: their pictures, their limits, and their temporary files."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path

import av
import numpy as np
import pytest
from live_view import START, Browser, Painter, live

from uzushio.render.movie import Movie
from uzushio.render.view import View
from uzushio.viewer.exchange import DrawnPicture, DrawRequest
from uzushio.viewer.recording import Recording, fitted

#: Difference of grey values by compression.
TOLERANCE = 3


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Folder of temporary files, which is empty after each test."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    yield place
    end = time.monotonic() + 10.0
    while list(place.iterdir()) and time.monotonic() < end:
        time.sleep(0.02)
    assert not list(place.iterdir())


def decoded(path: Path) -> list[np.ndarray]:
    with av.open(str(path)) as movie:
        return [picture.to_ndarray(format="rgb24") for picture in movie.decode(video=0)]


def picture(step: int, shade: int, final: bool = True, size: tuple[int, int] = (64, 48)):
    settings = View.model_validate({**START, "size": size})
    request = DrawRequest("a", 1, {}, settings, final)
    pixels = np.full((size[1], size[0], 3), shade, np.uint8)
    pixels[: size[1] // 2] = 255 - shade
    return DrawnPicture(request, pixels, step, 0.1 * step)


def recorded(
    work: Callable[[Recording], Awaitable[None]], path: Path, **more: object
) -> list[np.ndarray]:
    """Return the pictures of a recording, and leave its attributes in `path`'s name."""

    async def run() -> None:
        changes = asyncio.Event()
        recording = Recording(changed=changes.set, **{"every": "step", "fps": 25.0, **more})
        try:
            await work(recording)
            recording.stop()
            async with asyncio.timeout(20):
                while recording.state not in ("ready", "failed"):
                    changes.clear()
                    await changes.wait()
            assert recording.state == "ready", recording.text
            path.write_bytes(recording.path.read_bytes())
            assert recording.bytes == path.stat().st_size
        finally:
            recording.discard()

    asyncio.run(run())
    return decoded(path)


def test_a_movie_has_the_first_full_picture_of_each_step(tmp_path: Path) -> None:
    shades = {1: 40, 2: 90, 3: 140, 7: 200}

    async def work(recording: Recording) -> None:
        for step, shade in shades.items():
            recording.add(picture(step, 10, final=False))  # while dragging
            recording.add(picture(step, shade))
            recording.add(picture(step, 250))  # another camera
            while recording.busy:
                await asyncio.sleep(0.01)

    pictures = recorded(work, tmp_path / "a.mp4")
    assert len(pictures) == len(shades)
    for pixels, (step, shade) in zip(pictures, shades.items(), strict=True):
        expected = picture(step, shade).pixels
        assert np.abs(pixels.astype(int) - expected).max() <= TOLERANCE


def test_at_a_constant_rate_the_movie_is_as_long_as_the_recording(tmp_path: Path) -> None:
    lasted = 0.0

    async def work(recording: Recording) -> None:
        nonlocal lasted
        recording.add(picture(1, 10, final=False, size=(32, 24)))  # begins with a full picture
        began = time.monotonic()
        recording.add(picture(1, 60))
        await asyncio.sleep(0.4)
        recording.add(picture(1, 160, final=False, size=(32, 24)))  # scaled
        await asyncio.sleep(0.4)
        lasted = time.monotonic() - began

    pictures = recorded(work, tmp_path / "a.mp4", every="time", fps=20.0)
    assert 1 < len(pictures) <= 20 * lasted + 2
    levels = [int(pixels[-1, -1, 0]) for pixels in pictures]
    assert levels == sorted(levels)
    assert levels[0] == pytest.approx(60, abs=TOLERANCE)
    assert levels[-1] == pytest.approx(160, abs=TOLERANCE)


def test_a_slow_encoder_leaves_no_step_out_and_asks_for_fewer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = Movie.write

    def slow(self: Movie, pixels: np.ndarray) -> None:
        time.sleep(0.1)
        write(self, pixels)

    monkeypatch.setattr(Movie, "write", slow)
    most = 0

    async def work(recording: Recording) -> None:
        nonlocal most
        for step in range(6):
            while recording.busy:
                await asyncio.sleep(0.01)
            recording.add(picture(step, 40 * step))
            most = max(most, step - recording.pictures)

    assert len(recorded(work, tmp_path / "a.mp4")) == 6
    assert most <= 2


@pytest.mark.parametrize("limit", [{"max_pictures": 4}, {"max_bytes": 4000}])
def test_a_movie_ends_at_its_limit_and_says_so(tmp_path: Path, limit: dict[str, int]) -> None:
    async def work(recording: Recording) -> None:
        for step in range(60):
            noise = np.random.default_rng(step).integers(0, 255, (48, 64, 3), np.uint8)
            recording.add(replace(picture(step, 0), pixels=noise))
            while recording.busy:
                await asyncio.sleep(0.01)
        assert "maximum" in recording.text and recording.state != "recording"

    pictures = recorded(work, tmp_path / "a.mp4", **limit)
    # Up to two pictures were waiting when the limit was reached.
    assert len(pictures) <= limit.get("max_pictures", 10) + 2


def test_a_recording_without_a_picture_makes_no_movie() -> None:
    async def run() -> None:
        recording = Recording("step", 25.0, lambda: None)
        recording.stop()
        async with asyncio.timeout(10):
            while recording.state != "failed":
                await asyncio.sleep(0.01)
        assert "no movie" in recording.text
        recording.discard()

    asyncio.run(run())


def test_a_picture_of_another_shape_is_fitted() -> None:
    pixels = np.zeros((10, 20, 4), np.uint8)
    pixels[:, 5:] = 200
    fitted_pixels = fitted(pixels, (40, 40))
    assert fitted_pixels.shape == (40, 40, 3)
    assert (fitted_pixels[:9] == 0).all() and (fitted_pixels[15:25, 20:] == 200).all()


def test_a_page_records_and_fetches_its_movie_once(tmp_path: Path) -> None:
    shades = [30, 80, 130, 180]

    async def work(browser: Browser, painter: Painter) -> None:
        page = await browser.open(width=96, height=64)
        await page.until(lambda: page.frames)
        view = page.last("view")
        assert view is not None
        await page.say(type="record", every="step", fps=10)
        for place, shade in enumerate(shades):
            if place:
                painter.step += 1
                painter.exchange.advance(painter.step)
                step = painter.step
                await page.until(lambda step=step: page.frames[-1].step == step)
            # A further picture of the same step is not in the movie.
            view = page.last("view")
            await page.patch(view["view"], view["revision"], azimuth=shade)
            await page.shows(shade)
        count = len(shades)
        await page.until(lambda: page.last("recording")["pictures"] == count)
        await page.say(type="stop_recording")
        await page.until(lambda: page.last("recording")["state"] == "ready")
        state = page.last("recording")
        assert state["seconds"] == pytest.approx(0.1 * count)
        address = browser.base + state["file"]
        async with browser.session.get(address, cookies={}) as answer:
            assert answer.status == 200 and answer.content_type == "video/mp4"
            content = await answer.read()
        assert len(content) == state["bytes"]
        (tmp_path / "a.mp4").write_bytes(content)
        async with browser.session.get(address) as answer:
            assert answer.status == 404
        async with browser.session.get(browser.base + "movie.mp4?key=") as answer:
            assert answer.status == 404

    live(work, tmp_path)
    pictures = decoded(tmp_path / "a.mp4")
    # Each step has at first the azimuth of the step before.
    expected = [0, *shades[:-1]]
    assert [pixels.shape for pixels in pictures] == [(64, 96, 3)] * len(shades)
    assert [int(pixels.mean()) for pixels in pictures] == pytest.approx(expected, abs=TOLERANCE)


def test_a_page_that_leaves_or_is_lost_leaves_no_file(tmp_path: Path, folder: Path) -> None:
    async def work(browser: Browser, painter: Painter) -> None:
        for lost in (False, True):
            page = await browser.open(width=96, height=64)
            await page.until(lambda page=page: page.frames)
            await page.say(type="record", every="time")
            await page.until(lambda page=page: (page.last("recording") or {}).get("pictures"))
            assert len(list(folder.iterdir())) == 1
            if lost:
                page.socket._response.connection.transport.abort()  # type: ignore[union-attr]
            else:
                await page.socket.close()
            async with asyncio.timeout(20):
                while list(folder.iterdir()):
                    await asyncio.sleep(0.02)

    live(work, tmp_path)


def test_a_second_recording_of_a_page_is_refused(tmp_path: Path) -> None:
    async def work(browser: Browser, painter: Painter) -> None:
        page = await browser.open(width=96, height=64)
        await page.until(lambda: page.frames)
        await page.say(type="record", every="time", fps=25)
        await page.say(type="record", every="time", fps=25)
        assert "already" in (await page.hear("error"))["message"]

    live(work, tmp_path)
