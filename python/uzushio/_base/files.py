"""Atomic writes of small files, and the summary of a job."""

from __future__ import annotations

import itertools
import json
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

SUMMARY = "summary.json"
#: Name of the folder of a run's results of the pipeline inside its solver.
PIPELINE = "pipeline"


def write_summary(folder: Path, summary: Mapping[str, Any]) -> Path:
    """Write `summary.json`; return its path."""
    path = folder / SUMMARY
    atomic_write(path, json.dumps(summary, indent=2, default=_plain) + "\n")
    return path


def read_summary(folder: Path) -> dict[str, Any]:
    """Read `summary.json`; return an empty dictionary if it cannot be read."""
    try:
        content = json.loads((folder / SUMMARY).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def dangling(path: Path) -> str | None:
    """Return a clause on a link to what does not exist; None if the path is not one."""
    if path.is_symlink() and not path.exists():
        return f"{path} is a link to {os.readlink(path)}, which does not exist"
    return None


def atomic_write(path: Path, text: str, mode: int = 0o666) -> None:
    """Write a small file atomically, and wait until it is on the disk.

    Args:
        path: path of the file, which is replaced if it exists.
        text: content.
        mode: permissions, less those that the umask removes.

    Raises:
        OSError: the file cannot be written.
    """
    with atomic_file(path) as fresh:
        descriptor = os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode)
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """Yield the path of a hidden file for writing; it replaces `path` at the end of the block.

    It is in the same folder, has the same suffix, and is removed if the block raises an exception.

    Raises:
        OSError: the file cannot be written; the error names `path`.
    """
    fresh = path.with_name(f".{path.stem}.{secrets.token_hex(4)}{path.suffix}")
    try:
        yield fresh
        fresh.replace(path)
    except OSError as error:
        # The error of a full disk has no file name, others name the hidden file.
        if error.filename not in (None, str(fresh)):
            raise
        if error.errno is None:  # of a library
            error.filename = str(path)
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        with suppress(OSError):
            fresh.unlink(missing_ok=True)


def free_name(path: Path) -> Path:
    """Return the path with the first free number before its suffix."""
    others = (path.with_name(f"{path.stem}.{n}{path.suffix}") for n in itertools.count(1))
    return next(other for other in others if not other.exists())


def _plain(value: Any) -> Any:
    """Convert NumPy scalars and arrays, and paths, for JSON."""
    return value.tolist() if hasattr(value, "tolist") else str(value)
