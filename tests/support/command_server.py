"""Server that runs `uzushio` commands of tests in forks of a process with the modules imported.

Half of the time of a short command is imports. Each fork has its own folder, environment, session
and output, starts MPI and threads by itself, and ends with its own status.
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

_PRELOADED = (
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
_MAX_MESSAGE = 1 << 20  # bytes


class StartedCommand:
    """A command in another process.

    Attributes:
        pid: id of the process, which leads a session.
        finished: whether `wait` has returned.
    """

    def __init__(self, pid: int, place: Path, ended: Callable[[float], int | None]) -> None:
        self.pid, self._place, self._ended = pid, place, ended
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
        errors = (self._place / "errors").read_text()
        result = status, self.out(), errors
        shutil.rmtree(self._place)
        self.finished = True
        return result


class CommandServer:
    """Process that forks for each command; it ends when its socket is closed."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        for end in (self._socket, theirs):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _MAX_MESSAGE)
        command = [sys.executable, __file__, str(theirs.fileno())]
        self._server = subprocess.Popen(
            command, env=dict(environment), pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL
        )
        theirs.close()
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
        files = [place / name for name in ("out", "errors")]
        for file in files:
            file.touch()
        command = [list(words), str(folder), dict(environment), list(map(str, files)), largest_file]
        self._socket.send(json.dumps(command).encode())
        self._last = StartedCommand(self._answer(), place, self._ended)
        return self._last

    def _ended(self, limit: float) -> int | None:
        """Return the status of the command, or None after `limit` seconds."""
        ready, _, _ = select.select([self._socket], [], [], limit)
        return self._answer() if ready else None

    def close(self) -> None:
        """End the server."""
        self._socket.close()
        self._server.wait()

    def _answer(self) -> int:
        answer = self._socket.recv(_MAX_MESSAGE)
        assert answer, "the command server has ended"
        return int(answer)


def _serve(number: int) -> list[str]:
    """Fork for each command until the socket is closed; return the arguments in each fork."""
    for name in _PRELOADED:
        importlib.import_module(name)
    assert "mpi4py.MPI" not in sys.modules, "MPI must begin in the forks"
    with socket.socket(fileno=number) as requests:
        while message := requests.recv(_MAX_MESSAGE):
            words, folder, environment, files, largest_file = json.loads(message)
            child = os.fork()
            if child == 0:
                os.setsid()
                _redirect(folder, environment, files)
                if largest_file is not None:
                    resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))
                return list(words)
            requests.send(b"%d" % child)
            _, status = os.waitpid(child, 0)
            requests.send(b"%d" % os.waitstatus_to_exitcode(status))
    os._exit(0)


def _redirect(folder: str, environment: dict[str, str], files: Sequence[str]) -> None:
    """Set folder, environment and output of the command."""
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
