"""Pages of the live view: views, following, messages, limits, slow pages, and the end."""

from __future__ import annotations

import asyncio
import gc
import io
import json
import time
from pathlib import Path

import aiohttp
import numpy as np
import pytest
import yaml
from live_view import START, Browser, Page, Painter, live, shade
from PIL import Image

from uzushio.render.annotate import letter_height
from uzushio.render.view import View
from uzushio.viewer import encoder
from uzushio.viewer import gateway as gateway_module
from uzushio.viewer.document import ViewDocument
from uzushio.viewer.exchange import DrawnPicture, Exchange
from uzushio.viewer.gateway import Gateway, Limits
from uzushio.viewer.stream_state import Status


def test_a_page_receives_description_view_and_a_picture_of_its_size(tmp_path: Path) -> None:
    async def run(browser: Browser, painter: Painter) -> None:
        painter.exchange.report(Status("live", step=1, rate=float("nan")))
        page = await browser.open(width=500, height=300)
        hello = await page.hear("hello")
        assert (hello["page"], hello["view"]) == ("page1", "page1")
        assert "SliceLayer" in json.dumps(hello["document_schema"])
        assert len(hello["maps"]["viridis"]) == 32 and hello["maps"]["viridis"][0] == "#440154"
        assert (await page.hear("description"))["stream"]["fields"][0]["unit"] == "m/s"
        status = (await page.hear("status"))["status"]
        assert (status["state"], status["rate"], status["age"]) == ("live", None, None)
        view = await page.hear("view")
        assert view["settings"] == START | {"size": [500, 300]}
        frame = await page.shows(0)
        assert (frame.size, frame.step, frame.time, frame.final) == ((500, 300), 1, 0.5, True)
        assert frame.revision == view["revision"]
        assert (await page.hear("limits"))["limits"] == {"u": [0.0, 1.0]}
        await page.say(type="size", width=640, height=360)
        assert (await page.hear("view"))["settings"]["size"] == [640, 360]
        await page.until(lambda: page.frames[-1].size == (640, 360))

    live(run, tmp_path)


def test_pictures_are_small_while_dragging_and_full_150_ms_after(tmp_path: Path) -> None:
    async def run(browser: Browser, painter: Painter) -> None:
        page = await browser.open(width=800, height=600)
        await page.shows(0)
        await page.say(type="drag", active=True)
        for azimuth in range(1, 40):
            await page.patch("page1", 2, azimuth=azimuth)
            await asyncio.sleep(0.01)
        await page.say(type="drag", active=False)
        last = time.perf_counter()
        await page.shows(39)
        # Drawing takes 40 ms whatever the size, too long for full size while dragging.
        moving = [frame for frame in page.frames if not frame.final]
        assert len(moving) >= 2
        assert {frame.size for frame in moving} <= {(400, 300), (200, 150)}
        # Text has the same share of the picture.
        letters = letter_height(View.model_validate({**START, "size": (800, 600)}))
        reduced = [request.settings for request in painter.requests if not request.final]
        assert {settings.text_size * 800 / settings.size[0] for settings in reduced} == {letters}
        assert page.frames[-1].size == (800, 600)
        assert page.arrivals[-1] - last > 0.1
        # The newest revision was drawn each time, not each revision.
        drawn = [request.revision for request in painter.requests]
        assert drawn == sorted(drawn) and len(drawn) < 30

    live(run, tmp_path, seconds=0.04)


