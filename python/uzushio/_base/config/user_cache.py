"""Cache folder of the user: measurements on a machine for later runs."""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
from functools import lru_cache
from pathlib import Path

from uzushio._base.files import atomic_write


def folder() -> Path:
    """Return Uzushio's folder in XDG_CACHE_HOME or ~/.cache; it need not exist.

    Raises:
        OSError: the user has no home folder.
    """
    try:
        above = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError as error:
        raise FileNotFoundError(str(error)) from error
    return Path(above) / "uzushio"


@lru_cache(maxsize=1)
def _processor() -> tuple[str, str]:
    """Return the processor's name, and a text that identifies its model."""
    name = platform.processor() or platform.machine()
    model = platform.processor() + platform.machine()
    with contextlib.suppress(OSError):
        first = Path("/proc/cpuinfo").read_text().partition("\n\n")[0].splitlines()
        model += "".join(line for line in first if line.startswith(("model name", "flags")))
        names = [line.partition(":")[2].strip() for line in first if line.startswith("model name")]
        name = names[0] if names else name
    return name, model


def processor_name() -> str:
    """Return the name of the processor's model."""
    return _processor()[0]


def processor_key() -> str:
    """Return a short key of the processor's model."""
    return hashlib.sha256(_processor()[1].encode()).hexdigest()[:12]


def load(name: str) -> str:
    """Return the text of the file `name` in the folder, empty if there is none."""
    try:
        return (folder() / name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""


def store(name: str, text: str) -> Path | None:
    """Write the file `name` in the folder atomically.

    Returns:
        The file, or None if the folder cannot be written.
    """
    try:
        path = folder() / name
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(path, text)
    except OSError:
        return None
    return path
