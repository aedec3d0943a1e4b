"""A thread that does one thing after the other, for callers that do not wait for ever."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from typing import Any


class Job:
    """A piece of work that a `Lane` was given."""

    def __init__(self, work: Callable[[], Any], late: Callable[[Any], None] | None) -> None:
        self._work, self._late = work, late
        self._lock = threading.Lock()
        self._done = threading.Event()
        self._abandoned = False
        self._result: Any = None
        self._error: BaseException | None = None

    @property
    def done(self) -> bool:
        """Whether it has ended, well or not."""
        return self._done.is_set()

    def wait(self, limit: float) -> bool:
        """Wait at most `limit` seconds for its end, and say whether it has come."""
        return self._done.wait(max(0.0, limit))

    def result(self, limit: float) -> Any:
        """What the work returned, or raised.

        Raises:
            TimeoutError: it takes longer than `limit` seconds. It goes on, and if it ends, `late`
                gets what it returns.
        """
        if not self.wait(limit):
            with self._lock:
                self._abandoned = not self.done
            if self._abandoned:
                raise TimeoutError
        if self._error is not None:
            raise self._error
        return self._result

    def run(self) -> None:
        """Do it; for the lane."""
        try:
            self._result = self._work()
        except BaseException as error:
            self._error = error
        with self._lock:
            self._done.set()
        if self._abandoned and self._late is not None and self._error is None:
            self._late(self._result)
        del self._work  # and what it holds


class Lane:
    """Does jobs in the order in which they were given. What it is stuck in dies with the process.

    Work must give Python's lock back where it waits.
    """

    def __init__(self, name: str) -> None:
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._last: Job | None = None
        threading.Thread(target=self._work, name=name, daemon=True).start()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job.run()

    @property
    def idle(self) -> bool:
        """Whether all jobs have ended."""
        return self._last is None or self._last.done

    def submit(self, work: Callable[[], Any], late: Callable[[Any], None] | None = None) -> Job:
        """Have something done after all else; `late` is for what nobody waited for."""
        self._last = Job(work, late)
        self._jobs.put(self._last)
        return self._last

    def call(self, work: Callable[[], Any], limit: float) -> Any:
        """Do something, and wait at most `limit` seconds for it.

        If others are in the way for so long, it is not begun.

        Raises:
            TimeoutError: it takes longer.
        """
        deadline = time.monotonic() + limit
        if self._last is not None and not self._last.wait(limit):
            raise TimeoutError
        return self.submit(work).result(deadline - time.monotonic())

    def close(self) -> None:
        """End the thread, after the jobs that it has."""
        self._jobs.put(None)
