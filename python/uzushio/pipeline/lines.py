"""Text files with one or more lines for each step, in the order of steps."""

from __future__ import annotations

import json
from pathlib import Path

from uzushio._base.files import atomic_write


def truncate_after(path: Path, step: int) -> None:
    """Remove the lines of steps after `step` from a file, atomically.

    Lines are JSON with a key `step`, or a table with a line of names and the number of the step in
    the first column. An incomplete last line is removed too. A missing file is not an error.

    Raises:
        OSError: the file cannot be read or written.
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
        recorded = json.loads(line)["step"] if line.startswith("{") else line.partition(",")[0]
        return float(recorded) <= step
    except (ValueError, LookupError, TypeError):
        return first
