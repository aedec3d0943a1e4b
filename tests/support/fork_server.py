"""Process that has imported the modules of commands, and forks for each Python that a test starts.

Most of the time of a short command or rank is imports. Each fork has its own folder, environment,
session and streams, starts MPI and threads by itself, and ends with its own status. In a fork,
`sys.executable` is the program `python` beside the server's socket: it has the same arguments as
Python, hands them and its streams to the server, passes signals on, and ends as the fork does. So
the ranks that a command starts by `mpiexec` are forks too.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import gc
import importlib
import os
import resource
import runpy
import select
import signal
import socket
import sys
import tempfile
import types
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

_PRELOADED = (
    "PIL.JpegImagePlugin",
    "PIL.PngImagePlugin",
    "aiohttp.web",
    "av",
    "contourpy",
    "fontTools.subset",
    "h5py",
    "jinja2",
    "matplotlib.backends.backend_agg",
    "matplotlib.backends.backend_pdf",
    "mpi4py.run",
    "optuna",
    "typer.rich_utils",
    "xarray.backends.zarr",
    "uzushio.assimilation.figures",
    "uzushio.assimilation.gradient_check",
    "uzushio.assimilation.phasefield.model",
    "uzushio.assimilation.phasefield.tunables",
    "uzushio.assimilation.run",
    "uzushio.extracts.vtkhdf_series",
    "uzushio.grids.files",
    "uzushio.pipeline.actions.extract",
    "uzushio.pipeline.actions.picture",
    "uzushio.pipeline.actions.plot",
    "uzushio.pipeline.actions.probe",
    "uzushio.pipeline.actions.statistics",
    "uzushio.pipeline.in_situ",
    "uzushio.render.movie",
    "uzushio.render.renderer",
    "uzushio.solvers.channel.figures",
    "uzushio.solvers.channel.solver",
    "uzushio.solvers.channel.tunables",
    "uzushio.solvers.jet.solver",
    "uzushio.solvers.thermal.figures",
    "uzushio.solvers.thermal.solver",
    "uzushio.solvers.thermal.tunables",
    "uzushio.staging.reader",
    "uzushio._cli.app",
    "uzushio._cli.assimilate",
    "uzushio._cli.check",
    "uzushio._cli.render",
    "uzushio._cli.rendering",
    "uzushio._cli.run",
    "uzushio._cli.tuning",
    "uzushio._job.case_run",
    "uzushio._job.restart",
)
#: Variables that count when modules are imported, by their beginnings.
_AT_IMPORT = (b"PYTHON", b"OMP_NUM", b"NUMEXPR_MAX")
MAX_MESSAGE = 1 << 20  # bytes

#: Program `python`. Without the modules `os`, `signal` and `socket` it starts in half the time.
_CLIENT = """\
#!{python} -IS
import _signal, _socket, posix, sys
passed = [_signal.SIGHUP, _signal.SIGINT, _signal.SIGTERM, _signal.SIGUSR1, _signal.SIGUSR2]
_signal.pthread_sigmask(_signal.SIG_BLOCK, passed)
server = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
server.setsockopt(_socket.SOL_SOCKET, _socket.SO_SNDBUF, {max_message})
server.connect(sys.argv[0].rpartition("/")[0] + "/socket")
def send(number, frame):
    try:
        server.send(b"%d" % number)
    except OSError:
        pass  # the fork has ended
for number in passed:
    _signal.signal(number, send)
words = [word.encode(errors="surrogateescape") for word in sys.argv[1:]]
variables = [name + b"=" + value for name, value in posix.environ.items()]
message = [posix.getcwdb(), b"0", b"%d" % len(words), *words, *variables]
streams = b"".join(number.to_bytes(4, sys.byteorder) for number in range(3))
server.sendmsg([b"\\0".join(message)], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)])
server.recv(64)  # its process id
_signal.pthread_sigmask(_signal.SIG_UNBLOCK, passed)
try:
    status = int(server.recv(64) or 1)
except ConnectionResetError:  # it ended before it read the last signal; its status comes next
    status = int(server.recv(64) or 1)
if status < 0:
    if -status not in (_signal.SIGKILL, _signal.SIGSTOP):
        _signal.signal(-status, _signal.SIG_DFL)
    posix.kill(posix.getpid(), -status)