def test_two_pages_have_two_views_and_one_follows_the_other(tmp_path: Path) -> None:
    async def run(browser: Browser, painter: Painter) -> None:
        first, two = await browser.open(), await browser.open()
        await asyncio.gather(first.shows(0), two.shows(0))
        await asyncio.gather(first.patch("page1", 2, azimuth=50), two.patch("page2", 2, azimuth=90))
        await asyncio.gather(first.shows(50), two.shows(90))
        await two.say(type="follow", view="page1")
        await two.shows(50)
        assert (await two.hear("viewers"))["views"] == {"page1": ["page1", "page2"]}
        await two.until(lambda: (two.last("view") or {}).get("view") == "page1")
        base = two.last("view")["revision"]  # type: ignore[index]
        drawn = len(painter.requests)
        await two.patch("page1", base, azimuth=70)  # who follows may also turn the view
        await asyncio.gather(first.shows(70), two.shows(70))
        assert len(painter.requests) == drawn + 1
        assert (await first.hear("view"))["changed_by"] == "page2"
        await two.say(type="follow", view=None)
        await two.shows(90)
        await two.say(type="follow", view="nobody")
        assert "no view 'nobody'" in (await two.hear("error"))["message"]

    live(run, tmp_path)


def test_a_change_of_what_another_page_has_changed_is_refused(tmp_path: Path) -> None:
    async def run(browser: Browser, painter: Painter) -> None:
        first, two = await browser.open(), await browser.open()
        await two.say(type="follow", view="page1")
        await two.until(lambda: (two.last("view") or {}).get("view") == "page1")
        base = two.last("view")["revision"]  # type: ignore[index]
        for azimuth in (10, 20, 30):  # one's own changes are no conflict
            await first.patch("page1", base, azimuth=azimuth)
        await first.shows(30)
        two.told.clear()
        await two.patch("page1", base, azimuth=100, zoom=2)
        error = await two.hear("error")
        assert error["path"] == ["views", "page1", "camera", "azimuth"]
        assert "page1 has changed this" in error["message"]
        view = await two.hear("view")
        assert view["settings"]["camera"] == {"azimuth": 30.0}  # nor is the zoom applied
        await two.patch("page1", base, zoom=2)  # another key
        await two.patch("page1", view["revision"], azimuth=100)
        await asyncio.gather(first.shows(100), two.shows(100))

    live(run, tmp_path)


def test_answers_have_the_numbers_of_the_patches_and_other_changes_have_not(
    tmp_path: Path,
) -> None:
    async def run(browser: Browser, painter: Painter) -> None:
        page = await browser.open()
        await page.shows(0)
        base = (await page.hear("view"))["revision"]

        async def patch(number: int, key: str, value: float) -> None:
            change = {"path": ["views", "page1", "camera", key], "value": value}
            await page.say(type="patch", base=base, number=number, changes=[change])

        await patch(5, "azimuth", 10)
        assert (await page.hear("view"))["patches"] == {"page1": 5}
        await page.say(type="size", width=300, height=200)
        view = await page.hear("view")
        assert (view["changed_by"], view["patches"]) == ("page1", {"page1": 5})
        await patch(6, "zoom", -1)
        assert (await page.hear("error"))["patch"] == 6
        assert (await page.hear("view"))["patches"] == {"page1": 5}
        await page.say(type="patch", base=base, number=7, changes=[])  # not a valid message
        await page.until(lambda: (page.last("error") or {}).get("patch") == 7)
        await page.say(type="seek", step=-1)
        await page.until(lambda: (page.last("error") or {}).get("patch") is None)

    live(run, tmp_path)


