"""Names of files that a pipeline writes: inside its folder, of a supported format."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from string import Formatter
from typing import Annotated

from pydantic import AfterValidator

from uzushio.render.movie import FORMATS as MOVIES
from uzushio.render.picture import FORMATS as PICTURES
from uzushio.render.placeholders import check_placeholders

_OTHERS = re.compile(r"[^\w.+-]+")
#: Files of the folder that the pipeline writes itself.
RESERVED = ("summary.json", "report.html")


def result_file(given: str) -> str:
    """Check the name of a file of results.

    Raises:
        ValueError: the name leads out of the folder of results, names no file, or is reserved.
    """
    path = PurePosixPath(given)
    if path.is_absolute() or given.startswith("~") or ".." in path.parts:
        raise ValueError(
            "must lie in the folder of results: a relative path without '..' "
            "(--out names another folder)"
        )
    if not path.name or given.endswith("/") or not given.isprintable():
        raise ValueError("must be the name of a file")
    if any(part.startswith(".") for part in path.parts):
        raise ValueError("must not begin with a full stop, nor may one of its folders")
    if str(path) in RESERVED:
        raise ValueError(f"must not be {given}, which the pipeline writes itself")
    return given


def suffixed(suffixes: tuple[str, ...], others: str = "") -> Callable[[str], str]:
    """Make a validator for names of files with one of these suffixes.

    Args:
        suffixes: allowed suffixes.
        others: end of the message, on the keys for other formats.
    """

    def check(given: str) -> str:
        result_file(given)
        if PurePosixPath(given).suffix.lower() not in suffixes:
            *others_first, last = suffixes
            raise ValueError(f"must end in {', '.join(others_first)} or {last}{others}")
        return given

    return check


def _pattern(given: str) -> str:
    """Check a name with placeholders."""
    values: dict[str, str | int | float] = {"name": "0", "step": 0, "time": 0.0}
    _picture(check_placeholders(given, values, "{step:06d}"))
    return given


_picture = suffixed(PICTURES, "; 'movie' takes .mp4 and .gif")
#: Name of the pictures, one for each step: may contain {name}, {step} and {time}.
PicturePattern = Annotated[str, AfterValidator(_pattern)]
MovieFile = Annotated[
    str, AfterValidator(suffixed(MOVIES, "; 'file' of a picture takes .png and .jpg"))
]
ResultFile = Annotated[str, AfterValidator(result_file)]


def pictures_after(folder: Path, pattern: str, name: str, step: int) -> list[Path]:
    """Return the existing pictures of steps after `step`; none if their names have no step.

    Args:
        folder: folder of results.
        pattern: name of the pictures, a `PicturePattern`.
        name: name of the action.
        step: last step whose picture is left out.
    """
    expression = ""
    for text, key, _, _ in Formatter().parse(pattern):
        expression += re.escape(text)
        if key == "step" and "(?P<step>" not in expression:
            expression += r"(?P<step>\d+)"
        elif key is not None:
            expression += re.escape(name) if key == "name" else ".+?"
    paths = []
    for path in folder.rglob(f"*{PurePosixPath(pattern).suffix}"):
        match = re.fullmatch(expression, path.relative_to(folder).as_posix())
        if match and "step" in match.groupdict() and int(match["step"]) > step:
            paths.append(path)
    return paths


def plain_name(name: str) -> str:
    """Replace the characters of a field's name that are not valid in names of files."""
    return _OTHERS.sub("_", name).lstrip(".") or "_"
