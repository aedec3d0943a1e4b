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
from conftest import Peer, Peers, Run
from staging_cases import KILLS, LIMIT, SEED, ends_by_kill, options

ENGINES = ["shm", "tcp"]
POLICIES = ["block", "drop_newest", "drop_oldest", "latest_only"]


@pytest.mark.parametrize("engine", ENGINES)
def test_readers_killed_at_random_moments_cost_the_writer_nothing(
    peers: Peers, tmp_path: Path, engine: str
) -> None:
    stop = tmp_path / "stop"
    contact = str(tmp_path / "flow.contact")
    writer = peers.job(
        2, "write", "writer", streams={"flow": options(tmp_path, engine)}, stop=str(stop)
    )
    writer.wait_for("step", 2)
    rng = random.Random(f"{SEED} {engine}")
    acts = ["attaching", "waiting", "reading", "holding"]
    for kill in range(KILLS):
        act, moment = acts[kill % 4], rng.uniform(0.0, 0.05)
        print(f"seed {SEED}, {kill}: {act}, {moment:.4f} s")
        victim = peers.process(act, f"victim{kill}", contact=contact)
        victim.wait_for("ready")
        time.sleep(moment)
        victim.signal(signal.SIGKILL)
        assert ends_by_kill(victim), victim.last_events()
        assert not victim.values("torn")
        if kill == 3:
            writer.wait_for_more("memory", 2)
            before = [writer.values("memory", rank)[-1] for rank in range(2)]
    victim = peers.job(2, "reading", "victims", contact=contact)
    victim.wait_for("ready", 2, rank=1)
    victim.kill()
    writer.wait_for_more("step", 2)

    later = peers.process("follow", "later", contact=contact, steps=3)
    assert later.ended() == 0, later.last_events()
    assert len(later.values("whole")) == 3

    writer.wait_for_more("memory", 2)
    after = [writer.values("memory", rank)[-1] for rank in range(2)]
    stop.touch()
    assert writer.ended() == 0, writer.last_events()
    result = writer.wait_for("closed")
    assert result["longest"] < LIMIT, "steps are freed by the broken connection, not by the limit"
    assert result["dropped"] == 0
    assert result["taken"] == result["published"] == len(writer.values("step"))
    for rank in range(2):
        assert after[rank]["memory_files"] <= before[rank]["memory_files"]
        assert after[rank]["resident"] < before[rank]["resident"] + 4 * 10**6
        assert not [name for name in after[rank]["named"] if "uzushio" in name]
    assert not list(tmp_path.glob("*contact*")), "removed at the end"