def test_errors_name_the_control_and_change_nothing(tmp_path: Path) -> None:
    async def run(browser: Browser, painter: Painter) -> None:
        page = await browser.open()
        await page.shows(0)
        view = await page.hear("view")
        layer = ["views", "page1", "layers", 0]
        for path, value, told in (
            ([*layer, "color", "map"], "virids", "did you mean viridis"),
            ([*layer, "opacity"], 2, "less than or equal to 1"),
            ([*layer, "colour"], 1, "not known"),
            (["views", "page1", "font"], "/etc/passwd", "set in the pipeline file alone"),
            (["sources", "q", "kind"], "curl", "must be 'vorticity'"),
        ):
            await page.say(
                type="patch",
                base=view["revision"],
                changes=[
                    {"path": ["views", "page1", "title"], "value": "changed"},
                    {"path": path, "value": value},
                ],
            )
            error = await page.hear("error")
            assert error["path"] == path and told in error["message"], error
            assert error["revision"] == view["revision"]
            assert (await page.hear("view"))["settings"] == view["settings"]
        # A mistake that only the drawing finds.
        change = {"path": [*layer, "field"], "value": "missing"}
        await page.say(type="patch", base=view["revision"], changes=[change])
        error = await page.hear("error")
        assert (error["path"], error["message"]) == (change["path"], "there is no field 'missing'")
        await page.say(type="patch", base=99, changes=[change | {"value": "u"}])
        await page.patch("page1", 99, azimuth=7)
        await page.shows(7)

    live(run, tmp_path)


def test_pausing_keeps_a_step_and_live_follows_the_newest(tmp_path: Path) -> None:
    async def run(browser: Browser, painter: Painter) -> None:
        page = await browser.open()

        async def shown(step: int) -> None:
            await page.until(lambda: page.frames and page.frames[-1].step == step)

        await shown(1)
        painter.step = 2
        painter.exchange.advance(2)
        await shown(2)
        await page.say(type="pause")
        await page.until(lambda: page.last("view")["step"] == 2)  # type: ignore[index]
        painter.step = 3
        painter.exchange.advance(3)
        await page.patch("page1", 99, azimuth=20)
        await page.shows(20)
        assert page.frames[-1].step == 2
        await page.say(type="seek", step=1)
        await shown(1)
        await page.say(type="live")
        await shown(3)

    live(run, tmp_path)


def test_the_pointer_asks_for_values_without_a_new_picture(tmp_path: Path) -> None:
    async def run(browser: Browser, painter: Painter) -> None:
        page = await browser.open()
        await page.shows(0)
        drawn = len(page.frames)
        await page.say(type="pointer", x=0.25, y=0.75)
        probe = await page.hear("probe")
        assert (probe["position"], probe["values"]) == ([0.25, 0.75, 0.5], {"u": 2.0})
        assert len(page.frames) == drawn and painter.requests[-1].only_probe
        await page.say(type="pointer", x=None, y=None)
        await page.patch("page1", 99, azimuth=5)
        await page.shows(5)
        assert painter.requests[-1].probe is None

    live(run, tmp_path)


def test_the_newest_picture_can_be_fetched_without_loss(tmp_path: Path) -> None:
    async def run(browser: Browser, painter: Painter) -> None:
        page = await browser.open(width=64, height=48)
        await page.until(lambda: page.frames)
        url = browser.base + "picture.png"
        async with browser.session.get(url, params={"view": "page1"}) as answer:
            assert answer.content_type == "image/png"
            pixels = np.asarray(Image.open(io.BytesIO(await answer.read())))
        expected = np.random.default_rng(1).integers(0, 255, (48, 64, 3), np.uint8)
        np.testing.assert_array_equal(pixels, expected)
        async with browser.session.get(url, params={"view": "other"}) as answer:
            assert answer.status == 404

    live(run, tmp_path, noise=True)


def test_a_fetched_picture_is_that_of_the_view_s_present_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gateway_module, "PICTURE_LIMIT", 2.0)

    async def run(browser: Browser, painter: Painter) -> None:
        page = await browser.open()
        await page.shows(0)
        url = browser.base + "picture.png?view=page1"
        painter.seconds = 0.3
        change = {"path": ["views", "page1", "camera", "azimuth"], "value": 50}
        await page.say(type="patch", base=99, number=3, changes=[change])
        await page.until(lambda: (page.last("view") or {}).get("patches") == {"page1": 3})
        async with browser.session.get(url) as answer:  # before it is drawn
            pixels = np.asarray(Image.open(io.BytesIO(await answer.read())))
            assert answer.headers["Step"] == str(painter.step)
        assert (pixels == shade(painter.requests[-1])).all()
        assert painter.requests[-1].settings.camera.azimuth == 50
        change = {"path": ["views", "page1", "layers", 0, "field"], "value": "missing"}
        await page.say(type="patch", base=99, changes=[change])
        await page.hear("error")
        async with browser.session.get(url) as answer:
            assert answer.status == 504 and "not drawn within 2 s" in await answer.text()

    live(run, tmp_path)


