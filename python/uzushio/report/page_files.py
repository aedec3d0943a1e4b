"""Files of the page: embedded in it or linked."""

from __future__ import annotations

import base64
import mimetypes
import os
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from uzushio._base.config.quantities import show_size
from uzushio.errors import OutputError


@dataclass
class PageFiles:
    """Files that are embedded in the page, or linked if they are too large.

    Attributes:
        page: the file that is written; links are relative to its folder.
        most: maximum bytes of an embedded file.
        total: maximum bytes of all embedded files.
        linked: files that the page links to.
    """

    page: Path
    most: int
    total: int
    used: int = 0
    linked: list[Path] = field(default_factory=list)

    def address(self, path: Path) -> str:
        """Return the source of an element: the content itself, or a relative link.

        Raises:
            OutputError: the file cannot be read.
        """
        try:
            size = path.stat().st_size
            if size > self.most or self.used + size > self.total:
                self.linked.append(path)
                return self.link(path)
            self.used += size
            kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
            return f"data:{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"
        except OSError as error:
            raise OutputError(f"{path} cannot be read ({error.strerror}).") from error

    def link(self, path: Path) -> str:
        """Return a relative link to a file."""
        here = os.path.relpath(path.resolve(), self.page.resolve().parent)
        return quote(Path(here).as_posix())


def media_type(movie: Path) -> str:
    """Return the media type of a movie."""
    return mimetypes.guess_type(movie.name)[0] or "video/mp4"


def size_of(path: Path) -> str:
    """Return the size of a file, or of all files of a folder, in words."""
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return show_size(sum(file.stat().st_size for file in files))
