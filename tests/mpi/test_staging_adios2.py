"""ADIOS2's SST inside the engine `adios2`: every wait has a timeout, although ADIOS2's has none."""

from __future__ import annotations

import itertools
import random
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Peer, Peers, Run
from staging_cases import SEED, ends_by_kill, options

from uzushio import staging
from uzushio.staging.adios2_library import library

JOB = Path(__file__).with_name("staging_job.py")
#: SST has these; the first waits.
POLICIES = ["block", "drop_newest", "latest_only"]
KILL_LIMIT = 30.0  #: seconds after which a writer no longer waits for a reader

with_mpi = pytest.mark.skipif(
    not library().has_mpi, reason="the adios2 package has no MPI; make adios2 builds one that has"
)
without_mpi = pytest.mark.skipif(library().has_mpi, reason="the adios2 package has MPI")


def sst(folder: Path, name: str = "flow", **more: Any) -> dict[str, Any]:
    """Options of a writer."""
    return options(folder, "adios2", name, adios2={"kind": "sst"}, **more) | {"close_limit": 1.0}


@pytest.mark.parametrize("policy", POLICIES)
def test_steps_of_readers_killed_at_random_times_are_released(
    peers: Peers, tmp_path: Path, policy: str
) -> None:
    # EVPath in ADIOS2 2.12 may use memory that it has freed when a connection breaks, and end the
    # writer by SIGSEGV: on a busy machine in one of a few runs.
    for attempt in range(3):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        queue = {"policy": policy, "depth": 2, "time_limit": KILL_LIMIT}
        streams = {"flow": sst(folder, queue=queue)}
        writer = peers.process(
            "write", f"writer{attempt}", streams=streams, stop=str(folder / "stop")
        )
        try:
            kill_readers(peers, writer, folder, random.Random(f"{SEED} {policy}"))
            return
        except (AssertionError, pytest.fail.Exception):
            if writer.handle.exitcode != -signal.SIGSEGV:
                raise
    pytest.fail("ADIOS2 has ended the writer in each of three attempts")


def kill_readers(peers: Peers, writer: Peer, folder: Path, rng: random.Random) -> None:
    """Kill a reader in each act; a later one and the writer go on."""
    contact = str(folder / "flow.contact")
    for act in ["waiting", "reading", "holding"]:
        moment = rng.uniform(0.0, 0.1)
        print(f"seed {SEED}, {folder.name}: {act}, {moment:.4f} s")
        victim = peers.process(act, f"{act}{folder.name}", contact=contact)
        deadline = time.monotonic() + 60.0
        while not victim.values("ready") and time.monotonic() < deadline:
            assert writer.handle.exitcode is None, "the writer has ended"
            time.sleep(0.01)
        victim.wait_for("ready")
        time.sleep(moment)
        victim.signal(signal.SIGKILL)
        assert ends_by_kill(victim), victim.last_events()
        assert not victim.values("torn")
    later = peers.process("follow", f"later{folder.name}", contact=contact, steps=3)
    assert later.ended() == 0, later.last_events()
    assert len(later.values("whole")) == 3
    (folder / "stop").touch()
    assert writer.ended() == 0, writer.last_events()
    closed = writer.wait_for("closed")
    assert closed["longest"] < KILL_LIMIT, "ADIOS2 hears of the broken connection"
    assert not list(folder.glob("flow*")), "removed at the end"


@pytest.mark.parametrize("policy", POLICIES)
def test_a_stopped_reader_costs_the_writer_one_limit_and_continues_with_complete_steps(
    peers: Peers, tmp_path: Path, policy: str
) -> None:
    limit, stop = 1.0, tmp_path / "stop"
    queue = {"policy": policy, "depth": 2, "time_limit": limit}
    streams = {"flow": sst(tmp_path, queue=queue)}
    writer = peers.process("write", "writer", streams=streams, stop=str(stop), pace=0.01)
    reader = peers.process("follow", "reader", contact=str(tmp_path / "flow.contact"))
    reader.wait_for("whole", 2)
    time.sleep(random.Random(f"{SEED} {policy}").uniform(0.0, 0.05))
    reader.signal(signal.SIGSTOP)
    time.sleep(2.5 * limit)
    before = len(writer.values("step"))
    writer.wait_for("step", before + 20)
    reader.signal(signal.SIGCONT)
    reader.wait_for_more("whole", 2)
    # The reader is stopped at the writer's end, which does not wait for it.
    reader.signal(signal.SIGSTOP)
    stop.touch()
    assert writer.ended() == 0, writer.last_events()
    reader.signal(signal.SIGKILL)
    assert not reader.values("torn")
    closed = writer.wait_for("closed")
    assert closed["seconds"] < 1.0 + 3.0
    assert max(closed["waits"]) < limit + 2.0
    if policy == "block":
        assert sum(wait > 0.9 * limit for wait in closed["waits"]) <= 3
        assert 0 < closed["dropped"] < closed["published"]
    else:
        assert max(closed["waits"]) < limit


