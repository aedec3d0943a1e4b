"""Other work on the machine, and the time that a process computes and waits for a processor."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def busy_processes(count: int) -> Iterator[None]:
    """Run a number of processes that compute without end beside the block."""
    processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def processor_seconds(process: int) -> tuple[float, float]:
    """Return the seconds that the main thread of a process has computed and waited for a processor.

    Source: /proc/PID/schedstat of Linux, in nanoseconds.
    """
    computed, waited, _ = Path(f"/proc/{process}/schedstat").read_text().split()
    return int(computed) / 1e9, int(waited) / 1e9
