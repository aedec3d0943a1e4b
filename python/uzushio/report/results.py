"""What a report is made of: folders with results, and the files in them by what made them."""

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

    def add(self, path: Path) -> None:
        """Take in a file that is there."""
        if path.suffix in IMAGES:
            self.images.append(path)
        elif path.suffix in MOVIES:
            self.movies.append(path)
        else:
            self.others.append(path)

    @property
    def is_picture(self) -> bool:
        """Whether its images show one view at many steps."""
        return "view" in self.told


@dataclass
class Run:
    """The folder of a run, or of a pipeline's results.

    Attributes:
        folder: of it.
        summary: what is in its summary; of one without, what is known from its files.
        ended: whether there is a summary, which is the last thing to be written.
        actions: of a pipeline.
        figures: of a solver.
    """

    folder: Path
    summary: Mapping[str, Any]
    ended: bool = True
    actions: list[Action] = field(default_factory=list)
    figures: list[Path] = field(default_factory=list)


@dataclass
class Collected:
    """All folders together; `relays` are what relays wrote with --summary."""

    solvers: list[Run] = field(default_factory=list)
    pipelines: list[Run] = field(default_factory=list)
    relays: list[tuple[Path, Mapping[str, Any]]] = field(default_factory=list)


def figures_in(folder: Path) -> list[Path]:
    """A solver's figures, each once: the first of its formats in the order of `IMAGES`."""
    found: dict[str, Path] = {}
    images = [one for one in (folder / "figures").glob("*") if one.suffix in IMAGES]
    for path in sorted(images, key=lambda one: IMAGES.index(one.suffix)):
        found.setdefault(path.stem, path)
    return [found[stem] for stem in sorted(found)]


def other_formats(figure: Path) -> list[Path]:
    """The files of the same figure for papers."""
    formats = (figure.with_suffix(suffix) for suffix in (".pdf", ".svg"))
    return [one for one in formats if one != figure and one.is_file()]


def description(figure: Path) -> str:
    """What a figure shows, in words: its own description, or its name."""
    from PIL import Image

    words = ""
    if figure.suffix == ".png":
        with suppress(OSError, SyntaxError), Image.open(figure) as image:
            words = str(image.info.get("Description", ""))
    return words or figure.stem.replace("_", " ")
