"""Steering in the gateway: one page at a time, and only with the right of the run."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from aiohttp import WSCloseCode
from live_view import Browser, Page, Painter, live

from uzushio.errors import StagingError
from uzushio.viewer import steering_right
from uzushio.viewer.exchange import DrawRequest, Exchange
from uzushio.viewer.steering_link import SteeringLink
from uzushio.viewer.steering_state import (
    SteerableParameter,
    SteeringAnswer,
    SteeringRequest,
    SteeringState,
)
from uzushio.viewer.steps import Steps

RUN = SteeringState(
    True, connection=1, publish_every=1, parameters={"cfl": SteerableParameter(0.3)}
)
SET = {"request": "set", "name": "cfl", "value": 0.2}


async def ask(page: Page, number: int, request: dict[str, Any]) -> None:
    await page.say(type="steer", id=number, request=request)


async def refused(page: Page, number: int, request: dict[str, Any]) -> str:
    """Send a request that the gateway refuses; return its reason."""
    await ask(page, number, request)
    answer = await page.hear("steered")
    assert (answer["id"], answer["ok"]) == (number, False)
    return str(answer["text"])


async def passed(painter: Painter) -> list[SteeringRequest]:
    """Wait for requests that the gateway passes to the drawing side."""
    async with asyncio.timeout(10):
        while not (taken := painter.exchange.take_steering()):
            await asyncio.sleep(0.005)
    return taken


async def hold(page: Page, number: int, painter: Painter) -> None:
    """Let a page take the right to steer, and the run give it."""
    await ask(page, number, {"request": "hold"})
    (request,) = await passed(painter)
    painter.exchange.answer_steering(SteeringAnswer(request.number, True))
    assert (await page.hear("steered"))["ok"]
    await page.until(lambda: (page.last("steering") or {}).get("confirmed"))


def test_a_page_reads_only_until_it_has_the_right_to_steer(tmp_path: Path) -> None:
    async def run(browser: Browser, painter: Painter) -> None:
        page = await browser.open()
        assert "no run to steer" in await refused(page, 1, {"request": "hold"})
        painter.exchange.report_steering(RUN)
        message = await page.hear("steering")
        assert message["state"]["parameters"]["cfl"]["value"] == 0.3
        assert (message["holder"], message["confirmed"]) == (None, False)
        for number, request in enumerate((SET, {"request": "stop"}, {"request": "release"})):
            assert await refused(page, number, request) == "take the right to steer first"
        await ask(page, 5, {"request": "hold", "by": "another name"})
        (request,) = await passed(painter)
        assert request.request.by.endswith(", page1")  # type: ignore[union-attr]
        assert "take the right" in await refused(page, 6, SET)  # the run has not answered
        painter.exchange.answer_steering(SteeringAnswer(request.number, False, "ada holds it"))
        assert (await page.hear("steered"))["text"] == "ada holds it"
        assert "take the right" in await refused(page, 7, SET)
        await hold(page, 8, painter)
        await ask(page, 9, SET)
        (request,) = await passed(painter)
        assert request.request.model_dump() == SET
        painter.exchange.answer_steering(SteeringAnswer(request.number, True, "applied", 12))
        assert await page.hear("steered") == {
            "type": "steered", "id": 9, "ok": True, "text": "applied", "step": 12,
        }  # fmt: skip
        assert painter.exchange.take_steering() == []

    live(run, tmp_path)


@pytest.mark.parametrize(
    "request_",
    [
        SET | {"value": "fast"},
        SET | {"value": None},
        SET | {"more": 1},
        {"request": "publish_every", "steps": 0},
        {"request": "describe"},
        {"request": "shell"},
        [],
    ],
)
def test_a_request_of_another_form_is_refused(tmp_path: Path, request_: Any) -> None:
    async def run(browser: Browser, painter: Painter) -> None:
        page = await browser.open()
        painter.exchange.report_steering(RUN)
        await hold(page, 1, painter)
        await ask(page, 2, request_)
        assert "steer.request" in (await page.hear("error"))["message"]
        assert painter.exchange.take_steering() == []

    live(run, tmp_path)


def test_one_page_at_a_time_holds_the_right_and_a_closed_page_returns_it(tmp_path: Path) -> None:
    async def run(browser: Browser, painter: Painter) -> None:
        first, two = await browser.open(), await browser.open()
        painter.exchange.report_steering(RUN)
        await two.hear("steering")
        await hold(first, 1, painter)
        await two.until(lambda: (two.last("steering") or {}).get("holder") == "page1")
        for number, request in enumerate(({"request": "hold"}, SET, {"request": "release"})):
            assert await refused(two, number, request) == "page1 holds the right to steer"
        await first.socket.close(code=WSCloseCode.GOING_AWAY)
        await two.until(lambda: (two.last("steering") or {}).get("holder") is None)
        assert [sent.request.request for sent in await passed(painter)] == ["release"]
        await hold(two, 4, painter)
        await ask(two, 5, {"request": "release"})
        assert [sent.request.request for sent in await passed(painter)] == ["release"]

    live(run, tmp_path)


def test_a_page_whose_connection_is_lost_keeps_the_right_for_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run(browser: Browser, painter: Painter) -> None:
        other = await browser.open()
        page = await browser.open()
        painter.exchange.report_steering(RUN)
        await hold(page, 1, painter)
        key = page.last("hello")["key"]
        await page.socket.close(code=WSCloseCode.OK)  # as a browser that left without a word
        again = await browser.open(view="page2")
        assert (await again.hear("steering"))["holder"] == "page2"  # the view is not the right
        assert await refused(again, 1, SET) == "page2 holds the right to steer"
        await again.say(type="resume", key=key)
        await again.until(lambda: (again.last("steering") or {}).get("holder") == "page3")
        await ask(again, 2, SET)
        assert [sent.request.request for sent in await passed(painter)] == ["set"]
        monkeypatch.setattr(steering_right, "GRACE_SECONDS", 0.05)
        await again.socket.close(code=WSCloseCode.OK)
        await other.until(lambda: (other.last("steering") or {"holder": 1})["holder"] is None)
        assert [sent.request.request for sent in await passed(painter)] == ["release"]

    live(run, tmp_path)


def test_no_other_page_takes_the_right_or_the_view_of_a_page(tmp_path: Path) -> None:
    async def run(browser: Browser, painter: Painter) -> None:
        page = await browser.open()
        painter.exchange.report_steering(RUN)
        await hold(page, 1, painter)
        for key in ("", "page1", "0" * 32):
            thief = await browser.open(view="page1")
            await thief.say(type="resume", key=key)
            assert thief.last("hello")["view"] != "page1"
            assert await refused(thief, 2, SET) == "page1 holds the right to steer"
        await ask(page, 3, SET)
        assert [sent.request.request for sent in await passed(painter)] == ["set"]

    live(run, tmp_path)


def test_a_read_only_page_changes_nothing_but_its_own_view(tmp_path: Path) -> None:
    async def run(browser: Browser, painter: Painter) -> None:
        painter.exchange.report_steering(RUN)
        page = await browser.open()
        address = browser.gateway.address(read_only=True)
        async with browser.post("login", json={"token": address.partition("#token=")[2]}):
            guest = await browser.open()
        assert guest.last("hello")["read_only"] and not page.last("hello")["read_only"]
        assert await refused(guest, 1, {"request": "hold"}) == (
            "this page was opened by a read-only address"
        )
        await guest.patch("page2", 9, azimuth=40.0)
        await guest.shows(40)
        await guest.say(
            type="patch", base=9, changes=[{"path": ["sources", "s"], "value": "2 * u"}]
        )
        assert "common to all pages" in (await guest.hear("error"))["message"]
        await guest.say(type="follow", view="page1")
        await guest.until(lambda: guest.last("view")["view"] == "page1")
        for message in (
            {"type": "patch", "base": 9,
             "changes": [{"path": ["views", "page1", "title"], "value": "x"}]},
            {"type": "seek", "step": 1}, {"type": "pause"}, {"type": "drag", "active": True},
            {"type": "pointer", "x": 0.5, "y": 0.5},
            {"type": "load", "text": "views: {a: {layers: []}}"},
        ):  # fmt: skip
            await guest.say(**message)
            assert "changes no view but its own" in (await guest.hear("error"))["message"]
        await page.patch("page1", 9, azimuth=10.0)  # the page itself can
        await page.shows(10)

    live(run, tmp_path)


def test_a_lost_run_takes_the_right_with_it(tmp_path: Path) -> None:
    async def run(browser: Browser, painter: Painter) -> None:
        page = await browser.open()
        painter.exchange.report_steering(RUN)
        await hold(page, 1, painter)
        again = SteeringState(True, connection=2, publish_every=1)
        painter.exchange.report_steering(again)
        await page.until(lambda: (page.last("steering") or {"holder": 1})["holder"] is None)
        assert "take the right" in await refused(page, 2, SET)
        gone = SteeringState(False, "The run is not reachable.", 2)
        painter.exchange.report_steering(gone)
        await page.until(lambda: not page.last("steering")["state"]["available"])  # type: ignore[index]
        assert await refused(page, 3, {"request": "hold"}) == "The run is not reachable."

    live(run, tmp_path)


class ScriptedSteps(Steps):
    """Stream that notes commands, and returns the replies that a test has written."""

    state = "live"

    def __init__(self, error: str = "") -> None:
        self.connection = 1
        self.error, self.sent, self.replies = error, list[str](), dict[int, str]()

    def send(self, text: str) -> int:
        if self.error:
            raise StagingError(self.error)
        self.sent.append(text)
        return len(self.sent)

    def take_replies(self) -> dict[int, str]:
        replies, self.replies = self.replies, {}
        return replies

    def poll(self) -> None: ...
    def release(self) -> None: ...
    def lose(self, error: StagingError) -> None: ...
    def close(self) -> None: ...


def watched_exchange() -> Exchange:
    from uzushio.render.view import View

    exchange = Exchange()
    layers = [{"kind": "slice", "field": "u"}]
    exchange.want(DrawRequest("a", 1, {}, View.model_validate({"layers": layers})))
    return exchange


def reported(exchange: Exchange) -> SteeringState:
    state = exchange.take_events().steering
    assert state is not None
    return state


@pytest.mark.parametrize(
    ("reply", "sentence"),
    [
        ("not JSON", "cannot be steered from this page"),
        ('{"ok": true, "steering": {"allowed": 1}}', "cannot be steered from this page"),
        (
            '{"ok": true, "steering": {"allowed": false, "holder": "", "publish_every": 1, '
            '"parameters": {}}}',
            "The case forbids steering",
        ),
    ],
)
def test_a_run_that_cannot_be_steered_is_reported_in_a_sentence(reply: str, sentence: str) -> None:
    steps, exchange = ScriptedSteps(), watched_exchange()
    link = SteeringLink(steps, exchange)
    link.work()
    assert "has not sent its steerable parameters yet" in reported(exchange).text
    assert len(steps.sent) == 1
    link.work()  # one request at a time
    assert len(steps.sent) == 1
    steps.replies = {1: reply}
    link.work()
    state = reported(exchange)
    assert not state.available and sentence in state.text


def test_stored_steps_and_streams_without_commands_cannot_be_steered() -> None:
    exchange = watched_exchange()
    stored = ScriptedSteps()
    stored.connection, stored.state = None, "stored"
    SteeringLink(stored, exchange).work()
    assert reported(exchange).text == "Stored steps cannot be steered."
    SteeringLink(ScriptedSteps("Streams of this engine take no commands."), exchange).work()
    assert reported(exchange).text == "Streams of this engine take no commands."


def test_a_request_that_gets_no_reply_is_answered_when_the_run_is_lost() -> None:
    from uzushio._job.steering import StopRequest

    steps, exchange = ScriptedSteps(), watched_exchange()
    link = SteeringLink(steps, exchange)
    exchange.steer(SteeringRequest(7, StopRequest(request="stop")))
    link.work()
    assert exchange.take_events().steering_answers == []
    steps.connection, steps.state = None, "lost"
    link.work()
    (answer,) = exchange.take_events().steering_answers
    assert (answer.number, answer.ok) == (7, False) and "lost" in answer.text
    exchange.steer(SteeringRequest(8, StopRequest(request="stop")))
    link.work()
    (answer,) = exchange.take_events().steering_answers
    assert (answer.number, answer.text) == (8, "The run is not reachable.")
