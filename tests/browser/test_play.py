"""Play of stored and kept steps: order, rate, loop, and its end by the user."""

from __future__ import annotations

import time

from live_pages import LIMIT, STORED, Live
from playwright.sync_api import Page, expect

STEPS = list(STORED.steps)


def drawn(live: Live, since: int = 0) -> list[int | None]:
    """Return the steps of the requests, each once in a row."""
    steps: list[int | None] = []
    for request in live.drawing.requests[since:]:
        if not steps or steps[-1] != request.step:
            steps.append(request.step)
    return steps


def first_step(stored: Live, page: Page) -> int:
    """Show the first step; return the number of requests so far."""
    page.locator("#step-slider").fill("0")
    stored.until(lambda: stored.drawing.requests[-1].step == 0, page)
    stored.wait_for_picture(page)
    return len(stored.drawing.requests)


def set_rate(page: Page, rate: str) -> None:
    page.locator("#rate").fill(rate)
    page.locator("#rate").press("Enter")


def test_stored_steps_are_played_in_order_at_the_rate_to_the_last(stored: Live) -> None:
    page = stored.open()
    before = first_step(stored, page)
    set_rate(page, "5")
    begun = time.monotonic()
    page.get_by_role("button", name="Play").click()
    expect(page.locator("#play")).to_have_text("Stop", timeout=LIMIT)
    stored.until(lambda: stored.drawing.requests[-1].step == 40, page)
    assert time.monotonic() - begun > 0.55  # the first request is sent at once
    expect(page.locator("#play")).to_have_text("Play", timeout=LIMIT)
    assert drawn(stored, before) == STEPS[1:]
    stored.wait_for_picture(page)
    expect(page.locator("#step")).to_have_value("40")
    # At the last step, play begins with the first.
    before = len(stored.drawing.requests)
    page.locator("#play").click()
    stored.until(lambda: drawn(stored, before) == STEPS, page)


def test_a_slow_drawing_side_makes_play_slower_and_leaves_no_step_out(stored: Live) -> None:
    page = stored.open()
    before = first_step(stored, page)
    stored.drawing.seconds = 0.3
    set_rate(page, "60")
    page.evaluate(
        """() => {
            globalThis.late = [];
            const time = document.getElementById("time");
            new MutationObserver(() => late.push(time.textContent))
                .observe(time, { childList: true });
        }"""
    )
    begun = time.monotonic()
    page.locator("#play").click()
    expect(page.locator("#time")).to_have_text("t = 4 s", timeout=LIMIT)
    assert time.monotonic() - begun > 4 * 0.3
    assert drawn(stored, before) == STEPS[1:]
    # Each picture is on the screen before the next step is requested.
    texts = page.evaluate("late")
    assert texts == [f"t = {0.1 * step:.3g} s" for step in STEPS[1:]]


def test_play_repeats_until_the_space_key_and_ends_when_a_step_is_chosen(stored: Live) -> None:
    page = stored.open()
    before = first_step(stored, page)
    page.locator("#loop").check()
    set_rate(page, "60")
    page.locator("#picture").focus()
    page.keyboard.press("Space")
    stored.until(lambda: len(drawn(stored, before)) > 2 * len(STEPS), page)
    page.keyboard.press("Space")
    expect(page.locator("#play")).to_have_text("Play", timeout=LIMIT)
    played = drawn(stored, before)
    assert played == [STEPS[(n + 1) % len(STEPS)] for n in range(len(played))]
    page.keyboard.press("Space")
    expect(page.locator("#play")).to_have_text("Stop", timeout=LIMIT)
    page.locator("#step-slider").fill("2")
    expect(page.locator("#play")).to_have_text("Play", timeout=LIMIT)
    stored.until(lambda: stored.drawing.requests[-1].step == 10, page)
    page.wait_for_timeout(200)
    assert stored.drawing.requests[-1].step == 10


def test_kept_steps_of_a_paused_run_are_played_until_it_is_live_again(live: Live) -> None:
    page = live.open()
    live.drawing.advance(11, 12, 13)
    expect(page.locator("#step")).to_have_value("13", timeout=LIMIT)
    expect(page.locator("#play")).to_be_disabled()
    page.locator("#picture").focus()
    page.keyboard.press("Space")
    expect(page.locator("#link-state")).to_have_text("Paused", timeout=LIMIT)
    for step in (12, 11):
        page.keyboard.press(",")
        live.until(lambda step=step: live.drawing.requests[-1].step == step, page)
        live.wait_for_picture(page)
    before = len(live.drawing.requests)
    live.drawing.steps.remove(12)  # from the rewind buffer, as the run publishes
    live.drawing.advance(14, 15)
    expect(page.locator("#step-slider")).to_have_attribute("max", "4", timeout=LIMIT)
    page.keyboard.press("Space")
    expect(page.locator("#link-state")).to_have_text("Live", timeout=LIMIT)
    assert [step for step in drawn(live, before) if step is not None] == [13, 14, 15]


def test_play_passes_over_a_step_that_is_dropped_while_it_is_requested(live: Live) -> None:
    page = live.open()
    live.drawing.advance(11, 12, 13)
    expect(page.locator("#step-slider")).to_have_attribute("max", "3", timeout=LIMIT)
    page.locator("#step-slider").fill("0")
    live.until(lambda: live.drawing.requests[-1].step == 10, page)
    live.wait_for_picture(page)
    live.drawing.dropped.add(11)
    page.locator("#play").click()
    expect(page.locator("#problem")).to_contain_text("no longer kept", timeout=LIMIT)
    assert page.locator("#play").inner_text() == "Stop"
    live.drawing.steps.remove(11)
    live.drawing.advance()
    expect(page.locator("#link-state")).to_have_text("Live", timeout=LIMIT)
    assert 12 in drawn(live)


def test_an_error_of_the_view_ends_play(stored: Live) -> None:
    page = stored.open()
    first_step(stored, page)
    stored.drawing.failures["u"] = "There is no field u.", ()
    page.locator("#play").click()
    expect(page.locator("#problem")).to_contain_text("There is no field u", timeout=LIMIT)
    stored.drawing.advance()
    expect(page.locator("#play")).to_have_text("Play", timeout=LIMIT)
