"""What times points: an MPI job that stays up over all of them.

It is started again when a point kills it, and no answer is waited for longer than a limit.
"""

from __future__ import annotations

import contextlib
import io
import json
import math
import os
import queue
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping
from typing import IO, Any, Protocol

from uzushio.errors import TuningError, UzushioError
from uzushio.parallel import launch
from uzushio.tuning.subject import Machine, Point
from uzushio.tuning.worker import MARK

#: Jobs that points may kill before the tuner gives up.
DEATHS = 3
#: Seconds for a job to start, and to measure the machine.
STARTING = 120.0
_ENDING = 5.0
_SLICE = 0.25


class PointFailedError(UzushioError):
    """This point cannot be run, or took longer than the limit; the others go on."""


class Bench(Protocol):
    """Times points that are ready, in any order."""

    def ready(self, index: int, point: Point) -> None:
        """Set up a point under a number; raises `PointFailedError`."""

    def run(self, index: int, limit: float) -> float:
        """Run it once, and return the seconds; raises `PointFailedError`."""

    def drop(self) -> None:
        """Free all that is ready."""


class JobBench:
    """Points timed by an MPI job.

    Args:
        ranks: of the job.
        arguments: of the command line that the ranks run; it must lead to `worker.serve`.
        warn: is told when a job had to be started again.

    Use it in a `with` statement: the job starts when it is needed, and ends with it.
    """

    def __init__(self, ranks: int, arguments: list[str], warn: Callable[[str], None]) -> None:
        self._ranks, self._arguments, self._warn = ranks, arguments, warn
        self._ready: dict[int, Point] = {}
        self._deaths = 0
        self._job: _Job | None = None

    def __enter__(self) -> JobBench:
        return self

    def __exit__(self, *_: object) -> None:
        if self._job is not None:
            self._job.end()
            self._job = None

    def machine(self) -> Machine:
        """Measure what the ranks can do."""
        try:
            return Machine.from_json(self._ask({"do": "machine"}, STARTING))
        except _GoneError as gone:
            raise TuningError(f"the ranks did not measure the machine: {gone}") from gone

    def ready(self, index: int, point: Point) -> None:
        """See `Bench`."""
        self._send({"do": "ready", "index": index, "point": dict(point)}, STARTING)
        self._ready[index] = point

    def run(self, index: int, limit: float) -> float:
        """See `Bench`."""
        return float(self._send({"do": "run", "index": index}, limit)["seconds"])

    def drop(self) -> None:
        """See `Bench`."""
        self._ready.clear()
        if self._job is not None:
            with contextlib.suppress(PointFailedError):
                self._send({"do": "drop"}, STARTING)

    def _send(self, command: Mapping[str, Any], limit: float) -> dict[str, Any]:
        try:
            answer = self._ask(command, limit)
        except _GoneError as gone:
            self._job = None
            self._ready.pop(command.get("index", -1), None)
            self._deaths += 1
            if self._deaths > DEATHS:
                raise TuningError(
                    f"the job that times points ended {self._deaths} times, last because {gone}"
                ) from gone
            self._warn(f"a new job is started, because {gone}")
            raise PointFailedError(str(gone)) from gone
        if "failed" in answer:
            raise PointFailedError(answer["failed"])
        return answer

    def _ask(self, command: Mapping[str, Any], limit: float) -> dict[str, Any]:
        if self._job is None:
            self._job = _Job(self._ranks, self._arguments)
            for index, point in self._ready.items():
                self._job.ask({"do": "ready", "index": index, "point": dict(point)}, STARTING)
        return self._job.ask(command, limit)


class _GoneError(Exception):
    """The job ended or did not answer; the text goes on after "because"."""


class _Job:
    """One MPI job; raises `TuningError` if it does not start."""

    def __init__(self, ranks: int, arguments: list[str]) -> None:
        self._process = launch.start_job(ranks, arguments, stdin=subprocess.PIPE)
        assert self._process.stdout is not None and self._process.stderr is not None
        self._pids: list[int] = []
        self._answers: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._said = io.BytesIO()
        self._pumps = [
            threading.Thread(target=self._read, args=(self._process.stdout,), daemon=True),
            threading.Thread(
                target=launch.pass_on, args=(self._process.stderr, self._said), daemon=True
            ),
        ]
        for pump in self._pumps:
            pump.start()
        try:
            self._pids = self._wait(STARTING, "start")["pids"]
        except _GoneError as gone:
            raise TuningError(f"the job that times points cannot be used: {gone}") from gone
        except BaseException:
            self._kill()
            raise

    def ask(self, command: Mapping[str, Any], limit: float) -> dict[str, Any]:
        """Send a command, and wait for the answer; raises `_GoneError`; the job is ended then."""
        assert self._process.stdin is not None
        try:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.write(json.dumps(command).encode() + b"\n")
                self._process.stdin.flush()
            return self._wait(limit, "answer")
        except _GoneError:
            raise
        except BaseException:
            self._kill()
            raise

    def end(self) -> None:
        """Let the ranks leave, and see to it that they do."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.write(b'{"do": "end"}\n')
            self._process.stdin.close()
        try:
            self._process.wait(_ENDING)
        except subprocess.TimeoutExpired:
            self._kill()

    def _wait(self, limit: float, what: str) -> dict[str, Any]:
        answer: dict[str, Any] | None = {}
        # In slices: seconds in which this process is suspended, and the ranks too, do not count.
        for _ in range(math.ceil(limit / _SLICE)):
            with contextlib.suppress(queue.Empty):
                answer = self._answers.get(timeout=_SLICE)
                break
        else:
            self._kill()
            raise _GoneError(f"its ranks did not {what} within {limit:.3g} s.") from None
        if answer is None:
            self._kill()
            raise _GoneError(self._last_words())
        return answer

    def _last_words(self) -> str:
        for pump in self._pumps:
            pump.join(_ENDING)
        status = self._process.returncode
        lines = self._said.getvalue().decode(errors="replace").splitlines()
        # Where a rank has said something itself, the launcher's account of it adds nothing.
        ours = [line for line in lines if line.startswith(("rank ", "uzushio: error: "))]
        others = [line for line in lines if line.strip(" -")]
        said = (ours[:1] or others[-1:] or ["."])[0].removeprefix("uzushio: error: ").strip()
        return f"it ended with status {status}{said if said == '.' else f': {said}'}"

    def _read(self, source: IO[bytes]) -> None:
        for line in source:
            _, mark, answer = line.decode(errors="replace").partition(MARK)
            if mark:
                with contextlib.suppress(ValueError):
                    self._answers.put(json.loads(answer))
        self._answers.put(None)

    def _kill(self) -> None:
        """End the launcher and all ranks, however stuck they are."""
        if self._process.poll() is None:
            self._process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_ENDING)
        for pid in self._pids:
            with contextlib.suppress(OSError):
                if _is_ours(pid):
                    os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(OSError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


def _is_ours(pid: int) -> bool:
    """Whether this process runs our worker: numbers may be given anew, or be of another node."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return b"uzushio" in file.read()
    except OSError:
        return False