def test_a_reader_counts_the_steps_that_sst_drops(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    shape, attached, received = (3, 4, 5), list[staging.Reader](), list[int]()
    queue = {"policy": "drop_newest", "depth": 1}
    with staging.open("flow", None, sst(tmp_path, queue=queue)) as writer:
        writer.uniform_mesh("box", shape)
        writer.field("u", "box")
        writer.block(0, "box", ((0, 0, 0), shape))
        numbers = itertools.count()

        def publish() -> None:
            number = next(numbers)
            with writer.step(number, float(number)):
                writer.put("u", np.full(shape, float(number)))

        publish()
        contact = tmp_path / "flow.contact"
        attaching = threading.Thread(target=lambda: attached.append(staging.attach(contact)))
        attaching.start()
        while attaching.is_alive():  # SST accepts readers at the end of a step
            publish()
            time.sleep(0.01)
        (reader,) = attached
        step = reader.next(60.0)
        assert step is not None
        received.append(step.index)
        for _ in range(9):  # the reader holds its step
            publish()
        while (step := reader.next(0.5)) is not None:
            received.append(step.index)
        publish()
        while not (step := reader.next(0.5)):
            publish()
        received.append(step.index)
        reader.release()
    while (step := reader.next(60.0)) is not None:
        received.append(step.index)
    assert reader.ended
    dropped = received[-1] - received[0] + 1 - len(received)
    assert reader.dropped == dropped > 0
    assert f"SST dropped {dropped} of the steps between those" in capfd.readouterr().err


def test_a_stopped_reader_can_be_an_error(peers: Peers, tmp_path: Path) -> None:
    queue = {"policy": "block", "depth": 1, "time_limit": 0.5, "on_timeout": "fail"}
    streams = {"flow": sst(tmp_path, queue=queue)}
    writer = peers.process("write", "writer", streams=streams, stop="none", pace=0.01)
    reader = peers.process("holding", "reader", contact=str(tmp_path / "flow.contact"))
    reader.wait_for("ready")
    reader.signal(signal.SIGSTOP)
    assert writer.ended(30.0) == 3, writer.last_events()
    assert "released no step within 0.5 s" in writer.wait_for("error")[1]


def test_the_first_step_waits_for_readers_up_to_its_limit(peers: Peers, tmp_path: Path) -> None:
    streams = {"flow": sst(tmp_path, wait_for_readers=1, wait_limit=0.5)}
    writer = peers.process("write", "writer", streams=streams, stop="none")
    assert writer.ended(30.0) == 3, writer.last_events()
    assert "waits for 1 reader, and fewer attached" in writer.wait_for("error")[1]


def test_a_killed_writer_is_an_error_for_its_reader_and_replaced_by_the_next(
    peers: Peers, tmp_path: Path
) -> None:
    contact, stop = str(tmp_path / "flow.contact"), tmp_path / "stop"
    rng = random.Random(SEED)
    for kill, act in enumerate(["waiting", "reading", "holding"]):
        moment = rng.uniform(0.0, 0.1)
        print(f"seed {SEED}, {kill}: {act}, {moment:.4f} s")
        # The contact of the previous writer is unusable until it is replaced.
        reader = peers.process(act, f"reader{kill}", contact=contact, answer_limit=20.0)
        writer = peers.process(
            "write", f"writer{kill}", streams={"flow": sst(tmp_path)}, stop="none", pace=0.01
        )
        reader.wait_for("ready")
        time.sleep(moment)
        writer.signal(signal.SIGKILL)
        assert ends_by_kill(writer)
        began = time.monotonic()
        assert reader.ended() == 3, reader.last_events()
        assert time.monotonic() - began < 15.0
        kind, sentence = reader.wait_for("error")
        assert (kind, "gone" in sentence) == ("PeerGone", True), sentence
        assert not reader.values("torn")
    late = peers.process("follow", "late", contact=contact, steps=2)
    writer = peers.process(
        "write", "last", streams={"flow": sst(tmp_path)}, stop=str(stop), pace=0.01
    )
    assert late.ended() == 0, late.last_events()
    stop.touch()
    assert writer.ended() == 0, writer.last_events()


def test_waits_for_a_stopped_writer_end_at_their_limits(peers: Peers, tmp_path: Path) -> None:
    contact = str(tmp_path / "flow.contact")
    writer = peers.process(
        "write", "writer", streams={"flow": sst(tmp_path)}, stop=str(tmp_path / "stop")
    )
    reader = peers.process(
        "patient", "reader", contact=contact, folder=str(tmp_path), answer_limit=1.0
    )
    reader.wait_for("ready")
    writer.signal(signal.SIGSTOP)
    (tmp_path / "stopped").touch()
    outcome, seconds = reader.wait_for("meanwhile")
    assert "did not come through ADIOS2 within 1 s" in outcome
    assert 0.9 < seconds < 6.0
    writer.signal(signal.SIGCONT)
    (tmp_path / "goes-on").touch()
    assert reader.wait_for("whole") is True, "the step is still there"
    writer.signal(signal.SIGSTOP)
    (tmp_path / "stopped-again").touch()
    none, seconds = reader.wait_for("next")
    assert none
    assert 0.4 < seconds < 5.0
    writer.signal(signal.SIGCONT)
    (tmp_path / "goes-on-again").touch()
    assert reader.wait_for("whole", 2) is True
    assert reader.ended() == 0, reader.last_events()
    writer.signal(signal.SIGSTOP)
    newcomer = peers.process("lookup", "newcomer", contact=contact, attach_limit=1.0)
    assert newcomer.ended(20.0) == 3
    assert "No writer answered" in newcomer.wait_for("error")[1]


def test_a_reader_killed_while_it_attaches_does_not_stop_the_solver(
    peers: Peers, tmp_path: Path
) -> None:
    limit, stop = 1.0, tmp_path / "stop"
    queue = {"policy": "latest_only", "depth": 2, "time_limit": limit}
    streams = {"flow": sst(tmp_path, queue=queue)}
    writer = peers.process("write", "writer", streams=streams, stop=str(stop))
    writer.wait_for("step", 2)
    writer.signal(signal.SIGSTOP)  # so that it accepts no reader for a while
    victim = peers.process("lookup", "victim", contact=str(tmp_path / "flow.contact"))
    time.sleep(1.0)
    victim.kill()
    writer.signal(signal.SIGCONT)
    writer.wait_for_more("step", 20)
    stop.touch()
    assert writer.ended() == 0, writer.last_events()
    closed = writer.wait_for("closed")
    # While the writer is stopped, a step may take as long.
    assert sum(wait > 0.9 * limit for wait in closed["waits"]) <= 2
    assert closed["seconds"] < 1.0 + 3.0


_OTHER_READER = """
import sys
import adios2, numpy

io = adios2.Adios().declare_io("other")
io.set_engine(sys.argv[2])
with adios2.Stream(io, sys.argv[1], "r") as stream:
    for number, _ in enumerate(stream.steps()):
        print("ready", flush=True)
        u, p = stream.read("u"), stream.read("p")
        assert u.shape == (4, 3, 5, 3) and p.shape == (5, 4, 6)
        step, time = stream.read("step"), stream.read("time")
        assert (u == numpy.arange(180.0).reshape(u.shape) + step).all()
        assert (p == numpy.arange(120).reshape(p.shape) - step).all() and p.dtype == numpy.int32
        assert time == 0.5 * step
        if number == 0:
            text = {name: a.get("Value") for name, a in io.available_attributes().items()}
            assert text["u/units"] == '"m/s"' and text["p/association"] == '"vertex"'
            assert text["u/mesh"] == '"box"' and text["box/z"] == "{ 0, 1, 4, 9, 16 }"
            assert text["Re"] == "180"
print("steps", number + 1)
"""


@pytest.mark.parametrize("kind", ["bp5", "sst"])
def test_other_adios2_readers_see_whole_fields_time_and_attributes(
    tmp_path: Path, kind: str
) -> None:
    stream = tmp_path / ("flow.bp" if kind == "bp5" else "flow.sst")
    other = [sys.executable, "-c", _OTHER_READER, str(stream), kind.upper()]
    chosen = options(tmp_path, "adios2", "flow", adios2={"kind": kind}) | {
        "queue": {"policy": "block", "depth": 2, "time_limit": 60.0}
    }
    if kind == "sst":
        chosen |= {"wait_for_readers": 1, "wait_limit": 100.0}
    reader = None
    u = np.arange(180.0).reshape(4, 3, 5, 3)
    stored = np.pad(u, ((1, 1), (1, 1), (1, 1), (0, 0)), constant_values=-99.0)
    p = np.arange(120, dtype=np.int32).reshape(5, 4, 6)
    with staging.open("flow", None, chosen) as writer:
        writer.rectilinear_mesh("box", [np.arange(5.0) ** 2, np.arange(4.0), np.arange(6.0)])
        writer.attribute("Re", 180)
        writer.field("u", "box", components=3, unit="m/s")
        writer.field("p", "box", association="vertex", dtype=np.int32)
        writer.block(0, "box", ((0, 0, 0), (2, 3, 5)))
        writer.block(1, "box", ((2, 0, 0), (2, 3, 5)))
        if kind == "sst":
            reader = subprocess.Popen(other, stdout=subprocess.PIPE, text=True)
        for n in range(3):
            with writer.step(n, 0.5 * n):
                for block, first in ((0, 0), (1, 2)):
                    values = np.where(stored == -99.0, stored, stored + n)
                    writer.put("u", values[first : first + 4], block=block, ghosts=1)
                    writer.put("p", p[first : first + 3] - n, block=block)
        if kind == "sst":
            assert stat.S_IMODE((tmp_path / "flow.sst.sst").stat().st_mode) == 0o600
    if reader is None:
        reader = subprocess.Popen(other, stdout=subprocess.PIPE, text=True)
    out, _ = reader.communicate(timeout=120)
    assert reader.returncode == 0
    assert out.splitlines()[-1] == "steps 3"


@without_mpi
def test_a_reader_of_several_ranks_without_mpi_in_adios2_is_refused_with_advice(
    peers: Peers, tmp_path: Path
) -> None:
    stop = tmp_path / "stop"
    writer = peers.process("write", "writer", streams={"flow": sst(tmp_path)}, stop=str(stop))
    reader = peers.job(2, "follow", "reader", contact=str(tmp_path / "flow.contact"))
    assert reader.ended() == 3, reader.last_events()
    for rank in range(2):
        assert "needs an ADIOS2 with MPI" in reader.wait_for("error", rank=rank)[1]
    stop.touch()
    assert writer.ended() == 0, writer.last_events()


# ---- with MPI in the package --------------------------------------------------------------------


@with_mpi
@pytest.mark.parametrize(("writers", "readers"), [(1, 2), (2, 2), (3, 2)])
def test_ranks_share_one_stream_and_are_one_reader(
    mpi_run: Run, tmp_path: Path, writers: int, readers: int
) -> None:
    done = mpi_run(writers + readers, [JOB, writers, "sst", tmp_path], timeout=120)
    assert done.returncode == 0, done.stderr
    assert "all read" in done.stdout


@with_mpi
@pytest.mark.parametrize("stopped_at_the_end", [False, True])
def test_a_stopped_reader_of_two_ranks_costs_two_writers_one_limit(
    peers: Peers, tmp_path: Path, stopped_at_the_end: bool
) -> None:
    limit, stop = 1.0, tmp_path / "stop"
    queue = {"policy": "block", "depth": 2, "time_limit": limit}
    writer = peers.job(
        2, "write", "writer", streams={"flow": sst(tmp_path, queue=queue)}, stop=str(stop)
    )
    writer.wait_for("step")
    assert [file.name for file in tmp_path.glob("*.sst")] == ["flow.sst.sst"], "one for all ranks"
    reader = peers.job(2, "follow", "reader", contact=str(tmp_path / "flow.contact"))
    reader.wait_for("whole", 2, rank=1)
    reader.signal(signal.SIGSTOP)
    time.sleep(2.0 * limit)
    before = len(writer.values("step"))
    writer.wait_for("step", before + 10)
    reader.signal(signal.SIGCONT)
    reader.wait_for_more("whole", 2, rank=1)
    if stopped_at_the_end:
        reader.signal(signal.SIGSTOP)
        time.sleep(1.5 * limit)
    stop.touch()
    assert writer.ended() == 0, writer.last_events()
    for rank in range(2):
        assert max(writer.wait_for("closed", rank=rank)["waits"]) < limit + 2.0
        assert not reader.values("torn", rank)
    if not stopped_at_the_end:
        assert reader.ended() == 0, reader.last_events()
        assert reader.values("ended", rank=1)
