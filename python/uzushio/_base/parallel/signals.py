"""Signals that stop a run: each rank records them, and the ranks agree on them after the step."""

from __future__ import annotations

import contextlib
import os
import signal
from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

#: `uzushio run --ranks` forwards SIGUSR1; batch systems send one of several before a time limit.
_SIGNALS = (
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGQUIT,
    signal.SIGHUP,
)
#: Environment variable of ranks that `uzushio --ranks` started: each writes `READY_LINE` to its
#: standard output when it handles signals. It is a line, because `mpiexec` passes on whole lines.
READY = "UZUSHIO_READY"
READY_LINE = b"\0\n"
#: Environment variables of launchers with the rank of a process.
_RANKS = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "PALS_RANKID")


def stop_signals() -> list[signal.Signals]:
    """Return the signals to catch; not SIGHUP under `nohup`, which ignores it."""
    return [
        number
        for number in _SIGNALS
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN
    ]


class _ExitOnSignal:
    """Handler that prints a sentence on rank 0 and ends the process.

    Another rank prints one too if it received a signal that its job does not forward.
    """

    #: Whether `uzushio --ranks` started this process, which forwards SIGUSR1 alone.
    started = False

    def __init__(self, sentence: str) -> None:
        self._sentence = sentence

    def __call__(self, number: int, _frame: object) -> None:
        """End the process with 128 plus the number of the signal."""
        ranks = (os.environ[name] for name in _RANKS if name in os.environ)
        rank = next(ranks, "0")
        with contextlib.suppress(OSError):
            if rank == "0":
                os.write(1, f"{self._sentence}\n".encode())
            elif self.started and number != signal.SIGUSR1:
                name = signal.Signals(number).name
                os.write(2, f"uzushio: rank {rank} received {name}. {self._sentence}\n".encode())
        os._exit(128 + number)


def exit_on_signal(
    sentence: str = "Stopped before the first step; nothing was written.",
) -> None:
    """Exit on a signal with a sentence, until a run handles signals; the other ranks end too.

    The process does not finalize MPI, so that the launcher ends ranks that wait for this one.
    """
    handler = _ExitOnSignal(sentence)
    for number in stop_signals():
        signal.signal(number, handler)


def announce_signals() -> None:
    """Tell the process that started this rank that signals are handled from now on."""
    if os.environ.pop(READY, None) is not None:
        _ExitOnSignal.started = True
        with contextlib.suppress(OSError):
            os.write(1, READY_LINE)


def restore_default_signals() -> None:
    """Let signals raise `KeyboardInterrupt` (SIGINT) or end the process (the others)."""
    for number in stop_signals():
        default = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
        signal.signal(number, default)


class Stop:
    """First stop signal that this rank received; SIGTERM once its launcher has been killed."""

    def __init__(self) -> None:
        self._received = 0
        self._before: dict[signal.Signals, Any] = {}
        # A rank of several notices the launcher's end in MPI, where it waits for the others.
        self._launcher = os.getppid() if any(name in os.environ for name in _RANKS) else None

    @property
    def received(self) -> int:
        """Number of the signal; 0 before one."""
        if not self._received and self._launcher not in (None, os.getppid()):
            self._received = signal.SIGTERM
        return self._received

    def asked(self) -> bool:
        """Return whether to stop."""
        return self.received != 0

    def ask(self) -> None:
        """Ask for a stop, as SIGTERM does."""
        self._received = self._received or signal.SIGTERM

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Record the first signal; the second one has its default effect."""
        import threading

        if threading.current_thread() is not threading.main_thread():
            yield  # only the main thread can handle signals
            return
        self._before = {number: signal.signal(number, self._note) for number in stop_signals()}
        try:
            yield
        finally:
            for number, handler in self._before.items():
                signal.signal(
                    number, signal.SIG_DFL if isinstance(handler, _ExitOnSignal) else handler
                )

    def _note(self, number: int, _frame: object) -> None:
        self._received = number
        for handled in (signal.SIGINT, signal.SIGTERM, signal.SIGQUIT):
            before = self._before.get(handled)  # in a notebook, SIGINT raises KeyboardInterrupt
            is_default = before is None or isinstance(before, _ExitOnSignal)
            signal.signal(handled, signal.SIG_DFL if is_default else before)
