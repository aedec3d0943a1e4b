"""State of the page: it survives reload, reconnection and a new viewer; undo and redo."""

from __future__ import annotations

from drawn_views import RUNNING
from live_pages import LIMIT, Live
from playwright.sync_api import Page, expect

from uzushio.viewer.gateway import Gateway
from uzushio.viewer.listening import Listening


def set_title(live: Live, page: Page, title: str, view: str = "page1") -> None:
    """Set the title of the picture, and wait until the gateway has it."""
    page.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))")
    field = page.locator("#set-title")
    field.fill(title)
    field.press("Enter")
    live.until(lambda: live.view(view).title == title, page)


def choose_camera(live: Live, page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()
    live.until(lambda: live.view().camera.name == name, page)


def test_a_page_that_is_loaded_again_has_its_view(live: Live) -> None:
    page = live.open()
    choose_camera(live, page, "front")
    set_title(live, page, "mine")
    page.wait_for_timeout(50)  # as a user's hand; the page is stored when it is left, too
    page.reload()
    live.wait_for_picture(page)
    expect(page.get_by_role("button", name="front", exact=True)).to_have_attribute(
        "aria-pressed", "true", timeout=LIMIT
    )
    expect(page.locator("#set-title")).to_have_value("mine")
    other = live.open()
    expect(other.locator("#set-title")).to_have_value("", timeout=LIMIT)


def test_the_view_survives_a_viewer_that_is_started_again_and_a_new_address(live: Live) -> None:
    page = live.open()
    choose_camera(live, page, "front")
    set_title(live, page, "mine")
    live.gateway.stop()
    port = live.gateway.port
    live.gateway = Gateway(live.exchange, listening=Listening(port=port))
    live.gateway.start()
    live.exchange.describe(RUNNING)
    live.drawing.advance(11)
    before = len(live.drawing.requests)
    address = live.gateway.address()
    expect(page.locator("#notice h2")).to_have_text(
        "This page is not admitted.", timeout=LIMIT
    ) if page.locator("#link-state").inner_text() != "Viewer ended" else None
    page.evaluate("(hash) => (location.hash = hash)", address.partition("#")[2])
    expect(page.locator("#link-state")).to_have_text("Live", timeout=LIMIT)
    assert "token" not in page.url
    live.until(
        lambda: any(
            request.settings.title == "mine" and request.settings.camera.name == "front"
            for request in live.drawing.requests[before:]
        ),
        page,
    )
    expect(page.locator("#set-title")).to_have_value("mine")


def test_a_refused_tab_connects_when_another_address_is_entered(live: Live) -> None:
    page = live.open(live.gateway.address().partition("#")[0], wait=False)
    expect(page.locator("#notice h2")).to_have_text("This page is not admitted.", timeout=LIMIT)
    page.goto(live.gateway.address())  # changes only the part after #
    live.wait_for_picture(page)
    assert "#" not in page.url


def test_changes_of_the_view_are_undone_and_made_again(live: Live) -> None:
    page = live.open()
    undo, redo = page.locator("#undo"), page.locator("#redo")
    expect(undo).to_be_disabled()
    choose_camera(live, page, "front")
    set_title(live, page, "first")
    page.locator(".add-isosurface").click()
    live.until(lambda: len(live.view().layers) == 2, page)
    undo.click()
    live.until(lambda: len(live.view().layers) == 1, page)
    page.locator("#picture").focus()
    page.keyboard.press("Control+z")
    live.until(lambda: live.view().title == "", page)
    assert live.view().camera.name == "front"
    page.keyboard.press("Control+z")
    live.until(lambda: live.view().camera.name == "isometric", page)
    expect(undo).to_be_disabled(timeout=LIMIT)
    page.keyboard.press("Control+Shift+z")
    live.until(lambda: live.view().camera.name == "front", page)
    redo.click()
    live.until(lambda: live.view().title == "first", page)
    set_title(live, page, "second")
    expect(redo).to_be_disabled(timeout=LIMIT)
    live.wait_for_picture(page)
