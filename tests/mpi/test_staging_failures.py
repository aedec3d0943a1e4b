"""Processes of either side of a stream are killed and stopped: nothing hangs, nothing is lost."""

from __future__ import annotations

import itertools
import os
import random
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import Side, Sides

#: Moments are random; another seed tries others.
SEED = int(os.environ.get("UZUSHIO_TEST_SEED", "1"))
KILLS = int(os.environ.get("UZUSHIO_TEST_KILLS", "8"))
ENGINES = ["shm", "tcp"]
#: What no wait may come near: far longer than any here should be on a loaded machine.
LIMIT = 30.0
POLICIES = ["block", "drop_newest", "drop_oldest", "latest_only"]


def options(folder: Path, engine: str, name: str = "flow", **more: Any) -> dict[str, Any]:
    """A writer's options; its contact file is NAME.contact."""
    queue = {"policy": "block", "depth": 2, "time_limit": LIMIT} | more.pop("queue", {})
    return {
        "engine": engine,
        "contact": str(folder / f"{name}.contact"),
        "queue": queue,
        "close_limit": 5.0,
    } | more


def ends_by_kill(side: Side) -> bool:
    return side.ended() == -signal.SIGKILL


@pytest.mark.parametrize("engine", ENGINES)
def test_readers_killed_at_random_moments_cost_the_writer_nothing(
    sides: Sides, tmp_path: Path, engine: str
) -> None:
    stop = tmp_path / "stop"
    contact = str(tmp_path / "flow.contact")
    writer = sides.job(
        2, "write", "writer", streams={"flow": options(tmp_path, engine)}, stop=str(stop)
    )
    writer.hear("step", 2)
    dice = random.Random(f"{SEED} {engine}")
    acts = ["attaching", "waiting", "reading", "holding"]
    for kill in range(KILLS):
        act, moment = acts[kill % 4], dice.uniform(0.0, 0.05)
        print(f"seed {SEED}, {kill}: {act}, {moment:.4f} s")
        victim = sides.process(act, f"victim{kill}", contact=contact)
        victim.hear("ready")
        time.sleep(moment)
        victim.signal(signal.SIGKILL)
        assert ends_by_kill(victim), victim.account()
        assert not victim.values("torn")
        if kill == 3:
            writer.more("memory", 2)
            before = [writer.values("memory", rank)[-1] for rank in range(2)]
    victim = sides.job(2, "reading", "victims", contact=contact)
    victim.hear("ready", 2, rank=1)
    victim.kill()
    writer.more("step", 2)

    later = sides.process("follow", "later", contact=contact, steps=3)
    assert later.ended() == 0, later.account()
    assert len(later.values("whole")) == 3

    writer.more("memory", 2)
    after = [writer.values("memory", rank)[-1] for rank in range(2)]
    stop.touch()
    assert writer.ended() == 0, writer.account()
    result = writer.hear("closed")
    assert result["longest"] < LIMIT, "steps are freed by the broken connection, not by the limit"
    assert result["dropped"] == 0
    assert result["taken"] == result["published"] == len(writer.values("step"))
    for rank in range(2):
        assert after[rank]["memory_files"] <= before[rank]["memory_files"]
        assert after[rank]["resident"] < before[rank]["resident"] + 4 * 10**6
        assert not [name for name in after[rank]["named"] if "uzushio" in name]
    assert not list(tmp_path.glob("*contact*")), "removed at the end"


