"""Roles of the processes of the staging tests: they write or read, and log events to a file.

As a script, it runs a role on all ranks of an MPI job:

python staging_peers.py ROLE FOLDER NAME ARGUMENTS_IN_JSON
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

#: Shape (z, y, x) of a step's field, large enough for a process to be killed during a transfer.
SHAPE = (12, 96, 96)

Report = Callable[..., None]


def value(step: int) -> np.ndarray:
    """Return the field of a step; all values of all steps differ."""
    return np.arange(np.prod(SHAPE), dtype=float).reshape(SHAPE) + 1e6 * step


class Log:
    """Log of one process: lines of JSON, [kind, value], each written atomically."""

    def __init__(self, folder: str | Path, name: str, rank: int = 0) -> None:
        self._file = os.open(
            Path(folder) / f"{name}.{rank}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600
        )
        self("pid", os.getpid())

    def __call__(self, kind: str, value: Any = None) -> None:
        os.write(self._file, (json.dumps([kind, value]) + "\n").encode())


def memory() -> dict[str, Any]:
    """Return this process's bytes in use, number of memory files, and names of shared files."""
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
    report: Report,
    streams: dict[str, dict[str, Any]],
    stop: str,
    comm: MPI.Comm | None = None,
    pace: float = 0.02,
    first: int = 0,
    limit: float = 90.0,
    tolerant: bool = False,
) -> None:
    """Publish a field through all `streams` (names and options) until the file `stop` exists.

    Report the memory every ten steps, and the waits at the end. If `tolerant`, continue after steps
    that cannot be published.
    """
    rank, size = (0, 1) if comm is None else (comm.rank, comm.size)
    cuts = np.linspace(0, SHAPE[0], size + 1, dtype=int)
    z, n = int(cuts[rank]), int(cuts[rank + 1] - cuts[rank])
    writers = {name: staging.open(name, comm, chosen) for name, chosen in streams.items()}
    for writer in writers.values():
        writer.uniform_mesh("box", SHAPE)
        writer.field("u", "box")
        writer.block(rank, "box", ((z, 0, 0), (n, *SHAPE[1:])))
    report("open")
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
                report("refused", str(error))
                continue
            longest[name] = max(longest[name], time.monotonic() - began)
            waits[name].append(time.monotonic() - began)
            taken[name] += opened.sequence is not None
        if step % 10 == 0:
            with contextlib.suppress(OSError):  # the process may be out of descriptors
                report("memory", memory())
        report("step", step)
        step += 1
        time.sleep(pace)
    for name, writer in writers.items():
        began = time.monotonic()
        writer.close()
        counters = writer.counters()
        report(
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
    """Return whether all values of a step are those that were published."""
    same = bool((step.read("u") == value(step.index)).all())
    return same and (not verify or all(block.verify("u") for block in step.blocks))


def follow(
    report: Report,
    contact: str,
    comm: MPI.Comm | None = None,
    hold: float = 0.0,
    steps: int = 1 << 30,
    wait: float = 60.0,
    verify: bool = False,
    again: int = 1,
    **limits: Any,
) -> None:
    """Read all steps, each `again` times, and hold each for `hold` seconds."""
    with staging.attach(contact, comm, **limits) as reader:
        report("attached")
        for _ in range(steps):
            report("waits")
            step = reader.next(wait)
            if step is None:
                report("ended" if reader.ended else "timeout")
                if reader.ended:
                    return
                continue
            report("step", step.index)
            for _ in range(again):
                right = whole(step, verify)
            report("whole" if right else "torn", step.index)
            time.sleep(hold)
    report("left")


def cycle(
    report: Report, contact: str, cycles: int, comm: MPI.Comm | None = None, **limits: Any
) -> None:
    """Attach, read a step and detach, `cycles` times."""
    for _ in range(cycles):
        follow(report, contact, comm, steps=1, **limits)


def attaching(report: Report, contact: str, **limits: Any) -> None:
    """Attach and detach until the process is killed."""
    report("ready")
    while True:
        staging.attach(contact, **limits).detach()


def waiting(report: Report, contact: str, **limits: Any) -> None:
    """Take all steps without reading them."""
    with staging.attach(contact, **limits) as reader:
        report("ready")
        for _ in reader:
            pass


def reading(report: Report, contact: str, **limits: Any) -> None:
    """Read each step ten times."""
    with staging.attach(contact, **limits) as reader:
        for step in reader:
            report("ready")
            for _ in range(10):
                if not whole(step):
                    report("torn", step.index)


def holding(report: Report, contact: str, **limits: Any) -> None:
    """Hold each step for a quarter of a second."""
    with staging.attach(contact, **limits) as reader:
        for _ in reader:
            report("ready")
            time.sleep(0.25)


def patient(report: Report, contact: str, folder: str, **limits: Any) -> None:
    """Read while the writer is stopped and after it continues; then wait for a step likewise.

    The test creates files in `folder` after it has stopped or continued the writer.
    """

    def wait_for_file(name: str) -> None:
        while not Path(folder, name).exists():
            time.sleep(0.005)

    with staging.attach(contact, **limits) as reader:
        step = reader.next(60.0)
        assert step is not None
        report("ready", whole(step))
        wait_for_file("stopped")
        began = time.monotonic()
        try:
            report("meanwhile", [whole(step), 0.0])
        except PeerSilent as error:
            report("meanwhile", [str(error), time.monotonic() - began])
        wait_for_file("goes-on")
        report("whole", whole(step))
        wait_for_file("stopped-again")
        began = time.monotonic()
        report("next", [reader.next(0.5) is None, time.monotonic() - began])
        wait_for_file("goes-on-again")
        step = reader.next(60.0)
        assert step is not None
        report("whole", whole(step))


def gives_up(
    report: Report, contact: str, folder: str, comm: MPI.Comm | None = None, **limits: Any
) -> None:
    """Read while the writer is stopped, until the read ends or fails; then attach again.

    The test creates files in `folder` after it has stopped or continued the writer.
    """

    def wait_for_file(name: str) -> None:
        while not Path(folder, name).exists():
            time.sleep(0.005)

    with staging.attach(contact, comm, **limits) as reader:
        step = reader.next(60.0)
        assert step is not None
        report("ready", whole(step))
        wait_for_file("stopped")
        began = time.monotonic()
        try:
            report("reads")
            report("meanwhile", ["", str(whole(step)), time.monotonic() - began])
        except (PeerSilent, KeyboardInterrupt) as error:
            report("meanwhile", [type(error).__name__, str(error), time.monotonic() - began])
        wait_for_file("goes-on")
    follow(report, contact, comm, steps=1, **limits)


def interrupted(report: Report, contact: str, comm: MPI.Comm | None = None, **limits: Any) -> None:
    """Wait for a writer until an interrupt or an error."""
    report("ready")
    began = time.monotonic()
    try:
        staging.attach(contact, comm, **limits)
    except (StagingError, KeyboardInterrupt) as error:
        report("meanwhile", [type(error).__name__, str(error), time.monotonic() - began])


def fails_alone(report: Report, contact: str, comm: MPI.Comm | None = None, **limits: Any) -> None:
    """Fail in a read on the last rank, while the others continue."""
    assert comm is not None
    with staging.attach(contact, comm, **limits) as reader:
        for step in reader:
            if comm.rank == comm.size - 1:
                step.read("pressure")
            report("step", step.index)


def starved(report: Report, contact: str, files: int, **limits: Any) -> None:
    """Read with a limit of `files` more open files."""
    from uzushio.staging import adios2_engine  # an import opens files

    assert adios2_engine is not None
    used = max(int(name) for name in os.listdir("/proc/self/fd"))
    while os.dup(0) < used:  # no gaps below
        pass
    os.closerange(used + 1, used + 100)
    resource.setrlimit(resource.RLIMIT_NOFILE, (used + 1 + files, used + 1 + files))
    follow(report, contact, steps=1, **limits)


def lookup(report: Report, contact: str, comm: MPI.Comm | None = None, **limits: Any) -> None:
    """Attach and detach."""
    reader: Reader = staging.attach(contact, comm, **limits)
    report("attached")
    reader.detach()


# ---- processes ----------------------------------------------------------------------------------

ROLES: dict[str, Callable[..., None]] = {
    role.__name__: role
    for role in (
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


def run_role(role: str, folder: str, name: str, rank: int, arguments: dict[str, Any]) -> int:
    """Run one of `ROLES`, or "MODULE.FUNCTION"; print a `StagingError` and return 3."""
    report = Log(folder, name, rank)
    module, _, function = role.rpartition(".")
    do = getattr(importlib.import_module(module), function) if module else ROLES[role]
    try:
        do(report, **arguments)
    except StagingError as error:
        report("error", [type(error).__name__, str(error)])
        print(f"{name} {rank}: {error}", file=sys.stderr, flush=True)
        return 3
    report("done")
    return 0


def process(role: str, folder: str, name: str, arguments: dict[str, Any]) -> None:
    """Run a role in a process without MPI."""
    sys.exit(run_role(role, folder, name, 0, arguments))


if __name__ == "__main__":
    from mpi4py import MPI

    program = MPI.COMM_WORLD.Get_attr(MPI.APPNUM) or 0
    ours = MPI.COMM_WORLD.Split(program, MPI.COMM_WORLD.rank)
    sys.exit(
        run_role(
            sys.argv[1],
            sys.argv[2],
            sys.argv[3],
            ours.rank,
            {**json.loads(sys.argv[4]), "comm": ours},
        )
    )
