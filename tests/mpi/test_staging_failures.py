"""Processes of either side of a stream are killed and stopped: nothing hangs, nothing is lost."""

from __future__ import annotations

import itertools
import json
import os
import random
import resource
import signal
import socket
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import Run, Side, Sides
from staging_cases import KILLS, LIMIT, SEED, ends_by_kill, options

ENGINES = ["shm", "tcp"]
POLICIES = ["block", "drop_newest", "drop_oldest", "latest_only"]


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
            assert max(waits) < LIMIT
            assert sum(wait > 0.9 * limit for wait in waits) <= 2, "one limit for being stopped"
        else:
            assert closed[policy]["seconds_waited"] == 0.0
        assert closed[policy]["seconds"] < 5.0 + LIMIT


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
        assert time.monotonic() - began < LIMIT


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
    assert time.monotonic() - began < LIMIT
    assert reader.handle.returncode == 3
    assert "Traceback" not in out[1]
    for rank in range(2):
        assert reader.hear("error", rank=rank)[0] == "PeerGone"
        assert out[1].count(f"reader {rank}: ") == 1
        assert not reader.values("torn", rank)


def test_a_rank_of_a_reader_that_fails_alone_ends_the_others(sides: Sides, tmp_path: Path) -> None:
    contact = str(tmp_path / "flow.contact")
    writer = sides.process(
        "write",
        "writer",
        streams={"flow": options(tmp_path, "tcp")},
        stop=str(tmp_path / "stop"),
    )
    reader = sides.job(2, "fails_alone", "reader", contact=contact)
    assert reader.ended() == 3, reader.account()
    assert "Rank 1 of this reader has left" in reader.hear("error")[1]
    assert "pressure" in reader.hear("error", rank=1)[1]
    writer.more("step", 3)
    (tmp_path / "stop").touch()
    assert writer.ended() == 0, writer.account()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_writer_that_is_stopped_is_waited_for_as_long_as_was_said(
    sides: Sides, tmp_path: Path, engine: str
) -> None:
    contact = str(tmp_path / "flow.contact")
    writer = sides.process(
        "write",
        "writer",
        streams={"flow": options(tmp_path, engine)},
        stop=str(tmp_path / "stop"),
    )
    reader = sides.process(
        "patient", "reader", contact=contact, folder=str(tmp_path), answer_limit=1.0
    )
    reader.hear("ready")
    writer.signal(signal.SIGSTOP)
    (tmp_path / "stopped").touch()
    outcome, seconds = reader.hear("meanwhile")
    if engine == "shm":
        assert outcome is True, "its memory can be read"
    else:
        assert "has sent nothing for 1 s" in outcome
        assert 0.9 < seconds < LIMIT, "not the minute that is usual"
    newcomer = sides.process("lookup", "newcomer", contact=contact, attach_limit=1.0)
    assert newcomer.ended(LIMIT) == 3
    writer.signal(signal.SIGCONT)
    (tmp_path / "goes-on").touch()
    assert reader.hear("whole") is True, "the step is still there"
    writer.signal(signal.SIGSTOP)
    (tmp_path / "stopped-again").touch()
    none, seconds = reader.hear("next")
    assert none
    assert 0.4 < seconds < LIMIT
    writer.signal(signal.SIGCONT)
    (tmp_path / "goes-on-again").touch()
    assert reader.hear("whole", 2) is True
    assert reader.ended() == 0, reader.account()
    (tmp_path / "stop").touch()
    assert writer.ended() == 0, writer.account()


@pytest.mark.parametrize("engine", ENGINES)
def test_readers_come_first_go_and_come_back_at_their_own_speeds(
    sides: Sides, tmp_path: Path, engine: str
) -> None:
    contact, stop = str(tmp_path / "flow.contact"), tmp_path / "stop"
    early = sides.job(2, "cycle", "early", contact=contact, cycles=10)
    slow = sides.process("follow", "slow", contact=contact, hold=0.1)
    fast = sides.process("follow", "fast", contact=contact)
    queue = {"policy": "latest_only", "depth": 4}
    flow = {"flow": options(tmp_path, engine, queue=queue)}
    writer = sides.job(2, "write", "writer", streams=flow, stop=str(stop), pace=0.01)
    assert early.ended() == 0, early.account()
    for rank in range(2):
        seen = early.values("whole", rank)
        assert len(seen) == 10
        assert seen == sorted(seen)
        assert not early.values("torn", rank)
    slow.hear("whole", 5)
    stop.touch()
    assert writer.ended() == 0, writer.account()
    assert writer.hear("closed")["seconds_waited"] == 0.0
    for reader in (slow, fast):
        assert reader.ended() == 0, reader.account()
        assert not reader.values("torn")
        assert reader.values("whole") == sorted(set(reader.values("whole")))
    assert len(fast.values("whole")) > len(slow.values("whole"))


# ---- stored steps -------------------------------------------------------------------------------


def stored(folder: Path, **more: Any) -> dict[str, Any]:
    """Options of a writer that stores."""
    return {"engine": "file", "file": {"folder": str(folder / "flow.zarr")} | more}


