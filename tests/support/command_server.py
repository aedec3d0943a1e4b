"""Commands of tests, which a fork server runs."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from fork_server import MAX_MESSAGE


class StartedCommand:
    """A command in another process.

    Attributes:
        pid: id of the process, which leads a session.
        finished: whether `wait` has returned.
    """

    def __init__(self, server: socket.socket, place: Path) -> None:
        self._server, self._place = server, place
        self.pid = self._answer()
        self.finished = False

    def out(self) -> str:
        """Return its standard output so far."""
        return (self._place / "out").read_text()

    def wait(self, limit: float) -> tuple[int | None, str, str]:
        """Wait for its end; return status, output and errors.

        After `limit` seconds it is killed with its session; the status is then None.
        """
        status = self._ended(limit)
        if status is None:
            for kill in (os.killpg, os.kill):  # it may not lead its session yet
                with contextlib.suppress(ProcessLookupError):
                    kill(self.pid, signal.SIGKILL)
            self._ended(60.0)
        self._server.close()
        errors = (self._place / "errors").read_text()
        result = status, self.out(), errors
        shutil.rmtree(self._place)
        self.finished = True
        return result

    def _ended(self, limit: float) -> int | None:
        """Return the status, or None after `limit` seconds."""
        ready, _, _ = select.select([self._server], [], [], limit)
        return self._answer() if ready else None

    def _answer(self) -> int:
        answer = self._server.recv(64)
        assert answer, "the fork server has ended"
        return int(answer)


class CommandServer:
    """Fork server of commands; it ends when its socket is closed.

    Attributes:
        python: program with the arguments of Python that the server runs.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="uz-forks-", dir=environment["TMPDIR"]))
        self.python = self._folder / "python"
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        script = Path(__file__).with_name("fork_server.py")
        self._server = subprocess.Popen(
            [sys.executable, script, self._folder, str(theirs.fileno())],
            env=dict(environment),
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
        )
        theirs.close()
        assert self._socket.recv(64) == b"ready", "the fork server has not started"
        self._last: StartedCommand | None = None

    def start(
        self,
        words: Sequence[str],
        folder: Path,
        environment: Mapping[str, str],
        largest_file: int | None = None,
    ) -> StartedCommand:
        """Start `uzushio WORDS`; kill the previous command if it still runs.

        Args:
            words: arguments of the command.
            folder: working directory.
            environment: environment of the command.
            largest_file: maximum bytes of a file.
        """
        if self._last is not None and not self._last.finished:
            self._last.wait(0.0)
        place = Path(tempfile.mkdtemp(prefix="uz-command-"))
        server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        server.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, MAX_MESSAGE)
        server.connect(str(self._folder / "socket"))
        arguments = ["-m", "uzushio", *words]
        variables = (f"{name}={value}" for name, value in environment.items())
        message = [str(folder), str(largest_file or 0), str(len(arguments)), *arguments, *variables]
        with (
            Path(os.devnull).open() as nothing,
            (place / "out").open("w") as out,
            (place / "errors").open("w") as errors,
        ):
            streams = [nothing.fileno(), out.fileno(), errors.fileno()]
            socket.send_fds(server, [b"\0".join(map(os.fsencode, message))], streams)
        self._last = StartedCommand(server, place)
        return self._last

    def close(self) -> None:
        """End the server, and what it has started."""
        self._socket.close()
        self._server.wait()
