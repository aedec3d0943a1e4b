"""Signals that ask a run to stop: they are noted, and the ranks agree on them after the step."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

#: SIGUSR1 is what `uzushio run --ranks` forwards, and what batch systems can be told to send.
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP)
#: Where launchers say which rank a process is.
_RANKS = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "PALS_RANKID")


def stop_signals() -> list[signal.Signals]:
    """The signals to catch; not SIGHUP where `nohup` has it ignored."""
    return [
        number
        for number in _SIGNALS
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN
    ]


def leave_at_once() -> None:
    """Until a run listens, end this process at a signal: with a sentence, and all ranks with it.

    The process ends without a farewell to MPI, so that the launcher ends the ranks which are
    further on already, and would wait for this one.
    """
    for number in stop_signals():
        signal.signal(number, _leave)


def _leave(number: int, _frame: object) -> None:
    ranks = (os.environ[name] for name in _RANKS if name in os.environ)
    if next(ranks, "0") == "0":
        with contextlib.suppress(OSError):
            os.write(1, b"Stopped before the first step; nothing was written.\n")
    os._exit(128 + number)


class Stop:
    """Whether this rank was asked to stop."""

    def __init__(self) -> None:
        self.received = 0

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Note the first signal; the second one has its usual effect."""
        before = {number: signal.signal(number, self._note) for number in stop_signals()}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, signal.SIG_DFL if handler is _leave else handler)

    def _note(self, number: int, _frame: object) -> None:
        self.received = number
        for one in (signal.SIGINT, signal.SIGTERM):
            signal.signal(one, signal.SIG_DFL)