def test_a_writer_killed_while_it_stores_leaves_whole_steps(sides: Sides, tmp_path: Path) -> None:
    store = str(tmp_path / "flow.zarr")
    dice = random.Random(SEED)
    for kill in range(3):
        moment = dice.uniform(0.0, 0.05)
        print(f"seed {SEED}, {kill}: {moment:.4f} s")
        writer = sides.process(
            "write",
            f"writer{kill}",
            streams={"flow": stored(tmp_path, overwrite=True)},
            stop="none",
            pace=0.0,
        )
        writer.hear("step", 3)
        follower = sides.process("follow", f"follower{kill}", contact=store, wait=0.5)
        follower.hear("whole")
        time.sleep(moment)
        writer.kill()
        follower.hear("timeout", len(follower.values("timeout")) + 1)
        assert len(follower.values("whole")) >= len(writer.values("step"))
        late = sides.process("follow", f"late{kill}", contact=store, steps=3)
        assert late.ended() == 0, late.account()
        assert late.values("whole") == [0, 1, 2]
        if kill < 2:
            continue
        anew = sides.process(
            "write",
            "anew",
            streams={"flow": stored(tmp_path, overwrite=True)},
            stop=str(tmp_path / "stop"),
        )
        assert follower.ended() == 3
        assert follower.hear("error")[0] == "PeerGone"
        (tmp_path / "stop").touch()
        assert anew.ended() == 0
    for reader in ("follower", "late"):
        logs = "".join(log.read_text() for log in tmp_path.glob(f"{reader}*.log"))
        assert '"torn"' not in logs


def test_a_full_disk_costs_steps_and_no_more(sides: Sides, tmp_path: Path) -> None:
    writer = sides.process(
        "write",
        "writer",
        streams={"flow": stored(tmp_path)},
        stop=str(tmp_path / "stop"),
        tolerant=True,
    )
    writer.hear("step", 2)
    (pid,) = writer.pids()
    before = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (50_000, before[1]))
    assert "File too large" in writer.hear("refused", 2)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, before)
    refused = len(writer.values("refused"))
    last = writer.more("step", 3)
    (tmp_path / "stop").touch()
    assert writer.ended() == 0, writer.account()
    reader = sides.process("follow", "reader", contact=str(tmp_path / "flow.zarr"))
    assert reader.ended() == 0, reader.account()
    assert not reader.values("torn")
    seen = reader.values("whole")
    assert last in seen
    assert seen == [step for step in writer.values("step") if step in seen]
    assert len(seen) >= len(writer.values("step")) - refused - 2


# ---- what is wrong from the start ---------------------------------------------------------------


def told_once(side: Side, sentence: str) -> None:
    """All ranks leave with the status 3 and one line that has this sentence."""
    _, errors = side.handle.communicate(timeout=60)
    assert side.handle.returncode == 3
    assert "Traceback" not in errors
    for rank in range(side.ranks):
        (line,) = (line for line in errors.splitlines() if line.startswith(f"{side.name} {rank}:"))
        assert sentence in line


def test_a_writer_that_cannot_open_its_stream_says_so_on_all_ranks(
    sides: Sides, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1] - 1  # of rank 1
        wrong = {
            "port": (options(tmp_path, "tcp", tcp={"port": port}), "Address already in use"),
            "engine": (options(tmp_path, "shmm"), "shm"),
            "contact": (options(tmp_path / "file", "shm"), "cannot be written"),
        }
        for name, (chosen, sentence) in wrong.items():
            told_once(sides.job(2, "write", name, streams={"flow": chosen}, stop="none"), sentence)


def test_a_reader_that_may_not_or_cannot_attach_says_so_and_the_writer_goes_on(
    sides: Sides, tmp_path: Path
) -> None:
    stop, contact = tmp_path / "stop", tmp_path / "flow.contact"
    flow = {"flow": options(tmp_path, "tcp")}
    writer = sides.process("write", "writer", streams=flow, stop=str(stop))
    writer.hear("open")
    found = json.loads(contact.read_text())
    copies = {
        "open": (0o644, found, "gives others rights"),
        "wrong": (0o600, found | {"secret": "00" * 32}, "secret"),
        "noise": (0o600, {}, "not a contact file"),
    }
    for name, (mode, content, sentence) in copies.items():
        copy = tmp_path / f"{name}.contact"
        copy.write_text(json.dumps(content))
        copy.chmod(mode)
        reader = sides.process("lookup", name, contact=str(copy), attach_limit=20.0)
        assert reader.ended() == 3, reader.account()
        assert sentence in reader.hear("error")[1]
    for files in range(12):
        starved = sides.process(
            "starved", f"starved{files}", contact=str(contact), files=files, attach_limit=2.0
        )
        if starved.ended() == 0:
            break
        _, sentence = starved.hear("error")
        assert "Too many open files" in sentence
        assert "gone" not in sentence, "the writer is there"
    assert 0 < files < 11, "some files are needed, and few"

    # The writer has none left: who is there goes on, who comes waits until it has.
    there = sides.process("follow", "there", contact=str(contact))
    there.hear("whole")
    (pid,) = writer.pids()
    used = max(int(name) for name in os.listdir(f"/proc/{pid}/fd")) + 1
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (used, before[1]))
    more = [sides.process("follow", f"more{n}", contact=str(contact), steps=2) for n in range(6)]
    there.more("whole", 5)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
    for reader in more:
        assert reader.ended() == 0, reader.account()
    stop.touch()
    assert writer.ended() == 0, writer.account()
    assert there.ended() == 0, there.account()


def test_a_run_goes_on_when_who_looks_is_killed(
    sides: Sides, uzushio: Run, case: Path, tmp_path: Path
) -> None:
    reader = sides.process("holding", "reader", contact=str(tmp_path / "run/heat.contact"))
    publish = "publish={engine: shm, wait_for_readers: 1, queue: {policy: block, time_limit: 60 s}}"
    killer = threading.Thread(target=lambda: (reader.hear("ready"), reader.kill()))
    killer.start()
    done = uzushio("run", case, "--ranks", 2, "--set", publish)
    killer.join()
    assert done.returncode == 0, done.stderr
    told = json.loads((tmp_path / "run/summary.json").read_text())["published"]
    assert told["failed"] is None
    assert told["published"] == 12
    assert told["dropped"] == 0
    assert told["seconds_waited"] < 30.0
