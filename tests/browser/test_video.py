"""H.264 in the page: decoded by WebCodecs while dragging, and given up after errors."""

from __future__ import annotations

import numpy as np
import pytest
from live_pages import LIMIT, Live
from playwright.sync_api import Page, expect

from uzushio.viewer import link

#: Notes of each picture on the canvas: the class of what is drawn.
NOTE = """
globalThis.drawn = [];
const paint = CanvasRenderingContext2D.prototype.drawImage;
CanvasRenderingContext2D.prototype.drawImage = function (image, ...given) {
  paint.call(this, image, ...given);
  if (this.canvas.id === "picture") drawn.push(image.constructor.name);
};
"""
#: Classes of what is drawn: H.264 and JPEG.
KINDS = ("VideoFrame", "ImageBitmap")
#: Keeps the newest picture of each class, at a small size.
KEEP = """
globalThis.kept = {};
const noted = CanvasRenderingContext2D.prototype.drawImage;
CanvasRenderingContext2D.prototype.drawImage = function (image, ...given) {
  noted.call(this, image, ...given);
  if (this.canvas.id !== "picture") return;
  const small = new OffscreenCanvas(160, 120).getContext("2d");
  small.drawImage(this.canvas, 0, 0, 160, 120);
  kept[image.constructor.name] = [...small.getImageData(0, 0, 160, 120).data];
};
"""
#: The decoder reports an error instead of the sixth picture (the first is that of the test frame).
FAILING = """
let left = 6;
globalThis.VideoDecoder = class extends VideoDecoder {
  constructor(given) { super(given); this.report = given.error; }
  decode(chunk) {
    if (--left) return super.decode(chunk);
    this.report(new DOMException("broken", "EncodingError"));
  }
};
"""
#: The decoder keeps each picture until the next frame, as those of some systems do.
LAGGING = """
globalThis.VideoDecoder = class extends VideoDecoder {
  constructor(given) {
    let kept = null, count = 0;
    super({ ...given, output: (picture) => {
      if (tested) [kept, picture] = [picture, kept];
      tested = true;
      if (picture) given.output(picture);
    } });
  }
};
let tested = false;
"""


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Links that are slow enough for H.264 whatever their rate."""
    monkeypatch.setattr(link, "VIDEO_SECONDS", 0.0)
    monkeypatch.setattr(link, "JPEG_SECONDS", 0.0)


def opened(live: Live, *scripts: str) -> Page:
    """Open a page with scripts that run before its own."""
    page = live.open(wait=False, scripts=(NOTE, *scripts))
    live.wait_for_picture(page)
    page.wait_for_timeout(300)  # the test frame
    return page


def drag(live: Live, page: Page, pictures: int = 12, release: bool = True) -> list[str]:
    """Turn the camera by the pointer until so many pictures are drawn; return their classes."""
    box = page.locator("#picture").bounding_box()
    assert box is not None
    page.evaluate("drawn.length = 0")
    page.mouse.move(box["x"] + 200, box["y"] + 200)
    page.mouse.down()
    place = 200

    def enough() -> bool:
        nonlocal place
        place = 200 + (place - 190) % 300
        page.mouse.move(box["x"] + place, box["y"] + 200)
        return bool(page.evaluate("drawn.length") >= pictures)

    live.until(enough, page)
    moving = list(page.evaluate("drawn"))
    if not release:
        return moving
    page.mouse.up()
    live.until(lambda: live.drawing.requests[-1].final, page)
    live.wait_for_picture(page)
    return moving


def test_over_a_slow_link_moving_pictures_become_h264_that_is_like_jpeg(live: Live) -> None:
    live.drawing.waves = 60.0
    page = opened(live, KEEP)
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    link = {"offline": False, "latency": 5, "downloadThroughput": 400e3, "uploadThroughput": -1}
    session.send("Network.emulateNetworkConditions", link)
    figures = page.locator("#figures")
    while "H.264" not in figures.inner_text():
        drag(live, page, 3, release=False)
    (client,) = live.gateway._session.clients
    assert client.link.video

    box = page.locator("#picture").bounding_box()
    assert box is not None
    place = 100

    def difference() -> float:
        """Move once, and compare the moving picture with the one of the same camera at rest."""
        nonlocal place
        place += 10
        page.evaluate("drawn.length = 0")
        page.mouse.move(box["x"] + place, box["y"] + 200)
        live.until(lambda: page.evaluate("drawn.at(-1)") == "ImageBitmap", page)
        live.wait_for_picture(page)
        moving, still = (np.array(page.evaluate(f"kept.{kind}"), float) for kind in KINDS)
        assert np.ptp(still.reshape(-1, 4)[:, :3]) > 80
        return float(np.abs(moving - still).mean())

    live.until(lambda: difference() < 3.0, page)
    page.mouse.up()


@pytest.mark.usefixtures("slow")
def test_moving_pictures_have_the_colours_of_jpeg(live: Live) -> None:
    page = opened(live)
    assert drag(live, page).count("VideoFrame") > 5
    drag(live, page, 8, release=False)
    # The last moving picture, whose camera is that of the newest request.
    live.until(lambda: live.shows_newest(page), page)
    page.mouse.up()
    live.wait_for_picture(page)
    live.until(lambda: page.evaluate("drawn.at(-1)") == "ImageBitmap", page)


@pytest.mark.usefixtures("slow")
def test_without_webcodecs_pictures_are_jpeg(live: Live) -> None:
    page = opened(live, "delete globalThis.VideoDecoder;")
    assert set(drag(live, page)) == {"ImageBitmap"}


@pytest.mark.usefixtures("slow")
@pytest.mark.parametrize("fault", [FAILING, LAGGING], ids=["error", "lag"])
def test_after_an_error_or_lag_of_the_decoder_pictures_are_jpeg_for_good(
    live: Live, fault: str
) -> None:
    page = opened(live, fault)
    drag(live, page, 20)
    (client,) = live.gateway._session.clients
    live.until(lambda: not client.link.decodes_video, page)
    assert set(drag(live, page)) == {"ImageBitmap"}
    page.get_by_label("Azimuth", exact=True).fill("44")
    page.keyboard.press("Enter")
    live.until(lambda: live.view().camera.azimuth == 44, page)
    live.wait_for_picture(page)


@pytest.mark.usefixtures("slow")
def test_h264_continues_after_a_lost_connection(live: Live) -> None:
    page = opened(live)
    assert "VideoFrame" in drag(live, page)
    (client,) = live.gateway._session.clients
    loop = live.gateway._loop
    assert loop is not None
    loop.call_soon_threadsafe(client.socket._req.transport.abort)
    expect(page.locator("#link-state")).to_have_text("Connection lost", timeout=LIMIT)
    expect(page.locator("#link-state")).to_have_text("Live", timeout=LIMIT)
    live.wait_for_picture(page)
    live.until(lambda: live.gateway._session.clients[0].link.decodes_video, page)
    assert "VideoFrame" in drag(live, page)
