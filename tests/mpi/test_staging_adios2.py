"""ADIOS2's SST inside the engine `adios2`: every wait has a timeout, although ADIOS2's has none."""

from __future__ import annotations

import random
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import Run, Sides
from staging_cases import SEED, ends_by_kill, options

from uzushio.staging.adios2_library import library

JOB = Path(__file__).with_name("staging_job.py")
#: SST has these; the first waits.
POLICIES = ["block", "drop_newest", "latest_only"]

with_mpi = pytest.mark.skipif(
    not library().has_mpi, reason="the adios2 package has no MPI; make adios2 builds one that has"
)
without_mpi = pytest.mark.skipif(library().has_mpi, reason="the adios2 package has MPI")


def sst(folder: Path, name: str = "flow", **more: Any) -> dict[str, Any]:
    """Options of a writer."""
    return options(folder, "adios2", name, adios2={"kind": "sst"}, **more) | {"close_limit": 1.0}


@pytest.mark.parametrize("policy", POLICIES)
def test_readers_killed_at_random_moments_are_given_up(
    sides: Sides, tmp_path: Path, policy: str
) -> None:
    limit, stop = 8.0, tmp_path / "stop"
    contact = str(tmp_path / "flow.contact")
    queue = {"policy": policy, "depth": 2, "time_limit": limit}
    writer = sides.process(
        "write", "writer", streams={"flow": sst(tmp_path, queue=queue)}, stop=str(stop)
    )
    dice = random.Random(f"{SEED} {policy}")
    for kill, act in enumerate(["waiting", "reading", "holding"]):
        moment = dice.uniform(0.0, 0.1)
        print(f"seed {SEED}, {kill}: {act}, {moment:.4f} s")
        victim = sides.process(act, f"victim{kill}", contact=contact)
        victim.hear("ready")
        time.sleep(moment)
        victim.signal(signal.SIGKILL)
        assert ends_by_kill(victim), victim.account()
        assert not victim.values("torn")
    later = sides.process("follow", "later", contact=contact, steps=3)
    assert later.ended() == 0, later.account()
    assert len(later.values("whole")) == 3
    stop.touch()
    assert writer.ended() == 0, writer.account()
    closed = writer.hear("closed")
    assert closed["longest"] < limit, "ADIOS2 hears of the broken connection"
    assert not list(tmp_path.glob("flow*")), "removed at the end"


@pytest.mark.parametrize("policy", POLICIES)
def test_a_stopped_reader_costs_the_writer_one_limit_and_goes_on_with_whole_steps(
    sides: Sides, tmp_path: Path, policy: str
) -> None:
    limit, stop = 1.0, tmp_path / "stop"
    queue = {"policy": policy, "depth": 2, "time_limit": limit}
    streams = {"flow": sst(tmp_path, queue=queue)}
    writer = sides.process("write", "writer", streams=streams, stop=str(stop), pace=0.01)
    reader = sides.process("follow", "reader", contact=str(tmp_path / "flow.contact"))
    reader.hear("whole", 2)
    time.sleep(random.Random(f"{SEED} {policy}").uniform(0.0, 0.05))
    reader.signal(signal.SIGSTOP)
    time.sleep(2.5 * limit)
    before = len(writer.values("step"))
    writer.hear("step", before + 20)
    reader.signal(signal.SIGCONT)
    reader.more("whole", 2)
    # It leaves while it is stopped: the end does not wait for it either.
    reader.signal(signal.SIGSTOP)
    stop.touch()
    assert writer.ended() == 0, writer.account()
    reader.signal(signal.SIGKILL)
    assert not reader.values("torn")
    closed = writer.hear("closed")
    assert closed["seconds"] < 1.0 + 3.0
    assert max(closed["waits"]) < limit + 2.0
    if policy == "block":
        assert sum(wait > 0.9 * limit for wait in closed["waits"]) <= 3
        assert 0 < closed["dropped"] < closed["published"]
    else:
        assert max(closed["waits"]) < limit


def test_a_stopped_reader_can_be_an_error(sides: Sides, tmp_path: Path) -> None:
    queue = {"policy": "block", "depth": 1, "time_limit": 0.5, "on_timeout": "fail"}
    streams = {"flow": sst(tmp_path, queue=queue)}
    writer = sides.process("write", "writer", streams=streams, stop="none", pace=0.01)
    reader = sides.process("holding", "reader", contact=str(tmp_path / "flow.contact"))
    reader.hear("ready")
    reader.signal(signal.SIGSTOP)
    assert writer.ended(30.0) == 3, writer.account()
    assert "released no step within 0.5 s" in writer.hear("error")[1]


def test_the_first_step_waits_for_readers_no_longer_than_was_said(
    sides: Sides, tmp_path: Path
) -> None:
    streams = {"flow": sst(tmp_path, wait_for_readers=1, wait_limit=0.5)}
    writer = sides.process("write", "writer", streams=streams, stop="none")
    assert writer.ended(30.0) == 3, writer.account()
    assert "waits for 1 reader, and fewer attached" in writer.hear("error")[1]