@pytest.mark.parametrize("engine", ENGINES)
def test_stopped_readers_delay_the_solver_by_the_policy_and_continue_with_complete_steps(
    peers: Peers, tmp_path: Path, engine: str
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
    writer = peers.job(2, "write", "writer", streams=streams, stop=str(stop), pace=0.01)
    rng = random.Random(f"{SEED} {engine}")
    stopped, others = {}, {}
    for policy in POLICIES:
        contact = str(tmp_path / f"{policy}.contact")
        stopped[policy] = peers.process("follow", f"stopped-{policy}", contact=contact, verify=True)
        others[policy] = peers.process("follow", f"other-{policy}", contact=contact, verify=True)
    for policy in POLICIES:
        stopped[policy].wait_for("whole", 2)
        others[policy].wait_for("whole", 2)
        moment = rng.uniform(0.0, 0.02)
        print(f"seed {SEED}: {policy}, {moment:.4f} s")
        time.sleep(moment)
        stopped[policy].signal(signal.SIGSTOP)
    seen = {policy: len(others[policy].values("whole")) for policy in POLICIES}
    time.sleep(2.5 * limit)
    for policy in POLICIES:
        others[policy].wait_for("whole", seen[policy] + 10)
        stopped[policy].signal(signal.SIGCONT)
    for policy in POLICIES:
        stopped[policy].wait_for_more("whole", 2)
    stop.touch()
    assert writer.ended() == 0, writer.last_events()
    closed = {result["name"]: result for result in writer.values("closed")}
    for policy in POLICIES:
        for reader in (stopped[policy], others[policy]):
            assert reader.ended() == 0, reader.last_events()
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
    peers: Peers, tmp_path: Path, engine: str
) -> None:
    contact = str(tmp_path / "flow.contact")
    rng = random.Random(f"{SEED} {engine}")
    acts = itertools.cycle(["waiting", "reading", "holding"])
    for kill in range(KILLS // 2):
        act, moment = next(acts), rng.uniform(0.0, 0.08)
        print(f"seed {SEED}, {kill}: {act}, {moment:.4f} s")
        # The contact file of the killed writer is invalid until it is replaced.
        readers = [
            peers.process(act, f"{kind}{kill}", contact=contact, answer_limit=20.0)
            for kind, act in (("reader", act), ("follower", "follow"))
        ]
        writer = peers.process(
            "write",
            f"writer{kill}",
            streams={"flow": options(tmp_path, engine)},
            stop="none",
            pace=0.01,
        )
        readers[0].wait_for("ready")
        readers[1].wait_for("attached")
        time.sleep(moment)
        writer.signal(signal.SIGKILL)
        assert ends_by_kill(writer)
        began = time.monotonic()
        for reader in readers:
            assert reader.ended() == 3, reader.last_events()
            kind, sentence = reader.wait_for("error")
            assert kind == "PeerGone", sentence
            assert "gone" in sentence
            assert not reader.values("torn")
        assert time.monotonic() - began < LIMIT


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("victims", [[0, 1], [1]])
def test_all_ranks_of_a_reader_learn_that_the_writer_was_killed(
    peers: Peers, tmp_path: Path, engine: str, victims: list[int]
) -> None:
    contact = str(tmp_path / "flow.contact")
    reader = peers.job(2, "follow", "reader", contact=contact, answer_limit=20.0)
    writer = peers.job(
        2, "write", "writer", streams={"flow": options(tmp_path, engine)}, stop="none", pace=0.0
    )
    reader.wait_for("whole", 3)
    writer.signal(signal.SIGKILL, victims)
    assert writer.ended() != 0
    began = time.monotonic()
    out = reader.handle.communicate(timeout=60)
    assert time.monotonic() - began < LIMIT
    assert reader.handle.returncode == 3
    assert "Traceback" not in out[1]
    for rank in range(2):
        assert reader.wait_for("error", rank=rank)[0] == "PeerGone"
        assert out[1].count(f"reader {rank}: ") == 1
        assert not reader.values("torn", rank)


def test_a_rank_of_a_reader_that_fails_alone_ends_the_others(peers: Peers, tmp_path: Path) -> None:
    contact = str(tmp_path / "flow.contact")
    writer = peers.process(
        "write",
        "writer",
        streams={"flow": options(tmp_path, "tcp")},
        stop=str(tmp_path / "stop"),
    )
    reader = peers.job(2, "fails_alone", "reader", contact=contact)
    assert reader.ended() == 3, reader.last_events()
    assert "Rank 1 of this reader has aborted" in reader.wait_for("error")[1]
    assert "pressure" in reader.wait_for("error", rank=1)[1]
    writer.wait_for_more("step", 3)
    (tmp_path / "stop").touch()
    assert writer.ended() == 0, writer.last_events()


@pytest.mark.parametrize("engine", ENGINES)
def test_waits_for_a_stopped_writer_end_at_their_limits(
    peers: Peers, tmp_path: Path, engine: str
) -> None:
    contact = str(tmp_path / "flow.contact")
    writer = peers.process(
        "write",
        "writer",
        streams={"flow": options(tmp_path, engine)},
        stop=str(tmp_path / "stop"),
    )
    reader = peers.process(
        "patient", "reader", contact=contact, folder=str(tmp_path), answer_limit=1.0
    )
    reader.wait_for("ready")
    writer.signal(signal.SIGSTOP)
    (tmp_path / "stopped").touch()
    outcome, seconds = reader.wait_for("meanwhile")
    if engine == "shm":
        assert outcome is True, "its memory can be read"
    else:
        assert "has sent nothing for 1 s" in outcome
        assert 0.9 < seconds < LIMIT, "not the minute that is usual"
    newcomer = peers.process("lookup", "newcomer", contact=contact, attach_limit=1.0)
    assert newcomer.ended(LIMIT) == 3
    writer.signal(signal.SIGCONT)
    (tmp_path / "goes-on").touch()
    assert reader.wait_for("whole") is True, "the step is still there"
    writer.signal(signal.SIGSTOP)
    (tmp_path / "stopped-again").touch()
    none, seconds = reader.wait_for("next")
    assert none
    assert 0.4 < seconds < LIMIT
    writer.signal(signal.SIGCONT)
    (tmp_path / "goes-on-again").touch()
    assert reader.wait_for("whole", 2) is True
    assert reader.ended() == 0, reader.last_events()
    (tmp_path / "stop").touch()
    assert writer.ended() == 0, writer.last_events()


@pytest.mark.parametrize("engine", ENGINES)
def test_readers_attach_early_detach_and_attach_again_at_different_speeds(
    peers: Peers, tmp_path: Path, engine: str
) -> None:
    contact, stop = str(tmp_path / "flow.contact"), tmp_path / "stop"
    early = peers.job(2, "cycle", "early", contact=contact, cycles=10)
    slow = peers.process("follow", "slow", contact=contact, hold=0.1)
    fast = peers.process("follow", "fast", contact=contact)
    queue = {"policy": "latest_only", "depth": 4}
    flow = {"flow": options(tmp_path, engine, queue=queue)}
    writer = peers.job(2, "write", "writer", streams=flow, stop=str(stop), pace=0.01)
    assert early.ended() == 0, early.last_events()
    for rank in range(2):
        seen = early.values("whole", rank)
        assert len(seen) == 10
        assert seen == sorted(seen)
        assert not early.values("torn", rank)
    slow.wait_for("whole", 5)
    deadline = time.monotonic() + LIMIT
    while len(fast.values("whole")) <= len(slow.values("whole")):
        assert time.monotonic() < deadline, "the slow reader holds the fast one back"
        time.sleep(0.01)
    stop.touch()
    assert writer.ended() == 0, writer.last_events()
    assert writer.wait_for("closed")["seconds_waited"] == 0.0
    for reader in (slow, fast):
        assert reader.ended() == 0, reader.last_events()
        assert not reader.values("torn")
        assert reader.values("whole") == sorted(set(reader.values("whole")))


# ---- stored steps -------------------------------------------------------------------------------


def stored(folder: Path, **more: Any) -> dict[str, Any]:
    """Options of a writer that stores."""
    return {"engine": "file", "file": {"folder": str(folder / "flow.zarr")} | more}


def test_a_writer_killed_while_it_stores_leaves_complete_steps(
    peers: Peers, tmp_path: Path
) -> None:
    store = str(tmp_path / "flow.zarr")
    rng = random.Random(SEED)
    for kill in range(3):
        moment = rng.uniform(0.0, 0.05)
        print(f"seed {SEED}, {kill}: {moment:.4f} s")
        writer = peers.process(
            "write",
            f"writer{kill}",
            streams={"flow": stored(tmp_path, overwrite=True)},
            stop="none",
            pace=0.0,
        )
        writer.wait_for("step", 3)
        follower = peers.process("follow", f"follower{kill}", contact=store, wait=0.5)
        follower.wait_for("whole")
        time.sleep(moment)
        writer.kill()
        follower.wait_for("ended")
        assert follower.ended() == 0
        assert len(follower.values("whole")) >= len(writer.values("step"))
        late = peers.process("follow", f"late{kill}", contact=store, steps=3)
        assert late.ended() == 0, late.last_events()
        assert late.values("whole") == [0, 1, 2]
    for reader in ("follower", "late"):
        logs = "".join(log.read_text() for log in tmp_path.glob(f"{reader}*.log"))
        assert '"torn"' not in logs


def test_a_full_disk_costs_steps_and_no_more(peers: Peers, tmp_path: Path) -> None:
    writer = peers.process(
        "write",
        "writer",
        streams={"flow": stored(tmp_path)},
        stop=str(tmp_path / "stop"),
        tolerant=True,
    )
    writer.wait_for("step", 2)
    (pid,) = writer.pids()
    before = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (50_000, before[1]))
    assert "File too large" in writer.wait_for("refused", 2)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, before)
    refused = len(writer.values("refused"))
    last = writer.wait_for_more("step", 3)
    (tmp_path / "stop").touch()
    assert writer.ended() == 0, writer.last_events()
    reader = peers.process("follow", "reader", contact=str(tmp_path / "flow.zarr"))
    assert reader.ended() == 0, reader.last_events()
    assert not reader.values("torn")
    seen = reader.values("whole")
    assert last in seen
    assert seen == [step for step in writer.values("step") if step in seen]
    assert len(seen) >= len(writer.values("step")) - refused - 2


