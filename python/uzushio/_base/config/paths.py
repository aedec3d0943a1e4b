"""Paths of users, with ~ for the home folder.

A relative path in a file is relative to the folder of that file if it names a file to read
(`NamedFile`), and to the current folder if it names a folder of results (`UserPath`).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, PlainSerializer


def expanded(path: Path | str) -> Path:
    """Replace a leading ~ or ~NAME by a home folder, as a shell does.

    A shell does not replace it in `--out=~/run`, but some libraries do; results of one run would be
    in two folders.

    Raises:
        ValueError: there is no such home folder, or the text is empty.
    """
    if path == "":
        raise ValueError("is empty; '.' is the current folder")
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise ValueError(f"has no home folder to replace ~ ({error})") from error


def _not_empty(given: object) -> object:
    if given == "":
        raise ValueError("must not be empty; '.' is the current folder")
    return given


def _absolute(path: Path) -> str:
    return os.path.abspath(path)


#: Type of the path of a folder that a command writes.
UserPath = Annotated[Path, BeforeValidator(_not_empty), AfterValidator(expanded)]
#: Metadata of the type `NamedFile`.
IS_NAMED = PlainSerializer(_absolute, return_type=str, when_used="json")
#: Type of the path of a file or store that another file names, to be read. It is stored as an
#: absolute path.
NamedFile = Annotated[Path, BeforeValidator(_not_empty), AfterValidator(expanded), IS_NAMED]
