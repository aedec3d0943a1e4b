"""Readers that want the newest step alone, of writers that wait for their readers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import wait

from uzushio import staging

SHAPE = (6, 7, 8)


@contextmanager
def opened(folder: Path, engine: str) -> Iterator[Any]:
    """Writer of one block that waits up to a minute for each reader to release its one step."""
    queue = {"policy": "block", "depth": 1, "time_limit": 60}
    chosen = {"engine": engine, "contact": str(folder / "near.contact"), "queue": queue}
    with staging.open("flow", None, chosen) as writer:
        writer.uniform_mesh("box", SHAPE)
        writer.field("u", "box")
        writer.block(0, "box", ((0, 0, 0), SHAPE))
        yield writer


def publish(writer: Any, steps: range) -> None:
    for n in steps:
        with writer.step(n, 0.1 * n):
            writer.put("u", np.full(SHAPE, float(n)))


def check(writer: Any, contact: Path) -> None:
    """Publish while the reader holds a step, and while it asks for none."""
    with staging.attach(contact, attach_limit=60.0, latest_only=True) as reader:
        publish(writer, range(1))
        held = reader.next(60.0)
        assert held is not None and held.index == 0
        publish(writer, range(1, 9))
        np.testing.assert_array_equal(held.read("u"), np.zeros(SHAPE))
        assert writer.counters().seconds_waited < 1.0
        newest = reader.next(60.0)
        assert newest is not None and newest.index == 8
        np.testing.assert_array_equal(newest.read("u"), np.full(SHAPE, 8.0))
        assert reader.dropped == 7
    assert writer.counters().dropped == 7


@pytest.mark.parametrize("engine", ["shm", "tcp"])
def test_a_writer_does_not_wait_for_it_whatever_the_policy(tmp_path: Path, engine: str) -> None:
    with opened(tmp_path, engine) as writer:
        check(writer, tmp_path / "near.contact")


def test_nor_does_a_writer_behind_a_relay(
    start_uzushio: Callable[..., Any], tmp_path: Path
) -> None:
    with opened(tmp_path, "tcp") as writer:
        words = ("relay", "--from", "near.contact", "--to", "far.contact", "--once")
        relay = start_uzushio(*words)
        check(writer, tmp_path / "far.contact")
    assert wait(relay, 60).returncode == 0
