"""The ranks that time points: a job that stays up, and takes commands from the tuner.

Commands are JSON lines on the standard input of rank 0, answers JSON lines with a mark in front on
its standard output: launchers carry both, between nodes too, and an input that ends is a tuner that
is gone. All other ranks sleep while they wait.
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

from uzushio.errors import UzushioError
from uzushio.parallel import memory
from uzushio.parallel.collective import all_arrive, sentence
from uzushio.tuning import machine

if TYPE_CHECKING:
    from mpi4py import MPI

    from uzushio.tuning.subject import Subject, Workload

#: In front of each answer, so that whatever else is printed does no harm.
MARK = "\x1euzushio-tuning "
#: Seconds in which the other ranks must fail too for a failure to be all ranks'.
_PATIENCE = 2.0
_PAUSE = 0.0005  # seconds between two looks for a command


def serve(comm: MPI.Intracomm, declare: Callable[[], Subject]) -> int:
    """Answer commands until the tuner says that it is the end, or is gone (collective)."""
    _die_with_launcher()
    subject = declare()
    # Points are compared with the default's: without memory for that there is nothing to tune.
    least = subject.memory(subject.default()) / comm.size
    memory.require(comm, least, "tuning")
    workload = subject.workload(comm)
    worker = _Worker(comm, workload)
    gc.collect()
    gc.freeze()  # what was imported: a look at all of it takes longer than a short sweep
    worker.say({"ranks": comm.size, "pids": comm.gather(os.getpid())})
    for command in _commands(comm):
        worker.obey(command)
    return 0


class _Worker:
    """Holds the points that are ready."""

    def __init__(self, comm: MPI.Intracomm, workload: Workload) -> None:
        self._comm, self._workload = comm, workload
        self._together = comm.Dup()
        self._ready: dict[int, Callable[[], object]] = {}

    def say(self, answer: dict[str, Any]) -> None:
        """Answer (rank 0; nothing on others)."""
        if self._comm.rank == 0:
            print(f"{MARK}{json.dumps(answer)}", flush=True)

    def obey(self, command: dict[str, Any]) -> None:
        """Do what a command says, and answer."""
        match command["do"]:
            case "machine":
                rates = self._workload.calibrate()
                self.say(dataclasses.asdict(machine.measure(self._comm, rates)))
            case "ready":
                self._try(lambda: self._set_up(command["index"], command["point"]))
            case "run":
                self._try(lambda: {"seconds": self._time(command["index"])})
            case "drop":
                self._ready.clear()
                gc.collect()
                self.say({})

    def _set_up(self, index: int, point: dict[str, Any]) -> dict[str, Any]:
        self._ready[index] = self._workload.ready(point)
        return {}

    def _time(self, index: int) -> float:
        """Seconds of the slowest rank, from the moment when all were there."""
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
        """Answer with what comes of it, or why it failed on all ranks.

        A rank that fails alone ends the job: the others may wait for it in the middle of the work.
        """
        try:
            answer = act()
        except (UzushioError, ValueError, RuntimeError, MemoryError) as error:
            answer = {"failed": sentence(error) or type(error).__name__}
            if not all_arrive(self._together, _PATIENCE):
                print(f"rank {self._comm.rank}: {answer['failed']}", file=sys.stderr, flush=True)
                self._comm.Abort(1)
                os._exit(1)
        else:
            request = self._together.Ibarrier()
            while not request.Test():
                time.sleep(_PAUSE)
        failures: list[str | None] = self._comm.allgather(answer.get("failed"))
        failure = next(filter(None, failures), None)
        self.say({"failed": failure} if failure else answer)


def _commands(comm: MPI.Intracomm) -> Iterator[dict[str, Any]]:
    """The commands, on all ranks."""
    lines = _lines(sys.stdin.buffer) if comm.rank == 0 else iter(())
    while True:
        command = json.loads(next(lines, b'{"do": "end"}')) if comm.rank == 0 else None
        # Whoever waits in a broadcast keeps a core busy, which the tuner may need.
        request = comm.Ibarrier()
        while not request.Test():
            time.sleep(_PAUSE)
        command = comm.bcast(command)
        if command["do"] == "end":
            return
        yield command


def _lines(source: BinaryIO) -> Iterator[bytes]:
    """Whole lines until the end."""
    while (line := source.readline()).endswith(b"\n"):
        yield line


def _die_with_launcher() -> None:
    """Have the kernel kill this rank with the process that started it (Linux)."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
