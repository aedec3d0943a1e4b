"""File with the token of a live view, by which its owner obtains further addresses of the page."""

from __future__ import annotations

import json
import os
import platform
import socket
from contextlib import suppress
from dataclasses import asdict, dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from uzushio._base.files import atomic_write
from uzushio.errors import ViewerError


def own_path(folder: Path) -> Path:
    """Return the path of this process's file in a folder."""
    return folder / f"{platform.node()}-{os.getpid()}.json"


def remove_dead(folder: Path) -> None:
    """Remove the files of processes of this machine that were killed."""
    prefix = f"{platform.node()}-"
    for path in folder.glob("*.json"):
        process = path.stem.removeprefix(prefix)
        if path.name.startswith(prefix) and process.isdecimal() and not _runs(int(process)):
            with suppress(OSError):
                path.unlink(missing_ok=True)


def _runs(process: int) -> bool:
    """Return whether a process of this user runs."""
    try:
        os.kill(process, 0)
    except (OSError, OverflowError):  # there is none, or it is another user's
        return False
    return True


@dataclass(frozen=True)
class TokenFile:
    """Content of the file.

    Attributes:
        listening: HOST:PORT, or the path of a Unix socket.
        origin: origin of the page, with the prefix of a proxy.
        token: the job's token.
        title: title of the job.
    """

    listening: str
    origin: str
    token: str
    title: str = ""

    def write(self, path: Path) -> None:
        """Write the file, which only its owner can read."""
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        atomic_write(path, json.dumps(asdict(self)) + "\n", mode=0o600)

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a file.

        Raises:
            ViewerError: it cannot be read, or is no such file.
        """
        try:
            return cls(**json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError) as error:
            raise ViewerError(f"{path} is not the file of a live view ({error}).") from error

    def address(self, limit: float = 5.0, read_only: bool = False) -> str:
        """Return an address of the page with a new one-time token.

        Args:
            limit: timeout in seconds.
            read_only: whether its page may only look.

        Raises:
            ViewerError: the live view does not answer.
        """
        connection = _Connection(self.listening, limit)
        try:
            host = {"Host": urlsplit(self.origin).netloc}
            path = "/token?read_only=1" if read_only else "/token"
            connection.request(
                "POST", path, headers={**host, "Authorization": f"Bearer {self.token}"}
            )
            response = connection.getresponse()
            answer = response.read(4096).decode()
        except (OSError, HTTPException, ValueError) as error:
            raise ViewerError(f"The live view does not answer ({error}); it has ended.") from error
        finally:
            connection.close()
        if response.status != 200:
            raise ViewerError(f"The live view refuses a new token ({answer.strip()}).")
        return answer


class _Connection(HTTPConnection):
    """HTTP over TCP or a Unix socket."""

    def __init__(self, listening: str, limit: float) -> None:
        self._path = listening if "/" in listening else ""
        super().__init__("localhost" if self._path else listening, timeout=limit)

    def connect(self) -> None:
        """Connect, within the timeout."""
        if not self._path:
            super().connect()
            return
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)
