"""Movie of the pictures of a page, recorded and downloaded with its buttons."""

from __future__ import annotations

from pathlib import Path

import av
import numpy as np
from drawn_views import color_of
from live_pages import LIMIT, Live
from playwright.sync_api import expect


def test_the_movie_has_the_pictures_of_all_steps_that_were_shown(
    stored: Live, tmp_path: Path
) -> None:
    page = stored.open(viewport={"width": 700, "height": 500}, accept_downloads=True)
    page.locator("#step-slider").fill("0")
    stored.until(lambda: stored.drawing.requests[-1].step == 0, page)
    stored.wait_for_picture(page)
    before = len(stored.drawing.requests) - 1
    page.locator("#movie > summary").click()
    page.get_by_role("button", name="Record").click()
    expect(page.locator("#recording-size")).to_contain_text("1 picture, ", timeout=LIMIT)
    page.locator("#play").click()
    expect(page.locator("#recording-size")).to_contain_text("5 pictures, 0.2 s", timeout=LIMIT)
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Stop and download").click()
    assert waiting.value.suggested_filename == "Channel-at-Re-180.mp4"
    expect(page.locator("#record-state")).to_contain_text("5 pictures", timeout=LIMIT)
    waiting.value.save_as(tmp_path / "movie.mp4")
    with av.open(str(tmp_path / "movie.mp4")) as movie:
        frames = [frame.to_ndarray(format="rgb24") for frame in movie.decode(video=0)]
    requests = stored.drawing.requests[before:]
    expected = [color_of(request, request.step or 0) for request in requests]
    assert len(frames) == len(expected) == len(stored.description.steps)
    for pixels, color in zip(frames, expected, strict=True):
        assert np.abs(pixels[8:-8, 8:-8].mean(axis=(0, 1)) - color).max() < 6
