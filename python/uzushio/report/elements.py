"""Pieces of the page, as HTML with everything escaped."""

from __future__ import annotations

import base64
import mimetypes
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from urllib.parse import quote

from uzushio.errors import OutputError
from uzushio.report import words


@dataclass
class Files:
    """Puts files into the page, or links to them where they are too large.

    Attributes:
        page: the file that is written; links are relative to its folder.
        most: bytes of a file that is put into the page.
        total: bytes of all of them.
        linked: files that the page needs beside it.
    """

    page: Path
    most: int
    total: int
    used: int = 0
    linked: list[Path] = field(default_factory=list)

    def address(self, path: Path) -> str:
        """What an element's source is: the content itself, or a relative link.

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
        """A relative link to a file."""
        here = os.path.relpath(path.resolve(), self.page.resolve().parent)
        return quote(Path(here).as_posix())


def section(title: str, *content: str, note: str = "") -> str:
    """A part of the page; nothing if there is no content."""
    inside = "".join(content)
    if not inside:
        return ""
    said = f'<p class="note">{escape(note)}</p>' if note else ""
    return f"<section><h2>{escape(title)}</h2>{said}{inside}</section>"


def tiles(figures: Iterable[tuple[str, str]]) -> str:
    """The few numbers that matter most: name and value."""
    items = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in figures
    )
    return f'<dl class="tiles">{items}</dl>' if items else ""


def table(rows: Iterable[Sequence[str]], head: Sequence[str] = (), numbers: int = 0) -> str:
    """A table; the last `numbers` columns are set to the right."""
    body = []
    for row in rows:
        cells = []
        for place, cell in enumerate(row):
            kind = ' class="n"' if place >= len(row) - numbers else ""
            tag = "th" if place == 0 else "td"
            scope = ' scope="row"' if place == 0 else ""
            cells.append(f"<{tag}{scope}{kind}>{escape(cell)}</{tag}>")
        body.append(f"<tr>{''.join(cells)}</tr>")
    if not body:
        return ""
    titles = [
        f'<th scope="col"{" class=n" if place >= len(head) - numbers else ""}>{escape(cell)}</th>'
        for place, cell in enumerate(head)
    ]
    top = f"<thead><tr>{''.join(titles)}</tr></thead>" if titles else ""
    return f'<div class="scroll"><table>{top}<tbody>{"".join(body)}</tbody></table></div>'


def facts(told: Mapping[str, object], keys: Iterable[str] | None = None) -> str:
    """A table of keys and values of a summary."""
    chosen = told.keys() if keys is None else [key for key in keys if key in told]
    return table([(words.name(key), words.value(key, told[key])) for key in chosen], numbers=1)


def bars(shares: Mapping[str, float], unit: str = "s") -> str:
    """Horizontal bars with their values, the longest first."""
    ordered = sorted(shares.items(), key=lambda one: -one[1])
    longest = max((value for _, value in ordered), default=0.0)
    rows = []
    for name, value in ordered:
        told = words.duration(value) if unit == "s" else f"{words.number(value)} {unit}"
        width = 100.0 * value / longest if longest > 0.0 else 0.0
        rows.append(
            f'<li><span class="name">{escape(name)}</span><span class="track">'
            f'<span class="bar" style="width:{width:.1f}%"></span></span>'
            f'<span class="value">{escape(told)}</span></li>'
        )
    return f'<ul class="bars">{"".join(rows)}</ul>' if rows else ""


def picture(
    files: Files, path: Path, caption: str, kind: str = "", others: Iterable[Path] = ()
) -> str:
    """An image that a click or the space bar enlarges, with a caption.

    Args:
        files: of the page.
        path: of the image.
        caption: below it.
        kind: class of the figure.
        others: the same in other formats, which are linked.
    """
    links = "".join(
        f' · <a href="{files.link(one)}">{escape(one.suffix[1:].upper())}</a>' for one in others
    )
    return (
        f'<figure class="{kind}"><label class="zoom"><input type="checkbox" '
        f'aria-label="enlarge {escape(caption)}"><img src="{files.address(path)}" '
        f'alt="{escape(caption)}" loading="lazy"></label>'
        f"<figcaption>{escape(caption)}{links}</figcaption></figure>"
    )


def movie(files: Files, path: Path, caption: str) -> str:
    """A player, with a link for browsers that cannot show it."""
    source = files.address(path)
    kind = mimetypes.guess_type(path.name)[0] or "video/mp4"
    if kind.startswith("image/"):  # a GIF plays by itself
        return picture(files, path, caption, "movie")
    link = f'<a href="{files.link(path)}">{escape(path.name)}</a>'
    return (
        f'<figure class="movie"><video controls loop muted playsinline preload="metadata">'
        f'<source src="{source}" type="{kind}">This browser does not show it: {link}.</video>'
        f"<figcaption>{escape(caption)} · {link}</figcaption></figure>"
    )


def links(files: Files, paths: Iterable[Path]) -> str:
    """Files beside the page, with their sizes."""
    items = []
    for path in paths:
        size = words.size(size_of(path))
        items.append(
            f'<li><a href="{files.link(path)}">{escape(path.name)}</a> '
            f'<span class="dim">{escape(size)}</span></li>'
        )
    return f'<ul class="files">{"".join(items)}</ul>' if items else ""


def size_of(path: Path) -> int:
    """Bytes of a file, or of all files of a folder."""
    if path.is_file():
        return path.stat().st_size
    return sum(one.stat().st_size for one in path.rglob("*") if one.is_file())


def folded(title: str, content: str) -> str:
    """Something that is opened by who wants to see it."""
    return f"<details><summary>{escape(title)}</summary>{content}</details>" if content else ""


def text(content: str) -> str:
    """Text of a file, as it is."""
    return f'<pre class="scroll">{escape(content)}</pre>' if content else ""


def warning(text: str) -> str:
    """Something that went wrong."""
    return f'<p class="warning" role="alert">{escape(text)}</p>'
