"""Lock of a folder of stored steps, which shows whether its writer still runs."""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path


class StoreLock:
    """Lock of a folder, held from `take` to `release`; the kernel releases that of a dead process.

    On a file system without locks nothing is locked.
    """

    def __init__(self) -> None:
        self._folder: int | None = None

    def take(self, folder: Path) -> None:
        """Lock the folder, which exists."""
        self._folder = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        with suppress(OSError):
            fcntl.flock(self._folder, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def release(self) -> None:
        """Unlock the folder."""
        if self._folder is not None:
            os.close(self._folder)
            self._folder = None


def is_unlocked(folder: Path) -> bool:
    """Whether the folder exists on a file system with locks, and no process holds its lock."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:  # it is held, or there are no locks
        return False
    finally:
        os.close(descriptor)
    return True
