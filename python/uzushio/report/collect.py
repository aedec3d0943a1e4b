"""Collection of a run's results: summaries, pictures, movies, plots, other files.

A run or a job that was killed, or had no space, has no summary: then its files are used.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from uzushio._base.files import dangling
from uzushio.errors import OutputError
from uzushio.report.cut_off import cut_off
from uzushio.report.results import Action, Collected, Run, figures_in

SUMMARY = "summary.json"
#: Names of folders without results, which may have very many files.
_SKIPPED = re.compile(r"checkpoints|.*\.zarr|.*\.parts|\..*")
_DEPTH = 3


def collect(folders: Sequence[Path]) -> Collected:
    """Collect the results in folders.

    Raises:
        OutputError: a folder is missing or has no results, or a summary cannot be read.
    """
    collected, seen = Collected(), set[Path]()
    for folder in folders:
        if not folder.is_dir():
            what = dangling(folder) or f"{folder} is not a folder"
            raise OutputError(f"{what}; name the folder of a run.")
        here = 0
        for path in _summaries(folder, _DEPTH):
            if path.resolve() in seen:
                here += 1
                continue
            seen.add(path.resolve())
            content = _read(path)
            here += content is not None
            if content is None:
                continue
            if path.name != SUMMARY:
                collected.relays.append((path, content))
            elif "actions" in content:
                collected.pipelines.append(_pipeline(path.parent, content))
            else:
                collected.solvers.append(Run(path.parent, content, figures=figures_in(path.parent)))
        for left in _folders(folder, _DEPTH):
            if left.resolve() not in seen and not (left / SUMMARY).is_file():
                run = cut_off(left)
                if run is not None:
                    (collected.solvers if "solver" in run.summary else collected.pipelines).append(
                        run
                    )
                    here += 1
                    seen.add(left.resolve())
        if not here:
            raise OutputError(
                f"{folder} holds no {SUMMARY}, and nothing of a run that was cut off: name the "
                "folder of a run, or of a reader job."
            )
    return collected


def _folders(folder: Path, depth: int) -> Iterator[Path]:
    """Yield a folder and its subfolders that may have results."""
    yield folder
    if depth:
        for below in sorted(folder.iterdir()):
            if below.is_dir() and not _SKIPPED.fullmatch(below.name):
                yield from _folders(below, depth - 1)


def _summaries(folder: Path, depth: int) -> Iterator[Path]:
    """Yield the summaries in a folder and its subfolders."""
    for subfolder in _folders(folder, depth):
        if (subfolder / SUMMARY).is_file():
            yield subfolder / SUMMARY
        yield from sorted(subfolder.glob("relay*.json"))


def _read(path: Path) -> Mapping[str, Any] | None:
    """Read a summary; return None if the file is of another kind."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise OutputError(f"{path} cannot be read ({error.strerror}).") from error
    except ValueError as error:
        raise OutputError(
            f"{path} is not JSON ({error}); was it cut off? Move it away, or run again."
        ) from error
    known = {"solver", "actions", "passed"}
    return content if isinstance(content, dict) and known & content.keys() else None


def _pipeline(folder: Path, content: Mapping[str, Any]) -> Run:
    run = Run(folder, content)
    for name, entry in content["actions"].items():
        action = Action(name, entry)
        files = [*entry.get("files", ()), *filter(None, [entry.get("movie")])]
        for file in dict.fromkeys(files):
            if (folder / file).exists():
                action.add(folder / file)
        run.actions.append(action)
    return run
