"""Relays, writers and readers are killed and stopped: no hang, no lost step."""

from __future__ import annotations

import itertools
import random
import signal
import time
from typing import Any

import pytest
from conftest import Peer, Peers
from staging_cases import KILLS, LIMIT, SEED, options


class Chain:
    """A writer, two relays and readers, of which any part can be started when the test likes.

    The writer may have several ranks, and so may the first relay.
    """

    def __init__(
        self, peers: Peers, engine: str = "shm", ranks: int = 1, relays: int = 1, **more: Any
    ) -> None:
        self.peers, self.folder = peers, peers.folder
        self._ranks, self._relays = ranks, relays
        self.contacts = [str(self.folder / f"{name}.contact") for name in ("flow", "one", "two")]
        self.stop = self.folder / "stop"
        self._flow = {"flow": options(self.folder, engine, checksums=True, **more)}
        self._count = itertools.count()

    def writer(self) -> Peer:
        name, act = f"writer{next(self._count)}", "write"
        arguments: dict[str, Any] = {"streams": self._flow, "stop": str(self.stop), "pace": 0.01}
        if self._ranks == 1:
            return self.peers.process(act, name, **arguments)
        return self.peers.job(self._ranks, act, name, **arguments)

    def relay(self, place: int) -> Peer:
        """The first (0) or the second."""
        return self.peers.relay(
            f"relay{place}-{next(self._count)}",
            *self.contacts[place : place + 2],
            ranks=1 if place else self._relays,
        )

    def reader(self, act: str = "follow", behind: int = 2, **more: Any) -> Peer:
        """Behind so many relays."""
        return self.peers.process(
            act, f"reader{next(self._count)}", contact=self.contacts[behind], **more
        )

    def all(self) -> tuple[Peer, Peer, Peer]:
        return self.writer(), self.relay(0), self.relay(1)

    def end(self, writer: Peer) -> dict[str, Any]:
        """Let the writer end; return its report."""
        self.stop.touch()
        assert writer.ended() == 0, writer.last_events()
        result: dict[str, Any] = writer.wait_for("closed")
        return result


def test_a_chain_with_relays_may_start_in_any_order(peers: Peers) -> None:
    chain = Chain(peers)
    reader = chain.reader(steps=3)
    chain.relay(1)
    time.sleep(1.0)
    writer = chain.writer()
    chain.relay(0)
    assert reader.ended() == 0, reader.last_events()
    assert len(reader.values("whole")) == 3
    assert chain.end(writer)["dropped"] == 0
    chain.stop.unlink()
    reader = chain.reader(steps=3)
    time.sleep(0.5)
    writer = chain.writer()
    assert reader.ended() == 0, reader.last_events()
    assert len(reader.values("whole")) == 3
    chain.end(writer)


