"""`uzushio` commands of tests, each in a fork of a process that has imported what commands import.

Half of a short command is imports. A fork is a process as any other: it has its own folder,
environment, session and output, begins MPI and threads by itself, and ends with its own status.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import resource
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

_IMPORTED = (
    "matplotlib.backends.backend_agg",
    "optuna",
    "uzushio.assimilation.figures",
    "uzushio.assimilation.run",
    "uzushio.channel.figures",
    "uzushio.channel.solver",
    "uzushio.assimilation.phasefield.model",
    "uzushio.cli.render",
    "uzushio.job.case_run",
    "uzushio.cli.tune",
)
_LONGEST = 1 << 20  # bytes of a message


class Started:
    """A command that was started.

    Attributes:
        pid: of its process, which leads a session of its own.
        over: whether its end was waited for.
    """

    def __init__(self, pid: int, place: Path, ended: Callable[[float], int | None]) -> None:
        self.pid, self._place, self._ended = pid, place, ended
        self.over = False

    def out(self) -> str:
        """What it has printed so far."""
        return (self._place / "out").read_text()

    def wait(self, limit: float) -> tuple[int | None, str, str]:
        """Wait for its end: status, output, errors.

        What still runs after so many seconds is killed with its session, and has no status.
        """
        status = self._ended(limit)
        if status is None:
            for kill in (os.killpg, os.kill):  # it may not lead its session yet
                with contextlib.suppress(ProcessLookupError):
                    kill(self.pid, signal.SIGKILL)
            self._ended(60.0)
        errors = (self._place / "errors").read_text()
        told = status, self.out(), errors
        shutil.rmtree(self._place)
        self.over = True
        return told


class Warm:
    """The process that forks, as tests see it; it ends with its last user."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        for end in (self._socket, theirs):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _LONGEST)
        command = [sys.executable, __file__, str(theirs.fileno())]
        self._server = subprocess.Popen(
            command, env=dict(environment), pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL
        )
        theirs.close()
        self._last: Started | None = None

    def start(
        self,
        words: Sequence[str],
        folder: Path,
        environment: Mapping[str, str],
        largest_file: int | None = None,
    ) -> Started:
        """Start `uzushio WORDS`; one at a time: what nobody waited for is killed.

        Args:
            words: of the command.
            folder: that it runs in.
            environment: all of it.
            largest_file: bytes of a file that it may write.
        """
        if self._last is not None and not self._last.over:
            self._last.wait(0.0)
        place = Path(tempfile.mkdtemp(prefix="uz-warm-"))
        files = [place / name for name in ("out", "errors")]
        for file in files:
            file.touch()
        command = [list(words), str(folder), dict(environment), list(map(str, files)), largest_file]
        self._socket.send(json.dumps(command).encode())
        self._last = Started(self._answer(), place, self._ended)
        return self._last

    def _ended(self, limit: float) -> int | None:
        """The status of what was started, or None after so many seconds."""
        ready, _, _ = select.select([self._socket], [], [], limit)
        return self._answer() if ready else None

    def close(self) -> None:
        """End it."""
        self._socket.close()
        self._server.wait()

    def _answer(self) -> int:
        answer = self._socket.recv(_LONGEST)
        assert answer, "the process that forks has ended"
        return int(answer)


def _serve(number: int) -> list[str]:
    """Fork for each command until nobody asks any more; returns the words in each fork."""
    for name in _IMPORTED:
        importlib.import_module(name)
    assert "mpi4py.MPI" not in sys.modules, "MPI must begin in the forks"
    with socket.socket(fileno=number) as asked:
        while message := asked.recv(_LONGEST):
            words, folder, environment, files, largest_file = json.loads(message)
            child = os.fork()
            if child == 0:
                os.setsid()
                _settle(folder, environment, files)
                if largest_file is not None:
                    resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))
                return list(words)
            asked.send(b"%d" % child)
            _, status = os.waitpid(child, 0)
            asked.send(b"%d" % os.waitstatus_to_exitcode(status))
    os._exit(0)


def _settle(folder: str, environment: dict[str, str], files: Sequence[str]) -> None:
    """Be where, and print to what, the command is to."""
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    tempfile.tempdir = None
    for target, file in enumerate(files, start=1):
        opened = os.open(file, os.O_WRONLY)
        os.dup2(opened, target)
        os.close(opened)


if __name__ == "__main__":
    sys.argv = ["uzushio", *_serve(int(sys.argv[1]))]
    from uzushio.cli.app import main

    main()
