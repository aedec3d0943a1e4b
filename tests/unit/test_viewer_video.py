"""H.264 of moving pictures: its pictures, the link that chooses it, and streams of pages."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import av
import numpy as np
import pytest
from live_view import HEADER, Browser, Page, Painter, live

from uzushio.render.view import SliceLayer, View
from uzushio.viewer import link as link_module
from uzushio.viewer.encoder import GOOD, POOR, VIDEO
from uzushio.viewer.exchange import DrawnPicture, DrawRequest
from uzushio.viewer.frame import H264, HEADER_BYTES, JPEG, KEY_FRAME
from uzushio.viewer.link import Link
from uzushio.viewer.video import VideoEncoder

PIXELS = 1000 * 600


def picture(number: int, size: tuple[int, int] = (161, 91), channels: int = 3) -> DrawnPicture:
    """Return a coloured picture in which a bright square moves."""
    width, height = size
    y, x = np.mgrid[0:height, 0:width]
    levels = (200 * x / width, 200 * y / height, 128 + 0 * x, 0 * x)
    pixels = np.stack(levels[:channels], -1).astype(np.uint8)
    pixels[20:40, 10 + 3 * number : 30 + 3 * number, :3] = 240, 40, 40
    settings = View(layers=(SliceLayer(field="u"),), size=size)
    return DrawnPicture(DrawRequest("a", 7, {}, settings, False), pixels, number, 0.5)


def decoded(frames: list[bytes]) -> list[np.ndarray]:
    """Return the pictures of a stream, each as soon as its frame is there."""
    decoder = av.CodecContext.create("h264", "r")
    decoder.flags |= 1 << 19  # low delay
    decoder.thread_count = 1
    pictures = []
    for frame in frames:
        width, height = HEADER.unpack_from(frame)[8:10]
        (shown,) = decoder.decode(av.Packet(frame[HEADER_BYTES:]))
        pictures.append(shown.to_ndarray(format="rgb24")[:height, :width])
    return pictures


@pytest.mark.parametrize("channels", [3, 4])
def test_a_stream_has_the_pictures_and_one_key_frame(channels: int) -> None:
    encoder = VideoEncoder()
    pictures = [picture(number, channels=channels) for number in range(8)]
    frames, first = zip(*(encoder.encode(drawn, drawn.step) for drawn in pictures), strict=True)
    assert first == (True,) + 7 * (False,)
    for number, frame in enumerate(frames):
        magic, codec, flags, _, sequence, revision, step, _, *size = HEADER.unpack_from(frame)[:10]
        assert (magic, codec, flags) == (b"UZF1", H264, 0 if number else KEY_FRAME)
        assert (sequence, revision, step, size) == (number, 7, number, [161, 91])
    assert max(map(len, frames[1:])) < 0.6 * len(frames[0])
    for sent, shown in zip(pictures, decoded(list(frames)), strict=True):
        # Colours have half the resolution: edges differ, surfaces do not.
        error = np.abs(shown.astype(int) - sent.pixels[..., :3])
        assert error.mean() < 3.0 and np.median(error) <= 2


def test_another_size_or_a_closed_encoder_begins_with_a_key_frame() -> None:
    encoder = VideoEncoder()
    assert [encoder.encode(picture(n), n)[1] for n in range(2)] == [True, False]
    assert [encoder.encode(picture(n, (80, 60)), n)[1] for n in range(2)] == [True, False]
    encoder.close()
    frame, first = encoder.encode(picture(1, (80, 60)), 5)
    assert first and len(decoded([frame])) == 1


# ---- the link


def transfer(link: Link, rate: float, count: int, quality: link_module.Quality = GOOD) -> None:
    """Send frames of the quality's size, one after the other, over a link of a rate in bytes/s."""
    size = {GOOD: 40_000, VIDEO: 6_000}[quality]
    for number in range(count):
        sent = transfer.now  # type: ignore[attr-defined]
        link.sent(number, size, PIXELS, quality, sent)
        transfer.now = sent + size / rate + 0.015  # type: ignore[attr-defined]
        assert link.acknowledged(number, transfer.now, 0.015)  # type: ignore[attr-defined]
        link.choose_codec(PIXELS)


transfer.now = 100.0  # type: ignore[attr-defined]


def test_a_slow_link_takes_h264_and_a_fast_one_jpeg_with_hysteresis() -> None:
    link = Link()
    link.decodes_video = True
    transfer(link, 12e6, 20)
    assert not link.video and link.quality(PIXELS, False) is GOOD
    transfer(link, 0.6e6, 20)
    assert link.video and link.quality(PIXELS, False) is VIDEO
    for rate, video in ((2.5e6, True), (12e6, False), (2.5e6, False), (0.6e6, True)):
        transfer(link, rate, 40, VIDEO if link.video else GOOD)
        assert link.video == video, rate
    assert link.quality(PIXELS, True).codec == JPEG  # at rest


