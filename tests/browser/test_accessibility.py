"""Accessibility: rules of axe-core, names and order of controls, the picture in words."""

from __future__ import annotations

import pytest
from live_pages import LIMIT, Live, violations
from playwright.sync_api import expect


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("tablet", [False, True])
def test_axe_finds_nothing(live: Live, scheme: str, tablet: bool) -> None:
    size = {"width": 820, "height": 1180} if tablet else {"width": 1280, "height": 720}
    page = live.open(viewport=size, color_scheme=scheme, has_touch=tablet, is_mobile=tablet)
    assert violations(page) == []
    for kind in ("isosurface", "volume"):
        page.locator(f".add-{kind}").click()
    live.until(lambda: len(live.view().layers) == 3, page)
    page.locator("#layer-0").get_by_text("oblique").click()
    page.locator("#layer-1").get_by_text("by a field").click()
    page.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))")
    page.get_by_label("Title").fill("{wrong}")
    page.keyboard.press("Enter")
    expect(page.locator("#annotation .error:visible")).to_have_count(1, timeout=LIMIT)
    live.wait_for_picture(page)
    assert violations(page) == []
    # Nothing is wider than the screen.
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    panel = page.locator("#panel")
    assert panel.evaluate("(one) => one.scrollWidth <= one.clientWidth")
    page.get_by_role("button", name="Help").click()
    assert violations(page) == []


def test_axe_finds_nothing_while_there_is_no_picture(live: Live) -> None:
    page = live.open(live.gateway.address().partition("#")[0], wait=False)
    expect(page.locator("#notice h2")).to_have_text("This page is not admitted.", timeout=LIMIT)
    assert violations(page) == []


def test_all_controls_can_be_reached_by_the_keyboard(live: Live) -> None:
    page = live.open()
    page.locator(".add-volume").click()
    live.until(lambda: len(live.view().layers) == 2, page)
    page.locator("#download").focus()
    reached = set()
    for _ in range(120):
        reached.add(page.evaluate("document.activeElement.id || document.activeElement.tagName"))
        page.keyboard.press("Tab")
    wanted = {
        "picture",
        "set-layers-0-at",
        "set-layers-1-opacity-0",
        "set-camera-zoom",
        "live",
        "step",
    }
    assert wanted <= reached


def test_the_picture_is_described_and_changes_are_announced_once(live: Live) -> None:
    page = live.open()
    description, announcement = page.locator("#description"), page.locator("#announcement")
    expect(description).to_have_text(
        "Slice of u at z = 0, colours viridis from −0.75 to 2.5. Camera from isometric. Live. "
        "Step 10, time 1.",
        timeout=LIMIT,
    )
    assert page.locator("#picture").get_attribute("aria-describedby") == "description"
    page.evaluate(
        """() => {
            globalThis.said = [];
            const place = document.getElementById("announcement");
            new MutationObserver(() => said.push(place.textContent))
                .observe(place, { childList: true });
        }"""
    )
    for step in range(11, 15):  # new steps are described, and not announced
        live.drawing.advance(step)
        page.wait_for_timeout(200)
    expect(description).to_contain_text("Step 14", timeout=LIMIT)
    page.locator("#picture").focus()
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    expect(announcement).to_contain_text("azimuth 20 degrees", timeout=LIMIT)
    page.wait_for_timeout(2000)
    assert len(page.evaluate("said")) == 1
