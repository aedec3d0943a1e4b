"""Streams of this machine that a viewer can attach to: contact files and stored steps."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from uzushio.errors import StagingError
from uzushio.staging.notice import notice

#: Depth of the search for streams below a folder, and maximum number of folders.
_MAX_DEPTH, _MAX_FOLDERS = 4, 5000
#: Timeout of a connection to a writer, seconds.
_CONNECT_LIMIT = 0.3
#: Endings of contacts that are no folder of a run.
_CONTACTS = (".contact", ".zarr", ".bp", ".sst")
#: Seconds between two searches for the stream of a folder, and until the wait is reported.
_SEARCH_INTERVAL, _NOTICE_AFTER = 0.1, 5.0


@dataclass(frozen=True)
class StreamLocation:
    """Location and kind of a stream that a viewer can open.

    Attributes:
        path: contact file, or folder of stored steps.
        kind: whether a writer publishes it, or its steps are stored.
        stream: name of the stream.
        answers: whether the writer of a running stream accepts connections.
        steps: number of the stored steps.
    """

    path: Path
    kind: Literal["running", "stored"]
    stream: str
    answers: bool = True
    steps: int = 0


def searched_folders() -> list[Path]:
    """Return the folders that are searched for streams.

    These are the present folder, and those in which this user's processes of Uzushio run.
    """
    folders = [Path.cwd()]
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
            if process.stat().st_uid == os.geteuid() and any(b"uzushio" in w for w in words[:4]):
                folders.append((process / "cwd").resolve(strict=True))
        except OSError:  # it ended, or may not be read
            continue
    kept: list[Path] = []
    for folder in dict.fromkeys(folders):
        if not any(folder.is_relative_to(other) for other in kept):
            kept.append(folder)
    return kept


def find(folders: Iterable[Path]) -> list[StreamLocation]:
    """Return the streams below folders, running ones first."""
    by_path = {source.path: source for folder in folders for source in _below(folder)}
    return sorted(
        by_path.values(), key=lambda source: (source.kind, not source.answers, str(source.path))
    )


def _below(folder: Path) -> Iterator[StreamLocation]:
    """Yield the streams of a folder and of those below it."""
    level, seen = [folder], 0
    for _ in range(_MAX_DEPTH + 1):
        following: list[Path] = []
        for here in level:
            seen += 1
            if seen > _MAX_FOLDERS:
                return
            try:
                entries = sorted(os.scandir(here), key=lambda entry: entry.name)
            except OSError:
                continue
            for entry in entries:
                path = Path(entry.path)
                if entry.name.endswith(".contact") and entry.is_file():
                    source = running(path)
                elif entry.name.endswith(".zarr") and entry.is_dir():
                    source = stored(path)
                else:
                    source = None
                    hidden = entry.name.startswith((".", "__"))
                    if entry.is_dir(follow_symlinks=False) and not hidden:
                        following.append(path)
                if source is not None:
                    yield source
        level = following


def running(path: Path) -> StreamLocation | None:
    """Return the stream of a contact file; None if the file is not one."""
    content = _json(path)
    if not isinstance(content, dict) or "uzushio_contact" not in content:
        return None
    address = str(content.get("address", ""))
    return StreamLocation(
        path, "running", str(content.get("stream", "")), not address or _answers(address)
    )


def stored(path: Path) -> StreamLocation | None:
    """Return the stream of a folder of stored steps; None if it does not hold any."""
    content = _json(path / "zarr.json")
    attributes = content.get("attributes", {}) if isinstance(content, dict) else {}
    if not isinstance(attributes, dict) or "stream" not in attributes:
        return None
    steps = sum(entry.name.isdigit() for entry in (path / "steps").glob("[0-9]*"))
    return StreamLocation(path, "stored", str(attributes["stream"]), steps=steps)


def contact_of(source: str) -> str:
    """Return the contact of a command's argument.

    Args:
        source: a contact file, host:port, a folder of stored steps, or the folder of a run.

    Raises:
        StagingError: a folder holds no stream, or several.
    """
    path = Path(os.path.expanduser(source))
    if not path.is_dir() or stored(path) is not None or path.suffix == ".zarr":
        return source
    sources = find([path])
    live = [source for source in sources if source.kind == "running" and source.answers]
    sources = live or [source for source in sources if source.kind == "stored"] or sources
    if not sources:
        raise StagingError(
            f"{source} holds no contact file and no stored steps: its case needs a section "
            "`publish` (docs/how-to/watch.md); 'uzushio render --checkpoint' draws checkpoints, "
            "'uzushio view --list' shows the streams here."
        )
    if len(sources) > 1:
        names = ", ".join(str(source.path) for source in sources[:5])
        raise StagingError(f"{source} holds several streams; name one of {names}.")
    return str(sources[0].path)


def awaited_contact(source: str, limit: float) -> str:
    """Return the contact of a command's argument, which may be the folder of a run to come.

    A folder that does not exist yet does not say whether it will hold a contact file or stored
    steps, so it must not be attached to before one of them is there.

    Args:
        source: as for `contact_of`.
        limit: timeout for a folder that does not exist yet, seconds.

    Raises:
        StagingError: a folder holds no stream, or several, or does not exist within `limit`.
    """
    path = Path(os.path.expanduser(source))
    if path.exists() or ":" in source or path.suffix in _CONTACTS:
        return contact_of(source)
    began, noticed = time.monotonic(), False
    while not path.is_file() and stored(path) is None and not find([path]):
        waited = time.monotonic() - began
        if waited >= limit:
            if path.exists():
                break
            raise StagingError(
                f"No writer was found within {limit:g} s: {source} does not exist. Start the "
                "writer, or check the path."
            )
        if waited >= _NOTICE_AFTER and not noticed:
            noticed = True
            notice(f"Waiting for a stream in {source} for up to {limit:g} s. Start the writer.")
        time.sleep(_SEARCH_INTERVAL)
    return contact_of(source)


def _answers(address: str) -> bool:
    """Return whether a process listens at "host:port"."""
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), _CONNECT_LIMIT):
            return True
    except (OSError, ValueError):
        return False


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
