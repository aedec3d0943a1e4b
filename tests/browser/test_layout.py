"""Layout: narrow and wide windows, parts that are hidden or made larger, state of the picture."""

from __future__ import annotations

import pytest
from live_pages import LIMIT, Live
from playwright.sync_api import expect

#: Windows, and the minimum size of the picture: telephones, tablets, 1280 x 720 at 150 %.
WINDOWS = {
    (360, 640): (340, 180),
    (390, 844): (370, 240),
    (820, 1180): (780, 400),
    (844, 390): (480, 260),
    (853, 480): (480, 330),
    (1280, 720): (900, 560),
}


@pytest.mark.parametrize("window", WINDOWS)
def test_title_buttons_and_picture_are_visible_in_all_windows(
    live: Live, window: tuple[int, int]
) -> None:
    width, height = window
    live.open(viewport={"width": 600, "height": 400})  # so that there is a choice of the view
    page = live.open(viewport={"width": width, "height": height})
    expect(page.locator("#follow")).to_be_visible(timeout=LIMIT)
    boxes = page.locator("header button:visible, header select, #title, footer button:visible")
    for element in boxes.all():
        box = element.bounding_box()
        assert box is not None
        assert box["x"] >= 0 and box["x"] + box["width"] <= width, element
        assert box["y"] >= 0 and box["y"] + box["height"] <= height, element
    title, stage = (page.locator(selector).bounding_box() for selector in ("#title", "#stage"))
    assert title is not None and title["width"] >= 90
    assert stage is not None
    assert (stage["width"], stage["height"]) >= WINDOWS[window]
    assert stage["height"] >= WINDOWS[window][1]
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.locator("#help-button").click()
    assert page.evaluate("document.getElementById('help').scrollTop") == 0
    expect(page.locator("#help-title")).to_be_in_viewport()


def test_the_panel_its_layers_and_the_plots_are_hidden_and_made_larger(live: Live) -> None:
    page = live.open()
    stage, plots = page.locator("#stage"), page.locator("#plots")

    def side(name: str) -> float:
        box = (plots if name == "plots" else stage).bounding_box()
        assert box is not None
        return box["height"] if name == "plots" else box["width"]

    before = side("stage")
    page.get_by_role("button", name="Panel").click()
    expect(page.locator("#panel")).to_be_hidden()
    live.until(lambda: side("stage") > before + 300, page)
    page.get_by_role("button", name="Panel").click()
    live.until(lambda: side("stage") == before, page)

    fold = page.locator("#layer-0").get_by_role("button", name="Slice", exact=True)
    fold.click()
    expect(page.locator("#layer-0-settings")).to_be_hidden()
    expect(fold).to_have_attribute("aria-expanded", "false")
    fold.click()
    expect(page.locator("#layer-0-settings")).to_be_visible()

    page.get_by_role("button", name="Plots").click()
    high = side("plots")
    edge = page.locator("#plots-edge")
    box = edge.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 50, box["y"] + 5)
    page.mouse.down()
    page.mouse.move(box["x"] + 50, box["y"] - 95, steps=4)
    page.mouse.up()
    live.until(lambda: abs(side("plots") - high - 100) < 12, page)
    edge.press("ArrowDown")
    live.until(lambda: side("plots") < high + 80, page)


def test_number_boxes_show_all_digits(live: Live) -> None:
    page = live.open()
    field = page.locator("#set-layers-0-at")
    field.fill("-0.123456")
    field.press("Enter")
    live.until(lambda: live.view().layers[0].at == -0.123456, page)
    assert page.evaluate(
        "() => { const one = document.getElementById('set-layers-0-at');"
        " return one.scrollWidth <= one.clientWidth; }"
    )


def test_notes_do_not_cover_the_legends_at_the_right(live: Live) -> None:
    page = live.open()
    page.evaluate(
        "() => { const notes = document.getElementById('notes'); notes.hidden = false;"
        " notes.textContent = 'Some values are not finite. '.repeat(9); }"
    )
    notes, stage = (page.locator(selector).bounding_box() for selector in ("#notes", "#stage"))
    assert notes is not None and stage is not None
    assert notes["x"] + notes["width"] < stage["x"] + 0.6 * stage["width"]


def test_the_frame_of_the_focus_is_shown_when_the_keyboard_is_used(live: Live) -> None:
    page = live.open()
    width = "parseFloat(getComputedStyle(document.getElementById('picture')).outlineWidth) || 0"
    style = "getComputedStyle(document.getElementById('picture')).outlineStyle"
    assert page.evaluate("document.activeElement.id") == "picture"
    assert page.evaluate(style) == "none" or page.evaluate(width) == 0
    page.keyboard.press("ArrowLeft")
    assert page.evaluate(style) != "none" and page.evaluate(width) >= 2


def test_a_picture_that_is_being_drawn_or_out_of_date_is_marked(live: Live) -> None:
    page = live.open()
    badge = page.locator("#freshness")
    expect(badge).to_be_hidden()
    live.drawing.seconds = 2.0
    page.get_by_role("button", name="front", exact=True).click()
    expect(badge).to_have_text("Drawing …", timeout=LIMIT)
    live.drawing.seconds = 0.0
    live.wait_for_picture(page)
    expect(badge).to_be_hidden(timeout=LIMIT)
    live.drawing.failures["p"] = ("The field cannot be drawn.", ())
    choice = page.locator("#layer-0").get_by_label("Field", exact=True)
    choice.select_option("p")
    expect(badge).to_have_text("Out of date", timeout=LIMIT)
    choice.select_option("u")
    live.wait_for_picture(page)
    expect(badge).to_be_hidden(timeout=LIMIT)
