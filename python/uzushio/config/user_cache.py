"""The user's cache folder: what was measured on this kind of machine, to be used by later runs."""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import tempfile
from functools import lru_cache
from pathlib import Path


def folder() -> Path:
    """Uzushio's folder in XDG_CACHE_HOME or ~/.cache; it need not exist.

    Raises:
        OSError: if the user has no home folder, as one that no password file knows.
    """
    try:
        above = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError as error:
        raise FileNotFoundError(str(error)) from error
    return Path(above) / "uzushio"


@lru_cache(maxsize=1)
def _processor() -> tuple[str, str]:
    """The processor's name, and all that tells it from others."""
    name = platform.processor() or platform.machine()
    model = platform.processor() + platform.machine()
    with contextlib.suppress(OSError):
        first = Path("/proc/cpuinfo").read_text().partition("\n\n")[0].splitlines()
        model += "".join(line for line in first if line.startswith(("model name", "flags")))
        names = [line.partition(":")[2].strip() for line in first if line.startswith("model name")]
        name = names[0] if names else name
    return name, model


def processor_name() -> str:
    """The processor's model, for people."""
    return _processor()[0]


def processor_key() -> str:
    """A short key, the same on machines with the same model of processor."""
    return hashlib.sha256(_processor()[1].encode()).hexdigest()[:12]


def recall(name: str) -> str:
    """What the file `name` of the folder holds, or nothing."""
    try:
        return (folder() / name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""


def keep(name: str, text: str) -> Path | None:
    """Store `text` in place of what the file `name` holds, whole or not at all.

    Returns:
        The file, or None where the folder cannot be written, which is no error.
    """
    try:
        path = folder() / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(
            "w", dir=path.parent, delete=False, encoding="utf-8"
        ) as file:
            try:
                file.write(text)
                file.flush()
                Path(file.name).replace(path)
            except BaseException:
                with contextlib.suppress(OSError):
                    Path(file.name).unlink()
                raise
    except OSError:
        return None
    return path