def test_a_page_that_connects_again_has_its_view(tmp_path: Path) -> None:
    async def run(browser: Browser, painter: Painter) -> None:
        page = await browser.open()
        await page.patch("page1", 99, azimuth=33)
        await page.shows(33)
        await page.socket.close()
        while browser.gateway._session.clients:
            await asyncio.sleep(0.01)
        drawn = len(painter.requests)
        painter.exchange.advance(5)  # no page shows it
        await asyncio.sleep(0.2)
        assert len(painter.requests) == drawn
        again = await browser.open(view="page1")
        await again.shows(33)
        assert (await again.hear("hello"))["view"] == "page1"
        other = await browser.open(view="../../etc")
        assert (await other.hear("hello"))["view"] == "page3"

    live(run, tmp_path)


def test_save_gives_a_pipeline_file_and_load_reads_one(tmp_path: Path) -> None:
    async def run(browser: Browser, painter: Painter) -> None:
        page = await browser.open(width=320, height=200)
        await page.patch("page1", 99, azimuth=33)
        source = {"path": ["sources", "q", "expression"], "value": "2 * u"}
        await page.say(type="patch", base=99, changes=[source])
        await page.say(type="save")
        saved = await page.hear("saved")
        assert saved["name"] == "page1.yaml"
        content = yaml.safe_load(saved["text"])
        assert content["sources"] == {"q": {"expression": "2 * u"}}
        assert content["views"]["page1"]["camera"] == {"azimuth": 33.0}
        assert content["actions"] == [{"picture": "page1"}]
        other = await browser.open(width=320, height=200)
        await other.say(type="load", text=saved["text"])
        await other.shows(33)
        for text, told in (
            ("views: {a: {layers: 3}}", "views.page2.layers"),
            ("actions: []", "no section `views`"),
            ("views: {a: [", "correct the YAML"),
            ("views: {a: {layers: []}}", "no view 'b'; it has a"),
        ):
            await other.say(type="load", text=text, view="b" if "'b'" in told else None)
            assert told in (await other.hear("error"))["message"]

    live(run, tmp_path)


def test_pages_begin_with_the_view_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "pipeline.yaml"
    path.write_text(
        "views: {front: {layers: [{kind: slice, field: u}], camera: {name: front, azimuth: 12}}}\n"
        "actions: [{picture: front}]\n"
    )
    document = ViewDocument()
    assert document.load(path) == ["front"]

    async def run(browser: Browser, painter: Painter) -> None:
        page = await browser.open()
        await page.shows(12)
        await page.patch("page1", 99, azimuth=15)
        await page.shows(15)
        await (await browser.open()).shows(12)

    live(run, tmp_path, document=document)


def test_malformed_messages_are_answered_and_repeated_ones_end_the_connection(
    tmp_path: Path,
) -> None:
    async def run(browser: Browser, painter: Painter) -> None:
        page, other = await browser.open(), await browser.open()
        deep = "[" * 5000 + "]" * 5000
        for text in ("{", "[]", '{"type": "shout"}', '{"type": "ack", "sequence": -1}', deep):
            await page.socket.send_str(text)
            assert (await page.hear("error"))["message"]
        assert page.closed is None
        await page.socket.send_bytes(b"\x00\xff")
        assert "binary" in (await page.hear("error"))["message"]
        for _ in range(4):
            await page.say(type="patch", base=0, changes=[], extra=1)
        await page.until(lambda: page.closed)
        assert page.closed == 1008
        await other.patch("page2", 99, azimuth=9)
        await other.shows(9)

    live(run, tmp_path)


