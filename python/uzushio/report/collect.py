"""What a run left in its folders: summaries, pictures, movies, plots, other files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from uzushio.errors import OutputError

SUMMARY = "summary.json"
IMAGES = (".png", ".jpg", ".jpeg", ".svg", ".webp")
MOVIES = (".mp4", ".webm", ".mkv", ".avi")
#: Folders below a run's that hold no results of their own, and may hold very many files.
_SKIPPED = re.compile(r"checkpoints|.*\.zarr|.*\.parts|\..*")
_DEPTH = 3


@dataclass
class Action:
    """What a pipeline's summary says of an action, and the files that are there of it.

    Attributes:
        name: of the action.
        told: its entry in the summary.
        images: in the order of steps.
        movies: there are.
        others: tables, stores and the like.
    """

    name: str
    told: Mapping[str, Any]
    images: list[Path] = field(default_factory=list)
    movies: list[Path] = field(default_factory=list)
    others: list[Path] = field(default_factory=list)

    @property
    def is_picture(self) -> bool:
        """Whether its images show one view at many steps."""
        return "view" in self.told


@dataclass
class Run:
    """A folder with a summary.

    Attributes:
        folder: of it.
        summary: what is in it.
        actions: of a pipeline.
        figures: of a solver.
    """

    folder: Path
    summary: Mapping[str, Any]
    actions: list[Action] = field(default_factory=list)
    figures: list[Path] = field(default_factory=list)


@dataclass
class Collected:
    """All folders together; `relays` are what relays wrote with --summary."""

    solvers: list[Run] = field(default_factory=list)
    pipelines: list[Run] = field(default_factory=list)
    relays: list[tuple[Path, Mapping[str, Any]]] = field(default_factory=list)


def collect(folders: Sequence[Path]) -> Collected:
    """Look through folders.

    Raises:
        OutputError: there is no such folder, no summary in one, or one that cannot be read.
    """
    found, seen = Collected(), set[Path]()
    for folder in folders:
        if not folder.is_dir():
            raise OutputError(f"{folder} is not a folder; name the folder of a run.")
        here = 0
        for path in _summaries(folder, _DEPTH):
            if path.resolve() in seen:
                here += 1
                continue
            seen.add(path.resolve())
            told = _read(path)
            here += told is not None
            if told is None:
                continue
            if path.name != SUMMARY:
                found.relays.append((path, told))
            elif "actions" in told:
                found.pipelines.append(_pipeline(path.parent, told))
            else:
                figures = sorted(
                    one for one in (path.parent / "figures").glob("*") if one.suffix in IMAGES
                )
                found.solvers.append(Run(path.parent, told, figures=figures))
        if not here:
            raise OutputError(
                f"{folder} holds no {SUMMARY}: name the folder of a run that has ended, or of a "
                "reader job."
            )
    return found


def _summaries(folder: Path, depth: int) -> Iterator[Path]:
    """The summaries in a folder and those below it."""
    if (folder / SUMMARY).is_file():
        yield folder / SUMMARY
    yield from sorted(folder.glob("relay*.json"))
    if depth:
        for below in sorted(folder.iterdir()):
            if below.is_dir() and not _SKIPPED.fullmatch(below.name):
                yield from _summaries(below, depth - 1)


def _read(path: Path) -> Mapping[str, Any] | None:
    """A summary; None if the file is of another kind."""
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise OutputError(f"{path} cannot be read ({error.strerror}).") from error
    except ValueError as error:
        raise OutputError(
            f"{path} is not JSON ({error}); was it cut off? Move it away, or run again."
        ) from error
    known = {"solver", "actions", "passed"}
    return told if isinstance(told, dict) and known & told.keys() else None


def _pipeline(folder: Path, told: Mapping[str, Any]) -> Run:
    run = Run(folder, told)
    for name, entry in told["actions"].items():
        action = Action(name, entry)
        files = [*entry.get("files", ()), *filter(None, [entry.get("movie")])]
        for file in dict.fromkeys(files):
            path = folder / file
            if not path.exists():
                continue
            if path.suffix in IMAGES:
                action.images.append(path)
            elif path.suffix in MOVIES:
                action.movies.append(path)
            else:
                action.others.append(path)
        run.actions.append(action)
    return run
