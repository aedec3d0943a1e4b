"""Lock of the folder of a job: one job at a time."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import socket
import time
from pathlib import Path
from typing import IO

from uzushio.errors import OutputError

FILE = ".lock"
#: Timeout of the lock in seconds; `check_free` of another job holds it for a moment.
_GRACE_PERIOD = 1.0
#: Errors of a file system without locks.
_NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)


class FolderLock:
    """Lock of a folder, held from `take` to `release`.

    The lock belongs to the open file: the kernel releases it when the process ends, also if
    it is killed. The file itself stays. On a file system without locks, folders are not locked.
    """

    def __init__(self) -> None:
        self._file: IO[str] | None = None

    def take(self, folder: Path) -> None:
        """Lock the folder, which must exist.

        Raises:
            OutputError: another job holds the lock; the error names it.
            OSError: the lock cannot be written; the error names it.
        """
        file = (folder / FILE).open("a+", encoding="utf-8")
        deadline = time.monotonic() + _GRACE_PERIOD
        while not _locked(file, fcntl.LOCK_EX):
            if time.monotonic() > deadline:
                holder = _holder(file)
                file.close()
                raise _in_use(folder, holder)
            time.sleep(0.05)
        holder = f"{socket.gethostname()}, process {os.getpid()}, since {time.strftime('%F %T')}"
        try:
            file.truncate(0)
            file.write(holder)
            file.flush()
        except OSError as error:  # without a name, such as that of a full disk
            with contextlib.suppress(OSError):
                file.close()
            raise OSError(error.errno, error.strerror, str(folder / FILE)) from error
        self._file = file

    def release(self) -> None:
        """Unlock the folder."""
        if self._file is not None:
            self._file.close()
            self._file = None


def check_free(folder: Path) -> None:
    """Raise `OutputError` if another job holds the folder now."""
    with (
        contextlib.suppress(FileNotFoundError, NotADirectoryError),
        (folder / FILE).open(encoding="utf-8") as file,
    ):
        if not _locked(file, fcntl.LOCK_SH):
            raise _in_use(folder, _holder(file))


def _locked(file: IO[str], kind: int) -> bool:
    """Return whether the lock was taken, or the file system has none."""
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _NO_LOCKS:
            return True
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            return False
        raise
    return True


def _holder(file: IO[str]) -> str:
    file.seek(0)
    return file.read().strip() or "another process"


def _in_use(folder: Path, holder: str) -> OutputError:
    return OutputError(
        f"{folder} is in use by another job ({holder}); wait for its end, stop it, or choose "
        "another folder with --out."
    )