def test_a_page_that_does_not_decode_h264_gets_jpeg_over_a_slow_link() -> None:
    link = Link()
    transfer(link, 0.3e6, 20)
    assert not link.video and link.quality(PIXELS, False) is POOR


def test_a_slow_link_takes_larger_pictures_as_h264() -> None:
    draw = {1: 0.01, 2: 0.005, 4: 0.002}
    scales = []
    for decodes in (False, True):
        link = Link()
        link.decodes_video = decodes
        transfer(link, 0.4e6, 20)
        link.sent(99, 30_000, PIXELS, VIDEO, transfer.now, first=True)  # type: ignore[attr-defined]
        link.acknowledged(99, transfer.now + 0.075)  # type: ignore[attr-defined]
        transfer(link, 0.4e6, 10, VIDEO if link.video else GOOD)
        scales.append(link.scale(PIXELS, draw, 2))
    assert scales == [2, 1]


# ---- pages


@pytest.fixture
def video_always(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Links that are slow enough for H.264 whatever their rate."""
    monkeypatch.setattr(link_module, "VIDEO_SECONDS", 0.0)
    monkeypatch.setattr(link_module, "JPEG_SECONDS", 0.0)
    return


async def drag(page: Page, azimuths: range) -> None:
    """Turn the camera while dragging; each picture is there before the next one is requested."""
    await page.say(type="drag", active=True)
    for azimuth in azimuths:
        await page.patch("page1", 99, azimuth=azimuth)
        last = page.frames[-1].revision if page.frames else 0
        await page.until(lambda: page.frames and page.frames[-1].revision > last)  # noqa: B023
    await page.say(type="drag", active=False)


def videos(page: Page) -> list[bool]:
    """Return of each frame of H.264 whether it is a key frame."""
    return [frame.key for frame in page.frames if frame.codec == H264]


def open_encoders() -> int:
    encoders = (candidate for candidate in gc.get_objects() if isinstance(candidate, VideoEncoder))
    return sum(encoder_object._codec is not None for encoder_object in encoders)


@pytest.mark.usefixtures("video_always")
def test_pictures_while_dragging_are_h264_and_at_rest_jpeg(tmp_path: Path) -> None:
    async def run(browser: Browser, painter: Painter) -> None:
        page = await browser.open(width=320, height=200)
        await page.shows(0)
        await drag(page, range(10, 14))  # the page has not said that it decodes H.264
        assert not videos(page)
        await page.say(type="video", decodes=True)
        await drag(page, range(20, 100, 5))
        await page.shows(95)
        assert page.frames[-1].codec == JPEG and page.frames[-1].final
        keys = videos(page)
        assert len(keys) >= 8 and keys[0]
        # A key frame comes with another size alone.
        sizes = [frame.size for frame in page.frames if frame.codec == H264]
        assert keys[1:] == [size != other for size, other in pairwise(sizes)]
        frames = [frame.whole for frame in page.frames if frame.codec == H264]
        shades = [
            int(pixels[pixels.shape[0] // 2, pixels.shape[1] // 2, 0]) for pixels in decoded(frames)
        ]
        assert all(19 <= shade <= 96 for shade in shades) and shades == sorted(shades)

        await page.say(type="video", decodes=False)
        before = len(videos(page))
        await drag(page, range(100, 120, 5))
        await page.shows(115)
        assert len(videos(page)) == before
        assert open_encoders() == 0

    live(run, tmp_path)


@pytest.mark.usefixtures("video_always")
def test_a_page_that_connects_again_or_follows_begins_with_a_key_frame(tmp_path: Path) -> None:
    async def run(browser: Browser, painter: Painter) -> None:
        page = await browser.open(width=320, height=200)
        other = await browser.open(follow="page1")
        for video_page in (page, other):
            await video_page.say(type="video", decodes=True)
        await asyncio.gather(page.shows(0), other.shows(0))
        await drag(page, range(10, 40, 5))
        await page.shows(35)
        await other.shows(35)
        assert open_encoders() == 2  # a stream for each page
        assert videos(other)[0]
        await page.socket.close()
        await other.until(lambda: len(browser.gateway._session.clients) == 1)
        await other.socket.close()
        while browser.gateway._session.clients:
            await asyncio.sleep(0.01)
        assert open_encoders() == 0
        again = await browser.open(view="page1")
        await again.say(type="video", decodes=True)
        await again.shows(35)
        await drag(again, range(50, 80, 5))
        await again.shows(75)
        assert videos(again)[0] and not all(videos(again))

    live(run, tmp_path)


@pytest.mark.usefixtures("video_always")
def test_without_x264_pictures_stay_jpeg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: VideoEncoder, width: int, height: int) -> None:
        raise ValueError("libx264")

    monkeypatch.setattr(VideoEncoder, "_open", refuse)

    async def run(browser: Browser, painter: Painter) -> None:
        page = await browser.open(width=320, height=200)
        await page.say(type="video", decodes=True)
        await page.shows(0)
        await drag(page, range(10, 60, 10))
        await page.shows(50)
        assert not videos(page)

    live(run, tmp_path)
