"""Page: admission, origin of its files, picture, reduced size while dragging, patches."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from live_pages import LIMIT, Live
from playwright.sync_api import Page, expect

import uzushio.viewer

PAGE = Path(uzushio.viewer.__file__).with_name("page")


def state_of(page: Page) -> str:
    return page.locator("#link-state").inner_text()


def test_an_address_admits_one_page_once(live: Live) -> None:
    address = live.gateway.address()
    page = live.open(address)
    assert "#" not in page.url
    assert state_of(page) == "Live"
    assert page.locator("#title").inner_text() == "Channel at Re = 180"
    page.reload()
    live.wait_for_picture(page)
    for given in (address, address.partition("#")[0]):
        other = live.open(given, wait=False)
        expect(other.locator("#notice h2")).to_have_text(
            "This page is not admitted.", timeout=LIMIT
        )
        assert "uzushio view --list" in other.locator("#notice p").inner_text()
        assert state_of(other) == "Not admitted"


def test_a_page_loads_nothing_from_another_origin(live: Live) -> None:
    page = live.open()
    loaded = page.evaluate("performance.getEntriesByType('resource').map((one) => one.name)")
    origin = page.evaluate("location.origin")
    assert len(loaded) > 10
    assert all(address.startswith(origin) for address in loaded)


def test_files_have_no_inline_scripts_and_styles_and_no_absolute_addresses() -> None:
    html = (PAGE / "index.html").read_text()
    assert re.findall(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)|javascript:", html) == []
    addresses = re.findall(r'(?:href|src)="([^"]*)"', html)
    assert addresses and all((PAGE / address).is_file() for address in addresses)
    for script in PAGE.glob("*.js"):
        text = script.read_text()
        imported = re.findall(r'^import .* from "(.*)";$', text, re.MULTILINE)
        assert all(path.startswith("./") and (PAGE / path).is_file() for path in imported)
        assert "innerHTML" not in text and "eval(" not in text
        assert re.findall(r"https?://(?!www\.w3\.org/2000/svg)", text) == []


def test_the_picture_has_the_size_of_the_screen_in_device_pixels(live: Live) -> None:
    page = live.open(device_scale_factor=2)
    box = page.locator("#stage").bounding_box()
    assert box is not None
    live.until(lambda: live.view().size == (2 * box["width"], 2 * box["height"]), page)
    page.set_viewport_size({"width": 1000, "height": 640})
    box = page.locator("#stage").bounding_box()
    assert box is not None
    live.until(lambda: live.view().size == (2 * box["width"], 2 * box["height"]), page)
    width = "document.getElementById('picture').width"
    live.until(lambda: page.evaluate(width) == 2 * box["width"], page)
    assert live.shows_newest(page)


def test_a_reduced_picture_is_scaled_to_the_canvas_while_dragging(live: Live) -> None:
    page = live.open()
    box = page.locator("#picture").bounding_box()
    assert box is not None
    page.evaluate(
        """() => {
            const canvas = document.getElementById("picture");
            globalThis.sizes = new Set();
            const note = () => {
                sizes.add(`${canvas.width}x${canvas.height}`);
                requestAnimationFrame(note);
            };
            note();
        }"""
    )
    before = len(live.drawing.requests)
    page.mouse.move(box["x"] + 300, box["y"] + 300)
    page.mouse.down()
    for place in range(300, 400, 10):
        page.mouse.move(box["x"] + place, box["y"] + 300)
        page.wait_for_timeout(30)
    drawn = live.drawing.requests[before:]
    page.mouse.up()
    live.until(lambda: live.drawing.requests[-1].final, page)
    live.wait_for_picture(page)
    assert any(not request.final for request in drawn)
    # Whatever the size of the picture, the canvas keeps its own.
    assert page.evaluate("[...sizes]") == [f"{box['width']:.0f}x{box['height']:.0f}"]


def test_changes_wait_for_the_answer_to_the_patch_in_flight_and_are_coalesced(live: Live) -> None:
    page = live.open()
    sent = page.evaluate(
        """async () => {
            const { Changes } = await import("./changes.js");
            const frame = () =>
                new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
            const sent = [];
            const send = (list, number) =>
                sent.push([number, ...list.map(({ path, value }) => [path.join("."), value])]);
            const changes = new Changes(send);
            for (let n = 0; n < 50; ++n) changes.add(["camera", "azimuth"], n);
            changes.add(["camera", "zoom"], 2);
            await frame();
            for (let n = 0; n < 50; ++n) {
                changes.add(["camera", "azimuth"], 100 + n);
                await frame();
            }
            const document = changes.applyTo({ camera: { azimuth: -1 } });
            changes.add(["camera"], { name: "top" });
            changes.answered(0); // an answer to an earlier patch
            await frame();
            const held = sent.length;
            const settled = [changes.settled];
            changes.answered(1);
            await frame();
            changes.answered(2);
            settled.push(changes.settled);
            return { sent, held, settled, document };
        }"""
    )
    assert sent["held"] == 1
    assert sent["settled"] == [False, True]
    assert sent["document"] == {"camera": {"azimuth": 149, "zoom": 2}}
    assert sent["sent"] == [
        [1, ["camera.azimuth", 49], ["camera.zoom", 2]],
        [2, ["camera", {"name": "top"}]],
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_follow_the_scheme_of_the_system(live: Live, scheme: str) -> None:
    page = live.open(color_scheme=scheme)
    shade = page.evaluate("getComputedStyle(document.querySelector('header')).backgroundColor")
    levels = [int(level) for level in re.findall(r"\d+", shade)]
    assert (sum(levels) / 3 > 128) == (scheme == "light")


def test_the_background_of_a_new_view_follows_the_scheme_of_the_system(live: Live) -> None:
    page = live.open(color_scheme="dark")
    assert live.view().background == "#15181c"
    assert {request.settings.background for request in live.drawing.requests} == {"#15181c"}
    page.emulate_media(color_scheme="light")
    live.until(lambda: live.view().background == "white", page)
    page.locator("summary", has_text="Annotation").click()
    page.get_by_role("button", name="grey", exact=True).click()
    live.until(lambda: not isinstance(live.view().background, str), page)
    page.emulate_media(color_scheme="dark")
    live.wait_for_picture(page)
    assert not isinstance(live.view().background, str)  # the user's choice stays


def test_title_and_units_have_subscripts_and_powers(live: Live) -> None:
    page = live.open()
    names = page.evaluate(
        """async (texts) => {
            const { showSymbols } = await import("./symbols.js");
            const shown = (text) => {
                const element = document.createElement("p");
                showSymbols(element, text);
                return element.innerHTML;
            };
            return texts.map(shown);
        }""",
        ["Channel, Re_τ = 180", "h/u_τ", "p_{wall}", "q_criterion", "m^2 s**-1"],
    )
    assert names == [
        "Channel, Re<sub>τ</sub> = 180",
        "h/u<sub>τ</sub>",
        "p<sub>wall</sub>",
        "q_criterion",
        "m² s⁻¹",
    ]