def test_oversize_messages_and_too_many_end_the_connection(tmp_path: Path) -> None:
    async def run(browser: Browser, painter: Painter) -> None:
        page = await browser.open()
        limit = (await page.hear("hello"))["max_message"]
        await page.say(type="load", text="x" * limit)
        await page.until(lambda: page.closed)
        assert page.closed == 1009
        page = await browser.open()
        for _ in range(200):
            await page.say(type="drag", active=False)
            if page.closed:
                break
            await asyncio.sleep(0)
        await page.until(lambda: page.closed)
        assert page.closed == 1008

    live(run, tmp_path, limits=Limits(rate=20.0, burst=50.0))


def test_pages_above_the_maximum_are_refused_until_one_leaves(tmp_path: Path) -> None:
    async def run(browser: Browser, painter: Painter) -> None:
        pages = [await browser.open() for _ in range(2)]
        third = await browser.open(wait=False)
        await third.until(lambda: third.closed)
        assert third.closed == 1013 and not third.told
        await pages[0].socket.close()
        await (await browser.open()).shows(0)

    live(run, tmp_path, limits=Limits(clients=2))


@pytest.mark.alone
def test_read_only_pages_do_not_keep_out_others(tmp_path: Path) -> None:
    async def run(browser: Browser, painter: Painter) -> None:
        for read_only, expected in ((True, 2), (False, 4)):
            address = browser.gateway.address(read_only=read_only)
            async with browser.post("login", json={"token": address.partition("#token=")[2]}):
                pages = [await browser.open(wait=False) for _ in range(4)]
            clients = browser.gateway._session.clients
            await asyncio.gather(
                *(reader.until(lambda p=reader: p.closed or p.told) for reader in pages)
            )
            assert len(clients) == expected
            assert sum(reader.closed is None for reader in pages) == 2

    live(run, tmp_path, limits=Limits(clients=4))


def test_a_page_that_reads_nothing_delays_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoded: list[tuple[int, encoder.Quality]] = []
    real = encoder.encode

    def counted(picture: DrawnPicture, sequence: int, quality: encoder.Quality) -> bytes:
        encoded.append((sequence, quality))
        return real(picture, sequence, quality)

    monkeypatch.setattr(encoder, "encode", counted)

    async def receive(page: Page, painter: Painter, frames: int) -> None:
        """Advance the view until the page has so many more frames; at most for a minute."""
        wanted, end = len(page.frames) + frames, time.perf_counter() + 60
        while len(page.frames) < wanted:
            assert time.perf_counter() < end, f"{len(page.frames)} of {wanted} frames"
            painter.step += 1
            painter.exchange.advance(painter.step)
            await asyncio.sleep(0.02)

    async def run(browser: Browser, painter: Painter) -> None:
        fast = await browser.open(width=640, height=480)
        await receive(fast, painter, 10)
        silent = await browser.open(silent=True, follow="page1")
        stalled = await raw_page(browser, "page1")
        await receive(fast, painter, 20)  # a page that waited for the others would have none
        assert len(silent.frames) <= 2
        # One encoding for each picture and quality, for all pages of the view.
        assert len(set(encoded)) == len(encoded)
        session = browser.gateway._session
        slow = [client for client in session.clients if client.name != "page1"]
        assert len(slow) == 2
        for client in slow:
            assert client.link.in_flight <= 2 and len(client._outbox) <= 8
        held = [
            candidate
            for candidate in gc.get_objects()
            if isinstance(candidate, encoder.EncodedPicture)
        ]
        assert len(held) <= 4 < painter.step  # the newest, and those that are being sent
        stalled.close()
        await silent.say(type="ack", sequence=silent.frames[-1].sequence)
        newest = fast.frames[-1].sequence
        await silent.until(lambda: silent.frames[-1].sequence >= newest)
        await fast.until(lambda: len(session.clients) == 2)

    live(run, tmp_path, seconds=0.01, noise=True)


