"""Lifetimes of steps, waits, streams and their arrays in Python."""

from __future__ import annotations

import gc
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_box import LIMITS, box_writer, contact, numbers, options, u_writer

from uzushio import staging
from uzushio.errors import UzushioError


@pytest.fixture
def two_steps(tmp_path: Path) -> Any:
    """A reader of a writer that publishes step after step."""
    writer = box_writer(options("shm", tmp_path))
    writer.field("u", "box")
    writer.block(1, "box", (4, 5, 6))

    def publish(index: int) -> None:
        with writer.step(index, 0.0):
            writer.put("u", np.full((4, 5, 6), float(index)))

    publish(1)
    reader = staging.attach(tmp_path / "s.contact", **LIMITS)
    yield writer, reader, publish
    reader.detach()


def test_a_step_is_not_released_while_a_view_exists(two_steps: Any) -> None:
    _, reader, publish = two_steps
    step = reader.next(60.0)
    view = step.blocks[0].view("u")
    part = view[1:, 2]
    assert not view.flags.writeable and not view.flags.owndata
    publish(2)
    del view
    with pytest.raises(staging.StagingError, match="1 array of view"):
        reader.next(60.0)
    assert (part == 1.0).all()
    del part
    gc.collect()
    step = reader.next(60.0)
    assert step.index == 2 and (step.read("u") == 2.0).all()


def test_a_view_stays_valid_when_the_reader_is_closed(two_steps: Any) -> None:
    writer, reader, publish = two_steps
    view = reader.next(60.0).blocks[0].view("u")
    reader.detach()
    for index in range(2, 6):
        publish(index)
    assert (view == 1.0).all()
    assert reader.ended and reader.next(0.0) is None
    del view
    writer.close()


def test_use_of_a_released_step_is_an_error(two_steps: Any) -> None:
    _, reader, publish = two_steps
    first = reader.next(60.0)
    publish(2)
    assert reader.next(60.0).index == 2
    assert first.fields["u"].components == 1
    with pytest.raises(staging.StagingError, match="Step 1 is released"):
        first.read("u")
    reader.release()
    assert reader.next(0.0) is None and not reader.ended


def test_waiting_ends_at_its_limit_and_iterating_at_the_end(tmp_path: Path) -> None:
    writer = box_writer(options("tcp", tmp_path, queue={"policy": "block", "depth": 5}))
    reader = staging.attach(tmp_path / "s.contact", attach_limit=60.0, step_limit=0.3)
    assert reader.next(0.0) is None
    with pytest.raises(staging.PeerSilent, match=r"0\.3 s"):
        next(iter(reader))
    writer.field("u", "box")
    writer.block(1, "box", (4, 5, 6))
    for index in range(3):
        with writer.step(index, 0.0):
            writer.put("u", np.zeros((4, 5, 6)))
    assert [reader.next(60.0).index for _ in range(3)] == [0, 1, 2]
    reader.release()
    writer.close()
    assert list(reader) == [] and reader.ended
    assert writer.counters().delivered == 3


def test_a_writer_that_stops_without_closing_is_gone(tmp_path: Path) -> None:
    writer = box_writer(options("tcp", tmp_path))
    reader = staging.attach(tmp_path / "s.contact", **LIMITS)
    del writer
    gc.collect()
    with pytest.raises(staging.PeerGone) as caught:
        reader.next(60.0)
    assert isinstance(caught.value, UzushioError)


def test_after_an_exception_inside_a_step_the_next_one_works(tmp_path: Path) -> None:
    writer = u_writer("shm", tmp_path)
    with pytest.raises(ValueError, match="of the solver"), writer.step(0, 0.0):
        closed = writer.buffer("u")
        raise ValueError("of the solver")
    assert not closed.flags.writeable
    reader = staging.attach(contact("shm", tmp_path))
    with writer.step(1, 0.1) as step:
        writer.put("u", numbers(4, 5, 6))
    assert step.sequence == 0
    assert reader.next(20.0).index == 1
    reader.detach()
    writer.close()


