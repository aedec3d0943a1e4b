"""Rows of the changes that viewers made in a run."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from uzushio._job.run_folder import STEERING
from uzushio.report import words
from uzushio.report.results import Run

#: Columns of the table.
HEAD = ("step", "time", "change", "value", "before", "by", "at")


def steered_rows(run: Run) -> list[tuple[str, ...]]:
    """Return a row for each request that a run applied; lines that cannot be read are left out."""
    try:
        lines = (run.folder / STEERING).read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return []
    return [_row(entry) for line in lines if (entry := _entry(line)) is not None]


def _entry(line: str) -> dict[str, Any] | None:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):  # the run was killed while it wrote
        return None
    return entry if isinstance(entry, dict) and "request" in entry else None


def _row(entry: dict[str, Any]) -> tuple[str, ...]:
    changes = {
        "set": str(entry.get("name", "")),
        "publish_every": "steps between published ones",
        "checkpoint": "checkpoint",
        "stop": "end of the run",
    }
    return (
        words.value("", entry.get("step")),
        words.value("", entry.get("time")),
        changes.get(str(entry["request"]), str(entry["request"])),
        words.value("", entry.get("value", entry.get("steps"))),
        words.value("", entry.get("before")),
        str(entry.get("by", "")) or "–",
        _moment(str(entry.get("at", ""))),
    )


def _moment(text: str) -> str:
    """Return a time of the record in the form of the page's own."""
    try:
        return datetime.fromisoformat(text).astimezone().strftime("%Y-%m-%d %H:%M:%S %Z")
    except ValueError:
        return text or "–"
