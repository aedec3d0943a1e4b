"""Content of a report: folders with results, and their files by origin."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

IMAGES = (".png", ".jpg", ".jpeg", ".svg", ".webp")
MOVIES = (".mp4", ".webm", ".mkv", ".avi", ".gif")


@dataclass
class Action:
    """An action's entry in a pipeline's summary, and its files.

    Attributes:
        name: name of the action.
        entry: the action's entry in the summary.
        images: images in the order of steps.
        movies: movies.
        others: other files, such as tables and stores.
    """

    name: str
    entry: Mapping[str, Any]
    images: list[Path] = field(default_factory=list)
    movies: list[Path] = field(default_factory=list)
    others: list[Path] = field(default_factory=list)

    def add(self, path: Path) -> None:
        """Add a file."""
        if path.suffix in IMAGES:
            self.images.append(path)
        elif path.suffix in MOVIES:
            self.movies.append(path)
        else:
            self.others.append(path)

    @property
    def is_picture(self) -> bool:
        """Return whether the images show one view at many steps."""
        return "view" in self.entry


@dataclass
class Run:
    """Folder of a run, or of a pipeline's results.

    Attributes:
        folder: path of the folder.
        summary: content of the summary; if there is none, values known from its files.
        ended: whether there is a summary, which is written last.
        actions: actions of a pipeline.
        figures: figures of a solver.
    """

    folder: Path
    summary: Mapping[str, Any]
    ended: bool = True
    actions: list[Action] = field(default_factory=list)
    figures: list[Path] = field(default_factory=list)


@dataclass
class Collected:
    """All folders; `relays` are the summaries of relays (--summary)."""

    solvers: list[Run] = field(default_factory=list)
    pipelines: list[Run] = field(default_factory=list)
    relays: list[tuple[Path, Mapping[str, Any]]] = field(default_factory=list)


def figures_in(folder: Path) -> list[Path]:
    """Return a solver's figures, each in the first of its formats in the order of `IMAGES`."""
    by_stem: dict[str, Path] = {}
    images = [image for image in (folder / "figures").glob("*") if image.suffix in IMAGES]
    for path in sorted(images, key=lambda image: IMAGES.index(image.suffix)):
        by_stem.setdefault(path.stem, path)
    return [by_stem[stem] for stem in sorted(by_stem)]


def other_formats(figure: Path) -> list[Path]:
    """Return the files of the same figure in other formats."""
    formats = (figure.with_suffix(suffix) for suffix in (".pdf", ".svg"))
    return [path for path in formats if path != figure and path.is_file()]


def description(figure: Path) -> str:
    """Return the description of a figure, or else its name."""
    from PIL import Image

    words = ""
    if figure.suffix == ".png":
        with suppress(OSError, SyntaxError), Image.open(figure) as image:
            words = str(image.info.get("Description", ""))
    return words or figure.stem.replace("_", " ")
