"""Signals that ask a run to stop: they are noted, and the ranks agree on them after the step."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

#: SIGUSR1 is what `uzushio run --ranks` forwards, and what batch systems can be told to send.
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP)


def stop_signals() -> list[signal.Signals]:
    """The signals to catch; not SIGHUP where `nohup` has it ignored."""
    return [
        number
        for number in _SIGNALS
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN
    ]


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
                signal.signal(number, handler)

    def _note(self, number: int, _frame: object) -> None:
        self.received = number
        for one in (signal.SIGINT, signal.SIGTERM):
            signal.signal(one, signal.SIG_DFL)