def test_threads_that_share_a_reader_take_turns(tmp_path: Path) -> None:
    writer = u_writer("tcp", tmp_path)
    reader = staging.attach(contact("tcp", tmp_path))
    with writer.step(0, 0.0):
        writer.put("u", numbers(4, 5, 6))
    step = reader.next(20.0)
    right: list[bool] = []

    def work() -> None:
        for _ in range(50):
            right.append(np.array_equal(step.read("u"), numbers(4, 5, 6)))

    threads = [threading.Thread(target=work, daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30.0)
    assert right == [True] * 200
    reader.detach()
    writer.close()


WAITS = {
    "attach to an address": """
staging.attach("127.0.0.1:1", attach_limit=60, secret="00" * 32)
""",
    "for readers": """
with writer.step(0, 0.0):
    writer.put("u", np.zeros((2, 2, 2)))
""",
    "for room": """
reader = staging.attach(contact)
held = None
for i in range(9):
    with writer.step(i, 0.0):
        writer.put("u", np.zeros((2, 2, 2)))
    held = held or reader.next(20)
""",
    "for the last reader": """
reader = staging.attach(contact)
with writer.step(0, 0.0):
    writer.put("u", np.zeros((2, 2, 2)))
held = reader.next(20)
writer.close()
""",
}


@pytest.mark.parametrize("wait", WAITS)
def test_ctrl_c_ends_a_wait(wait: str, tmp_path: Path) -> None:
    where = tmp_path / "w.contact"
    chosen = {"engine": "shm", "contact": str(where), "queue": {"policy": "block", "depth": 1}}
    if wait == "for readers":
        chosen["wait_for_readers"] = 1
    code = f"""
import signal, threading, time
import numpy as np
from uzushio import staging
signal.signal(signal.SIGINT, signal.default_int_handler)
contact = {str(where)!r}
writer = staging.open("w", None, {chosen!r})
writer.uniform_mesh("box", (2, 2, 2)); writer.field("u", "box"); writer.block(0, "box", (2, 2, 2))
def interrupt():
    global sent
    sent = time.monotonic()
    signal.raise_signal(signal.SIGINT)
threading.Timer(1.0, interrupt).start()
try:
{textwrap.indent(WAITS[wait].strip(), "    ")}
except KeyboardInterrupt:
    print("after", time.monotonic() - sent)
import os, sys
sys.stdout.flush()
os._exit(0)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=50, check=False
    )
    word, _, seconds = done.stdout.partition(" ")
    assert word == "after", done.stderr
    assert float(seconds) < 10.0, "tests/mpi/test_staging_interrupts.py looks closer"


def test_the_limit_to_attach_counts_once(tmp_path: Path) -> None:
    file = tmp_path / "late.contact"
    with u_writer("shm", tmp_path):
        text = contact("shm", tmp_path).read_bytes()

    def leave_it() -> None:
        file.touch(mode=0o600)
        file.write_bytes(text)

    timer = threading.Timer(2.5, leave_it)
    timer.start()
    start = time.monotonic()
    with pytest.raises(staging.PeerGone):
        staging.attach(file, attach_limit=3.0)
    assert time.monotonic() - start < 5.4, "not 2.5 s and then 3 s"
    timer.join()


def test_a_with_that_ends_by_an_exception_ends_the_service_though_a_buffer_is_left(
    tmp_path: Path,
) -> None:
    kept = []
    with pytest.raises(ValueError, match="the end"), u_writer("tcp", tmp_path) as writer:
        reader = staging.attach(contact("tcp", tmp_path))
        for step in range(2):
            with writer.step(step, 0.0):
                kept.append(writer.buffer("u"))
                kept[-1][...] = step
        raise ValueError("the end")
    assert not contact("tcp", tmp_path).exists()
    with pytest.raises(staging.PeerGone):
        for _ in range(3):
            reader.next(10.0)
    assert kept[-1].sum() >= 0.0


FORKING = """
import os, sys
from uzushio import staging
import numpy as np

writer = staging.open("s", None, {"engine": sys.argv[1], "contact": sys.argv[2]})
writer.uniform_mesh("box", (4, 5, 6), origin=(0, 0, 0), spacing=(1, 1, 1))
writer.field("u", "box")
writer.block(0, "box", (4, 5, 6))
reader = staging.attach(sys.argv[2], attach_limit=60.0, step_limit=60.0)
for index in range(3):
    with writer.step(index, 0.0):
        writer.put("u", np.full((4, 5, 6), float(index)))
    step = reader.next(60.0)
    assert step is not None
    assert (step.read("u") == index).all()
    if index < 2:
        child = os.fork()
        if child == 0:
            sys.exit(0)  # runs exit handlers
        assert os.waitpid(child, 0)[1] == 0
    assert os.path.exists(sys.argv[2])
reader.detach()
writer.close()
assert not os.path.exists(sys.argv[2])
"""


@pytest.mark.parametrize("engine", ["shm", "tcp"])
def test_a_forked_child_that_exits_leaves_its_parents_streams_alone(
    engine: str, tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORKING, engine, str(tmp_path / "s.contact")],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