@pytest.mark.parametrize("engine", ENGINES)
def test_stopped_readers_cost_what_the_policy_says_and_go_on_with_whole_steps(
    sides: Sides, tmp_path: Path, engine: str
) -> None:
    limit, stop = 1.0, tmp_path / "stop"
    streams = {
        policy: options(
            tmp_path,
            engine,
            policy,
            checksums=True,
            queue={"policy": policy, "depth": 3, "time_limit": limit},
        )
        for policy in POLICIES
    }
    writer = sides.job(2, "write", "writer", streams=streams, stop=str(stop), pace=0.01)
    dice = random.Random(f"{SEED} {engine}")
    stopped, others = {}, {}
    for policy in POLICIES:
        contact = str(tmp_path / f"{policy}.contact")
        stopped[policy] = sides.process("follow", f"stopped-{policy}", contact=contact, verify=True)
        others[policy] = sides.process("follow", f"other-{policy}", contact=contact, verify=True)
    for policy in POLICIES:
        stopped[policy].hear("whole", 2)
        others[policy].hear("whole", 2)
        moment = dice.uniform(0.0, 0.02)
        print(f"seed {SEED}: {policy}, {moment:.4f} s")
        time.sleep(moment)
        stopped[policy].signal(signal.SIGSTOP)
    seen = {policy: len(others[policy].values("whole")) for policy in POLICIES}
    time.sleep(2.5 * limit)
    for policy in POLICIES:
        others[policy].hear("whole", seen[policy] + 10)
        stopped[policy].signal(signal.SIGCONT)
    for policy in POLICIES:
        stopped[policy].more("whole", 2)
    stop.touch()
    assert writer.ended() == 0, writer.account()
    closed = {result["name"]: result for result in writer.values("closed")}
    for policy in POLICIES:
        for reader in (stopped[policy], others[policy]):
            assert reader.ended() == 0, reader.account()
            assert not reader.values("torn")
            assert reader.values("ended")
        waits = closed[policy]["waits"]
        if policy == "block":
            assert max(waits) < limit + 2.0
            assert sum(wait > 0.9 * limit for wait in waits) <= 2, "one limit for being stopped"
        else:
            assert closed[policy]["seconds_waited"] == 0.0
        assert closed[policy]["seconds"] < 5.0 + 3.0


@pytest.mark.parametrize("engine", ENGINES)
def test_writers_killed_at_random_moments_are_an_error_for_their_readers(
    sides: Sides, tmp_path: Path, engine: str
) -> None:
    contact = str(tmp_path / "flow.contact")
    dice = random.Random(f"{SEED} {engine}")
    acts = itertools.cycle(["waiting", "reading", "holding"])
    for kill in range(KILLS // 2):
        act, moment = next(acts), dice.uniform(0.0, 0.08)
        print(f"seed {SEED}, {kill}: {act}, {moment:.4f} s")
        # The contact file that the one before left behind leads nowhere until it is replaced.
        readers = [
            sides.process(act, f"{kind}{kill}", contact=contact, answer_limit=20.0)
            for kind, act in (("reader", act), ("follower", "follow"))
        ]
        writer = sides.process(
            "write",
            f"writer{kill}",
            streams={"flow": options(tmp_path, engine)},
            stop="none",
            pace=0.01,
        )
        readers[0].hear("ready")
        readers[1].hear("attached")
        time.sleep(moment)
        writer.signal(signal.SIGKILL)
        assert ends_by_kill(writer)
        began = time.monotonic()
        for reader in readers:
            assert reader.ended() == 3, reader.account()
            kind, sentence = reader.hear("error")
            assert kind == "PeerGone", sentence
            assert "gone" in sentence
            assert not reader.values("torn")
        assert time.monotonic() - began < 10.0


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("victims", [[0, 1], [1]])
def test_all_ranks_of_a_reader_learn_that_the_writer_was_killed(
    sides: Sides, tmp_path: Path, engine: str, victims: list[int]
) -> None:
    contact = str(tmp_path / "flow.contact")
    reader = sides.job(2, "follow", "reader", contact=contact, answer_limit=20.0)
    writer = sides.job(
        2, "write", "writer", streams={"flow": options(tmp_path, engine)}, stop="none", pace=0.0
    )
    reader.hear("whole", 3)
    writer.signal(signal.SIGKILL, victims)
    assert writer.ended() != 0
    began = time.monotonic()
    out = reader.handle.communicate(timeout=60)
    assert time.monotonic() - began < 15.0
    assert reader.handle.returncode == 3
    assert "Traceback" not in out[1]
    for rank in range(2):
        assert reader.hear("error", rank=rank)[0] == "PeerGone"
        assert out[1].count(f"reader {rank}: ") == 1
        assert not reader.values("torn", rank)
