"""Address of the gateway: where it listens, and how browsers reach it."""

from __future__ import annotations

import re
import socket as sockets
from dataclasses import dataclass
from pathlib import Path

from uzushio.errors import ViewerError


@dataclass(frozen=True)
class Listening:
    """Address of the gateway, and how browsers reach it.

    Attributes:
        host: address to listen on.
        port: 0 for any free port. With `socket`, the port that browsers use (of `ssh -L`).
        socket: path of a Unix socket, instead of `host`.
        origins: further accepted origins, such as "https://hub.example.org" of a proxy.
        prefix: path of the page behind a proxy, such as "/user/ann/proxy/8080".
    """

    host: str = "127.0.0.1"
    port: int = 0
    socket: Path | None = None
    origins: tuple[str, ...] = ()
    prefix: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "origins", tuple(map(checked_origin, self.origins)))
        if self.prefix and not re.fullmatch(r"(/[\w.~-]+)+", self.prefix, re.ASCII):
            raise ViewerError(
                f"The prefix {self.prefix!r} is not valid; write the path of the page as the "
                "browser has it, such as /user/ann/proxy/8080."
            )
        if self.socket is not None and not self.port and not self.origins:
            raise ViewerError(
                "A Unix socket needs the port that the browser uses, or an accepted origin."
            )

    def reached_at(self, port: int) -> str:
        """Return HOST:PORT, or the path of the Unix socket; `port` is the one in use."""
        if self.socket is not None:
            return str(self.socket)
        return f"[{self.host}]:{port}" if ":" in self.host else f"{self.host}:{port}"

    def accepted_origins(self, port: int) -> list[str]:
        """Return the origins of the page's addresses; `port` is the one in use."""
        local = ["127.0.0.1", "localhost", "[::1]"] if port else []
        if self.socket is None and self.host not in ("0.0.0.0", "::", "::1", *local):
            local.append(f"[{self.host}]" if ":" in self.host else self.host)
        return [*(f"http://{host}:{port}" for host in local), *self.origins]


def checked_origin(origin: str) -> str:
    """Return an origin in the form in which browsers send it.

    Raises:
        ViewerError: it is not "http://HOST[:PORT]" or "https://HOST[:PORT]".
    """
    match = re.fullmatch(
        r"(https?)://([\w.-]+|\[[0-9a-f:.]+\])(:\d{1,5})?/?", origin, re.ASCII | re.I
    )
    if match is None:
        raise ViewerError(
            f"The origin {origin!r} is not valid; write http://HOST:PORT or https://HOST, without "
            "a path."
        )
    scheme, host, port = (part.lower() for part in match.groups(default=""))
    return f"{scheme}://{host}" + ("" if port == {"http": ":80", "https": ":443"}[scheme] else port)


def bound_socket(path: Path) -> sockets.socket:
    """Return a Unix socket that only its owner can connect to; removes one that is not in use."""
    if path.is_socket():
        with sockets.socket(sockets.AF_UNIX) as probe:
            probe.settimeout(1.0)
            try:
                probe.connect(str(path))
            except ConnectionRefusedError:
                path.unlink()
    listener = sockets.socket(sockets.AF_UNIX)
    try:
        listener.bind(str(path))
        path.chmod(0o600)  # before it listens
    except OSError:
        listener.close()
        raise
    return listener
