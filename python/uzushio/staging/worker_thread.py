"""Thread that runs blocking calls, for callers with a timeout."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Any, TypeVar

Result = TypeVar("Result")


def has_ended(call: Future[Any], limit: float) -> bool:
    """Wait at most `limit` seconds for the end of a call, and return whether it ended."""
    return bool(wait([call], limit).done)


class WorkerThread:
    """Daemon thread that runs calls in order; a call that never returns ends with the process.

    A call must release the GIL while it waits.
    """

    def __init__(self, name: str) -> None:
        self._queue: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._last: Future[Any] | None = None
        threading.Thread(target=self._work, name=name, daemon=True).start()

    def _work(self) -> None:
        while (run := self._queue.get()) is not None:
            run()
            del run  # and the objects that it refers to

    @property
    def idle(self) -> bool:
        """Whether all calls have ended."""
        return self._last is None or self._last.done()

    def submit(self, work: Callable[[], Result]) -> Future[Result]:
        """Queue a call."""
        future: Future[Result] = Future()

        def run() -> None:
            try:
                future.set_result(work())
            except BaseException as error:
                future.set_exception(error)

        self._last = future
        self._queue.put(run)
        return future

    def call(self, work: Callable[[], Result], limit: float) -> Result:
        """Run a call, and wait at most `limit` seconds for it.

        The call is not started if earlier ones take that long.

        Raises:
            TimeoutError: `limit` is over.
        """
        deadline = time.monotonic() + limit
        if self._last is not None and not has_ended(self._last, limit):
            raise TimeoutError
        return self.submit(work).result(deadline - time.monotonic())

    def close(self) -> None:
        """End the thread after the queued calls."""
        self._queue.put(None)
