"""Remember what the FFT planner measured on this kind of machine.

The planner times several algorithms and keeps the fastest, which may be another one each time; two
algorithms round differently. With its findings ("wisdom") kept from run to run, the same case on
the same ranks gives the same bits, and a start costs no measurement. They lie in the user's cache
folder, in one file for each processor model; delete it to measure again.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import tempfile
from pathlib import Path


def cache_file() -> Path:
    """The file for this processor, in XDG_CACHE_HOME or ~/.cache.

    Raises:
        OSError: if the user has no home folder, as one that no password file knows.
    """
    try:
        folder = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError as error:
        raise FileNotFoundError(str(error)) from error
    model = platform.processor() + platform.machine()
    with contextlib.suppress(OSError):
        first = Path("/proc/cpuinfo").read_text().partition("\n\n")[0].splitlines()
        model += "".join(line for line in first if line.startswith(("model name", "flags")))
    key = hashlib.sha256(model.encode()).hexdigest()[:12]
    return Path(folder) / "uzushio" / f"fftw-{key}.wisdom"


def recall() -> str:
    """What was measured before, or nothing."""
    try:
        return cache_file().read_text()
    except (OSError, UnicodeDecodeError):
        return ""


def keep(wisdom: str) -> None:
    """Store `wisdom` in place of what is there; a folder that cannot be written is no error."""
    with contextlib.suppress(OSError):
        path = cache_file()
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as file:
            file.write(wisdom)
        Path(file.name).replace(path)
