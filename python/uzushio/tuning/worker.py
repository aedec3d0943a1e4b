"""Ranks that time points: a long-lived job that receives commands from the tuner.

Commands are JSON lines on the standard input of rank 0; answers are JSON lines with a prefix on its
standard output. Launchers forward both, also between nodes, and the end of the input means that the
tuner has ended. The other ranks sleep while they wait.
"""

from __future__ import annotations

import ctypes
import dataclasses
import gc
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

from uzushio._base.error_text import sentence
from uzushio._base.parallel import memory
from uzushio._base.parallel.sync import all_arrive, end_job
from uzushio.errors import UzushioError
from uzushio.tuning import machine

if TYPE_CHECKING:
    from mpi4py import MPI

    from uzushio.tuning.subject import Subject, Workload

#: Prefix of each answer, which distinguishes it from other output.
MARK = "\x1euzushio-tuning "
#: Seconds within which all ranks must fail for a failure that does not end the job.
_GRACE_PERIOD = 2.0
_POLL_INTERVAL = 0.0005  # seconds between checks for a command


def serve(comm: MPI.Intracomm, declare: Callable[[], Subject]) -> int:
    """Answer commands until the command `end`, or the end of the input (collective)."""
    _die_with_launcher()
    subject = declare()
    # The default is always timed, so its memory is the minimum.
    min_memory = subject.memory(subject.default()) / comm.size
    memory.require(comm, min_memory, "tuning")
    workload = subject.workload(comm)
    worker = _Worker(comm, workload)
    gc.collect()
    gc.freeze()  # collecting the imported modules takes longer than a short sweep
    worker.answer({"ranks": comm.size, "pids": comm.gather(os.getpid())})
    for command in _commands(comm):
        worker.handle_command(command)
    return 0


class _Worker:
    """Points that are set up on a rank, and handlers of the commands."""

    def __init__(self, comm: MPI.Intracomm, workload: Workload) -> None:
        self._comm, self._workload = comm, workload
        self._failure_comm = comm.Dup()
        self._ready: dict[int, Callable[[], object]] = {}

    def answer(self, answer: dict[str, Any]) -> None:
        """Send an answer from rank 0; does nothing on other ranks."""
        if self._comm.rank == 0:
            print(f"{MARK}{json.dumps(answer)}", flush=True)

    def handle_command(self, command: dict[str, Any]) -> None:
        """Run a command, and answer."""
        match command["do"]:
            case "machine":
                rates = self._workload.calibrate()
                self.answer(dataclasses.asdict(machine.measure(self._comm, rates)))
            case "ready":
                self._try(lambda: self._set_up(command["index"], command["point"]))
            case "run":
                self._try(lambda: {"seconds": self._time(command["index"])})
            case "drop":
                self._ready.clear()
                gc.collect()
                self.answer({})

    def _set_up(self, index: int, point: dict[str, Any]) -> dict[str, Any]:
        self._ready[index] = self._workload.ready(point)
        return {}

    def _time(self, index: int) -> float:
        """Return the seconds of the slowest rank, from a common barrier."""
        from mpi4py import MPI

        if index not in self._ready:
            raise RuntimeError("it could not be set up again after another point ended the job.")
        work = self._ready[index]
        gc.collect()
        gc.disable()
        try:
            self._comm.Barrier()
            began = time.perf_counter()
            work()
            seconds = time.perf_counter() - began
        finally:
            gc.enable()
        return float(self._comm.allreduce(seconds, MPI.MAX))

    def _try(self, act: Callable[[], dict[str, Any]]) -> None:
        """Answer with the result, or with the failure of all ranks.

        A failure on some ranks only ends the job, as the other ranks may wait in communication.
        """
        try:
            answer = act()
        except (UzushioError, ValueError, RuntimeError, MemoryError) as error:
            answer = {"failed": sentence(error) or type(error).__name__}
            if not all_arrive(self._failure_comm, _GRACE_PERIOD):
                end_job(self._comm, f"rank {self._comm.rank}: {answer['failed']}")
        else:
            request = self._failure_comm.Ibarrier()
            while not request.Test():
                time.sleep(_POLL_INTERVAL)
        failures: list[str | None] = self._comm.allgather(answer.get("failed"))
        failure = next(filter(None, failures), None)
        self.answer({"failed": failure} if failure else answer)


def _commands(comm: MPI.Intracomm) -> Iterator[dict[str, Any]]:
    """Yield the commands, on all ranks."""
    lines = _lines(sys.stdin.buffer) if comm.rank == 0 else iter(())
    while True:
        command = json.loads(next(lines, b'{"do": "end"}')) if comm.rank == 0 else None
        # A wait in a broadcast would keep a core busy that the tuner may need.
        request = comm.Ibarrier()
        while not request.Test():
            time.sleep(_POLL_INTERVAL)
        command = comm.bcast(command)
        if command["do"] == "end":
            return
        yield command


def _lines(source: BinaryIO) -> Iterator[bytes]:
    """Yield complete lines until the end of the input."""
    while (line := source.readline()).endswith(b"\n"):
        yield line


def _die_with_launcher() -> None:
    """Make the kernel kill this rank when its parent process ends (Linux)."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