posix._exit(status)
"""


def _serve(folder: Path, owner: socket.socket) -> list[str]:
    """Fork for each client until the owner has ended; return the arguments in each fork.

    Args:
        folder: gets the socket and the program `python`.
        owner: is closed when the owner ends.
    """
    gc.disable()
    for name in _PRELOADED:
        importlib.import_module(name)
    assert "mpi4py.MPI" not in sys.modules, "MPI must begin in the forks"
    client_program = folder / "python"
    client_program.write_text(_CLIENT.format(python=sys.executable, max_message=MAX_MESSAGE))
    client_program.chmod(0o700)
    atexit.register(_keep_modules)  # the last one to be called
    gc.collect()
    gc.freeze()  # else a fork copies the memory of all objects at its first collection
    gc.enable()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(str(folder / "socket"))
        listener.listen(64)
        owner.send(b"ready")
        while True:
            ready, _, _ = select.select([listener, owner], [], [])
            if owner in ready:
                os._exit(0)
            client, _ = listener.accept()
            message, streams, _, _ = socket.recv_fds(client, MAX_MESSAGE, 3)
            if message and os.fork() == 0:
                break
            client.close()
            _close(streams)
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:  # earlier keepers
                    pass
    pid = os.fork()
    if pid:
        _close(streams)
        _keep(pid, client, owner)
    owner.close()
    client.close()
    return _become(folder, message, streams)


def _keep(pid: int, client: socket.socket, owner: socket.socket) -> NoReturn:
    """Pass signals of the client on to a process, and its status to the client.

    The process is killed when the client or the owner of the server ends.
    """
    ended = os.pidfd_open(pid)
    with contextlib.suppress(OSError):
        client.send(b"%d" % pid)
    while ended not in (ready := select.select([ended, client, owner], [], [])[0]):
        number = b""
        with contextlib.suppress(ConnectionError):
            number = client.recv(64) if client in ready else b""
        os.kill(pid, int(number or signal.SIGKILL))
        if not number:
            break
    _, status = os.waitpid(pid, 0)
    with contextlib.suppress(OSError):
        client.send(b"%d" % os.waitstatus_to_exitcode(status))
    os._exit(0)


def _become(folder: Path, message: bytes, streams: Sequence[int]) -> list[str]:
    """Set folder, environment and streams of the command; return its arguments."""
    os.setsid()
    place, largest_file, count, *rest = message.split(b"\0")
    words, variables = rest[: int(count)], rest[int(count) :]
    environment = dict(variable.split(b"=", 1) for variable in variables)
    for target, stream in enumerate(streams):
        os.dup2(stream, target)
    _close(streams)
    os.chdir(place)
    if int(largest_file):
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(largest_file),) * 2)
    if _at_import(environment) != _at_import(os.environb):
        os.execve(sys.executable, [sys.executable, *words], environment)
    os.environb.clear()
    os.environb.update(environment)
    tempfile.tempdir = None
    sys.executable = str(folder / "python")
    return [os.fsdecode(word) for word in words]


def _close(streams: Sequence[int]) -> None:
    for stream in streams:
        os.close(stream)


def _at_import(environment: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
    """Return the variables that count when modules are imported."""
    return {name: value for name, value in environment.items() if name.startswith(_AT_IMPORT)}


def _keep_modules() -> None:
    """Keep the modules: to free them at the end takes longer than many commands."""
    kept = list(sys.modules)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object([sys.modules.pop(name) for name in kept]))


def _run(words: list[str]) -> None:
    """Run `python WORDS`."""
    kind, name = words[0], words[1] if words[0] in ("-m", "-c") else words[0]
    if kind == "-m":
        sys.path[0], sys.argv = os.getcwd(), words[1:]
        runpy.run_module(name, run_name="__main__", alter_sys=True)
    elif kind == "-c":
        sys.path[0], sys.argv = "", ["-c", *words[2:]]
        main = sys.modules["__main__"] = types.ModuleType("__main__")
        exec(compile(name, "<string>", "exec"), main.__dict__)
    else:
        sys.path[0], sys.argv = str(Path(name).resolve().parent), words
        runpy.run_path(name, run_name="__main__")


if __name__ == "__main__":
    _run(_serve(Path(sys.argv[1]), socket.socket(fileno=int(sys.argv[2]))))
