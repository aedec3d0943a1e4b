"""Paths as users write them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator


def expanded(path: Path | str) -> Path:
    """Replace a leading ~ or ~NAME by a home folder, as a shell does.

    A shell leaves it as it is in `--out=~/run`, and some libraries replace it, so that results of
    one run would lie in two folders.

    Raises:
        ValueError: there is no such home folder.
    """
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise ValueError(f"has no home folder to put in for ~ ({error})") from error


#: A path in a case file.
UserPath = Annotated[Path, AfterValidator(expanded)]
