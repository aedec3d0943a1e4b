"""Broadcast of rank 0's commands; the other ranks sleep while they wait."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

import numpy as np

from uzushio._base.parallel.sync import poll
from uzushio.errors import ViewerError

if TYPE_CHECKING:
    from mpi4py import MPI

#: Maximum sleep between two polls, seconds: waits for commands are part of the time of a picture.
_MAX_SLEEP = 1e-3
#: Timeout of a wait, seconds; rank 0 sends a command several times a second.
_TIMEOUT = 600.0


class CommandChannel:
    """Commands of rank 0 to all ranks of `comm`, in the same order (collective)."""

    def __init__(self, comm: MPI.Comm) -> None:
        self._comm = comm.Dup()

    def share(self, command: Any) -> Any:
        """Return rank 0's command on all ranks.

        Raises:
            ViewerError: no command came before the timeout.
        """
        comm = self._comm
        if comm.size == 1:
            return command
        content = pickle.dumps(command) if comm.rank == 0 else b""
        size = np.array([len(content)], np.int64)
        self._wait(comm.Ibcast(size, 0))
        buffer = np.frombuffer(content, np.uint8) if content else np.empty(size[0], np.uint8)
        self._wait(comm.Ibcast(buffer, 0))
        return command if comm.rank == 0 else pickle.loads(buffer.tobytes())

    def _wait(self, request: MPI.Request) -> None:
        if not poll(request.Test, _TIMEOUT, _MAX_SLEEP):
            raise ViewerError(
                f"rank 0 of the viewer sent no command within {_TIMEOUT:g} s; start it again."
            )