async def raw_page(browser: Browser, view: str) -> asyncio.StreamWriter:
    """Open a page that never reads its socket, and follows a view."""
    import socket

    raw = socket.socket()
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    raw.setblocking(False)
    await asyncio.get_running_loop().sock_connect(raw, ("127.0.0.1", browser.gateway.port))
    _, writer = await asyncio.open_connection(sock=raw, limit=1024)
    writer.transport.pause_reading()  # type: ignore[attr-defined]
    cookies = browser.session.cookie_jar.filter_cookies(aiohttp.client.URL(browser.base))
    cookie = "; ".join(f"{key}={morsel.value}" for key, morsel in cookies.items())
    writer.write(
        f"GET /ws HTTP/1.1\r\nHost: 127.0.0.1:{browser.gateway.port}\r\n"
        f"Origin: {browser.origin}\r\nCookie: {cookie}\r\nConnection: Upgrade\r\n"
        "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n".encode()
    )
    follow = json.dumps({"type": "follow", "view": view}).encode()
    writer.write(bytes([0x81, 0x80 | len(follow), 0, 0, 0, 0]) + follow)  # masked by zeros
    await writer.drain()
    return writer


def test_a_picture_over_a_slow_link_comes_first_at_low_quality_and_then_at_the_best(
    tmp_path: Path,
) -> None:
    async def run(browser: Browser, painter: Painter) -> None:
        page = await browser.open(silent=True, width=640, height=480)
        await page.until(lambda: page.frames)
        for azimuth in range(1, 9):  # each acknowledgement comes late
            await asyncio.sleep(0.6)
            await page.say(type="ack", sequence=page.frames[-1].sequence)
            await page.patch("page1", 99, azimuth=azimuth)
            await page.until(lambda: page.frames[-1].revision == 2 + azimuth)  # noqa: B023
            if len(page.frames[-1].data) < 0.6 * len(page.frames[0].data):
                break
        low = page.frames[-1]
        assert not low.final
        page.silent = False
        await page.say(type="ack", sequence=low.sequence)
        await page.until(lambda: page.frames[-1].final)
        assert page.frames[-1].sequence == low.sequence
        assert len(page.frames[-1].data) > 1.5 * len(low.data)

    live(run, tmp_path, noise=True)


def test_stopping_tells_the_pages_and_ends_at_once(tmp_path: Path) -> None:
    pages: list[Page] = []

    async def run() -> None:
        async with Browser(gateway) as browser:
            pages.extend([await browser.open(), await browser.open(silent=True)])
            writer = await raw_page(browser, "page1")
            await asyncio.gather(*(page.until(lambda p=page: p.frames) for page in pages))
            begin = time.perf_counter()
            await asyncio.to_thread(gateway.stop, "The job has ended.")
            assert time.perf_counter() - begin < 6.0
            for page in pages:
                await page.until(lambda p=page: p.closed)
                assert page.closed == 1001
                assert page.told[-1] == {"type": "ended", "message": "The job has ended."}
            writer.close()
            with pytest.raises(aiohttp.ClientConnectionError):
                await browser.session.get(browser.base)

    exchange = Exchange()
    with Painter(exchange), Gateway(exchange, page=tmp_path) as gateway:
        asyncio.run(run())
        assert not gateway._thread.is_alive()
        gateway.stop()  # a second time
        exchange.advance(2)  # the drawing side may go on


def test_before_the_stream_is_described_there_is_no_view(tmp_path: Path) -> None:
    async def run() -> None:
        async with Browser(gateway) as browser:
            page = await browser.open(wait=False)
            await page.say(type="save")
            assert "no view yet" in (await page.hear("error"))["message"]

    with Gateway(Exchange(), page=tmp_path) as gateway:
        asyncio.run(run())
