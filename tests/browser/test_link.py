"""Link of page and viewer: figures, a lost connection, the end, two pages, files."""

from __future__ import annotations

import time
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from drawn_views import LIMITS, color_of
from live_pages import LIMIT, Live
from PIL import Image
from playwright.sync_api import expect

from uzushio.pipeline import load
from uzushio.render.colors import Colors
from uzushio.viewer.gateway import Limits
from uzushio.viewer.session import Session
from uzushio.viewer.stream_state import Status


def test_the_link_has_figures(live: Live) -> None:
    page = live.open()
    live.exchange.report(
        Status("live", "", 20, 2.0, 0.5, 2.0, 3, 0.0001, 0.25, 7210.0, 500, kept=(10, 20))
    )
    figures = page.locator("#figures")
    for text in (
        "Newest step20 of 500",
        "Steps received2 /s",
        "Steps dropped3",
        "0.1 ms a step",
        "0.25",
        "2 h 0 min",
    ):
        expect(figures).to_contain_text(text.replace("0.25", "250 ms"), timeout=LIMIT)
    live.exchange.report(Status("lost", "the writer does not answer", 20, 2.0))
    expect(page.locator("#link-state")).to_have_text("Run not reachable", timeout=LIMIT)
    expect(figures).to_contain_text("the writer does not answer")
    live.exchange.report(Status("ended", "", 20, 2.0))
    expect(page.locator("#link-state")).to_have_text("Run ended", timeout=LIMIT)
    assert live.shows_newest(page)  # the last step stays


def test_a_lost_connection_is_made_again_and_keeps_the_view(live: Live) -> None:
    page = live.open()
    page.get_by_label("Azimuth", exact=True).fill("44")
    page.keyboard.press("Enter")
    live.until(lambda: live.view().camera.azimuth == 44, page)
    live.wait_for_picture(page)
    page.context.set_offline(True)
    page.evaluate("() => globalThis.dispatchEvent(new Event('offline'))")
    (client,) = live.gateway._session.clients
    client.socket._req.transport.get_extra_info("socket")
    live.gateway._loop.call_soon_threadsafe(client.socket._req.transport.abort)
    expect(page.locator("#notice h2")).to_have_text("The connection is lost.", timeout=LIMIT)
    expect(page.locator("#link-state")).to_have_text("Connection lost")
    assert live.shows_newest(page)
    assert page.locator("#download").is_disabled()
    page.wait_for_timeout(2500)  # the pauses grow
    page.context.set_offline(False)
    expect(page.locator("#link-state")).to_have_text("Live", timeout=LIMIT)
    expect(page.locator("#notice")).to_be_hidden()
    expect(page.get_by_label("Azimuth", exact=True)).to_have_value("44")
    before = len(live.drawing.requests)
    page.get_by_label("Azimuth", exact=True).fill("50")
    page.keyboard.press("Enter")
    live.until(lambda: live.view().camera.azimuth == 50, page)
    live.wait_for_picture(page)
    assert {request.view for request in live.drawing.requests[before:]} == {"page1"}


def test_a_page_above_the_maximum_says_so_and_connects_when_another_one_leaves(
    live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live.gateway, "_limits", Limits(clients=2))
    first, _ = live.open(), live.open()
    late = live.open(wait=False)
    expect(late.locator("#notice h2")).to_have_text("There is no connection yet.", timeout=LIMIT)
    expect(late.locator("#notice p")).to_contain_text("2 pages are open, the maximum. ")
    first.context.close()
    live.wait_for_picture(late)


def test_the_page_says_that_the_viewer_has_ended_and_keeps_the_picture(live: Live) -> None:
    page = live.open()
    live.gateway.stop("The run has ended.")
    expect(page.locator("#notice h2")).to_have_text("The viewer has ended.", timeout=LIMIT)
    expect(page.locator("#notice p")).to_have_text("The run has ended.")
    page.wait_for_timeout(1500)
    assert page.locator("#link-state").inner_text() == "Viewer ended"
    assert live.shows_newest(page)


