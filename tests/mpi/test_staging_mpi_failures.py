"""Processes of one MPI launch are killed, stopped and interrupted: each wait ends, none is torn."""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import Peer, Peers
from staging_cases import LIMIT, SEED, options

CONTACT = "mpi:flow"


def writer_of(folder: Path, mode: str, ranks: int = 2, **more: Any) -> tuple[int, str, str, Any]:
    """Program that writes until a file "stop" exists."""
    flow = options(folder, "mpi", mpi={"mode": mode}, **more)
    arguments = {"streams": {"flow": flow}, "stop": str(folder / "stop"), "pace": 0.01}
    return ranks, "write", "writer", arguments


def is_alive(pid: int) -> bool:
    """Whether a process is there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def closed_in_time(writer: Peer, limit: float) -> Any:
    """Return the writer's final report; no step waited much longer than the limit."""
    result = writer.wait_for("closed")
    assert result["longest"] < limit + 2.0
    assert result["seconds"] < 5.0 + 3.0
    return result


@pytest.mark.parametrize(("mode", "victim", "rank"), [("two_sided", 1, 1), ("pull", 0, 1)])
def test_a_process_that_is_killed_ends_the_launch(
    peers: Peers, tmp_path: Path, mode: str, victim: int, rank: int
) -> None:
    jobs = peers.launch(writer_of(tmp_path, mode), (2, "reading", "reader", {"contact": CONTACT}))
    jobs[1].wait_for("ready", 2, rank=1)
    pids = jobs[0].pids() + jobs[1].pids()
    moment = random.Random(f"{SEED} {mode}").uniform(0.0, 0.05)
    print(f"seed {SEED}: {moment:.4f} s")
    time.sleep(moment)
    jobs[victim].signal(signal.SIGKILL, [rank])
    assert jobs[0].ended(LIMIT) != 0
    deadline = time.monotonic() + 5.0
    while any(map(is_alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not any(map(is_alive, pids))
    for peer in jobs:
        assert not peer.values("torn")
        assert not peer.values("torn", rank=1)


@pytest.mark.parametrize("mode", ["two_sided", "pull"])
def test_a_stopped_rank_of_a_reader_costs_the_solver_one_limit_and_continues(
    peers: Peers, tmp_path: Path, mode: str
) -> None:
    limit = 1.0
    queue = {"policy": "block", "depth": 3, "time_limit": limit}
    writer, stopped, other = peers.launch(
        writer_of(tmp_path, mode, queue=queue, checksums=True),
        (2, "follow", "stopped", {"contact": CONTACT, "verify": True}),
        (1, "follow", "other", {"contact": CONTACT, "verify": True}),
    )
    stopped.wait_for("whole", 2, rank=1)
    other.wait_for("whole", 2)
    time.sleep(random.Random(f"{SEED} {mode}").uniform(0.0, 0.05))
    stopped.signal(signal.SIGSTOP, [1])
    seen = len(other.values("whole"))
    time.sleep(2.5 * limit)
    other.wait_for("whole", seen + 10)
    stopped.signal(signal.SIGCONT, [1])
    stopped.wait_for_more("whole", 2, rank=1)
    (tmp_path / "stop").touch()
    assert writer.ended() == 0, writer.last_events()
    waits = closed_in_time(writer, limit)["waits"]
    assert sum(wait > 0.9 * limit for wait in waits) <= 2, "one limit for being stopped"
    for reader, ranks in ((stopped, 2), (other, 1)):
        for rank in range(ranks):
            assert not reader.values("torn", rank)
            assert reader.values("ended", rank)


@pytest.mark.parametrize("mode", ["push", "pull"])
def test_a_reader_stopped_while_it_attaches_delays_neither_solver_nor_others(
    peers: Peers, tmp_path: Path, mode: str
) -> None:
    limit = 1.0
    queue = {"policy": "block", "depth": 3, "time_limit": limit}
    writer, stopped, other = peers.launch(
        writer_of(tmp_path, mode, queue=queue),
        (2, "cycle", "stopped", {"contact": CONTACT, "cycles": 3}),
        (1, "cycle", "other", {"contact": CONTACT, "cycles": 8}),
    )
    stopped.pids()
    time.sleep(random.Random(f"{SEED} {mode}").uniform(0.0, 0.1))
    stopped.signal(signal.SIGSTOP, [1])
    writer.wait_for("open")
    writer.wait_for_more("step", 10)
    other.wait_for("left", 3, LIMIT)
    stopped.signal(signal.SIGCONT, [1])
    for rank in range(2):
        stopped.wait_for("done", rank=rank)
        assert len(stopped.values("whole", rank)) == 3
    other.wait_for("done")
    (tmp_path / "stop").touch()
    assert writer.ended() == 0, writer.last_events()
    closed_in_time(writer, limit)


@pytest.mark.parametrize("mode", ["two_sided", "push", "pull"])
def test_a_wait_for_a_stopped_writer_times_out_and_the_writer_is_found_again(
    peers: Peers, tmp_path: Path, mode: str
) -> None:
    writer, reader = peers.launch(
        writer_of(tmp_path, mode),
        (
            1,
            "gives_up",
            "reader",
            {"contact": CONTACT, "folder": str(tmp_path), "answer_limit": 1.0},
        ),
    )
    assert reader.wait_for("ready") is True
    writer.signal(signal.SIGSTOP)
    (tmp_path / "stopped").touch()
    kind, sentence, seconds = reader.wait_for("meanwhile")
    assert kind == "PeerSilent", sentence
    assert "sent nothing for 1" in sentence
    assert 0.9 < seconds < 6.0
    writer.signal(signal.SIGCONT)
    (tmp_path / "goes-on").touch()
    assert reader.wait_for("done") is None
    assert len(reader.values("whole")) == 1
    (tmp_path / "stop").touch()
    assert writer.ended() == 0, writer.last_events()


def test_ctrl_c_ends_the_waits_of_a_reader(peers: Peers, tmp_path: Path) -> None:
    writer, reader, lonely = peers.launch(
        writer_of(tmp_path, "two_sided", ranks=1),
        (1, "gives_up", "reader", {"contact": CONTACT, "folder": str(tmp_path)}),
        (2, "interrupted", "lonely", {"contact": "mpi:nobody"}),
    )
    reader.wait_for("ready")
    writer.signal(signal.SIGSTOP)
    (tmp_path / "stopped").touch()
    reader.wait_for("reads")
    lonely.wait_for("ready", rank=0)
    time.sleep(0.5)
    for peer, expected in ((reader, "KeyboardInterrupt"), (lonely, "KeyboardInterrupt")):
        os.kill(peer.pids()[0], signal.SIGINT)
        began = time.monotonic()
        kind, _, _ = peer.wait_for("meanwhile")
        assert kind == expected
        assert time.monotonic() - began < 5.0
    kind, sentence, _ = lonely.wait_for("meanwhile", rank=1)
    assert kind == "StagingError", "the other ranks are told"
    assert "interrupted" in sentence
    writer.signal(signal.SIGCONT)
    (tmp_path / "goes-on").touch()
    reader.wait_for("done")
    (tmp_path / "stop").touch()
    assert writer.ended() == 0, writer.last_events()
