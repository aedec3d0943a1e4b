"""Shutdown of the connections of SST's readers, found among this process's sockets.

SST waits without limit for readers that are stopped; it drops readers whose connections end.
"""

from __future__ import annotations

import base64
import binascii
import os
import socket
import struct
from pathlib import Path

_LISTENS, _CONNECTED = "0A", "01"  # as the kernel writes them in /proc/net/tcp


def end_connections(contact: Path) -> int:
    """Shut down all connections accepted at the port in one of SST's contact files.

    Streams of SST in one process share that port.

    Returns:
        Number of connections.
    """
    try:
        text = contact.read_text(encoding="ascii")
        encoded = base64.b64decode(text.strip().rpartition(":")[2])
    except (OSError, ValueError, binascii.Error):
        return 0
    sockets = _sockets()
    listens = {port for _, port, state in sockets if state == _LISTENS}
    # ADIOS2's own encoding, in which the port is an integer of 32 bits.
    ports = {port for port in listens if struct.pack("<I", port) in encoded}
    ended = 0
    for file, port, state in sockets:
        if state == _CONNECTED and port in ports:
            try:
                with socket.socket(fileno=os.dup(file)) as connection:
                    connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue  # closed already
            ended += 1
    return ended


def _sockets() -> list[tuple[int, int, str]]:
    """List the TCP sockets of this process: descriptor, local port, state."""
    known: dict[str, tuple[int, str]] = {}
    for table in ("tcp", "tcp6"):
        try:
            lines = Path("/proc/self/net", table).read_text(encoding="ascii").splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            words = line.split()
            known[f"socket:[{words[9]}]"] = int(words[1].rpartition(":")[2], 16), words[3]
    sockets = []
    for name in os.listdir("/proc/self/fd"):
        try:
            link = os.readlink(f"/proc/self/fd/{name}")
        except OSError:
            continue
        if link in known:
            sockets.append((int(name), *known[link]))
    return sockets