# ---- invalid arguments --------------------------------------------------------------------------


def told_once(peer: Peer, sentence: str) -> None:
    """All ranks exit with status 3 and one line that contains this sentence."""
    _, errors = peer.handle.communicate(timeout=60)
    assert peer.handle.returncode == 3
    assert "Traceback" not in errors
    for rank in range(peer.ranks):
        (line,) = (line for line in errors.splitlines() if line.startswith(f"{peer.name} {rank}:"))
        assert sentence in line


def test_a_writer_that_cannot_open_its_stream_raises_on_all_ranks(
    peers: Peers, tmp_path: Path
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
            told_once(peers.job(2, "write", name, streams={"flow": chosen}, stop="none"), sentence)


def test_a_reader_that_cannot_attach_raises_and_the_writer_continues(
    peers: Peers, tmp_path: Path
) -> None:
    stop, contact = tmp_path / "stop", tmp_path / "flow.contact"
    flow = {"flow": options(tmp_path, "tcp")}
    writer = peers.process("write", "writer", streams=flow, stop=str(stop))
    writer.wait_for("open")
    contact_data = json.loads(contact.read_text())
    copies = {
        "open": (0o644, contact_data, "gives others rights"),
        "wrong": (0o600, contact_data | {"secret": "00" * 32}, "secret"),
        "noise": (0o600, {}, "not a contact file"),
    }
    for name, (mode, content, sentence) in copies.items():
        copy = tmp_path / f"{name}.contact"
        copy.write_text(json.dumps(content))
        copy.chmod(mode)
        reader = peers.process("lookup", name, contact=str(copy), attach_limit=20.0)
        assert reader.ended() == 3, reader.last_events()
        assert sentence in reader.wait_for("error")[1]
    for files in range(12):
        starved = peers.process(
            "starved", f"starved{files}", contact=str(contact), files=files, attach_limit=2.0
        )
        if starved.ended() == 0:
            break
        _, sentence = starved.wait_for("error")
        assert "Too many open files" in sentence
        assert "gone" not in sentence, "the writer is there"
    assert 0 < files < 11, "some files are needed, and few"

    # The writer has no descriptors: attached readers continue, new ones wait until it has some.
    there = peers.process("follow", "there", contact=str(contact))
    there.wait_for("whole")
    (pid,) = writer.pids()
    used = max(int(name) for name in os.listdir(f"/proc/{pid}/fd")) + 1
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (used, before[1]))
    more = [peers.process("follow", f"more{n}", contact=str(contact), steps=2) for n in range(6)]
    there.wait_for_more("whole", 5)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
    for reader in more:
        assert reader.ended() == 0, reader.last_events()
    stop.touch()
    assert writer.ended() == 0, writer.last_events()
    assert there.ended() == 0, there.last_events()


def test_a_run_continues_when_its_reader_is_killed(
    peers: Peers, uzushio: Run, case: Path, tmp_path: Path
) -> None:
    reader = peers.process("holding", "reader", contact=str(tmp_path / "run/heat.contact"))
    publish = "publish={engine: shm, wait_for_readers: 1, queue: {policy: block, time_limit: 60 s}}"
    killer = threading.Thread(target=lambda: (reader.wait_for("ready"), reader.kill()))
    killer.start()
    done = uzushio("run", case, "--ranks", 2, "--set", publish)
    killer.join()
    assert done.returncode == 0, done.stderr
    content = json.loads((tmp_path / "run/summary.json").read_text())["published"]
    assert content["failed"] is None
    assert content["published"] == 12
    assert content["dropped"] == 0
    assert content["seconds_waited"] < 30.0