def test_two_pages_have_two_views_and_one_follows_the_other(live: Live) -> None:
    first = live.open()
    two = live.open()
    first.get_by_role("button", name="top", exact=True).click()
    live.until(lambda: live.view("page1").camera.name == "top", first)
    assert live.view("page2").camera.name == "isometric"
    two.get_by_label("View", exact=True).select_option("page1")
    live.wait_for_picture(two, "page1")
    expect(two.get_by_role("button", name="top", exact=True)).to_have_attribute(
        "aria-pressed", "true"
    )
    expect(first.get_by_label("View", exact=True)).to_contain_text(
        "mine (1 other page)", timeout=LIMIT
    )
    two.get_by_label("Azimuth", exact=True).fill("12")
    two.keyboard.press("Enter")
    live.until(lambda: live.view("page1").camera.azimuth == 12, two)
    expect(first.get_by_label("Azimuth", exact=True)).to_have_value("12", timeout=LIMIT)
    live.wait_for_picture(first, "page1")
    two.get_by_label("View", exact=True).select_option("page2")
    live.wait_for_picture(two, "page2")
    expect(two.get_by_label("Azimuth", exact=True)).to_have_value("0", timeout=LIMIT)


def test_the_saved_picture_is_the_full_one_without_losses(live: Live) -> None:
    page = live.open()
    page.get_by_role("button", name="top", exact=True).click()
    live.until(lambda: live.view().camera.name == "top", page)
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Save picture").click()
    assert waiting.value.suggested_filename == "Channel-at-Re-180-step-10.png"
    pixels = np.asarray(Image.open(BytesIO(Path(waiting.value.path()).read_bytes())))
    newest = live.drawing.requests[-1]
    assert newest.final and newest.settings.camera.name == "top"
    assert pixels.shape == (newest.settings.size[1], newest.settings.size[0], 3)
    assert (pixels == color_of(newest, 10)).all()


def test_the_saved_picture_has_changes_that_the_viewer_answers_late(
    live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = live.open()
    apply = Session.change

    def slow(*given: Any) -> None:
        time.sleep(2.5)
        apply(*given)

    monkeypatch.setattr(Session, "change", slow)
    page.get_by_role("button", name="top", exact=True).click()
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Save picture").click()
    pixels = np.asarray(Image.open(BytesIO(Path(waiting.value.path()).read_bytes())))
    newest = live.drawing.requests[-1]
    assert newest.settings.camera.name == "top"
    assert (pixels == color_of(newest, 10)).all()


def test_what_is_saved_has_the_last_changes(live: Live) -> None:
    page = live.open()
    page.locator("#picture").focus()
    with page.expect_download() as waiting:
        page.evaluate(
            """() => {
                const canvas = document.getElementById("picture");
                for (let n = 0; n < 5; ++n) {
                    canvas.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight" }));
                }
                document.getElementById("save").click();
            }"""
        )
    content = yaml.safe_load(Path(waiting.value.path()).read_text())
    assert content["views"]["page1"]["camera"]["azimuth"] == 25


def test_a_view_is_saved_as_a_pipeline_file_and_opened_again(live: Live, tmp_path: Path) -> None:
    page = live.open()
    page.get_by_label("Azimuth", exact=True).fill("44")
    page.keyboard.press("Enter")
    live.until(lambda: live.view().camera.azimuth == 44, page)
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Save view").click()
    file = tmp_path / "view.yaml"
    waiting.value.save_as(file)
    saved = load(file).file.views["page1"]
    colors = saved.layers[0].color
    assert isinstance(colors, Colors) and colors.limits == LIMITS  # as the page shows them
    automatic = saved.layers[0].model_copy(update={"color": live.view().layers[0].color})
    assert saved.model_copy(update={"layers": (automatic,)}) == live.view()
    content = yaml.safe_load(file.read_text())
    content["views"]["page1"]["layers"].append(
        {"kind": "isosurface", "field": "p", "values": [0.5]}
    )
    content["views"]["page1"]["title"] = "opened"
    file.write_text(yaml.safe_dump(content))
    page.get_by_role("button", name="reset").click()
    page.locator("#file").set_input_files(file)
    live.until(lambda: live.view().title == "opened", page)
    live.wait_for_picture(page)
    assert live.view().camera.azimuth == 44
    expect(page.locator("#layer-1 h3")).to_have_text("Isosurface")

    content["views"]["page1"]["camera"] = {"zoom": -1}
    file.write_text(yaml.safe_dump(content))
    page.locator("#file").set_input_files(file)
    expect(page.locator("#camera .error:visible")).to_be_visible(timeout=LIMIT)
    file.write_text("a text")
    page.locator("#file").set_input_files(file)
    expect(page.locator("#problem")).to_be_visible(timeout=LIMIT)
    page.get_by_role("button", name="Close the message").click()
    file.write_text("# " + 70_000 * "x")
    page.locator("#file").set_input_files(file)
    expect(page.locator("#problem")).to_contain_text("larger than 64 kB", timeout=LIMIT)
    assert live.view().title == "opened"
