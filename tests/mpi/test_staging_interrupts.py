"""Ctrl-C ends every wait of readers and writers within a second, on all of their ranks."""

from __future__ import annotations

import contextlib
import signal
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import Peer, Peers
from staging_cases import options

#: Ranks, and which of them are interrupted.
CASES = [(1, [0]), (2, [0, 1]), (2, [1])]
#: Seconds. A loaded machine may take longer, but not in each attempt.
SOON, ATTEMPTS = 1.0, 4

Start = Callable[[str], Peer]


def interrupt(victim: Peer, ranks: list[int]) -> float:
    """Interrupt ranks of a waiting job, and return the time until all have ended."""
    time.sleep(0.3)  # into the wait
    assert not any(victim.values("ended", rank) for rank in range(victim.ranks))
    began = time.monotonic()
    # All get it at once: else one may end by another one's interrupt before it has its own.
    victim.signal(signal.SIGSTOP, ranks)
    victim.signal(signal.SIGINT, ranks)
    victim.signal(signal.SIGCONT, ranks)
    status = victim.ended()
    assert status == 0, victim.last_events()
    ends = []
    for rank in range(victim.ranks):
        kind, sentence, end = victim.wait_for("ended", rank=rank)
        ends.append(end - began)
        if rank in ranks:
            assert kind == "KeyboardInterrupt", sentence
        else:
            assert kind == "StagingError"
            assert "interrupted" in sentence or "KeyboardInterrupt" in sentence
    return max(ends)


def soon(start: Start, ranks: list[int]) -> None:
    """The wait ends soon in one of a few attempts, and always long before its own limits."""
    taken = []
    for attempt in range(ATTEMPTS):
        taken.append(interrupt(start(f"victim{attempt}"), ranks))
        if taken[-1] < SOON:
            return
    pytest.fail(f"ended after {taken} s")


@contextlib.contextmanager
def silent_host() -> Iterator[str]:
    """An address that does not answer, not even by a refusal."""
    with contextlib.ExitStack() as held:
        server = held.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(4):  # connections beyond a full backlog get no answer
            guest = held.enter_context(socket.socket())
            guest.setblocking(False)
            guest.connect_ex(server.getsockname())
        yield f"127.0.0.1:{server.getsockname()[1]}"


@pytest.mark.parametrize(
    ("contact", "ranks", "victims"),
    [("flow.zarr", 2, [0, 1]), ("silent", 1, [0]), ("silent", 2, [1])]
    + [("flow.contact", *case) for case in CASES],
)
def test_ctrl_c_interrupts_a_wait_for_a_writer(
    peers: Peers, tmp_path: Path, contact: str, ranks: int, victims: list[int]
) -> None:
    with silent_host() as host:
        where = host if contact == "silent" else str(tmp_path / contact)
        soon(
            lambda name: waiting(
                peers.job(ranks, "staging_waits.attach", name, contact=where, secret="5a" * 32)
            ),
            victims,
        )


def waiting(peer: Peer) -> Peer:
    for rank in range(peer.ranks):
        peer.wait_for("waits", rank=rank)
    return peer


@pytest.mark.parametrize(("ranks", "victims"), CASES)
def test_ctrl_c_interrupts_a_wait_for_a_step_and_the_writer_continues(
    peers: Peers, tmp_path: Path, ranks: int, victims: list[int]
) -> None:
    stop = tmp_path / "stop"
    flow = {"flow": options(tmp_path, "shm")}
    writer = peers.process("write", "writer", streams=flow, stop=str(stop), pace=30.0)
    contact = str(tmp_path / "flow.contact")
    soon(
        lambda name: waiting(peers.job(ranks, "staging_waits.next_step", name, contact=contact)),
        victims,
    )
    writer.kill()


@pytest.mark.parametrize("ranks", [1, 2])
def test_ctrl_c_interrupts_a_wait_for_values(peers: Peers, tmp_path: Path, ranks: int) -> None:
    flow = {"flow": options(tmp_path, "tcp")}
    writer = peers.process("write", "writer", streams=flow, stop="none", pace=0.05)
    contact = str(tmp_path / "flow.contact")

    def start(name: str) -> Peer:
        stopped = tmp_path / f"{name}.stopped"
        reader = peers.job(ranks, "staging_waits.read", name, contact=contact, stopped=str(stopped))
        for rank in range(ranks):
            reader.wait_for("has", rank=rank)
        writer.signal(signal.SIGSTOP)
        stopped.touch()
        return waiting(reader)

    def go_on(name: str) -> Peer:
        writer.signal(signal.SIGCONT)
        return start(name)

    soon(go_on, list(range(ranks)))
    writer.kill()


@pytest.mark.parametrize(
    ("wait", "ranks", "victims"),
    [("the end", 1, [0]), ("the end", 2, [1]), ("readers", 2, [0, 1]), ("readers", 2, [1])]
    + [("room", *case) for case in CASES],
)
def test_a_writer_that_waits_for_readers_is_interrupted(
    peers: Peers, tmp_path: Path, wait: str, ranks: int, victims: list[int]
) -> None:
    queue = {"policy": "block", "depth": 1, "time_limit": 60.0}
    chosen = options(tmp_path, "tcp", queue=queue, wait_for_readers=1, close_limit=60.0)

    def start(name: str) -> Peer:
        writer = peers.job(
            ranks, "staging_waits.publish", name, options=chosen, close=wait == "the end"
        )
        if wait == "readers":
            return waiting(writer)
        holder = peers.process("holding", f"holder of {name}", contact=chosen["contact"])
        holder.wait_for("ready")
        holder.signal(signal.SIGSTOP)
        for rank in range(ranks):  # the step that is held, and the next one or the end
            writer.wait_for("waits", 2, rank=rank)
        return writer

    soon(start, victims)
