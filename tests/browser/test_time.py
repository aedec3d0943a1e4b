"""Step and time: live, paused, stored steps, and the probe under the pointer."""

from __future__ import annotations

from live_pages import LIMIT, Live
from playwright.sync_api import expect


def test_a_running_stream_is_followed_or_paused(live: Live) -> None:
    page = live.open()
    live.drawing.advance(11)
    expect(page.locator("#step")).to_have_value("11", timeout=LIMIT)
    expect(page.locator("#time")).to_have_text("t = 1.1 s", timeout=LIMIT)
    page.get_by_role("button", name="Pause").click()
    expect(page.locator("#link-state")).to_have_text("Paused", timeout=LIMIT)
    live.drawing.advance(12, 13)
    page.get_by_role("button", name="Step after").click()
    expect(page.locator("#step")).to_have_value("12", timeout=LIMIT)
    live.until(lambda: live.drawing.requests[-1].step == 12, page)
    live.wait_for_picture(page)
    page.get_by_role("button", name="Go live").click()
    expect(page.locator("#step")).to_have_value("13", timeout=LIMIT)
    live.wait_for_picture(page)
    page.locator("#picture").focus()
    page.keyboard.press(",")
    live.until(lambda: live.drawing.requests[-1].step == 12, page)
    page.keyboard.press("Space")
    expect(page.locator("#link-state")).to_have_text("Live", timeout=LIMIT)


def test_stored_steps_are_chosen_by_slider_and_by_number(stored: Live) -> None:
    page = stored.open()
    assert page.locator("#link-state").inner_text() == "Stored steps"
    expect(page.locator("#live")).to_be_hidden()
    slider = page.locator("#step-slider")
    expect(slider).to_have_attribute("max", "4", timeout=LIMIT)
    slider.fill("1")
    stored.until(lambda: stored.drawing.requests[-1].step == 5, page)
    stored.wait_for_picture(page)
    assert slider.get_attribute("aria-valuetext") == "step 5, t = 0.5 s"
    page.locator("#step").fill("17")  # the nearest stored step is shown
    page.locator("#step").press("Enter")
    stored.until(lambda: stored.drawing.requests[-1].step == 15, page)
    stored.wait_for_picture(page)
    expect(page.locator("#step")).to_have_value("15")
    page.get_by_role("button", name="Newest").click()
    expect(page.locator("#step")).to_have_value("40", timeout=LIMIT)


def test_the_number_of_a_step_is_typed_while_newer_ones_arrive(live: Live) -> None:
    page = live.open()
    live.drawing.advance(11, 12)
    number = page.locator("#step")
    expect(number).to_have_value("12", timeout=LIMIT)
    number.select_text()
    page.keyboard.press("1")
    live.drawing.advance(13)
    expect(page.locator("#time")).to_have_text("t = 1.3 s", timeout=LIMIT)
    expect(number).to_have_value("1")
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    live.until(lambda: live.drawing.requests[-1].step == 11, page)
    number.fill("")
    number.press("Enter")
    expect(number).to_have_value("11")


def test_the_probe_shows_position_and_values_under_the_pointer(live: Live) -> None:
    page = live.open()
    box = page.locator("#picture").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 0.25 * box["width"], box["y"] + 0.5 * box["height"])
    readout = page.locator("#probe")
    expect(readout).to_contain_text("u 1.5 m/s", timeout=LIMIT)
    assert "x 1 m" in readout.inner_text() and "y 1 m" in readout.inner_text()
    assert abs(live.drawing.probes[-1][0] - 0.25) < 0.01
    page.mouse.move(box["x"] + box["width"] + 50, box["y"] + 50)
    expect(readout).to_be_hidden(timeout=LIMIT)


def test_the_probe_is_at_a_cross_hair_for_the_keyboard(live: Live) -> None:
    page = live.open()
    page.locator("#picture").focus()
    page.keyboard.press("p")
    live.until(lambda: live.drawing.probes and live.drawing.probes[-1] == (0.5, 0.5), page)
    expect(page.locator("#probe")).to_contain_text("x 2 m", timeout=LIMIT)
    page.keyboard.press("Alt+ArrowRight")
    live.until(lambda: live.drawing.probes[-1] == (0.52, 0.5), page)
    cross, picture = (
        page.locator("#crosshair").bounding_box(),
        page.locator("#picture").bounding_box(),
    )
    assert cross is not None and picture is not None
    place = (cross["x"] + cross["width"] / 2 - picture["x"]) / picture["width"]
    assert abs(place - 0.52) < 0.002
    page.keyboard.press("p")
    expect(page.locator("#crosshair")).to_be_hidden()
