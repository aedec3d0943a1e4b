"""Timing of points by a long-lived MPI job.

The job is restarted after a point ended it, and every wait for an answer has a timeout.
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

from uzushio._base.parallel import job_output, launch
from uzushio.errors import TuningError, UzushioError
from uzushio.tuning.subject import Machine, Point
from uzushio.tuning.worker import MARK

#: Maximum number of restarts of the job.
MAX_RESTARTS = 3
#: Timeout for the start of a job, and for the measurement of the machine, seconds.
START_TIMEOUT = 120.0
_END_TIMEOUT = 5.0
_POLL_INTERVAL = 0.25


class PointFailedError(UzushioError):
    """A point that cannot be run or takes longer than its limit; the search continues."""


class PointRunner(Protocol):
    """Timing of points that are set up, in any order."""

    def ready(self, index: int, point: Point) -> None:
        """Set up a point under a number; raises `PointFailedError`."""

    def run(self, index: int, limit: float) -> float:
        """Run a point once, and return the seconds; raises `PointFailedError`."""

    def drop(self) -> None:
        """Release all points that are set up."""


class JobPointRunner:
    """Timing of points by an MPI job.

    Args:
        ranks: number of ranks.
        arguments: command line of the ranks, which must call `worker.serve`.
        warn: called with a message when the job is restarted.

    Use it in a `with` statement: the job starts with the first command, and ends with the block.
    """

    def __init__(self, ranks: int, arguments: list[str], warn: Callable[[str], None]) -> None:
        self._ranks, self._arguments, self._warn = ranks, arguments, warn
        self._ready: dict[int, Point] = {}
        self._restarts = 0
        self._job: _WorkerJob | None = None

    def __enter__(self) -> JobPointRunner:
        return self

    def __exit__(self, *_: object) -> None:
        if self._job is not None:
            self._job.end()
            self._job = None

    def machine(self) -> Machine:
        """Measure the machine on the ranks of the job."""
        try:
            return Machine.from_json(self._ask({"do": "machine"}, START_TIMEOUT))
        except _JobEndedError as ended:
            raise TuningError(f"the machine could not be measured: {ended}") from ended

    def ready(self, index: int, point: Point) -> None:
        """See `PointRunner`."""
        self._send({"do": "ready", "index": index, "point": dict(point)}, START_TIMEOUT)
        self._ready[index] = point

    def run(self, index: int, limit: float) -> float:
        """See `PointRunner`."""
        return float(self._send({"do": "run", "index": index}, limit)["seconds"])

    def drop(self) -> None:
        """See `PointRunner`."""
        self._ready.clear()
        if self._job is not None:
            with contextlib.suppress(PointFailedError):
                self._send({"do": "drop"}, START_TIMEOUT)

    def _send(self, command: Mapping[str, Any], limit: float) -> dict[str, Any]:
        try:
            answer = self._ask(command, limit)
        except _JobEndedError as ended:
            self._job = None
            self._ready.pop(command.get("index", -1), None)
            self._restarts += 1
            if self._restarts > MAX_RESTARTS:
                raise TuningError(
                    f"the job that times points ended {self._restarts} times, last because {ended}"
                ) from ended
            self._warn(f"a new job is started, because {ended}")
            raise PointFailedError(str(ended)) from ended
        if "failed" in answer:
            raise PointFailedError(answer["failed"])
        return answer

    def _ask(self, command: Mapping[str, Any], limit: float) -> dict[str, Any]:
        if self._job is None:
            self._job = _WorkerJob(self._ranks, self._arguments)
            for index, point in self._ready.items():
                self._job.ask({"do": "ready", "index": index, "point": dict(point)}, START_TIMEOUT)
        return self._job.ask(command, limit)


class _JobEndedError(Exception):
    """End of the job, or no answer from it; the text continues a sentence after "because"."""


class _WorkerJob:
    """MPI job of the runner; raises `TuningError` if it does not start."""

    def __init__(self, ranks: int, arguments: list[str]) -> None:
        self._process = launch.start_job(ranks, arguments, stdin=subprocess.PIPE)
        assert self._process.stdout is not None and self._process.stderr is not None
        self._pids: list[int] = []
        self._answers: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._stderr = io.BytesIO()
        self._reader_threads = [
            threading.Thread(target=self._read, args=(self._process.stdout,), daemon=True),
            threading.Thread(
                target=job_output.pass_on,
                args=(self._process.stderr, self._stderr.write),
                daemon=True,
            ),
        ]
        for thread in self._reader_threads:
            thread.start()
        try:
            self._pids = self._wait(START_TIMEOUT, "start")["pids"]
        except _JobEndedError as ended:
            raise TuningError(f"the job that times points cannot be used: {ended}") from ended
        except BaseException:
            self._kill()
            raise

    def ask(self, command: Mapping[str, Any], limit: float) -> dict[str, Any]:
        """Send a command, and wait for the answer; raises `_JobEndedError` if the job ended."""
        assert self._process.stdin is not None
        try:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.write(json.dumps(command).encode() + b"\n")
                self._process.stdin.flush()
            return self._wait(limit, "answer")
        except _JobEndedError:
            raise
        except BaseException:
            self._kill()
            raise

    def end(self) -> None:
        """End the job by a command; kill it after a timeout."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.write(b'{"do": "end"}\n')
            self._process.stdin.close()
        try:
            self._process.wait(_END_TIMEOUT)
        except subprocess.TimeoutExpired:
            self._kill()

    def _wait(self, limit: float, what: str) -> dict[str, Any]:
        answer: dict[str, Any] | None = {}
        # In short intervals: time in which this process and the ranks are suspended is not counted.
        for _ in range(math.ceil(limit / _POLL_INTERVAL)):
            with contextlib.suppress(queue.Empty):
                answer = self._answers.get(timeout=_POLL_INTERVAL)
                break
        else:
            self._kill()
            raise _JobEndedError(f"its ranks did not {what} within {limit:.3g} s.") from None
        if answer is None:
            self._kill()
            raise _JobEndedError(self._failure_text())
        return answer

    def _failure_text(self) -> str:
        for thread in self._reader_threads:
            thread.join(_END_TIMEOUT)
        status = self._process.returncode
        lines = self._stderr.getvalue().decode(errors="replace").splitlines()
        # A rank's own message is preferred to the launcher's.
        ours = [line for line in lines if line.startswith(("rank ", "uzushio: error: "))]
        others = [line for line in lines if line.strip(" -")]
        message = (ours[:1] or others[-1:] or ["."])[0].removeprefix("uzushio: error: ").strip()
        return f"it ended with status {status}{message if message == '.' else f': {message}'}"

    def _read(self, source: IO[bytes]) -> None:
        for line in source:
            _, mark, answer = line.decode(errors="replace").partition(MARK)
            if mark:
                with contextlib.suppress(ValueError):
                    self._answers.put(json.loads(answer))
        self._answers.put(None)

    def _kill(self) -> None:
        """Kill the launcher and all ranks."""
        if self._process.poll() is None:
            self._process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_END_TIMEOUT)
        for pid in self._pids:
            with contextlib.suppress(OSError):
                if _is_ours(pid):
                    os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(OSError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


def _is_ours(pid: int) -> bool:
    """Whether a process is a rank of the job: pids may be reused, or be of another node."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return b"uzushio" in file.read()
    except OSError:
        return False
