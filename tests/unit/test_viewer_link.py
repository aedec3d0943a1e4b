"""Choice of quality and resolution from simulated links, and requests that are due."""

from __future__ import annotations

import io
import threading
import time
from collections.abc import Mapping

import numpy as np
import pytest
from live_view import Frame
from PIL import Image

from uzushio.render.view import SliceLayer, View
from uzushio.viewer.encoder import FINAL, GOOD, POOR, encode
from uzushio.viewer.exchange import DrawnPicture, DrawRequest, Exchange
from uzushio.viewer.link import Link

PIXELS = 1000 * 600
#: Bytes of a pixel of a typical picture.
BYTES = {FINAL: 0.14, GOOD: 0.055, POOR: 0.046}
FAST = {1: 0.01, 2: 0.004, 4: 0.002}


def simulate(
    rate: float, round_trip: float, frames: int = 40, draw: Mapping[int, float] = FAST
) -> list[int]:
    """Drag over a link of `rate` bytes a second; return the reductions that were chosen."""
    link, now, free, scale, chosen = Link(), 1.0, 0.0, 2, []
    link.round_trip = round_trip
    acks: list[tuple[float, int]] = []
    for number in range(frames):
        now += draw[scale]
        while acks and (acks[0][0] <= now or link.in_flight == 2):
            now = max(now, acks[0][0])
            assert link.acknowledged(acks[0][1], acks.pop(0)[0])
        pixels = PIXELS // scale**2
        quality = link.quality(pixels, False)
        size = int(BYTES[quality] * pixels)
        link.sent(number, size, pixels, quality, now)
        free = max(free, now) + size / rate
        acks.append((free + round_trip, number))
        scale = link.scale(PIXELS, draw, scale)
        chosen.append(scale)
    return chosen


def test_a_fast_link_takes_full_size_whatever_its_round_trip_time() -> None:
    assert set(simulate(100e6, 0.0)[10:]) == {1}
    assert set(simulate(20e6, 0.1)[10:]) == {1}


def test_a_slow_link_or_slow_drawing_takes_smaller_pictures_without_oscillation() -> None:
    assert set(simulate(3e5, 0.02)[10:]) == {2}
    assert set(simulate(5e4, 0.02)[10:]) == {4}
    assert set(simulate(100e6, 0.0, draw={1: 0.12, 2: 0.035, 4: 0.012})[10:]) == {2}
    # The expected time is near the limit: the choice stays.
    assert len(set(simulate(100e6, 0.0, draw={1: 0.045, 2: 0.02, 4: 0.01})[10:])) == 1


def test_quality_at_rest_follows_the_rate_and_recovers_after_a_stall() -> None:
    link = Link()
    assert link.quality(PIXELS, True) is FINAL

    def transfer(seconds: float, now: float) -> None:
        link.sent(1, 80_000, PIXELS, FINAL, now)
        assert link.acknowledged(1, now + seconds)

    for number in range(10):
        transfer(2.0, 10.0 * number)
    assert link.quality(PIXELS, True) is GOOD
    assert link.quality(PIXELS, False) is POOR
    for number in range(20):
        transfer(0.01, 200.0 + number)
    assert link.quality(PIXELS, True) is FINAL


def test_an_acknowledgement_counts_for_earlier_frames_and_only_for_sent_ones() -> None:
    link = Link()
    link.sent(1, 1000, 100, GOOD, 0.0)
    link.sent(2, 1000, 100, GOOD, 0.1)
    assert not link.acknowledged(3, 0.2) and link.in_flight == 2
    assert link.acknowledged(2, 0.2) and link.in_flight == 0
    assert not link.acknowledged(2, 0.3)


# ---- the exchange


def request(view: str = "a", revision: int = 1, **more: object) -> DrawRequest:
    settings = View(layers=(SliceLayer(field="u"),), size=(64, 48))
    return DrawRequest(view, revision, {}, settings, **more)  # type: ignore[arg-type]