def test_readers_and_writers_killed_behind_relays_are_noticed_through_them(peers: Peers) -> None:
    chain = Chain(peers)
    rng = random.Random(SEED)
    writer, *_relays = chain.all()
    for kill, act in enumerate(["waiting", "reading", "holding", "attaching"] * (KILLS // 8)):
        moment = rng.uniform(0.0, 0.05)
        print(f"seed {SEED}, {kill}: {act}, {moment:.4f} s")
        reader = chain.reader(act)
        reader.wait_for("ready")
        time.sleep(moment)
        reader.kill()
    writer.wait_for_more("step", 5)
    for kill, act in enumerate(["waiting", "reading", "holding"]):
        moment = rng.uniform(0.0, 0.05)
        print(f"seed {SEED}, writer {kill}: {act}, {moment:.4f} s")
        reader = chain.reader(act, answer_limit=20.0)
        reader.wait_for("ready")
        time.sleep(moment)
        writer.kill()
        began = time.monotonic()
        assert reader.ended() == 3, reader.last_events()
        assert reader.wait_for("error")[0] == "PeerGone", reader.last_events()
        assert time.monotonic() - began < LIMIT
        writer = chain.writer()
    later = chain.reader(steps=3)
    assert later.ended() == 0, later.last_events()
    result = chain.end(writer)
    assert result["longest"] < LIMIT
    assert result["dropped"] == 0


@pytest.mark.parametrize("place", [0, 1])
def test_readers_of_a_killed_relay_get_peer_gone_and_their_steps_are_released(
    peers: Peers, place: int
) -> None:
    chain = Chain(peers)
    writer, *relays = chain.all()
    rng = random.Random(f"{SEED} {place}")
    for kill, act in enumerate(["waiting", "reading", "holding"]):
        moment = rng.uniform(0.0, 0.05)
        print(f"seed {SEED}, {kill}: {act}, {moment:.4f} s")
        readers = [chain.reader(act, answer_limit=20.0), chain.reader(answer_limit=20.0)]
        for reader, sign in zip(readers, ["ready", "whole"], strict=True):
            reader.wait_for(sign)
        time.sleep(moment)
        relays[place].kill()
        for reader in readers:
            assert reader.ended() == 3, reader.last_events()
            assert reader.wait_for("error")[0] == "PeerGone", reader.last_events()
            assert not reader.values("torn")
        relays[place] = chain.relay(place)
    later = chain.reader(steps=3)
    assert later.ended() == 0, later.last_events()
    result = chain.end(writer)
    assert result["longest"] < LIMIT, "steps are freed by the broken connection, not by the limit"
    assert result["dropped"] == 0


@pytest.mark.parametrize(("rank", "acts"), [(0, ["waiting", "reading"]), (1, ["holding"])])
def test_a_relay_of_several_ranks_ends_with_any_of_them(
    peers: Peers, rank: int, acts: list[str]
) -> None:
    """Its launcher ends it, its readers get PeerGone, and a replacement continues."""
    chain = Chain(peers, engine="tcp", ranks=2, relays=2)
    writer, rng = chain.writer(), random.Random(f"{SEED} {rank}")
    for kill, act in enumerate(acts):
        relay = chain.relay(0)
        readers = [
            chain.reader(act_of_reader, behind=1, answer_limit=20.0)
            for act_of_reader in (act, "follow")
        ]
        for reader, sign in zip(readers, ["ready", "whole"], strict=True):
            reader.wait_for(sign)
        moment = rng.uniform(0.0, 0.05)
        print(f"seed {SEED}, {kill}: {act}, {moment:.4f} s")
        time.sleep(moment)
        relay.signal(signal.SIGKILL, [rank])
        assert relay.ended() != 0
        for reader in readers:
            assert reader.ended() == 3, reader.last_events()
            assert reader.wait_for("error")[0] == "PeerGone", reader.last_events()
            assert not reader.values("torn")
    result = chain.end(writer)
    assert result["longest"] < LIMIT, "steps are freed by the broken connection, not by the limit"
    assert result["dropped"] == 0


def test_a_relay_of_several_ranks_outlives_readers_and_writers_over_tcp(peers: Peers) -> None:
    """Killed are readers, jobs of two readers, and single ranks of the writer."""
    chain = Chain(peers, engine="tcp", ranks=2, relays=2)
    writer, rng = chain.writer(), random.Random(SEED)
    chain.relay(0)
    chain.relay(1)
    for kill, act in enumerate(["waiting", "reading", "holding"]):
        behind = 1 + kill % 2
        reader, other = chain.reader(act, behind), chain.reader(behind=behind, answer_limit=20.0)
        reader.wait_for("ready")
        other.wait_for("whole")
        moment = rng.uniform(0.0, 0.05)
        print(f"seed {SEED}, {kill}: {act} behind {behind}, {moment:.4f} s")
        time.sleep(moment)
        reader.kill()
        other.wait_for_more("whole", 3)
        writer.signal(signal.SIGKILL, [kill % 2])
        assert writer.ended() != 0
        began = time.monotonic()
        assert other.ended() == 3, other.last_events()
        assert other.wait_for("error")[0] == "PeerGone", other.last_events()
        assert time.monotonic() - began < LIMIT
        assert not other.values("torn")
        writer = chain.writer()
    later = chain.peers.job(2, "follow", "later", contact=chain.contacts[2], steps=3)
    assert later.ended() == 0, later.last_events()
    assert len(later.values("whole")) == 3
    result = chain.end(writer)
    assert result["longest"] < LIMIT
    assert result["dropped"] == 0


@pytest.mark.parametrize("place", [0, 1])
def test_a_stopped_relay_is_as_a_stopped_reader(peers: Peers, place: int) -> None:
    limit = 1.0
    chain = Chain(peers, queue={"policy": "block", "depth": 3, "time_limit": limit})
    writer, *relays = chain.all()
    behind, beside = chain.reader(verify=True), chain.reader(behind=0)
    behind.wait_for("whole", 2)
    beside.wait_for("whole", 2)
    relays[place].signal(signal.SIGSTOP)
    seen = len(beside.values("whole"))
    time.sleep(2.0 * limit)
    beside.wait_for("whole", seen + 10)
    relays[place].signal(signal.SIGCONT)
    behind.wait_for_more("whole", 3)
    result = chain.end(writer)
    assert max(result["waits"]) < LIMIT
    assert sum(wait > 0.9 * limit for wait in result["waits"]) <= 2
    for reader in (behind, beside):
        assert reader.ended() == 0, reader.last_events()
        assert not reader.values("torn")