def test_a_killed_writer_is_an_error_for_its_reader_and_replaced_by_the_next(
    sides: Sides, tmp_path: Path
) -> None:
    contact, stop = str(tmp_path / "flow.contact"), tmp_path / "stop"
    dice = random.Random(SEED)
    for kill, act in enumerate(["waiting", "reading", "holding"]):
        moment = dice.uniform(0.0, 0.1)
        print(f"seed {SEED}, {kill}: {act}, {moment:.4f} s")
        # The contact of the previous writer is unusable until it is replaced.
        reader = sides.process(act, f"reader{kill}", contact=contact, answer_limit=20.0)
        writer = sides.process(
            "write", f"writer{kill}", streams={"flow": sst(tmp_path)}, stop="none", pace=0.01
        )
        reader.hear("ready")
        time.sleep(moment)
        writer.signal(signal.SIGKILL)
        assert ends_by_kill(writer)
        began = time.monotonic()
        assert reader.ended() == 3, reader.account()
        assert time.monotonic() - began < 15.0
        kind, sentence = reader.hear("error")
        assert (kind, "gone" in sentence) == ("PeerGone", True), sentence
        assert not reader.values("torn")
    late = sides.process("follow", "late", contact=contact, steps=2)
    writer = sides.process(
        "write", "last", streams={"flow": sst(tmp_path)}, stop=str(stop), pace=0.01
    )
    assert late.ended() == 0, late.account()
    stop.touch()
    assert writer.ended() == 0, writer.account()


def test_a_writer_that_is_stopped_is_waited_for_as_long_as_was_said(
    sides: Sides, tmp_path: Path
) -> None:
    contact = str(tmp_path / "flow.contact")
    writer = sides.process(
        "write", "writer", streams={"flow": sst(tmp_path)}, stop=str(tmp_path / "stop")
    )
    reader = sides.process(
        "patient", "reader", contact=contact, folder=str(tmp_path), answer_limit=1.0
    )
    reader.hear("ready")
    writer.signal(signal.SIGSTOP)
    (tmp_path / "stopped").touch()
    outcome, seconds = reader.hear("meanwhile")
    assert "did not come through ADIOS2 within 1 s" in outcome
    assert 0.9 < seconds < 6.0
    writer.signal(signal.SIGCONT)
    (tmp_path / "goes-on").touch()
    assert reader.hear("whole") is True, "the step is still there"
    writer.signal(signal.SIGSTOP)
    (tmp_path / "stopped-again").touch()
    none, seconds = reader.hear("next")
    assert none
    assert 0.4 < seconds < 5.0
    writer.signal(signal.SIGCONT)
    (tmp_path / "goes-on-again").touch()
    assert reader.hear("whole", 2) is True
    assert reader.ended() == 0, reader.account()
    writer.signal(signal.SIGSTOP)
    newcomer = sides.process("lookup", "newcomer", contact=contact, attach_limit=1.0)
    assert newcomer.ended(20.0) == 3
    assert "No writer answered" in newcomer.hear("error")[1]


def test_a_reader_killed_while_it_is_let_in_does_not_stop_the_solver(
    sides: Sides, tmp_path: Path
) -> None:
    limit, stop = 1.0, tmp_path / "stop"
    queue = {"policy": "latest_only", "depth": 2, "time_limit": limit}
    streams = {"flow": sst(tmp_path, queue=queue)}
    writer = sides.process("write", "writer", streams=streams, stop=str(stop))
    writer.hear("step", 2)
    writer.signal(signal.SIGSTOP)  # so that it accepts no reader for a while
    victim = sides.process("lookup", "victim", contact=str(tmp_path / "flow.contact"))
    time.sleep(1.0)
    victim.kill()
    writer.signal(signal.SIGCONT)
    writer.more("step", 20)
    stop.touch()
    assert writer.ended() == 0, writer.account()
    closed = writer.hear("closed")
    # While it is stopped itself, a step may take as long as that.
    assert sum(wait > 0.9 * limit for wait in closed["waits"]) <= 2
    assert closed["seconds"] < 1.0 + 3.0


@without_mpi
def test_a_reader_of_several_ranks_without_mpi_in_adios2_is_refused_with_advice(
    sides: Sides, tmp_path: Path
) -> None:
    stop = tmp_path / "stop"
    writer = sides.process("write", "writer", streams={"flow": sst(tmp_path)}, stop=str(stop))
    reader = sides.job(2, "follow", "reader", contact=str(tmp_path / "flow.contact"))
    assert reader.ended() == 3, reader.account()
    for rank in range(2):
        assert "needs an ADIOS2 with MPI" in reader.hear("error", rank=rank)[1]
    stop.touch()
    assert writer.ended() == 0, writer.account()


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
    sides: Sides, tmp_path: Path, stopped_at_the_end: bool
) -> None:
    limit, stop = 1.0, tmp_path / "stop"
    queue = {"policy": "block", "depth": 2, "time_limit": limit}
    writer = sides.job(
        2, "write", "writer", streams={"flow": sst(tmp_path, queue=queue)}, stop=str(stop)
    )
    writer.hear("step")
    assert [file.name for file in tmp_path.glob("*.sst")] == ["flow.sst.sst"], "one for all ranks"
    reader = sides.job(2, "follow", "reader", contact=str(tmp_path / "flow.contact"))
    reader.hear("whole", 2, rank=1)
    reader.signal(signal.SIGSTOP)
    time.sleep(2.0 * limit)
    before = len(writer.values("step"))
    writer.hear("step", before + 10)
    reader.signal(signal.SIGCONT)
    reader.more("whole", 2, rank=1)
    if stopped_at_the_end:
        reader.signal(signal.SIGSTOP)
        time.sleep(1.5 * limit)
    stop.touch()
    assert writer.ended() == 0, writer.account()
    for rank in range(2):
        assert max(writer.hear("closed", rank=rank)["waits"]) < limit + 2.0
        assert not reader.values("torn", rank)
    if not stopped_at_the_end:
        assert reader.ended() == 0, reader.account()
        assert reader.values("ended", rank=1)
