"""The folder of a run: what it holds, and that no run writes over another."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from uzushio.case import Case
from uzushio.checkpoint.folder import FOLDER as CHECKPOINTS
from uzushio.checkpoint.folder import run_of
from uzushio.errors import OutputError
from uzushio.statistics import FILE as STATISTICS

CASE = "case.yaml"
SUMMARY = "summary.json"
FIGURES = "figures"
_MARKS = (CASE, CHECKPOINTS, SUMMARY, STATISTICS)


def continues(folder: Path, restart: Path | None) -> bool:
    """Whether a restarted run goes on in the folder that it is restarted from."""
    return restart is not None and run_of(restart).resolve() == folder.resolve()


def check(folder: Path, restart: Path | None, overwrite: bool) -> None:
    """Raise `OutputError` if the folder holds another run, or cannot hold one."""
    if folder.exists() and not folder.is_dir():
        raise OutputError(f"{folder} is a file; choose another folder with --out.")
    if overwrite and continues(folder, restart):
        raise OutputError(
            f"--overwrite would remove the run in {folder} that --restart needs; leave it out to "
            "go on in that folder, or choose another folder with --out."
        )
    if overwrite or continues(folder, restart):
        return
    found = [mark for mark in _MARKS if (folder / mark).exists()]
    if found:
        raise OutputError(
            f"{folder} holds another run ({', '.join(found)}); go on with it (--restart {folder}), "
            "choose another folder (--out DIR), or remove that run (--overwrite)."
        )


def claim(folder: Path, case: Case, restart: Path | None) -> None:
    """Make the folder this run's: remove an earlier run, and note the case.

    Only what a run writes is removed; other files in the folder stay.
    """
    if not continues(folder, restart):
        for mark in (*_MARKS, FIGURES):
            path = folder / mark
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
    folder.mkdir(parents=True, exist_ok=True)
    replace(folder / CASE, case.to_yaml())


def write_summary(folder: Path, summary: Mapping[str, Any]) -> Path:
    """Write `summary.json`; returns its path."""
    path = folder / SUMMARY
    replace(path, json.dumps(summary, indent=2, default=_plain) + "\n")
    return path


def replace(path: Path, text: str) -> None:
    """Write a small file whole or not at all."""
    fresh = path.with_name(f".{path.name}.new")
    with fresh.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    fresh.rename(path)


def _plain(value: Any) -> Any:
    """NumPy scalars and arrays, and paths, as JSON."""
    return value.tolist() if hasattr(value, "tolist") else str(value)