def ready(exchange: Exchange, *requests: DrawRequest) -> None:
    for wanted in requests:
        exchange.want(wanted)
        exchange.set_ready(wanted.view, True)


def test_a_request_is_due_once_until_revision_step_or_credit_change() -> None:
    exchange = Exchange()
    ready(exchange, request())
    assert exchange.take(0.0) is None  # no step yet
    exchange.advance(1)
    assert exchange.take(0.0) == request()
    assert exchange.take(0.0) is None
    exchange.advance(2)
    assert exchange.take(0.0) == request()
    exchange.want(request(revision=2))
    exchange.set_ready("a", False)
    assert exchange.take(0.0) is None
    exchange.set_ready("a", True)
    assert exchange.take(0.0) == request(revision=2)
    exchange.want(request(revision=2, step=1))
    assert exchange.take(0.0) == request(revision=2, step=1)
    exchange.advance(3)  # the view stays at its step
    assert exchange.take(0.0) is None


def test_views_take_turns() -> None:
    exchange = Exchange()
    exchange.advance(1)
    ready(exchange, request("a"), request("b"), request("c"))
    views_drawn = []
    for revision in range(2, 8):
        taken = exchange.take(0.0)
        assert taken is not None
        views_drawn.append(taken.view)
        exchange.want(request("a", revision))
    assert views_drawn == ["a", "b", "c", "a", "a", "a"]


def test_only_the_values_under_the_pointer_are_due_when_the_picture_is_drawn() -> None:
    exchange = Exchange()
    exchange.advance(1)
    ready(exchange, request(probe=(0.5, 0.5)))
    taken = exchange.take(0.0)
    assert taken is not None and not taken.only_probe
    exchange.want(request(probe=(0.5, 0.6)))
    exchange.set_ready("a", False)  # values need no credit
    taken = exchange.take(0.0)
    assert taken is not None and taken.only_probe and taken.probe == (0.5, 0.6)
    assert exchange.take(0.0) is None


def test_taking_waits_for_a_change_and_only_the_newest_is_kept() -> None:
    exchange, told = Exchange(), list[int]()
    exchange.listen(lambda: told.append(1))
    exchange.advance(1)
    begin = time.perf_counter()
    assert exchange.take(0.05) is None
    assert time.perf_counter() - begin >= 0.05
    threading.Timer(0.05, lambda: ready(exchange, request())).start()
    assert exchange.take(10.0) == request()
    assert time.perf_counter() - begin < 5.0
    pixels = np.zeros((48, 64, 3), np.uint8)
    for step in range(5):
        exchange.put(DrawnPicture(request(), pixels, step, 0.0))
        exchange.fail(request(), f"failure {step}")
    assert len(told) == 11
    events = exchange.take_events()
    assert events.pictures["a"].step == 4 and events.failures["a"].message == "failure 4"
    assert not exchange.take_events().pictures


@pytest.mark.parametrize("channels", [3, 4])
def test_a_frame_holds_header_and_picture(channels: int) -> None:
    y, x = np.mgrid[0:60, 0:80]
    wide = np.stack([3 * x, 4 * y, x + y, 0 * x], -1).astype(np.uint8)
    pixels = wide[:, :, :channels]  # with 3 channels it is not contiguous
    drawn = DrawnPicture(
        request(revision=2**40), pixels, -3, 1.5, seconds={"read": 1, "draw": 2, "composite": 3}
    )
    frame = Frame.of(encode(drawn, 7, FINAL))
    assert (frame.sequence, frame.revision, frame.step, frame.time) == (7, 2**40, -3, 1.5)
    assert frame.size == (80, 60) and frame.final and frame.seconds[:3] == (1.0, 2.0, 3.0)
    shown = np.asarray(Image.open(io.BytesIO(frame.data)).convert("RGB")).astype(int)
    assert np.abs(shown - pixels[..., :3]).max() <= 12
    assert np.abs(shown - pixels[..., :3]).mean() < 1.5
    assert not Frame.of(encode(drawn, 7, GOOD)).final
