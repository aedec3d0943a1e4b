"""Steering in the page: read only before the right is taken, replies at their controls."""

from __future__ import annotations

import pytest
from live_pages import LIMIT, Live, violations
from playwright.sync_api import Page, expect


def opened(live: Live, scheme: str = "light") -> Page:
    """Open a page with the panel."""
    page = live.open(color_scheme=scheme)
    page.locator("#steer > summary").click()
    return page


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_run_is_steered_from_the_page_after_the_right_is_taken(live: Live, scheme: str) -> None:
    page = opened(live, scheme)
    panel = page.locator("#steering")
    expect(panel).to_contain_text("Read only: take the right to steer", timeout=LIMIT)
    cfl = panel.get_by_label("cfl", exact=True)
    expect(cfl).to_have_value("0.3")
    expect(cfl).not_to_be_editable()
    expect(panel).to_contain_text("Courant number of the time step: 0.05 to 1.5")
    for name in ("Set cfl", "Set Publish every", "Checkpoint now", "Stop the run …"):
        expect(panel.get_by_role("button", name=name)).to_be_disabled()
    assert violations(page) == []
    panel.get_by_role("button", name="Take the right to steer").click()
    expect(panel).to_contain_text("This page holds the right to steer.", timeout=LIMIT)
    other = opened(live)
    expect(other.locator("#steering")).to_contain_text("Read only: page1 holds", timeout=LIMIT)
    expect(other.locator("#steering-right")).to_be_disabled()

    cfl.fill("7")
    cfl.press("Enter")
    reply = page.locator("#steer-set-cfl-reply")
    expect(reply).to_have_text("cfl must be from 0.05 to 1.5.", timeout=LIMIT)
    expect(cfl).to_have_attribute("aria-invalid", "true")
    expect(cfl).to_have_value("7")
    assert violations(page) == []
    cfl.fill("0.5")
    panel.get_by_role("button", name="Set cfl").click()
    expect(reply).to_have_text("Applied after step 10.", timeout=LIMIT)
    expect(other.get_by_label("cfl", exact=True)).to_have_value("0.5", timeout=LIMIT)
    panel.get_by_label("Publish every", exact=True).fill("20")
    panel.get_by_role("button", name="Set Publish every").click()
    expect(other.get_by_label("Publish every", exact=True)).to_have_value("20", timeout=LIMIT)
    panel.get_by_role("button", name="Checkpoint now").click()
    expect(page.locator("#steer-actions-reply")).to_contain_text("Applied", timeout=LIMIT)
    panel.get_by_role("button", name="Stop the run …").click()
    assert violations(page) == []
    expect(page.get_by_role("button", name="Let it run")).to_be_focused()
    page.keyboard.press("Enter")  # the default button
    expect(page.locator("#stop")).to_be_hidden()
    panel.get_by_role("button", name="Stop the run …").click()
    page.keyboard.press("Escape")
    panel.get_by_role("button", name="Stop the run …").click()
    page.locator("#stop").get_by_role("button", name="Stop the run").click()
    live.until(lambda: len(live.drawing.steered) == 5, page)
    assert [command["request"] for command in live.drawing.steered] == [
        "set", "set", "publish_every", "checkpoint", "stop",
    ]  # fmt: skip

    page.close()  # returns the right at once
    expect(other.locator("#steering")).to_contain_text("Read only: take the", timeout=LIMIT)
    other.locator("#steering-right").click()
    expect(other.locator("#steering")).to_contain_text("This page holds", timeout=LIMIT)


def test_a_page_of_a_read_only_address_cannot_take_the_right(live: Live) -> None:
    page = live.open(live.gateway.address(read_only=True))
    page.locator("#steer > summary").click()
    holder = page.locator("#steering-holder")
    expect(holder).to_contain_text("opened by a read-only address", timeout=LIMIT)
    expect(page.locator("#steering-right")).to_be_hidden()


def test_stored_steps_say_that_they_cannot_be_steered(live: Live) -> None:
    from uzushio.viewer.steering_state import SteeringState

    page = opened(live)
    live.exchange.report_steering(SteeringState(False, "Stored steps cannot be steered."))
    reason = page.locator("#steering-reason")
    expect(reason).to_have_text("Stored steps cannot be steered.", timeout=LIMIT)
    expect(page.locator("#steering-right")).to_be_hidden()
