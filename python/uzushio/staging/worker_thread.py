"""Thread that runs blocking calls, for callers with a timeout."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from typing import Any


class Task:
    """Call submitted to a `WorkerThread`."""

    def __init__(
        self, work: Callable[[], Any], on_late_result: Callable[[Any], None] | None
    ) -> None:
        self._work, self._on_late_result = work, on_late_result
        self._lock = threading.Lock()
        self._done = threading.Event()
        self._abandoned = False
        self._result: Any = None
        self._error: BaseException | None = None

    @property
    def done(self) -> bool:
        """Whether the call has returned or raised."""
        return self._done.is_set()

    def wait(self, limit: float) -> bool:
        """Wait at most `limit` seconds for the end of the call, and return whether it ended."""
        return self._done.wait(max(0.0, limit))

    def result(self, limit: float) -> Any:
        """Return the result of the call, or raise its exception.

        Raises:
            TimeoutError: the call takes longer than `limit` seconds. It continues, and its result
                is passed to `on_late_result`.
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
        """Run the call; for the thread."""
        try:
            self._result = self._work()
        except BaseException as error:
            self._error = error
        with self._lock:
            self._done.set()
        if self._abandoned and self._on_late_result is not None and self._error is None:
            self._on_late_result(self._result)
        del self._work  # and the objects that it refers to


class WorkerThread:
    """Daemon thread that runs tasks in order; a task that never returns ends with the process.

    A task must release the GIL while it waits.
    """

    def __init__(self, name: str) -> None:
        self._tasks: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
        self._last: Task | None = None
        threading.Thread(target=self._work, name=name, daemon=True).start()

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            task.run()

    @property
    def idle(self) -> bool:
        """Whether all tasks have ended."""
        return self._last is None or self._last.done

    def submit(
        self, work: Callable[[], Any], on_late_result: Callable[[Any], None] | None = None
    ) -> Task:
        """Queue a call; `on_late_result` receives the result after a timeout of `Task.result`."""
        self._last = Task(work, on_late_result)
        self._tasks.put(self._last)
        return self._last

    def call(self, work: Callable[[], Any], limit: float) -> Any:
        """Run a call, and wait at most `limit` seconds for it.

        The call is not started if earlier tasks take that long.

        Raises:
            TimeoutError: `limit` is over.
        """
        deadline = time.monotonic() + limit
        if self._last is not None and not self._last.wait(limit):
            raise TimeoutError
        return self.submit(work).result(deadline - time.monotonic())

    def close(self) -> None:
        """End the thread after the queued tasks."""
        self._tasks.put(None)
