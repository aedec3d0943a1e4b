"""What the processes of the staging tests do: they write, or read, and tell a file what happened.

As a script, the ranks of an MPI job do it together:

python staging_sides.py ACT FOLDER NAME ARGUMENTS_IN_JSON
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from uzushio import staging
from uzushio.errors import PeerSilent, StagingError

if TYPE_CHECKING:
    from mpi4py import MPI

    from uzushio.staging.reader import Reader
    from uzushio.staging.step import Step

#: A step's field, (z, y, x): large enough to be caught while it travels.
SHAPE = (12, 96, 96)

Tell = Callable[..., None]


def value(step: int) -> np.ndarray:
    """The whole field of a step; no value of it is in any other step or place."""
    return np.arange(np.prod(SHAPE), dtype=float).reshape(SHAPE) + 1e6 * step


class Log:
    """Lines of JSON, [kind, value], of one process; a line is there as a whole or not at all."""

    def __init__(self, folder: str | Path, name: str, rank: int = 0) -> None:
        self._file = os.open(
            Path(folder) / f"{name}.{rank}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600
        )
        self("pid", os.getpid())

    def __call__(self, kind: str, value: Any = None) -> None:
        os.write(self._file, (json.dumps([kind, value]) + "\n").encode())


def memory() -> dict[str, Any]:
    """Of this process: bytes in use, memory files that are open, and named files that it shares."""
    mapped, opened = set(), []
    for line in Path("/proc/self/maps").read_text().splitlines():
        words = line.split(maxsplit=5)
        if len(words) == 6 and words[1].endswith("s"):
            mapped.add(words[5])
    for link in Path("/proc/self/fd").iterdir():
        try:
            opened.append(os.readlink(link))
        except OSError:
            continue
    resident = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return {
        "resident": resident,
        "memory_files": sum("memfd:" in name for name in opened),
        "named": sorted(
            name for name in mapped.union(opened) if name.startswith(("/dev/shm", "/tmp"))
        ),
    }


# ---- writing ------------------------------------------------------------------------------------


def write(
    tell: Tell,
    streams: dict[str, dict[str, Any]],
    stop: str,
    comm: MPI.Comm | None = None,
    pace: float = 0.02,
    first: int = 0,
    limit: float = 90.0,
    tolerant: bool = False,
) -> None:
    """Publish a field through all of `streams` (their options), until there is a file `stop`.

    Tells its memory now and then, and at the end what it waited. If `tolerant`, it goes on after
    steps that cannot be published.
    """
    rank, size = (0, 1) if comm is None else (comm.rank, comm.size)
    cuts = np.linspace(0, SHAPE[0], size + 1, dtype=int)
    z, n = int(cuts[rank]), int(cuts[rank + 1] - cuts[rank])
    writers = {name: staging.open(name, comm, chosen) for name, chosen in streams.items()}
    for writer in writers.values():
        writer.uniform_mesh("box", SHAPE)
        writer.field("u", "box")
        writer.block(rank, "box", ((z, 0, 0), (n, *SHAPE[1:])))
    tell("open")
    end, step = time.monotonic() + limit, first
    longest = dict.fromkeys(writers, 0.0)
    taken = dict.fromkeys(writers, 0)
    waits: dict[str, list[float]] = {name: [] for name in writers}
    while True:
        done = os.path.exists(stop) or time.monotonic() > end
        if comm is not None:
            done = comm.bcast(done)
        if done:
            break
        u = value(step)[z : z + n]
        for name, writer in writers.items():
            began = time.monotonic()
            try:
                with writer.step(step, 0.1 * step) as opened:
                    writer.put("u", u)
            except StagingError as error:
                if not tolerant:
                    raise
                tell("refused", str(error))
                continue
            longest[name] = max(longest[name], time.monotonic() - began)
            waits[name].append(time.monotonic() - began)
            taken[name] += opened.sequence is not None
        if step % 10 == 0:
            with contextlib.suppress(OSError):  # no file may be opened
                tell("memory", memory())
        tell("step", step)
        step += 1
        time.sleep(pace)
    for name, writer in writers.items():
        began = time.monotonic()
        writer.close()
        counters = writer.counters()
        tell(
            "closed",
            {
                "name": name,
                "seconds": time.monotonic() - began,
                "longest": longest[name],
                "waits": waits[name],
                "taken": taken[name],
                "published": counters.published,
                "dropped": counters.dropped,
                "seconds_waited": counters.seconds_waited,
            },
        )


# ---- reading ------------------------------------------------------------------------------------


def whole(step: Step, verify: bool = False) -> bool:
    """Read all of a step, from all ranks of the writer, and compare it with what was published."""
    same = bool((step.read("u") == value(step.index)).all())
    return same and (not verify or all(block.verify("u") for block in step.blocks))


def follow(
    tell: Tell,
    contact: str,
    comm: MPI.Comm | None = None,
    hold: float = 0.0,
    steps: int = 1 << 30,
    wait: float = 60.0,
    verify: bool = False,
    again: int = 1,
    **limits: Any,
) -> None:
    """Read step after step, each `again` times, and keep it for `hold` seconds."""
    with staging.attach(contact, comm, **limits) as reader:
        tell("attached")
        for _ in range(steps):
            tell("waits")
            step = reader.next(wait)
            if step is None:
                tell("ended" if reader.ended else "timeout")
                if reader.ended:
                    return
                continue
            tell("step", step.index)
            for _ in range(again):
                right = whole(step, verify)
            tell("whole" if right else "torn", step.index)
            time.sleep(hold)
    tell("left")


def cycle(
    tell: Tell, contact: str, cycles: int, comm: MPI.Comm | None = None, **limits: Any
) -> None:
    """Attach, read a step, detach; again and again."""
    for _ in range(cycles):
        follow(tell, contact, comm, steps=1, **limits)


def attaching(tell: Tell, contact: str, **limits: Any) -> None:
    """Attach and leave until somebody ends this."""
    tell("ready")
    while True:
        staging.attach(contact, **limits).detach()


def waiting(tell: Tell, contact: str, **limits: Any) -> None:
    """Take steps as they come, without looking at them."""
    with staging.attach(contact, **limits) as reader:
        tell("ready")
        for _ in reader:
            pass


def reading(tell: Tell, contact: str, **limits: Any) -> None:
    """Read all the time."""
    with staging.attach(contact, **limits) as reader:
        for step in reader:
            tell("ready")
            for _ in range(10):
                if not whole(step):
                    tell("torn", step.index)


def holding(tell: Tell, contact: str, **limits: Any) -> None:
    """Take a step, and keep it."""
    with staging.attach(contact, **limits) as reader:
        for _ in reader:
            tell("ready")
            time.sleep(0.25)


def patient(tell: Tell, contact: str, folder: str, **limits: Any) -> None:
    """Read while the writer is stopped, and again when it goes on; then wait for a step likewise.

    The test makes files in `folder` to say that it has stopped the writer, or let it go on.
    """

    def told(name: str) -> None:
        while not Path(folder, name).exists():
            time.sleep(0.005)

    with staging.attach(contact, **limits) as reader:
        step = reader.next(60.0)
        assert step is not None
        tell("ready", whole(step))
        told("stopped")
        began = time.monotonic()
        try:
            tell("meanwhile", [whole(step), 0.0])
        except PeerSilent as error:
            tell("meanwhile", [str(error), time.monotonic() - began])
        told("goes-on")
        tell("whole", whole(step))
        told("stopped-again")
        began = time.monotonic()
        tell("next", [reader.next(0.5) is None, time.monotonic() - began])
        told("goes-on-again")
        step = reader.next(60.0)
        assert step is not None
        tell("whole", whole(step))


def gives_up(
    tell: Tell, contact: str, folder: str, comm: MPI.Comm | None = None, **limits: Any
) -> None:
    """Read while the writer is stopped, until that ends somehow; then attach again.

    The test makes files in `folder` to say that it has stopped the writer, or let it go on.
    """

    def told(name: str) -> None:
        while not Path(folder, name).exists():
            time.sleep(0.005)

    with staging.attach(contact, comm, **limits) as reader:
        step = reader.next(60.0)
        assert step is not None
        tell("ready", whole(step))
        told("stopped")
        began = time.monotonic()
        try:
            tell("reads")
            tell("meanwhile", ["", str(whole(step)), time.monotonic() - began])
        except (PeerSilent, KeyboardInterrupt) as error:
            tell("meanwhile", [type(error).__name__, str(error), time.monotonic() - began])
        told("goes-on")
    follow(tell, contact, comm, steps=1, **limits)


def interrupted(tell: Tell, contact: str, comm: MPI.Comm | None = None, **limits: Any) -> None:
    """Wait for a writer, until somebody does not want that any more."""
    tell("ready")
    began = time.monotonic()
    try:
        staging.attach(contact, comm, **limits)
    except (StagingError, KeyboardInterrupt) as error:
        tell("meanwhile", [type(error).__name__, str(error), time.monotonic() - began])


def fails_alone(tell: Tell, contact: str, comm: MPI.Comm | None = None, **limits: Any) -> None:
    """The last rank fails in a read, while the others go on."""
    assert comm is not None
    with staging.attach(contact, comm, **limits) as reader:
        for step in reader:
            if comm.rank == comm.size - 1:
                step.read("pressure")
            tell("step", step.index)


def starved(tell: Tell, contact: str, files: int, **limits: Any) -> None:
    """Read with no more than so many files open beside those that are."""
    from uzushio.staging import adios2_engine  # as any import, it opens files

    assert adios2_engine is not None
    used = max(int(name) for name in os.listdir("/proc/self/fd"))
    while os.dup(0) < used:  # no gaps below
        pass
    os.closerange(used + 1, used + 100)
    resource.setrlimit(resource.RLIMIT_NOFILE, (used + 1 + files, used + 1 + files))
    follow(tell, contact, steps=1, **limits)


def lookup(tell: Tell, contact: str, comm: MPI.Comm | None = None, **limits: Any) -> None:
    """Attach, and leave."""
    reader: Reader = staging.attach(contact, comm, **limits)
    tell("attached")
    reader.detach()


# ---- processes ----------------------------------------------------------------------------------

ACTS: dict[str, Callable[..., None]] = {
    act.__name__: act
    for act in (
        write,
        follow,
        cycle,
        attaching,
        waiting,
        reading,
        holding,
        patient,
        gives_up,
        interrupted,
        fails_alone,
        starved,
        lookup,
    )
}


def play(act: str, folder: str, name: str, rank: int, arguments: dict[str, Any]) -> int:
    """Do one of `ACTS`, or "MODULE.FUNCTION"; a user's error becomes one line and the status 3."""
    tell = Log(folder, name, rank)
    module, _, function = act.rpartition(".")
    do = getattr(importlib.import_module(module), function) if module else ACTS[act]
    try:
        do(tell, **arguments)
    except StagingError as error:
        tell("error", [type(error).__name__, str(error)])
        print(f"{name} {rank}: {error}", file=sys.stderr, flush=True)
        return 3
    tell("done")
    return 0


def process(act: str, folder: str, name: str, arguments: dict[str, Any]) -> None:
    """What a process without MPI does."""
    sys.exit(play(act, folder, name, 0, arguments))


if __name__ == "__main__":
    from mpi4py import MPI

    program = MPI.COMM_WORLD.Get_attr(MPI.APPNUM) or 0
    ours = MPI.COMM_WORLD.Split(program, MPI.COMM_WORLD.rank)
    sys.exit(
        play(
            sys.argv[1],
            sys.argv[2],
            sys.argv[3],
            ours.rank,
            {**json.loads(sys.argv[4]), "comm": ours},
        )
    )
