"""Paths of users, with ~ for the home folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator


def expanded(path: Path | str) -> Path:
    """Replace a leading ~ or ~NAME by a home folder, as a shell does.

    A shell does not replace it in `--out=~/run`, but some libraries do; results of one run would be
    in two folders.

    Raises:
        ValueError: there is no such home folder.
    """
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise ValueError(f"has no home folder to replace ~ ({error})") from error


#: Type of a path in a case file.
UserPath = Annotated[Path, AfterValidator(expanded)]
