"""Processes of one MPI launch are killed, stopped and interrupted: each wait ends, none is torn."""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import Side, Sides
from staging_cases import LIMIT, SEED, options

CONTACT = "mpi:flow"


def writer_of(folder: Path, mode: str, ranks: int = 2, **more: Any) -> tuple[int, str, str, Any]:
    """The program that writes until there is a file "stop"."""
    flow = options(folder, "mpi", mpi={"mode": mode}, **more)
    arguments = {"streams": {"flow": flow}, "stop": str(folder / "stop"), "pace": 0.01}
    return ranks, "write", "writer", arguments


def is_alive(pid: int) -> bool:
    """Whether a process is there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def closed_in_time(writer: Side, limit: float) -> Any:
    """What the writer tells at its end; no step of it waited for much longer than the limit."""
    result = writer.hear("closed")
    assert result["longest"] < limit + 2.0
    assert result["seconds"] < 5.0 + 3.0
    return result


@pytest.mark.parametrize(("mode", "victim", "rank"), [("two_sided", 1, 1), ("pull", 0, 1)])
def test_a_process_that_is_killed_ends_the_launch(
    sides: Sides, tmp_path: Path, mode: str, victim: int, rank: int
) -> None:
    both = sides.launch(writer_of(tmp_path, mode), (2, "reading", "reader", {"contact": CONTACT}))
    both[1].hear("ready", 2, rank=1)
    pids = both[0].pids() + both[1].pids()
    moment = random.Random(f"{SEED} {mode}").uniform(0.0, 0.05)
    print(f"seed {SEED}: {moment:.4f} s")
    time.sleep(moment)
    both[victim].signal(signal.SIGKILL, [rank])
    assert both[0].ended(LIMIT) != 0
    deadline = time.monotonic() + 5.0
    while any(map(is_alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not any(map(is_alive, pids))
    for side in both:
        assert not side.values("torn")
        assert not side.values("torn", rank=1)


@pytest.mark.parametrize("mode", ["two_sided", "pull"])
def test_a_stopped_rank_of_a_reader_costs_the_solver_one_limit_and_goes_on(
    sides: Sides, tmp_path: Path, mode: str
) -> None:
    limit = 1.0
    queue = {"policy": "block", "depth": 3, "time_limit": limit}
    writer, stopped, other = sides.launch(
        writer_of(tmp_path, mode, queue=queue, checksums=True),
        (2, "follow", "stopped", {"contact": CONTACT, "verify": True}),
        (1, "follow", "other", {"contact": CONTACT, "verify": True}),
    )
    stopped.hear("whole", 2, rank=1)
    other.hear("whole", 2)
    time.sleep(random.Random(f"{SEED} {mode}").uniform(0.0, 0.05))
    stopped.signal(signal.SIGSTOP, [1])
    seen = len(other.values("whole"))
    time.sleep(2.5 * limit)
    other.hear("whole", seen + 10)
    stopped.signal(signal.SIGCONT, [1])
    stopped.more("whole", 2, rank=1)
    (tmp_path / "stop").touch()
    assert writer.ended() == 0, writer.account()
    waits = closed_in_time(writer, limit)["waits"]
    assert sum(wait > 0.9 * limit for wait in waits) <= 2, "one limit for being stopped"
    for reader, ranks in ((stopped, 2), (other, 1)):
        for rank in range(ranks):
            assert not reader.values("torn", rank)
            assert reader.values("ended", rank)


@pytest.mark.parametrize("mode", ["push", "pull"])
def test_a_reader_that_is_stopped_while_it_attaches_keeps_neither_solver_nor_others_waiting(
    sides: Sides, tmp_path: Path, mode: str
) -> None:
    limit = 1.0
    queue = {"policy": "block", "depth": 3, "time_limit": limit}
    writer, stopped, other = sides.launch(
        writer_of(tmp_path, mode, queue=queue),
        (2, "cycle", "stopped", {"contact": CONTACT, "cycles": 3}),
        (1, "cycle", "other", {"contact": CONTACT, "cycles": 8}),
    )
    stopped.pids()
    time.sleep(random.Random(f"{SEED} {mode}").uniform(0.0, 0.1))
    stopped.signal(signal.SIGSTOP, [1])
    writer.hear("open")
    writer.more("step", 10)
    other.hear("left", 3, LIMIT)
    stopped.signal(signal.SIGCONT, [1])
    for rank in range(2):
        stopped.hear("done", rank=rank)
        assert len(stopped.values("whole", rank)) == 3
    other.hear("done")
    (tmp_path / "stop").touch()
    assert writer.ended() == 0, writer.account()
    closed_in_time(writer, limit)


@pytest.mark.parametrize("mode", ["two_sided", "push", "pull"])
def test_a_writer_that_is_stopped_is_given_up_in_time_and_found_again(
    sides: Sides, tmp_path: Path, mode: str
) -> None:
    writer, reader = sides.launch(
        writer_of(tmp_path, mode),
        (
            1,
            "gives_up",
            "reader",
            {"contact": CONTACT, "folder": str(tmp_path), "answer_limit": 1.0},
        ),
    )
    assert reader.hear("ready") is True
    writer.signal(signal.SIGSTOP)
    (tmp_path / "stopped").touch()
    kind, sentence, seconds = reader.hear("meanwhile")
    assert kind == "PeerSilent", sentence
    assert "sent nothing for 1" in sentence
    assert 0.9 < seconds < 6.0
    writer.signal(signal.SIGCONT)
    (tmp_path / "goes-on").touch()
    assert reader.hear("done") is None
    assert len(reader.values("whole")) == 1
    (tmp_path / "stop").touch()
    assert writer.ended() == 0, writer.account()


def test_ctrl_c_ends_the_waits_of_a_reader(sides: Sides, tmp_path: Path) -> None:
    writer, reader, lonely = sides.launch(
        writer_of(tmp_path, "two_sided", ranks=1),
        (1, "gives_up", "reader", {"contact": CONTACT, "folder": str(tmp_path)}),
        (2, "interrupted", "lonely", {"contact": "mpi:nobody"}),
    )
    reader.hear("ready")
    writer.signal(signal.SIGSTOP)
    (tmp_path / "stopped").touch()
    reader.hear("reads")
    lonely.hear("ready", rank=0)
    time.sleep(0.5)
    for side, expected in ((reader, "KeyboardInterrupt"), (lonely, "KeyboardInterrupt")):
        os.kill(side.pids()[0], signal.SIGINT)
        began = time.monotonic()
        kind, _, _ = side.hear("meanwhile")
        assert kind == expected
        assert time.monotonic() - began < 5.0
    kind, sentence, _ = lonely.hear("meanwhile", rank=1)
    assert kind == "StagingError", "the other ranks are told"
    assert "interrupted" in sentence
    writer.signal(signal.SIGCONT)
    (tmp_path / "goes-on").touch()
    reader.hear("done")
    (tmp_path / "stop").touch()
    assert writer.ended() == 0, writer.account()
