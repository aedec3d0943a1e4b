"""Text files with one line, or several, for each step, in the order of steps."""

from __future__ import annotations

import json
from pathlib import Path

from uzushio.files import atomic_write


def cut_after(path: Path, step: int) -> None:
    """Take the lines of later steps out of a file, whole or not at all.

    Lines are JSON with a key `step`, or of a table whose first column is the number of the step
    under a line of names; a line that was cut off goes too. A file that is not there is left so.

    Raises:
        OSError: it cannot be read or written.
    """
    if not path.is_file():
        return
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    kept = [line for number, line in enumerate(lines) if _is_kept(line, number == 0, step)]
    if len(kept) < len(lines):
        atomic_write(path, "".join(kept))


def _is_kept(line: str, first: bool, step: int) -> bool:
    if not line.endswith("\n"):
        return False
    try:
        found = json.loads(line)["step"] if line.startswith("{") else line.partition(",")[0]
        return float(found) <= step
    except (ValueError, LookupError, TypeError):
        return first
