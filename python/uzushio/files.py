"""Atomic writes of small files, and the summary of a job."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

SUMMARY = "summary.json"
#: Folder, below that of a run, of the results of the pipeline inside its solver.
PIPELINE = "pipeline"


def write_summary(folder: Path, summary: Mapping[str, Any]) -> Path:
    """Write `summary.json`; returns its path."""
    path = folder / SUMMARY
    atomic_write(path, json.dumps(summary, indent=2, default=_plain) + "\n")
    return path


def read_summary(folder: Path) -> dict[str, Any]:
    """Read `summary.json`; return an empty dictionary if it cannot be read."""
    try:
        told = json.loads((folder / SUMMARY).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return told if isinstance(told, dict) else {}


def atomic_write(path: Path, text: str) -> None:
    """Write a small file atomically."""
    fresh = path.with_name(f".{path.name}.new")
    try:
        with fresh.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        fresh.rename(path)
    except OSError as error:  # the error of a full disk names no file
        with suppress(OSError):
            fresh.unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror, str(path)) from error


def _plain(value: Any) -> Any:
    """Convert NumPy scalars and arrays, and paths, for JSON."""
    return value.tolist() if hasattr(value, "tolist") else str(value)
